"""Jobs of both kinds: submit an evaluation, follow it, read its results and episodes, and control it."""

from __future__ import annotations

from functools import partial
from typing import Annotated, Any, Literal

from django.db.models import F, Q
from django.db.models.functions import Coalesce
from django.http import Http404, HttpRequest, HttpResponseBase
from ninja import Path, Query, Router, Status

from apps.api import answers
from apps.api.callers import account, manager, reader, submitter
from apps.api.forms import Checks
from apps.api.idempotency import key_of_job
from apps.api.paging import Cursor, Limit, by_number, newest_first, read_number
from apps.downloads import jsonl, whole
from apps.episodes.models import Episode
from apps.episodes.replays.downloads import records_of
from apps.jobs import controls, estimates, operations, pages, results
from apps.jobs.books.reading import books_by_episode, books_by_side, books_of, cost_of
from apps.jobs.controls import logs, seats
from apps.jobs.errors import NotYours
from apps.jobs.filing import Filing
from apps.jobs.form.forms import EvaluationForm
from apps.jobs.models import Job, JobEvent
from apps.jobs.results import Tally, clusters, datasets, finished, missing
from apps.jobs.results.cached import shared
from apps.one_moment import one_moment
from apps.visibility import Visibility
from gem.client import schemas
from gem.evaluation.data import played_on

router = Router(tags=["jobs"])
Kind = Literal["evaluation", "training"]
State = Literal["queued", "running", "paused", "done", "stopped", "decided", "cancelled", "failed"]
Level = Literal["all", "warnings", "errors"]
Slot = Annotated[int, Path(ge=0, le=2**31 - 1, description="The place of the episode in the job, from 0.")]
Ending = Literal["won", "lost", "limit", "error"]


@router.get("", response=schemas.JobPage)
def list_jobs(
    request: HttpRequest,
    kind: Annotated[Kind | None, Query(None)] = None,
    state: Annotated[State | None, Query(None)] = None,
    mine: Annotated[bool, Query(False, description="Only your own jobs.")] = False,
    tag: Annotated[str, Query("", max_length=40, description="Only jobs with this tag.")] = "",
    group: Annotated[str, Query("", max_length=12, description="Only jobs that were submitted together.")] = "",
    q: Annotated[str, Query("", max_length=200, description="Words of the name and the notes, or of the agent.")] = "",
    archived: Annotated[bool, Query(False, description="Archived jobs, which are left out otherwise.")] = False,
    cursor: Cursor = "",
    limit: Limit = 50,
) -> schemas.JobPage:
    """Jobs, the newest first."""
    rows = Job.objects.owned(request.user) if mine else Job.objects.listed_for(request.user)
    rows = rows.filed_under(request.user, words=q, tag=tag, group=group).filter(archived__isnull=not archived)
    if kind is not None:
        rows = rows.filter(kind=kind)
    if state is not None:
        rows = rows.filter(state=state)
    page, following = newest_first(rows.select_related("agent", "owner", "batch"), cursor, limit)
    return schemas.JobPage(items=answers.job_summaries(request, page), next=following)


@router.post("", response={201: schemas.Submitted}, auth=submitter)
def submit_evaluation(request: HttpRequest, sent: schemas.NewEvaluation) -> Status[schemas.Submitted]:
    """Submit an evaluation. It is played by workers, and its results change until it is over.

    Several agents are one job each: all are submitted, or none. The answer is the first one, and `jobs` has all.
    """
    checks = Checks()
    checks.value("name", EvaluationForm.base_fields["name"].clean, sent.name)
    checks.value("tags", EvaluationForm.base_fields["tags"].clean, ", ".join(sent.tags))
    checks.finish()
    jobs = operations.submit_all(account(request), sent.specs, Filing.of(sent), idempotency_key=key_of_job(request))
    rows = [find(request, job.pk) for job in jobs]
    first = evaluation_or_training(request, rows[0])
    return Status(201, schemas.Submitted(**first.model_dump(), jobs=answers.job_summaries(request, rows)))


@router.post("/power", response=schemas.Powers, auth=reader)
def tell_power(
    request: HttpRequest,
    sent: schemas.NewEvaluation,
    difference: Annotated[
        float | None,
        Query(None, ge=0.001, le=1, description="Say how many seeds show this one. 0.03: 3 points."),
    ] = None,
) -> schemas.Powers:
    """Say how small a difference of solved seeds these jobs would show. Nothing is submitted."""
    specs = sent.specs
    agents = operations.check_all(account(request), specs)
    found = estimates.powers(agents, specs, Job.objects.listed_for(request.user))
    return schemas.Powers(pairs=[answers.power_of(power, difference) for power in found])


@router.get("/{job_id}", response=schemas.Job)
def get_job(request: HttpRequest, job_id: str) -> schemas.Job:
    """One job, with its request and how far it is."""
    return answer_about(request, job_id)


@router.get("/{job_id}/results", response=schemas.Results)
def get_results(request: HttpRequest, job_id: str) -> schemas.Results:
    """The results of an evaluation so far, together and by environment."""
    with one_moment():
        return _results(request, find_evaluation(request, job_id))


def _results(request: HttpRequest, job: Job) -> schemas.Results:
    shards = list(job.shards.all())
    tally = Tally.of(shards)
    has_repeats = int(job.spec.get("repeats", 1)) > 1
    books, priced = books_of(job.pk), pages.may_see_set_up(job, request.user)
    cost = cost_of(job, books) if priced else None
    passes = shared(job, "passes", partial(results.passes, job)) if has_repeats and job.over else {}
    scores = clusters.scores_of(job)
    lines = results.lines(shards, scores=scores)
    found = missing.missing_from_job(job, tally, lines)
    return schemas.Results(
        total=answers.score_of(tally, scores.total),
        environments=[answers.score_of(line.tally, line.scores, line.env_id) for line in lines],
        passes={env_id: {str(k): rate.mean for k, rate in by_k.items()} for env_id, by_k in passes.items()},
        pass_intervals={
            env_id: {
                str(k): schemas.Bounds(low=rate.low, high=rate.high)
                for k, rate in by_k.items()
                if rate.low is not None and rate.high is not None
            }
            for env_id, by_k in passes.items()
        },
        missing=answers.missing_of(found) if found is not None else None,
        data=[answers.data_of(use) for use in datasets.used(job, shards)],
        skipped=results.skipped(shards),
        cost=None if cost is None else float(cost),
        books=answers.books_of_job(job, books, priced=priced),
        books_by_agent={
            side: answers.books_of_job(job, account, priced=priced) for side, account in books_by_side(job).items()
        },
    )


@router.get("/{job_id}/episodes", response=schemas.JobEpisodePage)
def list_episodes_of_job(
    request: HttpRequest,
    job_id: str,
    env_id: Annotated[str, Query("", max_length=120)] = "",
    outcome: Annotated[Ending | None, Query(None)] = None,
    cursor: Cursor = "",
    limit: Limit = 50,
) -> schemas.JobEpisodePage:
    """The finished episodes of an evaluation, in the order of their slots."""
    job = find_evaluation(request, job_id)
    slots = finished.slots_of(job, env_id, outcome or "")
    if (after := read_number(cursor)) is not None:
        slots = slots.filter(slot__gt=after)
    chosen = list(slots[: limit + 1])
    rows = finished.finished(job, hidden=job.may_be_changed_by(request.user)).filter(slot__in=chosen[:limit])
    columns = ("id", "slot", "env_id", "seed", "env_version", "data_hash", "reached", "turn_count")
    renamed = {
        "outcome": F("ending"),
        "seat": F("scored_seat"),
        "tokens": Coalesce("tokens_in", 0) + Coalesce("tokens_out", 0),
        "unanswered": Q(failed_by=Episode.FailedBy.AGENT),
    }
    return schemas.JobEpisodePage(
        items=[schemas.JobEpisode(**row) for row in rows.values(*columns, **renamed)],
        next=str(chosen[limit - 1]) if len(chosen) > limit else None,
    )


@router.get("/{job_id}/episodes.jsonl", response=bytes, openapi_extra={"x-media-type": "application/jsonl"})
def export_episodes_of_job(request: HttpRequest, job_id: str) -> HttpResponseBase:
    """All stored episodes of a job as JSON Lines, each with its data and turns. They are sent as they are read.

    The name of the file says whether they are partial.
    """
    job = find(request, job_id)
    is_partial = job.kind == Job.Kind.EVALUATION and Tally.of(job.shards.all()).is_partial
    records = records_of(Episode.objects.visible_to(request.user).filter(batch=job.batch_id), request.user)
    priced = pages.may_see_set_up(job, request.user)
    books = {
        key: {"books": answers.books_of_job(job, account, priced=priced).model_dump(exclude={"tokens_reserved"})}
        for key, account in books_by_episode(job).items()
    }
    lines = ({**data, "data": _data_of(data), **books.get(data["id"], {}), "turns": turns} for data, turns in records)
    rows = whole(lines, Job.objects.visible_to(request.user).filter(pk=job.pk))
    return jsonl(request, rows, f"job-{job.pk}-partial.jsonl" if is_partial else f"job-{job.pk}.jsonl")


def _data_of(episode: dict[str, Any]) -> dict[str, str] | None:
    """What the data of an episode are, and what they stand in for; None without data."""
    if not episode["data_hash"]:
        return None
    source = episode["first_info"].get("data", {}).get("source", "")
    use = played_on(episode["env_id"], episode["data_hash"], source)
    return {"name": use.name, "hash": use.data_hash, "stands_in_for": use.stands_in_for}


@router.get("/{job_id}/log", response=schemas.LogPage)
def list_log_of_job(
    request: HttpRequest,
    job_id: str,
    q: Annotated[str, Query("", max_length=200, description="Only lines with this text.")] = "",
    level: Annotated[Level, Query("all", description="Only lines that are marked so, or worse.")] = "all",
    cursor: Cursor = "",
    limit: Limit = 50,
) -> schemas.LogPage:
    """The log of a job, in its order. The `cursor` may also be the `seq` of any line to go on after."""
    found = find(request, job_id).events.matching(q, level)
    lines, following = by_number(found, "seq", cursor, limit)
    return schemas.LogPage(items=[_line(line) for line in lines], next=following)


@router.get("/{job_id}/log.txt", response=bytes, openapi_extra={"x-media-type": "text/plain"})
def download_log_of_job(
    request: HttpRequest,
    job_id: str,
    q: Annotated[str, Query("", max_length=200, description="Only lines with this text.")] = "",
    level: Annotated[Level, Query("all", description="Only lines that are marked so, or worse.")] = "all",
) -> HttpResponseBase:
    """The log of a job as plain text. It is sent as it is read."""
    return logs.download(request, find(request, job_id), q, level)


def _line(line: JobEvent) -> schemas.LogLine:
    return schemas.LogLine(seq=line.seq, kind=line.kind, text=line.text, at=line.at, tone=answers.known(line.tone))


# ---------------------------------------------------------------- control


@router.post("/{job_id}/cancel", response=schemas.Job, auth=submitter)
def cancel_job(request: HttpRequest, job_id: str) -> schemas.Job:
    """Cancel a job. Finished episodes are kept. A job that has ended stays as it is."""
    job = operations.cancel(find(request, job_id).pk, account(request))
    return answer_about(request, job.pk)


@router.post("/{job_id}/resume", response=schemas.Job, auth=submitter)
def resume_evaluation(request: HttpRequest, job_id: str) -> schemas.Job:
    """Continue an evaluation that a person or a restore has paused. Others stay as they are."""
    job = operations.resume(find_evaluation(request, job_id).pk, account(request))
    return answer_about(request, job.pk)


@router.post("/{job_id}/pause", response=schemas.Job, auth=submitter)
def pause_evaluation(request: HttpRequest, job_id: str) -> schemas.Job:
    """Begin no further episode. Those under way are played to their end, and count. Not for a ranked job."""
    controls.pause(find_evaluation(request, job_id).pk, account(request))
    return answer_about(request, job_id)


@router.post("/{job_id}/pace", response=schemas.Job, auth=submitter)
def set_pace_of_evaluation(request: HttpRequest, job_id: str, sent: schemas.Pace) -> schemas.Job:
    """Change how much is played at a time, from the next episode on. Not for a ranked job."""
    evaluation = find_evaluation(request, job_id)
    controls.set_pace(evaluation.pk, account(request), num_envs=sent.num_envs, max_workers=sent.max_workers)
    return answer_about(request, job_id)


@router.post("/{job_id}/episodes/{slot}/cancel", response=schemas.Job, auth=submitter)
def cancel_episode_of_evaluation(
    request: HttpRequest, job_id: str, slot: Slot, sent: schemas.EpisodeEnd
) -> schemas.Job:
    """End an episode that is under way: it counts as not solved, or is dropped. Not for a ranked job."""
    controls.cancel_episode(find_evaluation(request, job_id).pk, account(request), slot, counts=sent.counts)
    return answer_about(request, job_id)


@router.post("/{job_id}/episodes/{slot}/requeue", response=schemas.Job, auth=submitter)
def requeue_episode_of_evaluation(request: HttpRequest, job_id: str, slot: Slot) -> schemas.Job:
    """Play an episode again that is under way or was not counted. Not for a ranked job."""
    controls.requeue_episode(find_evaluation(request, job_id).pk, account(request), slot)
    return answer_about(request, job_id)


@router.post("/{job_id}/episodes/{slot}/seat", response=schemas.TakenSeat, auth=submitter)
def take_seat_in_evaluation(request: HttpRequest, job_id: str, slot: Slot) -> schemas.TakenSeat:
    """Take the seat in an episode that is under way: it is dropped, and goes on live with you. Not for a ranked job."""
    episode = seats.take_seat(find_evaluation(request, job_id).pk, account(request), slot)
    return schemas.TakenSeat(episode=None if episode is None else answers.episode(request, episode.pk))


@router.post("/{job_id}/retry", response=schemas.Job, auth=submitter)
def retry_evaluation(request: HttpRequest, job_id: str, sent: schemas.Retry) -> schemas.Job:
    """Play again what was not counted, also after the end. Not for a ranked job."""
    controls.retry_failed(find_evaluation(request, job_id).pk, account(request), sent.env_id)
    return answer_about(request, job_id)


@router.post("/{job_id}/skip", response=schemas.Job, auth=submitter)
def skip_environment(request: HttpRequest, job_id: str, sent: schemas.OneEnvironment) -> schemas.Job:
    """Drop what is left of an environment; the results are then partial. Not for a ranked job."""
    controls.skip_environment(find_evaluation(request, job_id).pk, account(request), sent.env_id)
    return answer_about(request, job_id)


@router.post("/{job_id}/bring-back", response=schemas.Job, auth=submitter)
def bring_back_environment(request: HttpRequest, job_id: str, sent: schemas.OneEnvironment) -> schemas.Job:
    """Play the rest of an environment that was skipped. Not for a ranked job."""
    controls.bring_back(find_evaluation(request, job_id).pk, account(request), sent.env_id)
    return answer_about(request, job_id)


@router.post("/{job_id}/resubmit", response={201: schemas.Job}, auth=submitter)
def resubmit_evaluation(request: HttpRequest, job_id: str) -> Status[schemas.Job]:
    """Submit the request of any evaluation again, as a job of your own."""
    key = key_of_job(request)
    job = operations.resubmit(find_evaluation(request, job_id).pk, account(request), idempotency_key=key)
    return Status(201, evaluation_or_training(request, find(request, job.pk)))


@router.put("/{job_id}/visibility", response=schemas.Job, auth=manager)
def set_visibility_of_job(request: HttpRequest, job_id: str, sent: schemas.VisibilityChoice) -> schemas.Job:
    """Change who may see a job and its episodes; of a training, also its agent and checkpoints."""
    job = find(request, job_id)
    if job.owner != account(request):
        raise NotYours("Only the owner of a job can change who may see it.")
    operations.set_visibility(job, Visibility(sent.visibility))
    return answer_about(request, job_id)


# ---------------------------------------------------------------- helpers


def find(request: HttpRequest, job_id: str) -> Job:
    """The job with this id.

    Raises:
        Http404: if there is none that the caller may see.
    """
    job = Job.objects.visible_to(request.user).for_page().filter(pk=job_id).first()
    if job is None:
        raise Http404(f"There is no job {job_id}.")
    return job


def find_evaluation(request: HttpRequest, job_id: str) -> Job:
    """The evaluation with this id. Raises the same errors as `find`."""
    job = find(request, job_id)
    if job.kind != Job.Kind.EVALUATION:
        raise Http404(f"The job {job_id} is a training, and only evaluations have this address.")
    return job


def answer_about(request: HttpRequest, job_id: str) -> schemas.Job:
    """The answer about a job as it is now. Raises the same errors as `find`."""
    with one_moment():
        return evaluation_or_training(request, find(request, job_id))


def evaluation_or_training(request: HttpRequest, job: Job) -> schemas.Job:
    """The answer about a job of either kind."""
    remaining = estimates.remaining(job) if job.kind == Job.Kind.EVALUATION else None
    is_known = remaining is not None and not remaining.forecast.unknown
    left = remaining.seconds.expected if remaining is not None and is_known else None
    return schemas.Job(**answers.job_data(request, job, left=left, remaining=remaining))
