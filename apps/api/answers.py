"""From rows to the answers of the API, with what the caller may see of them."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

from django.http import HttpRequest
from django.urls import reverse

from apps.accounts.models import Viewer
from apps.agents.models import Agent, Upload
from apps.agents.uploads import place as place_of_upload
from apps.api.callers import visitor
from apps.episodes.models import Batch, Episode, EpisodeQuerySet, PendingTurn, Seat
from apps.episodes.replays.downloads import episode_data
from apps.episodes.snapshot import snapshot
from apps.episodes.visibility import conceal, open_info, viewpoint
from apps.jobs.books.reading import Account, books_of, cost_of, spec_of
from apps.jobs.decisions.reading import decision_of, known_other, sentence_of
from apps.jobs.estimates import Power, Remaining
from apps.jobs.filing import word_of
from apps.jobs.models import Job
from apps.jobs.pages import elapsed, may_see_set_up
from apps.jobs.results import Tally, clusters
from apps.jobs.results.clusters import Scores
from apps.jobs.results.missing import Missing
from apps.play import invitations, pending
from apps.play.shows import show_leases
from apps.trainings.alarms import alarm_names
from gem.client import schemas
from gem.evaluation.data import DataUse
from gem.seats import SPECTATOR, observation_for_seat


def link(request: HttpRequest, path: str) -> str:
    """The whole address of a page."""
    return request.build_absolute_uri(path)


# ---------------------------------------------------------------- agents


def agent(request: HttpRequest, row: Agent) -> schemas.Agent:
    """An agent. Only its owner sees the address of an endpoint."""
    mine = row.owner_id is not None and row.owner_id == request.user.pk
    endpoint = getattr(row, "endpoint", None) if row.kind == Agent.Kind.ENDPOINT else None
    weights = getattr(row, "weights", None) if row.kind == Agent.Kind.CHECKPOINT else None
    return schemas.Agent(
        slug=row.slug,
        name=row.name,
        kind=known(row.kind),
        about=row.about,
        owner=row.owner.get_username() if row.owner else None,
        mine=mine,
        visibility=known(row.visibility),
        set_up={"version": endpoint.version, **endpoint.asked} if endpoint else None,
        endpoint_url=str(endpoint.spec["url"]) if endpoint and mine else None,
        has_key=bool(endpoint.sealed_key) if endpoint and mine else None,
        card=weights.card if weights else None,
        size=weights.size if weights else None,
        sha256=weights.sha256 if weights else None,
        created=row.created,
        url=link(request, row.get_absolute_url()) if endpoint or weights else None,
    )


def upload(row: Upload) -> schemas.Upload:
    """An upload that is no agent yet."""
    return schemas.Upload(
        slug=row.slug,
        name=row.name,
        state="refused" if row.problem else "waiting",
        problem=row.problem,
        place=None if row.problem else place_of_upload(row),
        created=row.created,
    )


# ---------------------------------------------------------------- episodes


SUMMARIZED = (
    "env_id", "env_version", "seed", "status", "truncated", "success", "turn_count", "max_turns", "seat_count",
    "goes_on_in", "visibility", "batch__visibility", "created", "ended",
)  # fmt: skip
"""What a list reads of each episode. Records, states and observations are large."""


def summarized() -> EpisodeQuerySet:
    """All episodes, with what `episode_summaries` needs of them."""
    return Episode.objects.select_related("batch").only(*SUMMARIZED)


def episode_summaries(request: HttpRequest, rows: Sequence[Episode]) -> list[schemas.EpisodeSummary]:
    """The episodes of a list, fetched as `summarized`. Takes two queries for their seats, however many there are."""
    seats_of = _seats_of(rows)
    address = link(request, rows[0].get_absolute_url()) if rows else ""  # they differ in the id alone
    summaries = []
    for row in rows:
        seats = seats_of[row.pk]
        seat = viewpoint(row, request.user, visitor(request), seats=seats)
        url = address.replace(rows[0].pk, row.pk)
        summaries.append(schemas.EpisodeSummary(**_summary(request, row, seat, seats, url)))
    return summaries


def _seats_of(rows: Sequence[Episode]) -> dict[str, list[Seat]]:
    """The seats of each episode, in their order. Many have the same agents, which are read once."""
    found: dict[str, list[Seat]] = {row.pk: [] for row in rows}
    columns = ("episode", "number", "agent", "user", "visitor", "total_reward", "success")
    seats = list(Seat.objects.filter(episode__in=list(found)).only(*columns).order_by("episode", "number"))
    agents = Agent.objects.only("slug", "name", "kind").in_bulk({seat.agent_id for seat in seats})
    for seat in seats:
        seat.agent = agents[seat.agent_id]
        found[seat.episode_id].append(seat)
    return found


def seen_from(request: HttpRequest, row: Episode, requested: str = "") -> int:
    """The viewpoint from which the caller sees an episode."""
    return viewpoint(row, request.user, visitor(request), requested)


def _summary(request: HttpRequest, row: Episode, seat: int, seats: Iterable[Seat], url: str) -> dict[str, Any]:
    sealed, key = row.sealed, visitor(request)
    return {
        "id": row.pk,
        "env_id": row.env_id,
        "env_version": row.env_version,
        "seed": None if sealed else row.seed,
        "outcome": row.outcome,
        "success": row.success,
        "turn_count": row.turn_count,
        "max_turns": row.max_turns,
        "seats": [_seat(each, request.user, key, sealed and each.number != seat) for each in seats],
        "visibility": row.governing_visibility.value,
        "created": row.created,
        "ended": row.ended,
        "url": url,
    }


def _seat(row: Seat, user: Viewer, visitor_key: str, is_secret: bool) -> schemas.Seat:
    return schemas.Seat(
        number=row.number,
        agent=row.agent.slug,
        agent_name=row.agent.name,
        total_reward=None if is_secret else row.total_reward,
        success=None if is_secret else row.success,
        mine=row.belongs_to(user, visitor_key),
        free=row.is_free,
    )


def episode(request: HttpRequest, key: str) -> schemas.Episode:
    """An episode as the caller sees it now. They were found to be allowed to see it."""
    row = Episode.objects.with_seats().select_related("batch").get(pk=key)
    seat = seen_from(request, row)
    waiting = PendingTurn.objects.filter(episode=row).first() if row.slow else None
    seats = sorted(row.seats.all(), key=lambda each: each.number)
    summary = _summary(request, row, seat, seats, link(request, row.get_absolute_url()))
    data = {**episode_data(row, seat, request.user, visitor(request)), **summary}
    is_own_problem = waiting is not None and waiting.seat == seat
    return schemas.Episode(
        **data,
        **_now(request, row, seat),
        goes_on_in=_key_if_visible(request, row.goes_on_in_id),
        job=_job_of(request, row),
        duel=row.batch_id if row.in_duel else None,
        seq=row.seq,
        acting=row.acting,
        pending=waiting is not None and not waiting.problem,
        place=_place(row, waiting),
        problem=waiting.problem if waiting is not None and is_own_problem else "",
        invitations=_invitations(request, row),
    )


def _invitations(request: HttpRequest, row: Episode) -> list[str]:
    """The links to the free seats of an episode, for the people who play it."""
    seats = row.seats.all()
    if row.over or not any(seat.belongs_to(request.user, visitor(request)) for seat in seats):
        return []
    return [link(request, invitations.address(seat)) for seat in seats if seat.is_free]


def _now(request: HttpRequest, row: Episode, seat: int) -> dict[str, Any]:
    """The latest observation, and whether it is the turn of the caller."""
    has_own = any(each.belongs_to(request.user, visitor(request)) and each.number == seat for each in row.seats.all())
    if row.seat_count > 1 and not row.over:
        shot = snapshot(row, seat, history=1)
        return {"observation": shot.observation, "info": shot.info, "your_turn": has_own and shot.yours}
    last = row.turns.order_by("-number").first()
    turn = None if last is None else conceal(last, seat, sealed=row.sealed)
    observation = row.first_observation if turn is None else turn.observation
    info = open_info(row.first_info if turn is None else turn.info, seat, sealed=row.sealed)
    if seat != SPECTATOR:
        observation, info = observation_for_seat(seat, observation, info)
    return {"observation": observation, "info": info, "your_turn": has_own and not row.over}


def _place(row: Episode, waiting: PendingTurn | None) -> int | None:
    """The place in the queue of a turn that waits for a worker, or of a show that waits for a host."""
    if row.over:
        return None
    if waiting is not None:
        return None if waiting.problem else pending.place(row.pk)
    return show_leases.place(row.pk) if hasattr(row, "show") else None


def _key_if_visible(request: HttpRequest, key: str | None) -> str | None:
    if key is None:
        return None
    return key if Episode.objects.visible_to(request.user, visitor(request)).filter(pk=key).exists() else None


def _job_of(request: HttpRequest, row: Episode) -> str | None:
    if not row.in_job:
        return None
    return Job.objects.visible_to(request.user).filter(batch=row.batch_id).values_list("pk", flat=True).first()


def duel(request: HttpRequest, row: Batch) -> schemas.Duel:
    """A duel with its episodes."""
    episodes = list(summarized().filter(batch=row).order_by("slot"))
    mine = Batch.objects.owned(request.user, visitor(request)).filter(pk=row.pk).exists()
    return schemas.Duel(
        id=row.pk,
        seq=row.seq,
        visibility=known(row.visibility),
        episodes=episode_summaries(request, episodes),
        mine=mine,
        created=row.created,
        url=link(request, reverse("duels:duel", args=[row.pk])),
    )


def turns_after(request: HttpRequest, row: Episode, seq: int) -> list[schemas.Turn]:
    """The turns that were played after an episode had this `seq`."""
    seat, sealed = seen_from(request, row), row.sealed
    return [turn(each, seat, sealed=sealed) for each in row.turns.filter(seq__gt=seq).order_by("number")]


def turn(row: Any, seat: int, *, sealed: bool) -> schemas.Turn:
    """A turn, as a viewpoint sees it."""
    shown = conceal(row, seat, sealed=sealed)
    return schemas.Turn(
        turn=shown.number,
        seat=shown.seat,
        action=None if shown.concealed else shown.action,
        observation=shown.observation,
        reward=None if shown.concealed else shown.reward,
        info=shown.info,
        extra=shown.extra,
        created=shown.created,
    )


# ---------------------------------------------------------------- jobs


def job_summary(request: HttpRequest, row: Job) -> schemas.JobSummary:
    """A job in a list, fetched `for_page`."""
    return schemas.JobSummary(**_job_summary(request, row))


def _job_summary(request: HttpRequest, row: Job) -> dict[str, Any]:
    return {
        "id": row.pk,
        "kind": row.kind,
        "name": row.title,
        "agent": row.agent.slug,
        "owner": row.owner.get_username() if row.owner else None,
        "mine": row.owner_id is not None and row.owner_id == request.user.pk,
        "tags": row.tags,
        "group": row.group,
        "priority": word_of(row.priority),
        "state": row.state,
        "reason": row.reason,
        "visibility": row.visibility.value,
        "seq": row.seq,
        "episodes_total": row.episodes_total,
        "episodes_done": row.episodes_done,
        "created": row.created,
        "started": row.started,
        "ended": row.ended,
        "url": link(request, row.get_absolute_url()),
        "alarm_names": alarm_names(row),
    }


def job_data(
    request: HttpRequest, row: Job, *, left: float | None, ahead: int | None, remaining: Remaining | None = None
) -> dict[str, Any]:
    """The fields of a job of either kind."""
    parent = Job.objects.visible_to(request.user).filter(pk=row.parent_id or "").first()
    is_evaluation = row.kind == Job.Kind.EVALUATION
    score = score_of(Tally.of(row.shards.all()), clusters.scores_of(row).total) if is_evaluation else None
    may_see_costs = may_see_set_up(row, request.user)
    return {
        **_job_summary(request, row),
        "notes": row.notes,
        "spec": spec_of(row, priced=may_see_costs),
        "set_up": row.set_up if may_see_costs else None,
        "parent": parent.pk if parent else None,
        "parent_update": row.parent_update,
        "turns_done": row.turns_done,
        "seconds_busy": row.seconds_busy,
        "seconds_elapsed": elapsed(row),
        "seconds_left": left,
        "remaining": remaining_of(remaining, priced=may_see_costs) if remaining is not None else None,
        "jobs_ahead": ahead,
        "may_change": row.may_be_changed_by(request.user),
        "ranked": row.is_ranked,
        "num_envs": row.episodes_at_a_time if row.kind == Job.Kind.EVALUATION else None,
        "max_workers": row.max_workers,
        "score": score,
        "books": books_of_job(row, books_of(row.pk), priced=may_see_costs) if score is not None else None,
        "decision": _decision(request, row) if is_evaluation else None,
    }


def _decision(request: HttpRequest, row: Job) -> schemas.Decision | None:
    """The comparison that an evaluation stops by."""
    found = decision_of(row)
    if found is None:
        return None
    return schemas.Decision(
        against=known_other(found, request.user),
        is_decided=found.is_decided,
        seeds=found.seeds,
        planned=found.planned,
        evidence=found.evidence,
        low=found.low,
        high=found.high,
        sentence=sentence_of(found),
    )


def books_of_job(row: Job, account: Account, *, priced: bool) -> schemas.Books:
    """What requests used, with the cost for those who may see the prices."""
    cost = cost_of(row, account) if priced else None
    return schemas.Books(
        tokens_in=account.tokens_in,
        tokens_out=account.tokens_out,
        tokens_estimated=account.estimated,
        tokens_reserved=account.reserved,
        requests=account.requests,
        cost=None if cost is None else float(cost),
    )


def remaining_of(found: Remaining, *, priced: bool) -> schemas.Remaining:
    """What a job will still take."""
    return schemas.Remaining(
        seconds=schemas.Expected(**found.seconds._asdict()),
        tokens=schemas.Expected(**found.tokens._asdict()),
        cost=schemas.Expected(**found.cost._asdict()) if priced and found.cost is not None else None,
        evidence=found.evidence,
        unknown=found.forecast.unknown,
    )


def power_of(found: Power, wanted: float | None) -> schemas.Power:
    """What a submission can show about two agents, and the seeds that a difference needs."""
    needed = None if wanted is None else found.seeds_needed(wanted)
    return schemas.Power(
        first=found.first.slug,
        second=found.second.slug if found.second is not None else None,
        seeds=found.seeds,
        smallest_difference=found.smallest,
        seeds_needed=needed,
        seeds_needed_each=None if needed is None else needed // found.environments,
        deviation=found.deviation,
        basis=found.basis.value,
        evidence=found.evidence,
        jobs=[job.pk for job in found.jobs],
    )


def missing_of(found: Missing) -> schemas.Missing:
    """What is missing from results."""
    return schemas.Missing(
        planned=found.planned,
        counted=found.counted,
        unplayed=found.unplayed,
        cut_off=found.cut_off,
        broken=found.broken,
        unanswered=found.unanswered,
        success_rate=schemas.Bounds(**found.solved._asdict()),
        mean_return=schemas.Bounds(**found.mean_return._asdict()) if found.mean_return is not None else None,
        env_ids=list(found.unplayed_env_ids),
    )


def data_of(use: DataUse) -> schemas.Data:
    """The data that an environment was played on."""
    return schemas.Data(env_id=use.env_id, name=use.name, hash=use.data_hash, stands_in_for=use.stands_in_for)


def score_of(tally: Tally, scores: Scores, env_id: str = "") -> schemas.Score:
    """The results of some shards, with their statistics."""
    solved, returns = scores.success, scores.mean_return
    is_looked_at = bool(tally.actions) or not tally.done
    return schemas.Score(
        env_id=env_id,
        episodes=tally.total,
        done=tally.done,
        counted=tally.n,
        won=tally.won,
        limited=tally.limited,
        errors=tally.errors,
        unanswered=tally.unanswered,
        partial=tally.is_partial,
        missing=tally.missing,
        seeds=scores.seeds,
        success_rate=solved.mean if solved else None,
        low=solved.low if solved else None,
        high=solved.high if solved else None,
        mean_return=returns.mean if returns else None,
        return_low=returns.low if returns else None,
        return_high=returns.high if returns else None,
        no_interval=returns.reason if returns else "",
        actions=tally.actions if is_looked_at else None,
        unreadable=tally.unreadable if is_looked_at else None,
        forbidden=tally.forbidden if is_looked_at else None,
        tokens_in=tally.tokens_in,
        tokens_out=tally.tokens_out,
    )


def known(value: str) -> Any:
    """A stored value, for a field whose type lists all of them."""
    return value
