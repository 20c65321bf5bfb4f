"""A benchmark as classes: what is played, on which seeds and data, and the scale of every environment."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from gem.benchmarks.scales import Reference, Rule, distance, normalize, score
from gem.errors import InvalidArgument


@dataclass(frozen=True, slots=True)
class DataSource:
    """The data of an environment. Only episodes that were played on exactly these data count."""

    name: str
    """What they are, for people: "built-in sample gsm8k"."""
    hash: str
    """The hash that episodes record as `data_hash`."""
    licence: str
    stands_in_for: str = ""
    """The real data that these replace; empty if they are the real data."""


@dataclass(frozen=True, slots=True)
class BenchmarkEntry:
    """One environment of a benchmark and the scale that normalizes its returns."""

    env_id: str
    first_seed: int
    episodes: int
    """The number of public seeds, which are `first_seed` to `first_seed + episodes - 1`."""
    random_return: float
    """The mean return of the random agent, which is 0 on the scale."""
    best_return: float
    """The anchor, which is 1 on the scale: the mean return of the expert, or the best possible return."""
    env_version: int = 1
    """The version of the environment for which the scale was measured."""
    max_turns: int | None = None
    """The turn limit of the environment; None if the file does not say it."""
    hidden_seeds: int = 0
    """The number of seeds that nobody knows; 0 where the public ones are all there is."""
    random: Reference | None = None
    anchor: Reference | None = None
    """What was measured of `random_return` and `best_return`; None in files that do not say it."""
    data: DataSource | None = None
    open_set: str = ""
    """Why hidden seeds hide little here: "11 starts", "public data"; empty if they do hide something."""
    rule: Rule = "unclipped"

    @property
    def seeds(self) -> range:
        """The public seeds."""
        return range(self.first_seed, self.first_seed + self.episodes)

    @property
    def is_fixed(self) -> bool:
        """Whether its seeds are the rows of a dataset, which everybody can read."""
        return self.random is not None and not self.hidden_seeds

    @property
    def scored_episodes(self) -> int:
        """The number of episodes behind a score: the hidden seeds, or the public ones where none are hidden."""
        return self.hidden_seeds or self.episodes

    @property
    def distance(self) -> float | None:
        """The distance of the anchor from random in standard errors of a row; None if that was not measured."""
        if self.random is None or self.anchor is None:
            return None
        return distance(self.random, self.anchor, self.scored_episodes)

    def normalize(self, value: float) -> float:
        """Convert a return to the scale of this entry, without clipping."""
        return normalize(value, self.random_return, self.best_return)

    def score(self, mean: float) -> float:
        """Convert the mean return over all episodes to the score of this environment, by the rule of the benchmark."""
        return score(mean, self.random_return, self.best_return, self.rule)


@dataclass(frozen=True, slots=True)
class Benchmark:
    """A list of environments and seeds that agents are ranked on; every change makes a new version."""

    name: str
    version: int
    title: str
    summary: str
    entries: tuple[BenchmarkEntry, ...]
    rule: Rule = "unclipped"
    wrappers: tuple[Mapping[str, Any], ...] = ()
    """The wrappers of every episode as plain data, besides those that a specification adds for its tools."""
    tool_sets: tuple[tuple[str, ...], ...] | None = None
    """The choices of tools with which it is played; `mcp` stands for any MCP server. None if any choice is allowed.
    Each choice is a row of its own."""
    members: tuple[tuple[str, int], ...] = ()
    """Names and versions of the benchmarks that this one unites; empty if it has environments of its own."""

    @property
    def env_ids(self) -> list[str]:
        """The ids of the environments, in order."""
        return [entry.env_id for entry in self.entries]

    @property
    def one(self) -> str:
        """What a score of 1 means, in words."""
        return "best possible" if self.rule == "unclipped" else "expert or best possible"

    @property
    def open_entries(self) -> list[BenchmarkEntry]:
        """The environments where hidden seeds hide little."""
        return [entry for entry in self.entries if entry.open_set]

    @property
    def stand_ins(self) -> list[BenchmarkEntry]:
        """The environments on data that stand in for others."""
        return [entry for entry in self.entries if entry.data is not None and entry.data.stands_in_for]

    def entry(self, env_id: str) -> BenchmarkEntry:
        """Return the entry of an environment.

        Raises:
            InvalidArgument: if the benchmark does not have it.
        """
        for entry in self.entries:
            if entry.env_id == env_id:
                return entry
        raise InvalidArgument(f"{env_id} is not in the benchmark {self.name}.")

    def allows_tools(self, tools: tuple[str, ...]) -> bool:
        """Whether it may be played with these tools."""
        if self.tool_sets is None:
            return True
        chosen = sorted("mcp" if name.startswith("mcp:") else name for name in tools)
        return any(chosen == sorted(choice) for choice in self.tool_sets)
