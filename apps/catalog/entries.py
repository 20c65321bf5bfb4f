"""What the catalog says about every registered environment, read from the engine once per process."""

from __future__ import annotations

import inspect
import logging
import math
from collections.abc import Iterable
from contextlib import closing
from dataclasses import dataclass, replace
from functools import cache
from typing import Any, NamedTuple

from django.urls import reverse

import gem
from apps.catalog import docs
from gem import registry
from gem.agents import has_expert, make_agent
from gem.benchmarks import Baseline, baseline
from gem.registry import EnvSpec
from gem.replay import frames
from gem.rollout import Slot, rollout
from gem.views import View

logger = logging.getLogger(__name__)

CATEGORIES = {
    "game": "Games",
    "math": "Mathematics",
    "code": "Code",
    "qa": "Questions",
    "rg": "Reasoning",
    "terminal": "Terminal",
}
REPLAYS = {
    "exact": "Exact",
    "taped": "With recorded outputs",
    "none": "Shown only",
}
REPLAY_MEANING = {
    "exact": "Seed and actions say everything: any episode can be executed again and compared.",
    "taped": "Outputs from outside are recorded and fed back when an episode is replayed.",
    "none": "Episodes are kept and shown, but cannot be executed again.",
}
PICTURE_SEED = 7
PICTURE_PROGRESS = 0.6
"""How far into an expert's episode the picture of an environment is taken."""
PICTURE_TURNS = 60
"""An episode may take a thousand turns; so many are played for its picture."""


class Share(NamedTuple):
    """A share of episodes with its 95 % interval."""

    mean: float
    low: float
    high: float


@dataclass(frozen=True, slots=True)
class Stone:
    """The mark of a built-in agent, which the engine knows by its kind only."""

    name: str
    kind: str
    colour: int
    cut: str


EXPERT = Stone("expert", "expert", 3, "cut-expert")
RANDOM = Stone("random", "random", 8, "cut-random")


@dataclass(frozen=True, slots=True)
class Reached:
    """A line of the table of baselines."""

    stone: Stone
    reached: Baseline
    solved: Share


@dataclass(frozen=True, slots=True)
class Argument:
    """A keyword argument of an environment and its value here."""

    name: str
    value: str


@dataclass(frozen=True, slots=True)
class Opening:
    """How an episode begins."""

    observation: str
    prompt: str
    """What an agent reads after the observation; often the board."""
    board: str
    """The kind of its board."""
    seats: int


@dataclass(frozen=True, slots=True)
class Sample:
    """A look into an episode: how it begins, and what its board looks like in the middle."""

    observation: str
    prompt: str
    action: str
    """What the expert did first, or a random action where there is no expert."""
    view: View


@dataclass(frozen=True, slots=True)
class Entry:
    """One registered environment."""

    spec: EnvSpec
    page: docs.Page
    arguments: tuple[Argument, ...]
    turn_limit: int | None
    """None where an episode draws it, 0 where there is none."""
    has_expert: bool

    @property
    def id(self) -> str:
        """Such as `game:Sokoban-v0-easy`."""
        return self.spec.id

    def get_absolute_url(self) -> str:
        """Its page."""
        return reverse("catalog:environment", args=[self.id])

    @property
    def difficulty(self) -> str:
        """`easy`, `hard`, `random`; `default` for the one without a suffix."""
        return self.spec.difficulty or "default"

    @property
    def category(self) -> str:
        """The category in words."""
        return CATEGORIES.get(self.spec.category, self.spec.category)

    @property
    def turns(self) -> str:
        """The turn limit in words."""
        if self.turn_limit is None:
            return "drawn at reset"
        if self.turn_limit == 0:
            return "no limit"
        return f"{self.turn_limit} turns" if self.turn_limit > 1 else "1 turn"

    @property
    def replay(self) -> str:
        """What a replay of it can show."""
        return REPLAYS[self.spec.replay]

    @property
    def replay_meaning(self) -> str:
        """The same in a sentence."""
        return REPLAY_MEANING[self.spec.replay]

    @property
    def sample(self) -> Sample | None:
        """A look into an episode."""
        return sample(self.id)

    @property
    def seats(self) -> int:
        """How many places an episode has that someone acts from."""
        return self.spec.seats

    @property
    def board(self) -> str:
        """The kind of its board."""
        if self.spec.board:
            return self.spec.board
        begun = opening(self.id)
        return begun.board if begun else "text"

    @property
    def random(self) -> Baseline | None:
        """What the random agent reaches."""
        return baseline(self.id, "random")

    @property
    def expert(self) -> Baseline | None:
        """What the expert reaches."""
        return baseline(self.id, "expert")

    @property
    def baselines(self) -> list[Reached]:
        """What is measured, best first."""
        measured = ((EXPERT, self.expert, self.expert_solved), (RANDOM, self.random, self.random_solved))
        return [Reached(stone, row, solved) for stone, row, solved in measured if row and solved]

    @property
    def random_solved(self) -> Share | None:
        """The share of episodes that the random agent solves."""
        return share(self.random.success_rate, self.random.n) if self.random else None

    @property
    def expert_solved(self) -> Share | None:
        """The share of episodes that the expert solves."""
        return share(self.expert.success_rate, self.expert.n) if self.expert else None


@dataclass(frozen=True, slots=True)
class Family:
    """An environment in all its difficulties."""

    name: str
    entries: tuple[Entry, ...]

    @property
    def first(self) -> Entry:
        """The one whose page stands for the family."""
        return self.entries[0]

    @property
    def pictured(self) -> Entry:
        """The one whose picture stands for the family: the richest board."""
        return next((entry for entry in self.entries if entry.difficulty == "hard"), self.entries[0])


def all_entries() -> list[Entry]:
    """Every registered environment, in the order of registration."""
    return [entry_of(spec.id) for spec in registry.specs()]


def families(entries: Iterable[Entry]) -> list[Family]:
    """Entries by family, in the order in which they come."""
    grouped: dict[tuple[str, str], list[Entry]] = {}
    for entry in entries:
        grouped.setdefault((entry.spec.category, entry.spec.family), []).append(entry)
    return [Family(name, tuple(members)) for (_, name), members in grouped.items()]


@cache
def entry_of(env_id: str) -> Entry:
    """The entry of an environment.

    Raises:
        UnknownEnvironment: if no such id is registered.
    """
    spec = gem.spec(env_id)
    factory = spec.load()
    parameters = inspect.signature(factory).parameters
    arguments = {name: p.default for name, p in parameters.items() if name != "seed" and p.default is not p.empty}
    arguments |= spec.kwargs
    module = inspect.getmodule(factory)
    page = docs.parse(module.__doc__ if module else None)
    return Entry(
        spec=spec,
        page=replace(page, summary=spec.summary) if spec.summary else page,
        arguments=tuple(Argument(name, argument_text(value)) for name, value in arguments.items()),
        turn_limit=1 if spec.turns == "single" else arguments.get("max_turns", 0),
        has_expert=has_expert(env_id),
    )


def argument_text(value: Any) -> str:
    """A value as the environment page shows it; None means that every episode draws its own."""
    return "drawn at reset" if value is None else str(value)


@cache
def opening(env_id: str) -> Opening | None:
    """How an episode of an environment begins; None if it cannot be made here (its data or its tools are missing)."""
    try:
        return _begin(env_id)
    except Exception:  # an environment may break in any way; the catalog shows the others
        logger.warning("The catalog cannot begin an episode of %s", env_id, exc_info=True)
        return None


@cache
def sample(env_id: str) -> Sample | None:
    """A look into an episode of an environment, which takes longer; None as for `opening`."""
    begun = opening(env_id)
    try:
        return _look(env_id, begun) if begun else None
    except Exception:  # as above
        logger.warning("The catalog has no picture of %s", env_id, exc_info=True)
        return None


def _begin(env_id: str) -> Opening:
    with closing(gem.make(env_id)) as env:
        observation, info = env.reset(seed=PICTURE_SEED)
        return Opening(observation, str(info.get("suffix", "")), env.view()["kind"], env.seats)


def _look(env_id: str, begun: Opening) -> Sample:
    agent = make_agent("expert" if has_expert(env_id) else "random")
    limit = [{"name": "time_limit", "max_turns": PICTURE_TURNS}]
    record = next(iter(rollout(agent, [Slot(0, env_id, PICTURE_SEED, wrappers=limit)], num_envs=1)))
    actions = [turn.action for turn in record.turns]
    seen = list(frames(record.identity, actions[: math.ceil(PICTURE_PROGRESS * len(actions))]))
    return Sample(begun.observation, begun.prompt, actions[0] if actions else "", seen[-1].view)


def share(rate: float, n: int) -> Share:
    """The Wilson interval (95 %) of a share seen in `n` episodes: it stays within 0 and 1, also at the ends."""
    z = 1.96
    middle = (rate + z * z / (2 * n)) / (1 + z * z / n)
    half = z / (1 + z * z / n) * math.sqrt(rate * (1 - rate) / n + z * z / (4 * n * n))
    return Share(rate, max(0.0, middle - half), min(1.0, middle + half))
