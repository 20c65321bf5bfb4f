"""What happened in the turns of some episodes, as hashes that Postgres makes and that are read as far as needed."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

from django.db import connection

if TYPE_CHECKING:
    from apps.play.tree.reading import Branch

FIRST_WINDOW = 16
"""Turns of each branch that are read at first. Most branches part in one of them."""

TurnHash = tuple[int, str, str, float]
"""The seat, the hashes of action and observation, and the reward."""


class Hashes:
    """The turns of branches after those that each has from its parent.

    Args:
        first: for the id of each episode, how many turns it has from its parent.
    """

    def __init__(self, first: Mapping[str, int]) -> None:
        self._first = first
        self._hashes: dict[str, list[TurnHash]] = {key: [] for key in first}
        self._read = 0

    def of(self, branch: Branch, turn: int) -> TurnHash:
        """What happened in this turn of a branch; in those that it has from its parent, the parent is asked."""
        while branch.parent is not None and turn <= branch.fork_turn:
            branch = branch.parent
        place = turn - branch.fork_turn - 1
        while self._read <= place:
            self._read_on()
        return self._hashes[branch.episode.pk][place]

    def _read_on(self) -> None:
        """Read as many turns of every branch as were read before, and at least `FIRST_WINDOW`."""
        window = max(FIRST_WINDOW, self._read)
        with connection.cursor() as cursor:
            cursor.execute(
                """
                SELECT branch.id, turn.seat, md5(turn.action), md5(turn.observation), turn.reward
                FROM unnest(%s::text[], %s::int[]) AS branch (id, first)
                JOIN episodes_turn turn ON turn.episode_id = branch.id
                    AND turn.number > branch.first + %s AND turn.number <= branch.first + %s
                ORDER BY branch.id, turn.number
                """,
                [list(self._first), list(self._first.values()), self._read, self._read + window],
            )
            for key, seat, action, observation, reward in cursor.fetchall():
                self._hashes[key].append((seat, action, observation, reward))
        self._read += window
