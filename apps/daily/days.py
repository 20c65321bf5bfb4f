"""Days: each is a season of its own, with a key, a commitment and one hidden seed.

The environment of the day follows from its key, as the seed does: it is that of `ENVIRONMENTS` with the number that is
left when `derive_seed(key, "daily", VERSION, "environment", "common", day)` is divided by their count. When the day is
over, the key is published, and anybody can check both.
"""

from __future__ import annotations

from datetime import UTC, date, datetime, time, timedelta

from django.utils import timezone
from pydantic import SecretStr

from apps.agents.seal import seal
from apps.seasons.models import COMMON, DAILY, Season, SeasonQuerySet
from gem.benchmarks import seeds

VERSION = 1
"""Raised when `ENVIRONMENTS` changes."""
ENVIRONMENTS = (
    "game:Wordle-v0-easy",
    "game:Minesweeper-v0-easy",
    "game:Sokoban-v0-easy",
    "game:Sudoku-v0-easy",
    "game:Mastermind-v0-easy",
    "game:Hangman-v0-easy",
    "game:WordSearch-v0-easy",
    "game:Game2048-v0-easy",
    "game:FifteenPuzzle-v0-hard",
    "game:Crosswords-v0-easy",
)
"""Games for one person that an expert can solve, with so many starts that nobody can know them all."""
BEFORE_THE_FIRST = date(2025, 12, 31)
"""Day 1 is the day after."""


def number_of(day: date) -> int:
    """The number of a day."""
    return (day - BEFORE_THE_FIRST).days


def date_of(number: int) -> date:
    """The day with this number."""
    return BEFORE_THE_FIRST + timedelta(days=number)


def today() -> Season:
    """The day that it is now, by UTC. The first call of a day begins it."""
    number = number_of(timezone.now().astimezone(UTC).date())
    found = _days().filter(number=number).first()
    return found or _begin(number)


def find(number: int) -> Season | None:
    """The day with this number, if somebody could play it."""
    return _days().filter(number=number).first() if number < 2**31 else None


def past() -> SeasonQuerySet:
    """The days that are open, the newest first."""
    return _days().exclude(revealed_at=None)


def env_id_of(day: Season) -> str:
    """The environment of a day."""
    return next(iter(day.hidden))


def seed_of(day: Season) -> int:
    """The seed of a day, which must not leave the server before the day is open."""
    key = bytes.fromhex(day.published_key) if day.published_key else day.key
    return seeds.derive_seed(key, DAILY, day.version, env_id_of(day), seeds.COMMON, 0)


def shown_seed_of(day: Season) -> int:
    """The number that stands for the seed until the day is open."""
    return day.numbers(env_id_of(day), COMMON)[0]


def choose(key: bytes, number: int) -> str:
    """The environment that follows from the key of a day."""
    drawn = seeds.derive_seed(key, DAILY, VERSION, "environment", seeds.COMMON, number)
    return ENVIRONMENTS[drawn % len(ENVIRONMENTS)]


def _days() -> SeasonQuerySet:
    return Season.objects.filter(benchmark=DAILY).order_by("-number")


def _begin(number: int) -> Season:
    """Begin a day. If another process is faster, it is that one's."""
    key, begins = seeds.new_key(), datetime.combine(date_of(number), time(), tzinfo=UTC)
    day, _ = Season.objects.get_or_create(
        benchmark=DAILY,
        version=VERSION,
        number=number,
        defaults={
            "sealed_key": seal(SecretStr(key.hex())),
            "commitment": seeds.commitment(key),
            "hidden": {choose(key, number): 1},
            "begins": begins,
            "ends": begins + timedelta(days=1),
        },
    )
    return day
