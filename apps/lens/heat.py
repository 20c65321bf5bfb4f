"""All episodes of one seed that a person may see, with the credit of every turn."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import groupby
from operator import attrgetter
from typing import Any

from apps.accounts.models import Viewer
from apps.agents.models import Agent
from apps.episodes.models import Episode, Turn
from apps.lens.credit import MOST_EPISODES, MOST_TURNS
from apps.lens.models import Truth

SHOWN_TURNS = 40
"""Turns of an episode that the page shows."""


@dataclass(frozen=True, slots=True)
class HeatRow:
    """One episode of the seed."""

    episode: Episode
    agent: Agent
    rewards: list[float]
    truth: Truth | None
    """Its measurement with the most turns, if there is one."""

    @property
    def total(self) -> float:
        """Its return."""
        return sum(self.rewards)


@dataclass(frozen=True, slots=True)
class Heat:
    """The episodes of one seed."""

    rows: list[HeatRow]
    is_cut: bool
    """Whether there are more than are shown."""

    @property
    def columns(self) -> range:
        """The numbers of the turns that are shown."""
        return range(1, min(SHOWN_TURNS, max(len(row.rewards) for row in self.rows)) + 1)

    @property
    def data(self) -> list[dict[str, Any]]:
        """The rows for the script of the page."""
        return [
            {
                "id": row.episode.pk,
                "agent": row.agent.name,
                "rewards": row.rewards,
                "truth": {
                    turn.number: [turn.taken, turn.anew] for turn in (row.truth.turns.all() if row.truth else ())
                },
            }
            for row in self.rows
        ]


def heat_of(episode: Episode, user: Viewer, visitor: str) -> Heat:
    """The ended episodes of the same environment and seed that lists show to this person, this one first."""
    alike = Episode.objects.filter(
        env_id=episode.env_id, seed=episode.seed, env_version=episode.env_version, env_kwargs=episode.env_kwargs,
        wrappers=episode.wrappers, seat_count=1, status=Episode.Status.ENDED,
    )  # fmt: skip
    found = alike.listed_for(user, visitor).exclude(pk=episode.pk).with_seats().order_by("-created")[:MOST_EPISODES]
    own = Episode.objects.filter(pk=episode.pk).with_seats().get()
    shown, total = [own], 0
    for other in found:
        total += other.turn_count
        if len(shown) == MOST_EPISODES or total > MOST_TURNS:
            break
        shown.append(other)
    keys = [each.pk for each in shown]
    turns = Turn.objects.filter(episode__in=keys).order_by("episode_id", "number").only("episode_id", "reward")
    rewards = {key: [turn.reward for turn in rows] for key, rows in groupby(turns, key=attrgetter("episode_id"))}
    truths = _truths(keys)
    rows = [
        HeatRow(each, each.seats.all()[0].agent, rewards.get(each.pk, []), truths.get(each.pk))
        for each in shown
        if rewards.get(each.pk)
    ]
    return Heat(rows, len(found) > len(shown) - 1)


def _truths(keys: list[str]) -> dict[str, Truth]:
    """The measurement with the most turns of each episode."""
    best: dict[str, Truth] = {}
    for truth in Truth.objects.filter(episode__in=keys).prefetch_related("turns"):
        other = best.get(truth.episode_id)
        if truth.turns.all() and (other is None or len(truth.turns.all()) >= len(other.turns.all())):
            best[truth.episode_id] = truth
    return best
