"""What people do with studies: start, pause, resume, cancel and delete one, and choose who sees it."""

from __future__ import annotations

import shutil
from collections.abc import Mapping, Sequence
from typing import Any

from django.db import IntegrityError, transaction
from django.utils import timezone

from apps.accounts import quotas
from apps.accounts.models import User, Viewer, default_visibility
from apps.agents.models import Agent
from apps.agents.operations import retire
from apps.jobs.errors import CannotChange, JobRefusal, NotYours, TooManyJobs, check_environments
from apps.live import publish, recheck_access
from apps.queue import enqueue
from apps.studies.limits import MOST_COMPARED, MOST_FAILURES, MOST_POLICIES, MOST_RUNS, STUDIES, folder_of
from apps.studies.models import Study, StudyRun
from apps.studies.planning import count, plan_runs
from apps.trainings import permissions
from apps.visibility import Visibility
from gem.errors import InvalidArgument
from gem.studies.study import Study as Plan
from gem.studies.study import find_ours, read_plan
from gem.training import recipes

TOPIC = "study"
TASK = "train.run"
OWN_NAME = "own"
"""The name of a plan that has none."""


class Unfit(JobRefusal):
    """The plan cannot be carried out here. The message says why, a sentence for each field."""

    field = "plan"


def plan_named(name: str) -> Plan:
    """The plan of a study that comes with gemweb. A name never leads to another file of the server.

    Raises:
        Unfit: if there is none; the nearest is named.
    """
    try:
        return find_ours(name)
    except InvalidArgument as error:
        raise Unfit(str(error), "study") from error


def own_plan(owner: Viewer, data: Mapping[str, Any]) -> Plan:
    """The plan that somebody has written, checked for what this person may use before it makes an environment.

    Raises:
        Unfit: if it is no plan, or uses what `owner` may not, with a sentence for each field.
    """
    if sentences := _refusals(owner, data):
        raise Unfit(" ".join(dict.fromkeys(sentences)))
    try:
        return read_plan(data, OWN_NAME)
    except InvalidArgument as error:
        raise Unfit(str(error)) from error


def _refusals(owner: Viewer, data: Mapping[str, Any]) -> list[str]:
    """Sentences about what a plan names that its owner may not use, or that others could not repeat."""
    parts: list[Mapping[str, Any]] = [
        {**_recipe_of(settings), **settings}
        for name in ("environments", "measured_in", "every_recipe")
        for settings in _settings_in(data.get(name), name)
    ]
    variants = data.get("variants")
    for variant in variants.values() if isinstance(variants, Mapping) else ():
        settings = variant.get("settings") if isinstance(variant, Mapping) else None
        parts += [settings] if isinstance(settings, Mapping) else []
    tuning = data.get("tuning")
    for name, values in tuning.items() if isinstance(tuning, Mapping) else ():
        parts += [{name: value} for value in values] if isinstance(values, Sequence) else []
    sentences = [sentence for part in parts for sentence in permissions.refusals(owner, part)]
    if any(str(part.get("model") or "").startswith(permissions.AGENT) for part in parts):
        sentences.append(
            "A study starts from a policy that everybody has, so that it can be repeated: do not name an agent."
        )
    return sentences


def _settings_in(value: Any, name: str) -> list[Mapping[str, Any]]:
    if not isinstance(value, Mapping):
        return []
    found = [value] if name == "every_recipe" else list(value.values())
    return [one for one in found if isinstance(one, Mapping)]


def _recipe_of(settings: Mapping[str, Any]) -> dict[str, Any]:
    try:
        return recipes.data(str(settings.get("recipe") or ""))
    except InvalidArgument:  # the plan's own check says so
        return {}


def with_choices(plan: Plan, *, seeds: int | None = None, environments: Sequence[str] = ()) -> Plan:
    """A plan with other seeds, and only some of its environments.

    Raises:
        Unfit: if the number of seeds or an environment is none of those that it can have.
    """
    unknown = [name for name in environments if name not in plan.environments]
    if unknown:
        raise Unfit(
            f"The study has no environment {unknown[0][:80]!r}; choose from {', '.join(plan.environments)}.",
            "environments",
        )
    chosen = {name: plan.environments[name] for name in plan.environments if not environments or name in environments}
    optima = {name: turns for name, turns in plan.optimum_turns.items() if name in chosen}
    data = plan.model_dump(mode="json") | {"environments": chosen, "optimum_turns": optima}
    try:
        return read_plan(data | {"seeds": plan.seeds if seeds is None else seeds}, plan.name)
    except InvalidArgument as error:
        raise Unfit(str(error), "seeds" if seeds is not None else "plan") from error


def check_size(plan: Plan, *, keeps_policies: bool) -> None:
    """Check that a study is not larger than one may be.

    Raises:
        Unfit: if it is.
    """
    if len(plan.variants) > MOST_COMPARED:
        raise Unfit(f"A study on a site compares at most {MOST_COMPARED} variants, not {len(plan.variants)}.")
    if plan.total > MOST_RUNS:
        raise Unfit(f"These are {plan.total:,} runs, and one study has at most {MOST_RUNS:,}: choose fewer seeds.")
    compared = plan.places * plan.seeds
    if keeps_policies and compared > MOST_POLICIES:
        raise Unfit(
            f"{compared} policies are too many to keep; a study keeps at most {MOST_POLICIES}. Choose fewer seeds or "
            "environments, or do not keep them.",
            "keeps_policies",
        )


def start(
    owner: User,
    plan: Plan,
    *,
    title: str = "",
    visibility: str = "",
    keeps_policies: bool = False,
    reuses_results: bool = True,
    idempotency_key: str = "",
) -> Study:
    """Start a study. A second call with the same owner and `idempotency_key` returns the same one.

    Args:
        visibility: who may see it; if empty, what the account of the owner says.
        keeps_policies: whether the last policy of each compared run becomes an agent.
        reuses_results: whether runs whose result comes with gemweb are not made again.

    Raises:
        TooManyJobs: if the owner has as many studies as one person may have, or no room for files.
        Unfit: if it is larger than a study may be.
    """
    check_size(plan, keeps_policies=keeps_policies)
    if idempotency_key and (existing := Study.objects.filter(owner=owner, idempotency_key=idempotency_key).first()):
        return existing
    study = Study(
        owner=owner,
        title=title or plan.title,
        plan_data=plan.pinned().model_dump(mode="json"),
        visibility=visibility or default_visibility(owner),
        keeps_policies=keeps_policies,
        reuses_results=reuses_results,
        idempotency_key=idempotency_key,
        total=plan.total,
    )
    try:
        with transaction.atomic():
            _check_room(owner)
            study.save()
            plan_runs(study, plan)
            settle(study)
    except IntegrityError:
        return Study.objects.get(owner=owner, idempotency_key=idempotency_key)
    return study


def _check_room(owner: User) -> None:
    User.objects.select_for_update(no_key=True).get(pk=owner.pk)  # so that two requests at once count each other
    if problem := quotas.refusal(owner, STUDIES) or quotas.refusal(owner, quotas.STORAGE, 0):
        raise TooManyJobs(problem)


def settle(study: Study) -> None:
    """Save how much of a study is done, whether it has ended, and that it has changed; wake a worker if it goes on.

    The caller has locked it.
    """
    count(study)
    if study.state in {Study.State.QUEUED, Study.State.RUNNING}:
        _end_if_over(study)
    study.seq += 1
    study.save()
    publish(f"{TOPIC}:{study.pk}", study.seq)
    if not study.over and study.state != Study.State.PAUSED:
        enqueue(TASK, study.pk)


def _end_if_over(study: Study) -> None:
    """End a study that is done, or of which so many runs have failed that it has failed too."""
    failed = list(StudyRun.objects.filter(study=study, state=StudyRun.State.FAILED).order_by("-ended"))
    waiting = StudyRun.objects.filter(study=study, state=StudyRun.State.WAITING)
    if study.done == study.total:
        study.state, study.ended = Study.State.DONE, timezone.now()
    elif len(failed) >= MOST_FAILURES or (failed and not waiting.exists()):
        study.state, study.ended = Study.State.FAILED, timezone.now()
        which = "A run has failed" if len(failed) == 1 else f"{len(failed)} runs have failed. The last one"
        study.reason = f"{which}: {failed[0].sentence}"
        waiting.release(attempt=0)


@transaction.atomic
def pause(study_id: str, by: User) -> Study:
    """Stop making runs. One that is under way saves a checkpoint, and goes on from there after `resume`.

    Raises:
        NotYours, CannotChange: if it belongs to somebody else, or neither waits nor runs.
        Study.DoesNotExist: if there is no such study.
    """
    study = _lock(study_id, by)
    if study.state not in {Study.State.QUEUED, Study.State.RUNNING}:
        raise CannotChange(f"This study is {study.state}, so it cannot be paused.")
    return _stop(study, Study.State.PAUSED)


@transaction.atomic
def cancel(study_id: str, by: User) -> Study:
    """End a study. What was made stays, and it can be resumed.

    Raises:
        NotYours, CannotChange: if it belongs to somebody else, or has ended.
        Study.DoesNotExist: if there is no such study.
    """
    study = _lock(study_id, by)
    if study.over:
        raise CannotChange(f"This study is {study.state} already.")
    study.ended = timezone.now()
    return _stop(study, Study.State.CANCELLED)


def resume(study_id: str, by: User) -> Study:
    """Go on with a paused, cancelled or failed study. Runs that have failed are tried again.

    Raises:
        NotYours, CannotChange: if it belongs to somebody else, waits, runs or is done, or an environment is gone.
        TooManyJobs: if the owner has as many studies as one person may have.
        Study.DoesNotExist: if there is no such study.
    """
    check_environments(Study.objects.get(pk=study_id).plan.env_ids, "study")
    with transaction.atomic():
        return _resume(study_id, by)


def _resume(study_id: str, by: User) -> Study:
    study = _lock(study_id, by)
    if study.state not in {Study.State.PAUSED, Study.State.CANCELLED, Study.State.FAILED}:
        raise CannotChange(f"This study is {study.state}. Only a paused, cancelled or failed one can be resumed.")
    _check_room(study.owner)
    failed = StudyRun.objects.filter(study=study, state=StudyRun.State.FAILED)
    failed.update(state=StudyRun.State.WAITING, sentence="", ended=None)
    StudyRun.objects.filter(study=study).update(attempt=0)
    study.state, study.reason, study.ended = Study.State.QUEUED, "", None
    settle(study)
    return study


@transaction.atomic
def set_visibility(study: Study, visibility: Visibility) -> None:
    """Choose who may see a study and its policies."""
    Study.objects.filter(pk=study.pk).update(visibility=visibility)
    Agent.objects.filter(study_run__study=study).update(visibility=visibility)
    recheck_access(f"{TOPIC}:{study.pk}")


def delete(study_id: str, by: User) -> None:
    """Delete a study with its results. Its policies play nothing from now on.

    Raises:
        NotYours, CannotChange: if `by` is not its owner, or it has not ended.
        Study.DoesNotExist: if there is no such study.
    """
    with transaction.atomic():
        study = _lock(study_id, by)
        if study.owner_id != by.pk:
            raise NotYours("This study belongs to somebody else. Only its owner can delete it.")
        if not study.over:
            raise CannotChange("This study has not ended. Cancel it first; nothing was deleted.")
        remove(study)
    shutil.rmtree(folder_of(study_id), ignore_errors=True)


def remove(study: Study) -> None:
    """Delete the rows of a study; the caller deletes its folder afterwards."""
    for agent_id in list(Agent.objects.filter(study_run__study=study).values_list("pk", flat=True)):
        retire(agent_id)
    study.delete()
    recheck_access(f"{TOPIC}:{study.pk}")


def _stop(study: Study, state: Study.State) -> Study:
    StudyRun.objects.filter(study=study, state=StudyRun.State.WAITING).release(attempt=0)
    study.state = state
    settle(study)
    return study


def _lock(study_id: str, by: User) -> Study:
    study = Study.objects.select_for_update(no_key=True, of=("self",)).select_related("owner").get(pk=study_id)
    if not study.may_be_changed_by(by):
        raise NotYours("This study belongs to somebody else. Only its owner can change it, but you can start the same.")
    return study


def wake_workers() -> int:
    """Send the messages about studies whose runs wait and that no worker has. Returns their number."""
    keys = set(StudyRun.objects.to_make().free().values_list("study", flat=True))
    for key in keys:
        enqueue(TASK, key)
    return len(keys)
