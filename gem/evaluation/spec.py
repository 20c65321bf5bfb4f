"""What a job is asked to do, as one Pydantic model: the form, the API and the worker validate with the same one."""

from __future__ import annotations

from typing import Annotated, Any, NamedTuple, Self

from pydantic import BaseModel, ConfigDict, Field, field_validator, model_validator
from pydantic_core import PydanticCustomError

from gem import benchmarks, registry
from gem.errors import UsageError
from gem.registry import DEFAULT_MAX_TOOL_USES
from gem.tools import tool_catalog

MAX_ENVIRONMENTS = 50
MAX_EPISODES_PER_ENV = 10_000
MAX_FIRST_SEED = 2**53
"""Specifications are JSON, whose readers may keep numbers as doubles, exact up to here; other seeds may be larger."""
MAX_NUM_ENVS = 256
MAX_TURNS = 1000
MAX_REPEATS = 64
MAX_TOKENS = 10**12


class Part(NamedTuple):
    """The episodes of one environment: seeds from `first_seed` on.

    Where there are several seats to act from, each seed is played once from each of them, so that nobody has the
    first turn more often than the other.
    """

    env_id: str
    first_seed: int
    episodes: int
    repeat: int = 0
    """Which try at its seeds this is, from 0."""

    def place(self, index: int) -> tuple[int, int]:
        """Seed and seat of the episode with this index, from 0."""
        return self.first_seed + index // self.seats, index % self.seats

    @property
    def seats(self) -> int:
        """How many seats there are to act from."""
        return registry.spec(self.env_id).seats


class EvaluationSpec(BaseModel):
    """Play so many episodes of these environments with this agent.

    With a `benchmark`, the environments, seeds and number of episodes are the benchmark's, and no turn limit may
    be set. Its version is written down, so that the request keeps its meaning when the benchmark changes.
    """

    model_config = ConfigDict(extra="forbid", frozen=True)

    agent: Annotated[str, Field(pattern=r"^[a-z0-9][a-z0-9-]{0,79}$")]
    """The agent's short name."""
    env_ids: tuple[str, ...] = ()
    episodes_per_env: int = 100
    seed: int = 0
    """The first seed; each environment is played with this one and those that follow it."""
    repeats: int = 1
    """How often each seed is played: several tries at the same problem."""
    num_envs: int = 16
    """How many episodes are played at the same time."""
    max_turns: int | None = None
    """A turn limit below the environments' own."""
    token_budget: int | None = None
    """Tokens, in and out together, after which nothing more is played; what is finished stays."""
    opponent: Annotated[str, Field(pattern=r"^[a-z0-9][a-z0-9-]{0,79}$")] | None = None
    """The short name of the agent in the other seats, where there are several."""
    tools: tuple[str, ...] = ()
    """Short names of tools that the agent may use between its actions: `python`, `search:wikigame`, `mcp:time`."""
    max_tool_uses: int = DEFAULT_MAX_TOOL_USES
    """How often tools may be used in an episode, on top of the turn limit."""
    tool_format: tool_catalog.Format = "tags"
    """How tools are asked for (see `gem.tools.ToolEnvWrapper`)."""
    benchmark: str | None = None
    benchmark_version: int | None = None
    """The benchmark's version that decided the above."""

    @model_validator(mode="before")
    @classmethod
    def _follow_the_benchmark(cls, data: Any) -> Any:
        """Fill in what the benchmark decides; refuse what contradicts it."""
        if not isinstance(data, dict) or not data.get("benchmark"):
            return data
        try:
            benchmark = benchmarks.load(str(data["benchmark"]))
        except UsageError as error:
            raise _refused(str(error)) from error
        version = data.get("benchmark_version")
        if version not in (None, benchmark.version):
            if data.get("env_ids") and isinstance(version, int) and 0 < version < benchmark.version:
                return data  # written down under an earlier version, whose choices it keeps
            raise _refused(
                f"Here the benchmark {benchmark.name} has version {benchmark.version}, not {version}. "
                "Use the release that has the version you want, or leave the version out."
            )
        first = benchmark.entries[0]
        decided = {"env_ids": benchmark.env_ids, "episodes_per_env": first.episodes, "seed": first.first_seed}
        for name, value in decided.items():
            given = data.get(name)
            given = list(given) if isinstance(given, tuple) else given
            if given not in (None, [], value):
                raise _refused(f"The benchmark {benchmark.name} decides {name}; leave it out.")
        if data.get("max_turns") is not None:
            raise _refused(f"The benchmark {benchmark.name} has the environments' own turn limits; leave yours out.")
        return {**data, **decided, "benchmark_version": benchmark.version}

    @field_validator("env_ids")
    @classmethod
    def _registered(cls, env_ids: tuple[str, ...]) -> tuple[str, ...]:
        if not 1 <= len(env_ids) <= MAX_ENVIRONMENTS:
            raise _refused(f"Choose 1 to {MAX_ENVIRONMENTS} environments; you chose {len(env_ids)}.")
        if len(set(env_ids)) != len(env_ids):
            raise _refused("An environment is chosen twice.")
        for env_id in env_ids:
            try:
                registry.spec(env_id)
            except UsageError as error:
                raise _refused(str(error)) from error
        return env_ids

    @field_validator("episodes_per_env")
    @classmethod
    def _episodes_in_range(cls, value: int) -> int:
        return _within(value, 1, MAX_EPISODES_PER_ENV, "The number of episodes per environment")

    @field_validator("seed")
    @classmethod
    def _seed_in_range(cls, value: int) -> int:
        return _within(value, 0, MAX_FIRST_SEED, "The seed")

    @field_validator("num_envs")
    @classmethod
    def _num_envs_in_range(cls, value: int) -> int:
        return _within(value, 1, MAX_NUM_ENVS, "The number of parallel environments")

    @field_validator("repeats")
    @classmethod
    def _repeats_in_range(cls, value: int) -> int:
        return _within(value, 1, MAX_REPEATS, "The number of tries at each seed")

    @field_validator("token_budget")
    @classmethod
    def _budget_in_range(cls, value: int | None) -> int | None:
        return None if value is None else _within(value, 1, MAX_TOKENS, "The token budget")

    @field_validator("max_turns")
    @classmethod
    def _max_turns_in_range(cls, value: int | None) -> int | None:
        return None if value is None else _within(value, 1, MAX_TURNS, "The turn limit")

    @model_validator(mode="after")
    def _has_environments(self) -> Self:
        if not self.env_ids:
            raise _refused("Choose at least one environment, or a benchmark.")
        return self

    @model_validator(mode="after")
    def _fills_the_seats(self) -> Self:
        several = self.for_several
        if several and self.opponent is None:
            raise _refused(
                f"{several[0]} has several seats: name an opponent for the others, such as random or expert."
            )
        if self.opponent is not None and not several:
            raise _refused("None of these environments has a seat for an opponent; leave it out.")
        return self

    @model_validator(mode="after")
    def _takes_tools(self) -> Self:
        if self.tools:
            try:
                tool_catalog.wrapper(self.tools, self.max_tool_uses, self.tool_format)
                for env_id in self.env_ids:
                    tool_catalog.check_takes_tools(registry.spec(env_id))
            except UsageError as error:
                raise _refused(str(error)) from error
        return self

    @property
    def parts(self) -> list[Part]:
        """What is to be played, environment by environment; each of them once for every repeat."""
        if self.benchmark and self.is_present:
            once = [Part(e.env_id, e.first_seed, e.episodes) for e in benchmarks.load(self.benchmark).entries]
        else:
            once = [Part(env_id, self.seed, self.episodes_per_env) for env_id in self.env_ids]
        return [part._replace(repeat=repeat) for part in once for repeat in range(self.repeats)]

    def repeat_of(self, slot: int) -> int:
        """Which try at its seed the episode with this place in the batch is, from 0."""
        for part in self.parts:
            if slot < part.episodes:
                return part.repeat
            slot -= part.episodes
        return 0

    @property
    def for_several(self) -> list[str]:
        """Its environments with several seats."""
        return [env_id for env_id in self.env_ids if registry.spec(env_id).seats > 1]

    @property
    def is_present(self) -> bool:
        """Whether its benchmark, if it has one, still has the version that it was written down under."""
        return self.benchmark is None or self.benchmark_version == benchmarks.load(self.benchmark).version

    @property
    def episodes_total(self) -> int:
        """How many episodes that makes."""
        return sum(part.episodes for part in self.parts)

    @property
    def wrappers(self) -> list[dict[str, Any]]:
        """The wrappers of every episode as plain data: a turn limit, and around it tools, whose uses are on top."""
        limit = [] if self.max_turns is None else [{"name": "time_limit", "max_turns": self.max_turns}]
        tools = [tool_catalog.wrapper(self.tools, self.max_tool_uses, self.tool_format)] if self.tools else []
        return limit + tools

    @property
    def tools_in_words(self) -> str:
        """The tools and their budget; empty without tools. Results with different ones are never compared."""
        return tool_catalog.in_words(self.tools, self.max_tool_uses, self.tool_format)


def _within(value: int, low: int, high: int, what: str) -> int:
    if not low <= value <= high:
        raise _refused(f"{what} must be from {low:,} to {high:,}, not {value:,}.")
    return value


def _refused(sentence: str) -> PydanticCustomError:
    """An error whose message is exactly this sentence."""
    return PydanticCustomError("refused", "{sentence}", {"sentence": sentence})
