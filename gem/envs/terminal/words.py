"""Names and words for the instances of tasks."""

from __future__ import annotations

from gem.rng import RandomSource, choice, randint

PEOPLE = (
    "Amara", "Bence", "Chidi", "Dana", "Elif", "Farid", "Greta", "Hana", "Ivo", "Jonas", "Kofi", "Lena", "Mateo",
    "Nadia", "Oskar", "Priya", "Quinn", "Rosa", "Sven", "Tomas", "Uma", "Vera", "Wanda", "Yuki", "Zora",
)  # fmt: skip
NOUNS = (
    "anchor", "basket", "candle", "dragon", "engine", "forest", "garden", "harbor", "island", "jacket", "kettle",
    "ladder", "market", "needle", "orchard", "pepper", "quarry", "ribbon", "saddle", "tunnel", "violin", "window",
)  # fmt: skip
SERVICES = ("auth", "billing", "cache", "mailer", "search", "storage")
LEVELS = ("INFO", "INFO", "INFO", "DEBUG", "WARN", "ERROR")
MESSAGES = (
    "request served", "connection reset by peer", "retrying in 5 s", "user logged in", "disk nearly full",
    "cache miss", "timeout while reading", "job finished", "bad gateway",
)  # fmt: skip


def noun(rng: RandomSource) -> str:
    """Draw a word that can be the name of a file."""
    return choice(rng, NOUNS)


def clock(rng: RandomSource, minute: int) -> str:
    """A time in May 2025: so many minutes after the first midnight, and some random seconds."""
    return f"2025-05-{1 + minute // 1440:02d} {minute // 60 % 24:02d}:{minute % 60:02d}:{randint(rng, 0, 59):02d}"


def address(rng: RandomSource) -> str:
    """Draw an IP address of a network that is reserved for documentation."""
    return f"203.0.113.{randint(rng, 1, 40)}"
