"""What the probes of an environment found, and the verdict that follows."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Literal, NamedTuple

from gem.evaluation.intervals import Interval, wilson

Kind = Literal["broken", "without the task", "learned", "solved at random", "has a signal", "no signal", "unreachable"]

MANY = 0.95
"""A share of solved episodes from which nothing is left to learn."""
SURELY_MANY = 0.8
"""The lowest end of its 95 % interval: twenty seeds on which all tries are solved are enough."""
SOME_SIGNAL = 0.05
"""A share of seeds whose tries differ, below which a training has hardly anything to learn from."""
LARGE_EXPLOIT = 0.5
"""Actions without the task have to solve at least this share before the verdict is about them."""

SHOWN_EXPLOITS = 5
"""So many of the actions without the task are shown."""


class Played(NamedTuple):
    """What one way to play reached."""

    name: str
    solved: Interval | None
    """The share of solved episodes with its 95 % interval over seeds; None if the environment never says whether they
    are."""
    mean_return: float
    returns: tuple[float, ...]
    """The return of each episode."""


class Exploit(NamedTuple):
    """Actions that do not depend on the task."""

    what: str
    """In words: `always the answer 0`."""
    played: Played


class Verdict(NamedTuple):
    """The verdict in a word, and why."""

    kind: Kind
    sentence: str


@dataclass(frozen=True)
class Training:
    """What a short training reached, in held-out episodes."""

    before: int
    after: int
    episodes: int
    updates: int
    cpu_seconds: float
    reads: str = "the whole episode"
    """What the policy read in each turn."""

    @property
    def rises(self) -> bool:
        """Whether the 95 % intervals before and after do not overlap."""
        return self.interval(self.after).low > self.interval(self.before).high

    @property
    def in_words(self) -> str:
        """The result as a sentence."""
        return (
            f"{self.before / self.episodes:.0%} to {self.after / self.episodes:.0%} of {self.episodes} held-out "
            f"episodes after {self.updates} updates in {self.cpu_seconds:.0f} CPU seconds, reading {self.reads}."
        )

    def interval(self, solved: int) -> Interval:
        """The 95 % interval of a share of solved episodes."""
        return wilson(solved, self.episodes)


@dataclass(frozen=True)
class Report:
    """Everything that was found about an environment."""

    env_id: str
    seeds: int
    tries: int
    random: Played
    expert: Played | None
    """None if there is no expert."""
    exploits: Sequence[Exploit]
    problems: Sequence[str]
    """What is wrong with it, as sentences: rewards that ignore the action, seeds that do nothing..."""
    signal: float
    """The share of seeds at which the returns of random tries differ: what a group of GRPO learns from."""
    distinct_starts: int
    """The number of different first observations."""
    training: Training | None = None
    """A short training; None if there was none."""
    notes: Sequence[str] = field(default=())

    @property
    def best_exploit(self) -> Exploit | None:
        """The actions without the task that reach clearly more than random play, if any do."""
        found = [one for one in self.exploits if self._exceeds_random(one.played)]
        return max(found, key=lambda one: one.played.mean_return, default=None)

    @property
    def shown(self) -> list[Played]:
        """The ways to play that people read of: random play, the expert, and the best actions without the task."""
        best = sorted((one.played for one in self.exploits), key=lambda played: -played.mean_return)
        return [self.random, *([self.expert] if self.expert else []), *best[:SHOWN_EXPLOITS]]

    @property
    def verdict(self) -> Verdict:
        """The verdict, from the gravest finding on."""
        if self.problems:
            return Verdict("broken", " ".join(self.problems))
        solved = self.random.solved
        if solved is not None and solved.mean >= MANY and solved.low >= SURELY_MANY:
            share = f"{solved.mean:.0%}"
            return Verdict("solved at random", f"Random play solves {share}, so there is nothing left to learn.")
        if (exploit := self.best_exploit) is not None:
            return Verdict("without the task", self._of_exploit(exploit))
        if self.training is not None and self.training.rises:
            return Verdict("learned", f"A small policy learns it: {self.training.in_words}")
        if self._is_unreachable:
            return Verdict(
                "unreachable",
                "The expert has solved none of the episodes, and neither has random play: the goal may be out of "
                "reach.",
            )
        return self._of_signal()

    @property
    def _is_unreachable(self) -> bool:
        both = [played.solved for played in (self.random, self.expert) if played is not None]
        return self.expert is not None and all(solved is not None and solved.mean == 0 for solved in both)

    def _of_exploit(self, exploit: Exploit) -> str:
        played = exploit.played
        if played.solved is not None:
            random = self.random.solved.mean if self.random.solved is not None else 0.0
            return (
                f"The reward can be had without the task: {exploit.what} solves {played.solved.mean:.0%} "
                f"({played.solved.low:.0%} to {played.solved.high:.0%}), and random play {random:.0%}."
            )
        return (
            f"The reward can be had without the task: {exploit.what} gives a mean return of {played.mean_return:.2f}, "
            f"and random play {self.random.mean_return:.2f}."
        )

    def _of_signal(self) -> Verdict:
        tried = "" if self.training is None else f" A small policy did not learn it: {self.training.in_words}"
        if self.signal < SOME_SIGNAL:
            return Verdict(
                "no signal",
                f"At {self.signal:.0%} of the seeds the returns of {self.tries} random tries differ, so a policy that "
                "begins at random has nothing to learn from. Begin with an easier variant (curriculum), with a policy "
                f"that solves some of it, or with a reward for parts of the way.{tried}",
            )
        return Verdict(
            "has a signal",
            f"At {self.signal:.0%} of the seeds the returns of {self.tries} random tries differ, and nothing was found "
            f"that reaches the reward without the task.{tried}",
        )

    def _exceeds_random(self, played: Played) -> bool:
        if played.solved is not None:
            high = self.random.solved.high if self.random.solved is not None else 0.0
            return played.solved.low > high and played.solved.mean >= LARGE_EXPLOIT
        best = max(self.random.returns, default=0.0)
        return played.mean_return > self.random.mean_return and min(played.returns, default=0.0) >= best
