"""Episodes, their turns and duels, with what the caller may see of them."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

from django.http import HttpRequest
from django.urls import reverse

from apps.accounts.models import Viewer
from apps.agents.models import Agent
from apps.api.answers.values import known, link
from apps.api.callers import visitor
from apps.episodes.models import Batch, Episode, EpisodeQuerySet, PendingTurn, Seat
from apps.episodes.replays.downloads import episode_data
from apps.episodes.snapshot import snapshot
from apps.episodes.visibility import conceal, open_info, viewpoint
from apps.jobs.models import Job
from apps.one_moment import one_moment
from apps.play import pending
from apps.play.people import invitations
from apps.play.shows import show_leases
from gem.client import schemas
from gem.seats import SPECTATOR, observation_for_seat

SUMMARIZED = (
    "env_id", "env_version", "seed", "status", "truncated", "success", "turn_count", "max_turns", "seat_count",
    "goes_on_in", "visibility", "batch__visibility", "created", "ended",
)  # fmt: skip
"""What a list reads of each episode. Records, states and observations are large."""


def summarized(episodes: EpisodeQuerySet) -> EpisodeQuerySet:
    """These episodes, with what `episode_summaries` needs of them and no more."""
    return episodes.select_related("batch").only(*SUMMARIZED)


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


@one_moment()
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
        taken_over=row.taken_over,
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
    last = row.turns.filter(number=row.turn_count).first()
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


@one_moment()
def duel(request: HttpRequest, row: Batch) -> schemas.Duel:
    """A duel with its episodes, as it is now."""
    row = Batch.objects.get(pk=row.pk)
    episodes = list(summarized(Episode.objects.filter(batch=row)).order_by("slot"))
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


@one_moment()
def turn_result(request: HttpRequest, key: str, seq: int) -> schemas.TurnResult:
    """An episode as the caller sees it now, and its turns after it had this `seq`."""
    row = Episode.objects.with_seats().select_related("batch").get(pk=key)
    seat, sealed = seen_from(request, row), row.sealed
    turns = [turn(each, seat, sealed=sealed) for each in row.turns.filter(seq__gt=seq).order_by("number")]
    return schemas.TurnResult(episode=episode(request, key), turns=turns)


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
