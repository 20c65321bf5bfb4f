"""Ratings of duels, and the daily seed."""

from __future__ import annotations

from typing import TypeVar

from gem.client.request import Request, Resource, sends
from gem.client.schemas import DailySeed, Episode, Ratings

R_co = TypeVar("R_co", covariant=True)


class DuelRatings(Resource[R_co]):
    """The duel board."""

    @sends
    def get(self) -> Request[Ratings]:
        """Return the ratings of all agents, from one fit over all public games of two and duels."""
        return Request("GET", "ratings", Ratings)


class DailySeeds(Resource[R_co]):
    """The daily seed: one hidden seed a day, of which the first try counts."""

    @sends
    def get(self, number: int | None = None) -> Request[DailySeed]:
        """Return today's seed, or that of the day with a number. Results are there when your own try is over."""
        return Request("GET", "daily" if number is None else f"daily/{number}", DailySeed)

    @sends
    def play(self) -> Request[Episode]:
        """Begin today's seed, or return the try that was begun. There is no second one."""
        return Request("POST", "daily/episodes", Episode, keyed=True)
