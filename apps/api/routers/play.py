"""Playing turn by turn, and letting agents play live: what the pages of play do.

Most of these addresses are those of episodes with another method, so they are added to the same router.
"""

from __future__ import annotations

import functools
from collections.abc import Callable

from django.core.exceptions import PermissionDenied
from django.http import Http404, HttpRequest
from ninja import Router, Status

from apps.accounts import visitors
from apps.accounts.models import User
from apps.api import answers
from apps.api.callers import account, player, visitor
from apps.api.forms import checked, entries
from apps.api.problems import Invalid
from apps.api.routers.episodes import router
from apps.episodes.errors import Refusal
from apps.episodes.views import find, invited_to
from apps.play import hints, operations
from apps.play.people import invitations
from apps.play.shows import continuing, seats
from apps.play.shows import operations as shows
from apps.play.starting import from_forms, limits
from apps.play.starting.forms import NewForm, WatchForm
from gem.client import schemas

shows_router = Router(tags=["play"])
VERBS: dict[str, Callable[[User], Callable[[str], None]]] = {
    "pause": lambda _: shows.pause,
    "resume": lambda user: functools.partial(shows.resume, user=user),
    "one-turn": lambda user: functools.partial(shows.one_turn, user=user),
    "stop": lambda _: shows.stop,
}
TOOL_FIELDS = {"tool": "tools"}


class NoHint(Refusal):
    """Hints are not given in this episode."""

    status = 409
    title = "There is no hint"


@router.post("", tags=["play"], auth=player, response={201: schemas.Episode})
def begin_episode(request: HttpRequest, sent: schemas.NewEpisode) -> Status[schemas.Episode]:
    """Begin an episode that you play turn by turn: the environment is reset. The answer has the first observation."""
    values = sent.model_dump(exclude={"tools"}) | {"tool": sent.tools}
    form = checked(NewForm(account(request), entries(values)), TOOL_FIELDS)
    limits.check_start(request)
    row = from_forms.begin(form, request.user, visitor(request), visitors.address(request))
    return Status(201, answers.episode(request, row.pk))


@router.post(
    "/{episode_id}/turns", tags=["play"], auth=player, response={201: schemas.TurnResult, 202: schemas.TurnResult}
)
def take_turn(request: HttpRequest, episode_id: str, sent: schemas.NewTurn) -> Status[schemas.TurnResult]:
    """Play an action. In a slow environment a worker plays it: the status is 202, and the turn follows later."""
    find(request, episode_id)
    row = operations.take_turn(
        episode_id,
        sent.action,
        expected_seq=sent.expected_seq,
        user=request.user,
        visitor=visitor(request),
        address=visitors.address(request),
        as_written=sent.as_written,
    )
    result = answers.turn_result(request, row.pk, sent.expected_seq)
    return Status(201 if result.turns or row.over else 202, result)


@router.post("/{episode_id}/seats/{int:number}/{signature}", tags=["play"], auth=player, response=schemas.Episode)
def join_episode(request: HttpRequest, episode_id: str, number: int, signature: str) -> schemas.Episode:
    """Take the free seat that a link of the page is about; the address has the parts of the link."""
    if not invitations.holds(episode_id, number, signature):
        raise Http404(invitations.NO_LINK)
    row = operations.join(invited_to(episode_id).pk, number, user=request.user, visitor=visitor(request))
    return answers.episode(request, row.pk)


@router.post("/{episode_id}/undo", tags=["play"], auth=player, response={201: schemas.Episode})
def undo_turn(request: HttpRequest, episode_id: str) -> Status[schemas.Episode]:
    """Undo your last turn: the answer is a new branch that begins before it. The old episode stays readable."""
    find(request, episode_id)
    limits.check_undo(request)
    branch = operations.undo(episode_id, user=request.user, visitor=visitor(request), address=visitors.address(request))
    return Status(201, answers.episode(request, branch.pk))


@router.post("/{episode_id}/fork", tags=["play"], auth=player, response={201: schemas.Episode})
def fork_episode(request: HttpRequest, episode_id: str, sent: schemas.Fork) -> Status[schemas.Episode]:
    """Continue any episode from one of its turns, in a branch of your own."""
    row = find(request, episode_id)
    limits.check_start(request)
    branch = operations.fork(
        row, sent.turn, user=request.user, visitor=visitor(request), address=visitors.address(request)
    )
    return Status(201, answers.episode(request, branch.pk))


@router.post("/{episode_id}/finish", tags=["play"], auth=player, response={201: schemas.Episode})
def finish_episode(request: HttpRequest, episode_id: str, sent: schemas.Finish) -> Status[schemas.Episode]:
    """Let an agent continue an episode live, in a branch."""
    row = find(request, episode_id)
    agent = from_forms.agent_to_finish(request.user, sent.agent)
    limits.check_start(request)
    turn = row.turn_count if sent.turn is None else sent.turn
    branch = continuing.go_on(row, turn, agent, user=account(request), address=visitors.address(request))
    return Status(201, answers.episode(request, branch.pk))


@router.post("/{episode_id}/abandon", tags=["play"], auth=player, response=schemas.Episode)
def abandon_episode(request: HttpRequest, episode_id: str) -> schemas.Episode:
    """End an episode that you play, without a result."""
    find(request, episode_id)
    row = operations.abandon(episode_id, user=request.user, visitor=visitor(request))
    return answers.episode(request, row.pk)


@router.post("/{episode_id}/hint", tags=["play"], auth=player, response=schemas.Hint)
def ask_for_hint(request: HttpRequest, episode_id: str) -> schemas.Hint:
    """What the expert would do now; where there is none, the next step in words, with an empty action.

    The episode records that you have asked.
    """
    row = find(request, episode_id)
    shot = hints.seen_by(row, request.user, visitor(request))
    if row.over or not shot.helps:
        raise NoHint("There is no hint in this episode: it has ended, or its environment has no hints for you.")
    limits.check_hint(request)
    decision = hints.ask(shot, request.user, visitor(request))
    return schemas.Hint(action=decision.action, note=decision.note)


# ---------------------------------------------------------------- agents that play live


@shows_router.post("", auth=player, response={201: schemas.Episode})
def start_show(request: HttpRequest, sent: schemas.NewShow) -> Status[schemas.Episode]:
    """Let an agent play an episode live, one turn every `pace` seconds."""
    values = sent.model_dump(exclude={"tools", "pace"}) | {"tool": sent.tools}
    form = checked(WatchForm(account(request), entries(values)), TOOL_FIELDS)
    limits.check_start(request)
    row = from_forms.start_show(form, sent.pace, request.user, visitor(request), visitors.address(request))
    return Status(201, answers.episode(request, row.pk))


@router.post("/{episode_id}/control", tags=["play"], auth=player, response=schemas.Episode)
def control_show(request: HttpRequest, episode_id: str, sent: schemas.Steering) -> schemas.Episode:
    """Pause or resume an agent that plays live, let it play one turn, stop it, or change its pace."""
    verb = verb_of(sent, account(request))
    row = find(request, episode_id)
    if not shows.may_do(sent.do, row, request.user, visitor(request)):
        raise PermissionDenied(shows.NOT_THE_STARTER)
    verb(row.pk)
    return answers.episode(request, row.pk)


@router.post("/{episode_id}/seat", tags=["play"], auth=player, response=schemas.Episode)
def take_seat(request: HttpRequest, episode_id: str, sent: schemas.TakeSeat) -> schemas.Episode:
    """Take the seat of an agent in a live episode that you may control. It waits, and the episode ranks nowhere."""
    row = find(request, episode_id)
    if not shows.may_control(row, request.user, visitor(request)):
        raise PermissionDenied(shows.NOT_THE_STARTER)
    seats.take(row.pk, sent.seat, user=request.user, visitor=visitor(request))
    return answers.episode(request, row.pk)


@router.post("/{episode_id}/notes", tags=["play"], auth=player, response=schemas.Episode)
def leave_note(request: HttpRequest, episode_id: str, sent: schemas.NewNote) -> schemas.Episode:
    """Leave a note that the agent whose seat you have reads before its next observation."""
    row = find(request, episode_id)
    seats.leave_note(row.pk, sent.text, user=request.user, visitor=visitor(request))
    return answers.episode(request, row.pk)


@router.post("/{episode_id}/hand-back", tags=["play"], auth=player, response=schemas.Episode)
def hand_back(request: HttpRequest, episode_id: str, sent: schemas.HandBack) -> schemas.Episode:
    """Give the seat that you have taken back to its agent, which goes on."""
    row = find(request, episode_id)
    seats.hand_back(row.pk, sent.note, user=request.user, visitor=visitor(request))
    return answers.episode(request, row.pk)


def verb_of(sent: schemas.Steering, user: User) -> Callable[[str], None]:
    """The operation on the id of an episode that a control of this person stands for.

    Raises:
        Invalid: it is for duels only, or a pace is missing.
    """
    if sent.do in VERBS:
        return VERBS[sent.do](user)
    if sent.do != "pace":
        raise Invalid([("do", f"An episode has no control named {sent.do}.")])
    if sent.pace is None:
        raise Invalid([("pace", "The pace is a number of seconds per turn, for example 0.5.")])
    return functools.partial(shows.set_pace, seconds=sent.pace)
