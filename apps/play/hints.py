"""Hints: what the expert would do now, for the person whose turn it is."""

from __future__ import annotations

from apps.accounts.models import Viewer
from apps.episodes.errors import OtherSeatActs
from apps.episodes.models import Episode
from apps.episodes.restore import restore
from apps.episodes.snapshot import Snapshot, snapshot
from apps.episodes.visibility import own_seat, public_viewpoint
from apps.play import operations
from gem.agents import Decision, Request, make_agent


def seen_by(episode: Episode, user: Viewer, visitor: str) -> Snapshot:
    """The episode as this person plays or watches it. Its `helps` says whether hints are given here."""
    seat = own_seat(episode, user, visitor)
    return snapshot(episode, public_viewpoint(episode) if seat is None else seat)


def ask_expert(shot: Snapshot, user: Viewer, visitor: str) -> Decision:
    """What the expert would do now. If this person has a seat, it is recorded that they got a hint.

    Raises:
        OtherSeatActs: it is not this person's turn.
        Outdated: the environment has changed since the episode began.
    """
    if not shot.yours:
        raise OtherSeatActs("The expert can give you a hint only when it is your turn.")
    episode = shot.episode
    request = Request(restore(episode), shot.observation, shot.info, episode.turn_count + 1, shot.viewpoint)
    decision = make_agent("expert").act([request])[0]
    seat = own_seat(episode, user, visitor)
    if seat is not None:
        operations.note_advice(episode, seat)
    return decision
