"""Badges: what can be said of an environment because it was tried, not because somebody says so."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from gem.benchmarks import CheckResult
from gem.registry import EnvSpec

SAME_SEED = ("repeats_a_seed", "is_undisturbed_by_others", "repeats_in_other_processes")
ROUND_TRIP = ("goes_on_from_its_state", "spawns")
CONTRACT = (
    "is_made", "begins", "plays_to_its_end", "ends_in_one_way", "keeps_the_turn_limit",
    "refuses_turns_outside_an_episode", "refuses_bad_arguments", "samples_valid_actions", "is_drawable",
)  # fmt: skip
"""What every environment promises, also one whose turns follow from something outside."""

Tone = Literal["win", "warn", "loss", ""]


@dataclass(frozen=True, slots=True)
class Badge:
    """A few words, what they mean, and where they come from."""

    key: str
    words: str
    meaning: str
    tone: Tone
    icon: str


def badges(spec: EnvSpec, found: CheckResult | None) -> list[Badge]:
    """The badges that an environment has earned, and those that it has lost; none for what was not tried."""
    if found is None:
        return []
    where = f"Checked on {found.checked} with gem {found.engine_version}, for version {spec.version} of {spec.id}."
    contract = _badge(
        "contract",
        found.keeps(*CONTRACT),
        ("Keeps the contract", "Breaks the contract"),
        "It started, was played to its end with valid actions, kept its turn limit, rejected invalid calls, and could "
        f"be drawn at every turn. {where}",
        f"It did not start, act or end as every environment must. {where}",
    )
    if spec.replay != "exact":
        return [contract]
    return [
        contract,
        _badge(
            "seed",
            found.keeps(*SAME_SEED),
            ("Same seed, same episode", "Seeds do not repeat"),
            "The same seed and actions gave the same turns when repeated, in other processes, and next to other "
            f"environments. {where}",
            f"The same seed and actions gave different turns, so its results cannot be reproduced. {where}",
        ),
        _badge(
            "state",
            found.keeps(*ROUND_TRIP),
            ("State round trip", "State is lost"),
            f"Restored from its saved state at any turn, it continued exactly as before. {where}",
            f"Restored from its saved state, it did not continue as before, so live episodes may break. {where}",
        ),
    ]


def _badge(key: str, kept: bool, words: tuple[str, str], meaning: str, otherwise: str) -> Badge:
    return Badge(key, words[0], meaning, "win", "check") if kept else Badge(key, words[1], otherwise, "loss", "warn")
