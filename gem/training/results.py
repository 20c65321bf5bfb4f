"""The measured results of the recipes: a file for each, which `python -m bench.training --recipe NAME --record` writes.

A recipe for one seat is measured by the episodes that it solves. With self-play, that says little: such a recipe is
measured by the games that it loses against an opponent, and by what a best opponent wins from it.
"""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from functools import cache
from pathlib import Path
from typing import Any

from pydantic import BaseModel, ConfigDict, Field

from gem.evaluation.scores import Interval, wilson

FOLDER = Path(__file__).parent / "recipes" / "results"
SELF_PLAY_FOLDER = FOLDER / "self_play"
CURVE_POINTS = 40
"""A curve has so many points at most: each is the mean of equally many updates."""


class SeedResult(BaseModel):
    """One training of a recipe."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    seed: int
    before: int
    """Solved held-out episodes, as the policy was before the training."""
    after: int
    greedy: int
    """Those after it if the most probable token is taken each time."""
    constant: int | None = None
    """Those that the trained policy's commonest action solves if it is taken in every turn; None if not measured."""
    cpu_seconds: float
    """Of one thread, without the evaluations."""
    curve: tuple[float, ...]
    """The share of solved episodes during the training, at `CURVE_POINTS` equally long parts of it at most."""


class RecipeResult(BaseModel):
    """The trainings of a recipe, each with another seed."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    recipe: str
    commit: str = Field(max_length=40)
    """The commit that was measured, shortened."""
    episodes: int
    """Held-out episodes of each evaluation, on seeds that no training meets."""
    problems: int | None = None
    """Different questions among the episodes, where each asks one; None in games. Where there are few, trainings meet
    the same ones unless `held_out_kwargs` chooses others, and the result says nothing about more."""
    seeds: tuple[SeedResult, ...]

    @property
    def expected(self) -> dict[str, Any]:
        """The block for programs: shares of solved held-out episodes before and, for each seed, after the training."""
        return {
            "before": round(sum(one.before for one in self.seeds) / len(self.seeds) / self.episodes, 3),
            "after": [round(one.after / self.episodes, 3) for one in self.seeds],
            "constant": [
                None if one.constant is None else round(one.constant / self.episodes, 3) for one in self.seeds
            ],
            "cpu_seconds": [round(one.cpu_seconds) for one in self.seeds],
            "episodes": self.episodes,
            "problems": self.problems,
            "commit": self.commit,
        }

    @property
    def _has_repeats(self) -> bool:
        return self.problems is not None and self.problems < self.episodes

    @property
    def rises(self) -> bool:
        """Whether each seed solves more afterwards than before and than one action that is always taken.

        The 95 % intervals do not overlap.
        """
        return all(
            self.interval(one.after).low > self.interval(max(one.before, one.constant or 0)).high for one in self.seeds
        )

    @property
    def in_words(self) -> str:
        """The result as a sentence."""
        block = self.expected
        before, spent = f"{block['before']:.0%}".replace("%", " %"), block["cpu_seconds"]
        seconds = f"{spent[0]}" if min(spent) == max(spent) else f"{min(spent)} to {max(spent)}"
        sentence = (
            f"From {before} to {_in_words(block['after'])} of {self.episodes} episodes on other seeds solved, with "
            f"{_number_of_seeds(block['after'])}, in {seconds} CPU seconds."
        )
        if self._has_repeats:
            sentence += f" These episodes ask {self.problems} different questions."
        constants = [one.constant / self.episodes for one in self.seeds if one.constant is not None]
        if not constants:
            return sentence
        always = f"{max(constants):.0%}".replace("%", " %")
        return f"{sentence} The commonest action alone, always taken, solves {always} at most."

    def interval(self, solved: int) -> Interval:
        """The 95 % interval of a share of solved episodes (Wilson)."""
        return wilson(solved, self.episodes)


def _in_words(shares: Sequence[float]) -> str:
    """The shares solved after the trainings, of which each had its own seed; once if all of them are equal."""
    *others, last = [f"{share:.0%}".replace("%", " %") for share in shares]
    return last if set(others) <= {last} else f"{', '.join(others)} and {last}"


def _number_of_seeds(shares: Sequence[float]) -> str:
    if len(shares) == 1:
        return "one training seed"
    return f"each of {len(shares)} training seeds" if len(set(shares)) == 1 else f"{len(shares)} training seeds"


class Tally(BaseModel):
    """Games by their outcome."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    won: int
    tied: int
    lost: int


class SelfPlaySeedResult(BaseModel):
    """One training of a recipe with self-play."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    seed: int
    before: Tally
    """Games against the opponent on held-out seeds, as the policy was before the training."""
    after: Tally
    greedy: Tally | None = None
    """As `after`, with the most probable response of each turn; None in records that are older than this field."""
    exploitability_before: float | None = None
    """See `gem.training.study.exploitability`; None in games where it is not computed."""
    exploitability_after: float | None = None
    cpu_seconds: float
    """Of one thread, with the measurements during the training."""
    curve: tuple[tuple[int, float], ...] = ()
    """Updates, each with the exploitability after it."""


class SelfPlayResult(BaseModel):
    """The trainings of a recipe with self-play, each with another seed."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    recipe: str
    commit: str = Field(max_length=40)
    opponent: str
    """Against whom the games were played."""
    episodes: int
    """Games of each evaluation."""
    unit: str = ""
    """Of the exploitability."""
    seeds: tuple[SelfPlaySeedResult, ...]

    @property
    def expected(self) -> dict[str, Any]:
        """The block for programs: games lost and exploitability before and, for each seed, after the training."""
        first = self.seeds[0]
        return {
            "opponent": self.opponent,
            "lost_before": round(first.before.lost / self.episodes, 3),
            "lost_after": [round(one.after.lost / self.episodes, 3) for one in self.seeds],
            "lost_greedy": [one.greedy and round(one.greedy.lost / self.episodes, 3) for one in self.seeds],
            "exploitability_before": first.exploitability_before,
            "exploitability_after": [one.exploitability_after for one in self.seeds],
            "cpu_seconds": [round(one.cpu_seconds) for one in self.seeds],
            "episodes": self.episodes,
            "commit": self.commit,
        }

    @property
    def improves(self) -> bool:
        """Whether each seed ends with a lower exploitability, or loses clearly fewer games than before."""
        return all(self.falls(one) or self.loses_less(one) for one in self.seeds)

    def falls(self, one: SelfPlaySeedResult) -> bool:
        """Whether a best opponent wins less from the policy after the training than before it."""
        before, after = one.exploitability_before, one.exploitability_after
        return before is not None and after is not None and after < before

    def loses_less(self, one: SelfPlaySeedResult) -> bool:
        """Whether the 95 % intervals of the shares of lost games before and after do not overlap, and it fell."""
        return wilson(one.after.lost, self.episodes).high < wilson(one.before.lost, self.episodes).low

    @property
    def in_words(self) -> str:
        """The result as a sentence."""
        spent = [round(one.cpu_seconds) for one in self.seeds]
        seconds = f"{spent[0]}" if min(spent) == max(spent) else f"{min(spent)} to {max(spent)}"
        lost = ", ".join(str(one.after.lost) for one in self.seeds)
        sentences = [
            f"Of {self.episodes} games against the agent {self.opponent} it loses {self.seeds[0].before.lost} before "
            f"and {lost} after the training, in {seconds} CPU seconds; {len(self.seeds)} "
            f"seed{'s' * (len(self.seeds) > 1)}."
        ]
        greedy = [str(one.greedy.lost) for one in self.seeds if one.greedy is not None]
        if greedy:
            sentences.append(f"With the most probable response of each turn it loses {', '.join(greedy)}.")
        before = self.seeds[0].exploitability_before
        after = [one.exploitability_after for one in self.seeds if one.exploitability_after is not None]
        if before is not None and after:
            wins = ", ".join(f"{value:.2f}" for value in after)
            sentences.append(f"A best opponent wins {before:.2f} {self.unit} from it before, and {wins} after.")
        return " ".join(sentences)


def condensed(values: list[float]) -> tuple[float, ...]:
    """A curve with `CURVE_POINTS` points at most, each the mean of equally many values."""
    count = min(len(values), CURVE_POINTS)
    edges = [round(place * len(values) / count) for place in range(count + 1)] if count else []
    parts = [values[first:last] for first, last in itertools.pairwise(edges)]
    return tuple(round(sum(part) / len(part), 4) for part in parts)


@cache
def result_of(recipe: str) -> RecipeResult | None:
    """The measured result of a recipe; None if it was not measured."""
    path = FOLDER / f"{recipe}.json"
    return RecipeResult.model_validate_json(path.read_bytes()) if path.exists() else None


@cache
def self_play_result_of(recipe: str) -> SelfPlayResult | None:
    """The measured result of a recipe with self-play; None if it was not measured."""
    path = SELF_PLAY_FOLDER / f"{recipe}.json"
    return SelfPlayResult.model_validate_json(path.read_bytes()) if path.exists() else None
