"""The catalog entry of every registered environment, read from the engine once per process."""

from __future__ import annotations

import inspect
import logging
import re
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from functools import cache
from typing import Any

from django.urls import reverse

import gem
from apps.catalog import docs
from apps.catalog.badges import Badge, badges
from apps.catalog.learned import Learned, best_of
from apps.catalog.previews import PreviewSample, missing, preview, ready_sample
from gem import registry
from gem.agents import has_expert
from gem.benchmarks import Baseline, CheckResult, baseline, check_result
from gem.evaluation.scores import Interval, wilson
from gem.registry import DEFAULT_MAX_TOOL_USES, EnvSpec
from gem.validation.arguments import parameters_of

logger = logging.getLogger(__name__)

CATEGORIES = {
    "game": "Games",
    "duel": "Duels",
    "dialogue": "Dialogues",
    "math": "Mathematics",
    "code": "Code",
    "qa": "Questions",
    "logic": "Logic",
    "terminal": "Terminal",
    "shop": "Web shop",
    "rg": "Reasoning",
    "eval": "Evaluation sets",
    "mix": "Mixtures",
}
"""Category to its heading, in the order of the catalog. Unknown categories come last."""
REPLAYS = {
    "exact": "Exact",
    "taped": "With recorded outputs",
    "none": "Shown only",
}
REPLAY_MEANING = {
    "exact": "An episode can be run again from its seed and actions, and compared turn by turn.",
    "taped": "External outputs are recorded, and a replay uses the recorded outputs.",
    "none": "Episodes are stored and shown, but cannot be run again.",
}
BOARDS = {
    "grid": "Grid",
    "letters": "Letters",
    "towers": "Towers",
    "chat": "Conversation",
    "links": "Pages and links",
    "code": "Code",
    "terminal": "Terminal",
    "text": "Text",
    "image": "Pictures",
    "": "Other",
}
"""The kind of a view to its name, in the order of the catalog."""
_VARIANT = re.compile(r"(.+)-(?:(python|search)|(d\d))")
"""Environments that the catalog shows as variants of another one: with a tool, or of a depth."""


@dataclass(frozen=True, slots=True)
class BuiltInAgent:
    """How a built-in agent is drawn. The engine knows only its kind."""

    name: str
    kind: str
    colour: int
    cut: str


EXPERT = BuiltInAgent("expert", "expert", 3, "cut-expert")
RANDOM = BuiltInAgent("random", "random", 8, "cut-random")


@dataclass(frozen=True, slots=True)
class BaselineRow:
    """A row of the baselines table."""

    agent: BuiltInAgent
    baseline: Baseline
    solved: Interval


@dataclass(frozen=True, slots=True)
class Argument:
    """A keyword argument of the environment and its value."""

    name: str
    value: str


@dataclass(frozen=True, slots=True)
class Entry:
    """One registered environment."""

    spec: EnvSpec
    page: docs.DocstringPage
    arguments: tuple[Argument, ...]
    turn_limit: int | None
    """The maximal number of turns; None if every episode draws it, 0 if there is no limit."""
    has_expert: bool
    board_kind: str
    """The kind of its board as a key of `BOARDS`, without making the environment."""
    text: str
    """The lower-case text that a search looks at."""

    @property
    def id(self) -> str:
        """The registered id, such as `game:Sokoban-v0-easy`."""
        return self.spec.id

    def get_absolute_url(self) -> str:
        """The address of its page."""
        return reverse("catalog:environment", args=[self.id])

    @property
    def difficulty(self) -> str:
        """The suffix of the id: `easy`, `hard`, `random`, or `against expert`; `default` if there is none."""
        return self.spec.difficulty.replace("vs-", "against ") or "default"

    @property
    def family(self) -> str:
        """The name that it shares with its difficulties and, in the catalog, with its variants."""
        variant = _VARIANT.fullmatch(self.spec.family)
        return variant[1] if variant else self.spec.family

    @property
    def variant(self) -> str:
        """What tells it apart within its family, in a word or two: its difficulty, its tool or its version."""
        found = _VARIANT.fullmatch(self.spec.family)
        if found:
            return f"with {found[2]}" if found[2] else found[3]
        version = self.id.partition("-v")[2].partition("-")[0]
        return f"{self.difficulty}, v{version}" if version not in ("", "0") else self.difficulty

    @property
    def category(self) -> str:
        """The category in words."""
        return CATEGORIES.get(self.spec.category, self.spec.category)

    @property
    def place(self) -> int:
        """The position of its category in the catalog."""
        categories = list(CATEGORIES)
        return categories.index(self.spec.category) if self.spec.category in categories else len(categories)

    @property
    def turns(self) -> str:
        """The turn limit in words."""
        return f"{self._own_turns}, {self.tool_uses}" if self.spec.tools else self._own_turns

    @property
    def tool_uses(self) -> str:
        """How often tools may be used in an episode, in words."""
        if "tools" not in self.spec.kwargs:  # a mixture: each part has a budget of its own
            return "tool uses as each part allows"
        uses = self.spec.kwargs.get("max_tool_uses", DEFAULT_MAX_TOOL_USES)
        return "any number of tool uses" if uses in (None, -1) else f"{uses} tool use{'' if uses == 1 else 's'}"

    @property
    def _own_turns(self) -> str:
        if self.turn_limit is None:
            return "drawn at reset"
        if self.turn_limit == 0:
            return "no limit"
        return f"{self.turn_limit} turns" if self.turn_limit > 1 else "1 turn"

    @property
    def replay(self) -> str:
        """The kind of its replays, in words."""
        return REPLAYS[self.spec.replay]

    @property
    def replay_meaning(self) -> str:
        """A sentence that explains the kind of its replays."""
        return REPLAY_MEANING[self.spec.replay]

    @property
    def summary(self) -> str:
        """A sentence about the environment."""
        return self.spec.summary or self.page.summary

    @property
    def sample(self) -> PreviewSample | None:
        """The sample of the preview if it is ready; `preview` starts one."""
        return ready_sample(self.id)

    @property
    def missing(self) -> list[str]:
        """The packages and other requirements that are missing on this machine."""
        return missing(self.spec)

    @property
    def checked(self) -> CheckResult | None:
        """The results of the last check of this version; None if it was not checked."""
        return check_result(self.id, self.spec.version)

    @property
    def badges(self) -> list[Badge]:
        """The badges that its checks have given it."""
        return badges(self.spec, self.checked)

    @property
    def board(self) -> str:
        """The kind of its board; empty if unknown."""
        sample = preview(self.id).sample
        return self.spec.board or (sample.view["kind"] if sample else "")

    @property
    def random(self) -> Baseline | None:
        """The baseline of the random agent."""
        return baseline(self.id, "random")

    @property
    def expert(self) -> Baseline | None:
        """The baseline of the expert."""
        return baseline(self.id, "expert")

    @property
    def baselines(self) -> list[BaselineRow]:
        """The measured baselines, best first."""
        measured = ((EXPERT, self.expert, self.expert_solved), (RANDOM, self.random, self.random_solved))
        return [BaselineRow(agent, row, solved) for agent, row, solved in measured if row and solved]

    @property
    def random_solved(self) -> Interval | None:
        """The share of episodes that the random agent solves."""
        return _solved(self.random)

    @property
    def expert_solved(self) -> Interval | None:
        """The share of episodes that the expert solves."""
        return _solved(self.expert)


@dataclass(frozen=True, slots=True)
class Group:
    """The families of one category."""

    name: str
    families: tuple[Family, ...]

    @property
    def count(self) -> int:
        """The number of environments in the group."""
        return sum(len(family.entries) for family in self.families)


@dataclass(frozen=True, slots=True)
class Family:
    """All difficulties of one environment."""

    name: str
    entries: tuple[Entry, ...]

    @property
    def key(self) -> str:
        """The suffix of the DOM ids of its elements."""
        return f"{self.first.spec.category}-{self.name}"

    @property
    def first(self) -> Entry:
        """The environment whose page the family links to."""
        return self.entries[0]

    @property
    def pictured(self) -> Entry:
        """The environment whose picture represents the family: the hard one, whose board is the richest."""
        return next((entry for entry in self.entries if entry.difficulty == "hard"), self.entries[0])

    @property
    def learned(self) -> Learned | None:
        """What a recipe learned here: of the first of these environments that one of them learned."""
        return next((found for entry in self.entries if (found := best_of(entry.id)) is not None), None)


def all_entries() -> list[Entry]:
    """Every registered environment, in the order of registration."""
    return [entry_of(spec.id) for spec in registry.specs()]


def variants_of(entry: Entry) -> list[Entry]:
    """All difficulties of an environment, with itself, in the order of registration."""
    family = entry.id.partition("-v")[0]
    return [other for other in all_entries() if other.id.partition("-v")[0] == family]


def families(entries: Iterable[Entry]) -> list[Family]:
    """Group entries by family, keeping their order."""
    grouped: dict[tuple[str, str], list[Entry]] = {}
    for entry in entries:
        grouped.setdefault((entry.spec.category, entry.family), []).append(entry)
    return [Family(name, tuple(members)) for (_, name), members in grouped.items()]


def groups(families: Iterable[Family]) -> list[Group]:
    """Group families by category, keeping their order."""
    grouped: dict[str, list[Family]] = {}
    for family in families:
        grouped.setdefault(family.first.category, []).append(family)
    return [Group(name, tuple(members)) for name, members in grouped.items()]


@cache
def entry_of(env_id: str) -> Entry:
    """The entry of an environment. If its module cannot be loaded, the entry has no description.

    Raises:
        UnknownEnvironment: if no such id is registered.
    """
    spec = gem.spec(env_id)
    factory = _load(spec)
    parameters = parameters_of(factory) if factory else {}
    arguments = {name: p.default for name, p in parameters.items() if name != "seed" and p.default is not p.empty}
    arguments |= spec.kwargs
    module = inspect.getmodule(factory) if factory else None
    page = docs.parse(module.__doc__ if module else None)
    rules = " ".join(line for section in page.sections for block in section.blocks for line in block.lines)
    return Entry(
        spec=spec,
        page=page,
        text=f"{env_id} {spec.summary} {page.summary} {rules}".lower(),
        arguments=tuple(Argument(name, argument_text(value)) for name, value in arguments.items()),
        turn_limit=1 if spec.turns == "single" else arguments.get("max_turns", 0),
        has_expert=has_expert(env_id),
        board_kind=_board_kind(spec, factory),
    )


def _board_kind(spec: EnvSpec, factory: Callable[..., gem.Env] | None) -> str:
    """The kind of board that the environment declares, or that its `view` says it returns; empty if neither does."""
    declared = str(getattr(getattr(factory, "view", None), "__annotations__", {}).get("return", ""))
    kind = spec.board or declared.removesuffix("View").lower()
    return kind if kind in BOARDS else ""


def _load(spec: EnvSpec) -> Callable[..., gem.Env] | None:
    try:
        return spec.load()
    except Exception:  # a module may break in any way while it is imported; the catalog shows the others
        logger.warning("The catalog cannot load %s", spec.id, exc_info=True)
        return None


def argument_text(value: Any) -> str:
    """An argument's value as the environment page shows it; None means that every episode draws its own."""
    if value is None:
        return "drawn at reset"
    return str(value) if value != "" else "not set"


def _solved(measured: Baseline | None) -> Interval | None:
    """The share of solved episodes with its 95 % interval."""
    return wilson(round(measured.success_rate * measured.n), measured.n) if measured else None
