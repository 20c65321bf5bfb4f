"""Badges: properties of an environment that a check has confirmed or refuted."""

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
"""The checks that every environment must pass, including those whose turns depend on external outputs."""

Tone = Literal["win", "warn", "loss", ""]


@dataclass(frozen=True, slots=True)
class Badge:
    """A short label with its explanation, tone and icon."""

    key: str
    words: str
    meaning: str
    tone: Tone
    icon: str


def badges(spec: EnvSpec, result: CheckResult | None) -> list[Badge]:
    """A badge for each group of checks, passed or failed; no badges if the environment was not checked."""
    if result is None:
        return []
    source = f"Checked on {result.checked} with gem {result.engine_version}, for version {spec.version} of {spec.id}."
    contract = _badge(
        "contract",
        result.keeps(*CONTRACT),
        ("Keeps the contract", "Breaks the contract"),
        "It started, was played to its end with valid actions, kept its turn limit, rejected invalid calls, and could "
        f"be drawn at every turn. {source}",
        f"It did not start, act or end as every environment must. {source}",
    )
    if spec.replay != "exact":
        return [contract]
    return [
        contract,
        _badge(
            "seed",
            result.keeps(*SAME_SEED),
            ("Same seed, same episode", "Seeds do not repeat"),
            "The same seed and actions gave the same turns when repeated, in other processes, and next to other "
            f"environments. {source}",
            f"The same seed and actions gave different turns, so its results cannot be reproduced. {source}",
        ),
        _badge(
            "state",
            result.keeps(*ROUND_TRIP),
            ("State round trip", "State is lost"),
            f"Restored from its saved state at any turn, it continued exactly as before. {source}",
            f"Restored from its saved state, it did not continue as before, so live episodes may break. {source}",
        ),
    ]


def _badge(key: str, holds: bool, words: tuple[str, str], meaning: str, failure_meaning: str) -> Badge:
    return (
        Badge(key, words[0], meaning, "win", "check")
        if holds
        else Badge(key, words[1], failure_meaning, "loss", "warn")
    )
