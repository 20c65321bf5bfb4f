"""Hints for the person whose turn it is: what the expert would do now or, without one, the next step of a reference."""

from __future__ import annotations

import redis
from django.core.cache import cache

from apps.accounts.models import Viewer
from apps.episodes.errors import OtherSeatActs, Refusal
from apps.episodes.models import Episode
from apps.episodes.restore import restore
from apps.episodes.snapshot import Snapshot, snapshot
from apps.episodes.visibility import own_seat, public_viewpoint
from apps.play import operations
from gem.agents import Decision, Request, make_agent

COUNTED_SECONDS = 7 * 24 * 3600
"""How long it is remembered how many steps somebody has been told."""
MAX_TYPED = 20_000
"""Characters of an unfinished program that are looked at."""


def seen_by(episode: Episode, user: Viewer, visitor: str) -> Snapshot:
    """The episode as this person plays or watches it. Its `helps` says whether hints are given here."""
    seat = own_seat(episode, user, visitor)
    return snapshot(episode, public_viewpoint(episode) if seat is None else seat)


def ask(shot: Snapshot, user: Viewer, visitor: str, typed: str = "") -> Decision:
    """What the expert would do now or, where there is none, the next step in words, with an empty action.

    If this person has a seat, it is recorded that they got a hint.

    Args:
        typed: the program that the person has typed so far.

    Raises:
        OtherSeatActs: it is not this person's turn.
        Outdated: the environment has changed since the episode began.
        Refusal: the data have no reference for this problem.
    """
    if not shot.yours:
        raise OtherSeatActs("You can get a hint only when it is your turn.")
    episode = shot.episode
    decision = _of_expert(shot) if shot.expert else _next_step(episode, typed[:MAX_TYPED])
    seat = own_seat(episode, user, visitor)
    if seat is not None:
        operations.note_advice(episode, seat)
    return decision


def _of_expert(shot: Snapshot) -> Decision:
    turn = shot.episode.turn_count + 1
    request = Request(restore(shot.episode), shot.observation, shot.info, turn, shot.viewpoint)
    return make_agent("expert").act([request])[0]


def _next_step(episode: Episode, typed: str) -> Decision:
    env = restore(episode).unwrapped
    step = env.next_step(_count(episode), typed)  # type: ignore[attr-defined]  # `Snapshot.has_reference`
    if step is None:
        raise Refusal("The data have no reference for this problem, so there is no hint.")
    return Decision("", step)


def _count(episode: Episode) -> int:
    """How many steps of this episode were told before."""
    key = f"hints:{episode.pk}"
    try:
        cache.add(key, 0, COUNTED_SECONDS)
        return int(cache.incr(key)) - 1
    except (redis.RedisError, ValueError):
        return 0
