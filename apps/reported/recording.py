"""Storing what is reported. Episodes that are sent again are stored once."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any

from django.db import transaction
from django.db.models.functions import Now

from apps.accounts import quotas
from apps.accounts.models import User, default_visibility
from apps.episodes.errors import Refusal
from apps.episodes.text import storable, storable_json
from apps.names import visible
from apps.reported import limits
from apps.reported.models import MAX_NAME, ReportedEpisode, ReportedEvaluation
from apps.visibility import Visibility
from gem.transcripts import Transcript
from gem.transcripts.samples import number_of

MAX_CONFIG_CHARACTERS = 50_000
MAX_METRICS = 100


class ReportRefused(Refusal):
    """What was reported is not stored.

    Args:
        status: the HTTP status.
    """

    title = "This report is not stored"

    def __init__(self, sentence: str, status: int = 422) -> None:
        super().__init__(sentence)
        self.status = status


@transaction.atomic
def begin(
    owner: User,
    name: str,
    *,
    model: str = "",
    source: ReportedEvaluation.Source,
    environments: Sequence[str] = (),
    config: Mapping[str, Any] | None = None,
    state: ReportedEvaluation.State = ReportedEvaluation.State.RUNNING,
    visibility: str = "",
) -> ReportedEvaluation:
    """Make a reported evaluation, which episodes are added to.

    Raises:
        ReportRefused: if it has no name, or the quota is used up.
    """
    name = visible(storable(name)).strip()[:MAX_NAME]
    if not name:
        raise ReportRefused("A reported evaluation needs a name. Nothing was stored.")
    User.objects.select_for_update(no_key=True).get(pk=owner.pk)  # so that concurrent calls count each other
    problem = quotas.refusal(owner, limits.REPORTED_EVALUATIONS) or quotas.refusal(owner, quotas.STORAGE, 0)
    if problem:
        raise ReportRefused(problem, status=429)
    return ReportedEvaluation.objects.create(
        owner=owner,
        name=name,
        model=visible(storable(model))[:MAX_NAME],
        source=source,
        environments=[visible(storable(each))[:MAX_NAME] for each in environments][:20],
        config=_config(config or {}),
        state=state,
        visibility=visibility or default_visibility(owner),
    )


def add(evaluation: ReportedEvaluation, transcripts: Sequence[Transcript]) -> int:
    """Store those episodes that are new; returns their number. Everything is committed when this returns.

    Raises:
        ReportRefused: if the evaluation is full, or its owner's storage. Nothing is stored then.
    """
    by_key = {storable(each.key)[:MAX_NAME]: each for each in transcripts}
    if problem := quotas.refusal(evaluation.owner, quotas.STORAGE, 0):
        raise ReportRefused(problem, status=429)
    with transaction.atomic():
        row = ReportedEvaluation.objects.select_for_update(no_key=True).get(pk=evaluation.pk)
        known = set(ReportedEpisode.objects.filter(evaluation=row, key__in=by_key).values_list("key", flat=True))
        fresh = [(key, each) for key, each in by_key.items() if key not in known]
        if row.episodes + len(fresh) > limits.MAX_EPISODES:
            raise ReportRefused(
                f"A reported evaluation has at most {limits.MAX_EPISODES:,} episodes. These were not stored.",
                status=413,
            )
        episodes = []
        for key, each in fresh:
            row.episodes += 1
            episodes.append(_episode(row, key, each))
            _count(row, each)
        ReportedEpisode.objects.bulk_create(episodes)
        row.save(update_fields=["episodes", "reward_sum", "rewarded", "solved", "judged", "errors", "size"])
    return len(fresh)


def _episode(row: ReportedEvaluation, key: str, transcript: Transcript) -> ReportedEpisode:
    messages = storable_json([message.model_dump(exclude_defaults=True) for message in transcript.messages])
    extra = storable_json(transcript.extra)
    row.size += len(json.dumps(messages)) + len(json.dumps(extra)) + 200
    return ReportedEpisode(
        evaluation=row,
        number=row.episodes,
        key=key,
        example=storable(transcript.example)[:MAX_NAME],
        env_id=storable(transcript.env_id)[:MAX_NAME],
        reward=transcript.reward,
        solved=transcript.solved,
        error=storable(transcript.error)[:2000],
        turns=sum(message.role == "assistant" for message in transcript.messages),
        messages=messages,
        left_out=transcript.left_out,
        extra=extra,
    )


def _count(row: ReportedEvaluation, transcript: Transcript) -> None:
    if transcript.reward is not None:
        row.reward_sum += transcript.reward
        row.rewarded += 1
    if transcript.solved is not None:
        row.judged += 1
        row.solved += transcript.solved
    row.errors += bool(transcript.error)


def describe(
    evaluation: ReportedEvaluation, *, metrics: Mapping[str, Any] | None = None, config: Mapping[str, Any] | None = None
) -> None:
    """Keep the results and the settings that a program reports of an evaluation."""
    values = {}
    if metrics:
        numbers = {storable(str(name))[:MAX_NAME]: number_of(value) for name, value in metrics.items()}
        values["metrics"] = dict([(name, value) for name, value in numbers.items() if value is not None][:MAX_METRICS])
    if config:
        values["config"] = _config(config)
    if values:
        ReportedEvaluation.objects.filter(pk=evaluation.pk).update(**values)


def end(evaluation: ReportedEvaluation, state: ReportedEvaluation.State, reason: str = "") -> bool:
    """Note how an evaluation ended. Returns False, and notes nothing, if another worker reads its file by now."""
    rows = ReportedEvaluation.objects.filter(pk=evaluation.pk, attempt=evaluation.attempt)
    return bool(rows.update(state=state, reason=storable(reason)[:4000], ended=Now()))


def set_visibility(evaluation: ReportedEvaluation, visibility: Visibility) -> None:
    """Choose who may see an evaluation and its episodes."""
    ReportedEvaluation.objects.filter(pk=evaluation.pk).update(visibility=visibility)


def delete(evaluation: ReportedEvaluation) -> None:
    """Delete an evaluation with its episodes and its file."""
    ReportedEvaluation.objects.filter(pk=evaluation.pk).delete()
    evaluation.path.unlink(missing_ok=True)


def _config(config: Mapping[str, Any]) -> dict[str, Any]:
    found = storable_json(dict(config))
    kept: dict[str, Any] = found if len(json.dumps(found)) <= MAX_CONFIG_CHARACTERS else {}
    return kept
