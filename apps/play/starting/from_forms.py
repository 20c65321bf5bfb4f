"""From a valid form to an episode that a person plays or that an agent plays live."""

from __future__ import annotations

from contextlib import suppress

from apps.accounts.models import Viewer, account_of
from apps.agents.models import Agent
from apps.episodes.errors import Refusal
from apps.episodes.models import Episode
from apps.play import operations
from apps.play.people import lobby_seats
from apps.play.shows import operations as shows
from apps.play.starting import once
from apps.play.starting.forms import ANYBODY, NewForm, WatchForm
from apps.play.starting.tooling import ask_tools


def begin(form: NewForm, user: Viewer, visitor: str, address: str, digest: str = "") -> Episode:
    """Begin the episode that a person has chosen. Raises the errors of `begin` and `begin_against`.

    Args:
        digest: the digest of the form (`once.digest_of`); empty if it has no key, as in requests of programs.
    """
    chosen = form.cleaned_data
    visibility, env_id, seed = chosen["visibility"], chosen["env_id"], chosen["seed"]
    if form.seat_count == 1:
        tools = form.tool_wrappers
        return operations.begin(
            env_id, seed=seed, user=user, visitor=visitor, visibility=visibility, wrappers=tools, form=digest
        )
    from_lobby = chosen["opponent"] == ANYBODY
    if from_lobby and (joined := _join_somebody(env_id, chosen["seat"], user, visitor, digest)):
        return joined
    episode = operations.begin_against(
        env_id,
        chosen["against"],
        seat=chosen["seat"],
        seed=seed,
        user=user,
        visitor=visitor,
        address=address,
        visibility=visibility,
        form=digest,
    )
    if from_lobby:
        lobby_seats.offer(episode)
    return episode


def _join_somebody(env_id: str, seat: int | None, user: Viewer, visitor: str, digest: str) -> Episode | None:
    """Take a seat that somebody offers in the lobby, in this environment; None if there is none."""
    for offered in lobby_seats.open_seats(user, visitor, env_id)[: lobby_seats.MAX_TRIED]:
        if seat in (None, offered.seat.number):
            with suppress(Refusal):  # somebody else was faster
                return _join(offered, user, visitor, digest)
    return None


def _join(offered: lobby_seats.OpenSeat, user: Viewer, visitor: str, digest: str) -> Episode:
    episode_id, number = offered.episode.pk, offered.seat.number
    return once.begin(digest, lambda: [operations.join(episode_id, number, user=user, visitor=visitor)])[0]


def start_show(form: WatchForm, pace: float, user: Viewer, visitor: str, address: str, digest: str = "") -> Episode:
    """Let the agent that a person has chosen play live. Raises the errors of `shows.start`. `digest`: see `begin`."""
    chosen = form.cleaned_data
    ask_tools(chosen["env_id"], form.tool_wrappers)
    return shows.start(
        chosen["env_id"],
        chosen["agent"],
        opponent=chosen["opponent"],
        seed=chosen["seed"],
        wrappers=form.tool_wrappers,
        pace=pace,
        user=account_of(user),
        visitor="" if user.is_authenticated else visitor,
        address=address,
        visibility=chosen["visibility"],
        form=digest,
    )


def agent_to_finish(user: Viewer, slug: str) -> Agent:
    """The agent that is to continue an episode.

    Raises:
        CannotPlay: this person may not use it, or there is none.
    """
    agent = Agent.objects.selectable_by(user).filter(slug=slug).first()
    if agent is None:
        raise shows.CannotPlay(f"There is no agent named {slug}. Choose the expert or the random agent.")
    return agent
