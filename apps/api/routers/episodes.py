"""Episodes and their turns: lists, records, downloads, verification, and who may see them."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import chain
from typing import Annotated, Any, Literal

from django.core.exceptions import PermissionDenied
from django.http import Http404, HttpRequest, HttpResponse, HttpResponseBase
from ninja import Query, Router, Status

from apps.api import answers
from apps.api.callers import manager, visitor
from apps.api.forms import checked, entries
from apps.api.paging import After, Cursor, Limit, bad_cursor, by_number, read_after
from apps.api.problems import Invalid
from apps.downloads import jsonl, whole
from apps.episodes import operations
from apps.episodes.lists.forms import FilterForm
from apps.episodes.lists.paging import beyond, page_of
from apps.episodes.models import Episode, EpisodeQuerySet
from apps.episodes.questions import verification
from apps.episodes.questions.verification import Verdict
from apps.episodes.replays import downloads
from apps.episodes.replays.views import ask_verification
from apps.episodes.views import NOT_THEIRS, find
from apps.episodes.visibility import choices_of, conceal
from apps.one_moment import one_moment
from apps.visibility import Visibility, no_such_choice
from gem.client import schemas

router = Router(tags=["episodes"])
TURNS_AT_A_TIME = 500
AT_ONCE = "Episodes of this environment are verified while you wait: the answer to a POST request is the verdict."
Outcome = Literal["won", "lost", "limit", "error", "running", "abandoned"]
SeatChoice = Annotated[
    str,
    Query(
        "",
        max_length=10,
        description="The viewpoint once nothing is hidden any more: the number of a seat, or `public`.",
    ),
]


@router.get("", response=schemas.EpisodePage)
def list_episodes(
    request: HttpRequest,
    env_id: Annotated[str, Query("", max_length=120)] = "",
    agent: Annotated[str, Query("", max_length=80)] = "",
    outcome: Annotated[Outcome | None, Query(None)] = None,
    seed: Annotated[int | None, Query(None)] = None,
    source: Annotated[Literal["", "jobs", "all"], Query("", description="Empty for those of people and shows.")] = "",
    mine: Annotated[bool, Query(False, description="Only those in which you have a seat.")] = False,
    cursor: Cursor = "",
    limit: Limit = 50,
) -> schemas.EpisodePage:
    """Episodes, the newest first, with the filters of their page."""
    values = {"env_id": env_id, "agent": agent, "outcome": outcome, "seed": seed, "source": source}
    form = checked(FilterForm(request.user, entries({**values, "mine": "on" if mine else None})))
    if cursor and beyond(cursor, newer=False) is None:
        raise bad_cursor()
    matches = form.episodes(request.user, visitor(request))
    page = page_of(matches, {"before": cursor}, answers.summarized, limit, at_once=True)
    return schemas.EpisodePage(items=answers.episode_summaries(request, page.rows), next=page.before)


@router.get("/{episode_id}", response=schemas.Episode)
def get_episode(request: HttpRequest, episode_id: str) -> schemas.Episode:
    """One episode without its turns, as you may see it now."""
    return answers.episode(request, find(request, episode_id).pk)


@router.get("/{episode_id}/turns", response=schemas.TurnPage)
def list_turns(
    request: HttpRequest, episode_id: str, seat: SeatChoice = "", cursor: Cursor = "", limit: Limit = 50
) -> schemas.TurnPage:
    """The turns of an episode, in their order. The `cursor` may also be the number of any turn to go on after."""
    row = find(request, episode_id)
    turns, following = by_number(row.turns.all(), "number", cursor, limit)
    seen_from, sealed = answers.seen_from(request, row, seat), row.sealed
    return schemas.TurnPage(items=[answers.turn(each, seen_from, sealed=sealed) for each in turns], next=following)


@router.get("/{episode_id}/turns.jsonl", response=bytes, openapi_extra={"x-media-type": "application/jsonl"})
def stream_turns(request: HttpRequest, episode_id: str, seat: SeatChoice = "", after: After = "") -> HttpResponseBase:
    """The turns of an episode as JSON Lines, after the turn with the number `after`. They are sent as they are read."""
    row = find(request, episode_id)
    rows = _turns_in_pieces(row, answers.seen_from(request, row, seat), read_after(after))
    return jsonl(request, whole(rows, _only(request, row)), f"turns-{row.pk}.jsonl")


def _only(request: HttpRequest, row: Episode) -> EpisodeQuerySet:
    """This episode, as long as whoever asks may see it."""
    return Episode.objects.visible_to(request.user, visitor(request)).filter(pk=row.pk)


def _turns_in_pieces(row: Episode, seat: int, after: int) -> Iterator[dict[str, Any]]:
    """The turns after a number, as many as the episode had when it was read."""
    sealed = row.sealed
    known = row.turns.filter(number__lte=row.turn_count).order_by("number")
    while turns := list(known.filter(number__gt=after)[:TURNS_AT_A_TIME]):
        for turn in turns:
            yield downloads.turn_data(conceal(turn, seat, sealed=sealed))
        after = turns[-1].number


@router.get("/{episode_id}/turns/{int:number}", response=schemas.Turn)
def get_turn(request: HttpRequest, episode_id: str, number: int, seat: SeatChoice = "") -> schemas.Turn:
    """One turn; the first is 1."""
    row = find(request, episode_id)
    turn = row.turns.filter(number=number).first() if number < 2**31 else None
    if turn is None:
        has = f"turns 1 to {row.turn_count}" if row.turn_count else "no turns yet"
        raise Http404(f"Episode {row.label} has {has}; there is no turn {number}.")
    return answers.turn(turn, answers.seen_from(request, row, seat), sealed=row.sealed)


@router.get("/{episode_id}/record.json", response=schemas.EpisodeRecord)
def get_record(request: HttpRequest, episode_id: str, seat: SeatChoice = "") -> HttpResponse:
    """The whole record with all turns, from which `gem.replay` runs the episode again."""
    return downloads.episode_json(request, episode_id)


@router.get("/{episode_id}/record.jsonl", response=bytes, openapi_extra={"x-media-type": "application/jsonl"})
def get_record_in_lines(request: HttpRequest, episode_id: str, seat: SeatChoice = "") -> HttpResponseBase:
    """The record as JSON Lines: first the episode, then every turn. They are sent as they are read."""
    with one_moment():
        row = find(request, episode_id)
        seen_from = answers.seen_from(request, row, seat)
        first = downloads.episode_data(row, seen_from, request.user, visitor(request))
    rows = chain([first], _turns_in_pieces(row, seen_from, 0))
    return jsonl(request, whole(rows, _only(request, row)), f"episode-{row.pk}.jsonl")


# ---------------------------------------------------------------- verification


@router.post("/{episode_id}/verification", response={200: schemas.Verdict, 202: schemas.Verdict})
def verify_episode(request: HttpRequest, episode_id: str) -> Status[schemas.Verdict]:
    """Run the episode again and compare every turn. A slow one is run by a worker: ask for the verdict later."""
    row = find(request, episode_id)
    return _verdict(ask_verification(request, row))


@router.get("/{episode_id}/verification", response={200: schemas.Verdict, 202: schemas.Verdict})
def get_verdict(request: HttpRequest, episode_id: str) -> Status[schemas.Verdict]:
    """What a worker that was asked to verify the episode has found."""
    row = find(request, episode_id)
    return _verdict(verification.latest(row) if row.slow else Verdict(None, AT_ONCE))


def _verdict(verdict: Verdict) -> Status[schemas.Verdict]:
    answer = schemas.Verdict(holds=verdict.holds, detail=verdict.sentence, waiting=verdict.is_waiting)
    return Status(202 if verdict.is_waiting else 200, answer)


# ---------------------------------------------------------------- who may see it


@router.put("/{episode_id}/visibility", response=schemas.Episode, auth=manager)
def set_visibility_of_episode(request: HttpRequest, episode_id: str, sent: schemas.VisibilityChoice) -> schemas.Episode:
    """Change who may see an episode. Only the people who play it, or started it, can."""
    row = find(request, episode_id)
    choices = choices_of(row, request.user, visitor(request))
    if not choices:
        raise PermissionDenied(NOT_THEIRS)
    if sent.visibility not in choices:
        raise Invalid([("visibility", no_such_choice(choices))])
    operations.choose_visibility(row, Visibility(sent.visibility), user=request.user, visitor=visitor(request))
    return answers.episode(request, row.pk)
