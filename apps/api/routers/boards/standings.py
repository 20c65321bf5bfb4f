"""Ratings of duels, and the daily seed. Profiles of agents and people's rows are with agents and benchmarks."""

from __future__ import annotations

from django.http import Http404, HttpRequest
from django.urls import reverse
from ninja import Router, Status

from apps.api import answers
from apps.api.callers import account, player
from apps.daily import days, operations, results
from apps.daily.models import Try
from apps.play.starting import limits
from apps.seasons.models import Season
from apps.standings import boards
from gem.client import schemas

ratings_router = Router(tags=["leaderboard"])
daily_router = Router(tags=["daily"])


@ratings_router.get("", response=schemas.Ratings)
def get_ratings(request: HttpRequest) -> schemas.Ratings:
    """The duel board: ratings of agents from one fit over all public games of two and duels."""
    found = boards.board(request.user)
    pairing = found.pairing
    return schemas.Ratings(
        games=found.total,
        items=[answers.rating(row) for row in found.rows],
        next_game=None
        if pairing is None
        else schemas.NextGame(env_id=pairing.env_id, first=pairing.first.slug, second=pairing.second.slug),
    )


@daily_router.get("", response=schemas.DailySeed)
def get_daily_seed(request: HttpRequest) -> schemas.DailySeed:
    """The daily seed of today. Results are shown when your own try is over."""
    return _day(request, days.today())


@daily_router.get("/{int:number}", response=schemas.DailySeed)
def get_daily_seed_of(request: HttpRequest, number: int) -> schemas.DailySeed:
    """The daily seed of a day, by its number."""
    found = days.find(number)
    if found is None:
        raise Http404("There is no daily seed with this number.")
    return _day(request, found)


@daily_router.post("/episodes", response={201: schemas.Episode}, auth=player)
def play_daily_seed(request: HttpRequest) -> Status[schemas.Episode]:
    """Begin today's seed, or return the try that you have begun. There is no second one."""
    user = account(request)
    limits.check_start(request)
    row = operations.begin(days.today(), user, "")
    return Status(201, answers.episode(request, row.pk))


def _day(request: HttpRequest, day: Season) -> schemas.DailySeed:
    user_id = request.user.pk
    own = operations.own_episode(day, request.user, "")
    result = results.result_of(day, own) if own is not None and (own.over or day.is_revealed) else None
    shows_results = result is not None or day.is_revealed
    people, agents = results.counts(day)
    return schemas.DailySeed(
        number=day.number,
        day=days.date_of(day.number),
        env_id=days.env_id_of(day),
        begins=day.begins,
        ends=day.ends,
        commitment=day.commitment,
        key=day.published_key or None,
        seed=days.seed_of(day) if day.is_revealed else None,
        people=people,
        agents=agents,
        episode=own.pk if own is not None else None,
        solved=result.solved if result is not None else None,
        turns=result.turns if result is not None else None,
        verdict=results.beaten(day, result, own=own).sentence if result is not None else "",
        items=[_row(row, day) for row in results.table(day, user_id)] if shows_results else [],
        url=answers.link(request, reverse("daily:day", args=[day.number])),
    )


def _row(row: results.TableRow, day: Season) -> schemas.DailyRow:
    one: Try = row.one
    assert one.ended is not None  # only tries with a result are in the table
    return schemas.DailyRow(
        rank=row.rank,
        agent=one.agent.slug if one.agent is not None else None,
        name=row.name,
        mine=row.is_mine,
        solved=one.solved,
        turns=one.turns,
        score=one.score,
        tokens=one.tokens,
        ended=one.ended,
        episode=row.episode.pk if row.episode is not None and day.is_revealed else None,
    )
