"""The specification of an evaluation, a Pydantic model that forms, the API and the workers validate with."""

from __future__ import annotations

from decimal import Decimal
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
"""The largest first seed. Readers of JSON may store numbers as doubles, which are exact up to here."""
MAX_NUM_ENVS = 256
MAX_TURNS = 1000
MAX_REPEATS = 64
MAX_TOKENS = 10**12
MAX_MONEY = 1_000_000


class EvaluationPart(NamedTuple):
    """The episodes of one environment, with consecutive seeds from `first_seed` on.

    In an environment with several seats, each seed is played once from each seat, so that no agent has the first turn
    more often than the other.
    """

    env_id: str
    first_seed: int
    episodes: int
    repeat: int = 0
    """The number of this try at the seeds, from 0."""

    def seed_and_seat(self, index: int) -> tuple[int, int]:
        """Return the seed and the seat of the episode with this index, from 0."""
        return self.first_seed + index // self.seats, index % self.seats

    @property
    def seats(self) -> int:
        """The number of seats of the environment."""
        return registry.spec(self.env_id).seats


class EvaluationSpec(BaseModel):
    """An evaluation of an agent: the environments, the seeds, the number of episodes and how they are played.

    A `benchmark` determines the environments, seeds and number of episodes, and excludes a turn limit. Its version is
    stored, so that the specification keeps its meaning when the benchmark changes.
    """

    model_config = ConfigDict(extra="forbid", frozen=True)

    agent: Annotated[str, Field(pattern=r"^[a-z0-9][a-z0-9-]{0,79}$")]
    """The short name of the agent."""
    env_ids: tuple[str, ...] = ()
    episodes_per_env: int = 100
    seed: int = 0
    """The first seed of each environment; the others follow it."""
    repeats: int = 1
    """The number of tries at each seed."""
    num_envs: int = 16
    """The number of episodes that are played at the same time."""
    max_turns: int | None = None
    """A turn limit below that of the environments."""
    token_budget: int | None = None
    """The most input and output tokens of all requests together. No request is sent that could exceed it."""
    money_budget: float | None = None
    """The most money of all requests together, in the currency of the agents' prices."""
    max_episode_tokens: int | None = None
    """The most input and output tokens of an episode, those of all its agents. One that reaches it is not solved."""
    opponent: Annotated[str, Field(pattern=r"^[a-z0-9][a-z0-9-]{0,79}$")] | None = None
    """The short name of the agent in the other seats, if there are several."""
    tools: tuple[str, ...] = ()
    """Short names of tools that the agent may use between its actions: `python`, `search:wikigame`, `mcp:time`."""
    max_tool_uses: int = DEFAULT_MAX_TOOL_USES
    """How often tools may be used in an episode; these turns do not count for the turn limit."""
    tool_format: tool_catalog.Format = "tags"
    """The format of tool calls (see `gem.tools.ToolEnvWrapper`)."""
    benchmark: str | None = None
    benchmark_version: int | None = None
    """The version of the benchmark that the environments and seeds come from."""

    @model_validator(mode="before")
    @classmethod
    def _apply_benchmark(cls, data: Any) -> Any:
        """Set the fields that the benchmark determines, and check that given fields do not contradict it."""
        if not isinstance(data, dict) or not data.get("benchmark"):
            return data
        try:
            benchmark = benchmarks.load(str(data["benchmark"]))
        except UsageError as error:
            raise _refused(str(error)) from error
        version = data.get("benchmark_version")
        if version not in (None, benchmark.version):
            if data.get("env_ids") and isinstance(version, int) and 0 < version < benchmark.version:
                return data  # a stored specification with an earlier version keeps its environments and seeds
            raise _refused(
                f"Here the benchmark {benchmark.name} has version {benchmark.version}, not {version}. "
                "Use the release that has the version you want, or leave the version out."
            )
        first_entry = benchmark.entries[0]
        benchmark_fields = {
            "env_ids": benchmark.env_ids,
            "episodes_per_env": first_entry.episodes,
            "seed": first_entry.first_seed,
        }
        for name, value in benchmark_fields.items():
            chosen = data.get(name)
            chosen = list(chosen) if isinstance(chosen, tuple) else chosen
            if chosen not in (None, [], value):
                raise _refused(f"The benchmark {benchmark.name} decides {name}; leave it out.")
        if data.get("max_turns") is not None:
            raise _refused(f"The benchmark {benchmark.name} has the environments' own turn limits; leave yours out.")
        if data.get("max_episode_tokens") is not None:
            raise _refused(f"The benchmark {benchmark.name} limits no tokens of an episode; leave your limit out.")
        return {**data, **benchmark_fields, "benchmark_version": benchmark.version}

    @field_validator("env_ids")
    @classmethod
    def _check_env_ids(cls, env_ids: tuple[str, ...]) -> tuple[str, ...]:
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
    def _check_episodes(cls, value: int) -> int:
        return _check_range(value, 1, MAX_EPISODES_PER_ENV, "The number of episodes per environment")

    @field_validator("seed")
    @classmethod
    def _check_seed(cls, value: int) -> int:
        return _check_range(value, 0, MAX_FIRST_SEED, "The seed")

    @field_validator("num_envs")
    @classmethod
    def _check_num_envs(cls, value: int) -> int:
        return _check_range(value, 1, MAX_NUM_ENVS, "The number of parallel environments")

    @field_validator("repeats")
    @classmethod
    def _check_repeats(cls, value: int) -> int:
        return _check_range(value, 1, MAX_REPEATS, "The number of tries at each seed")

    @field_validator("token_budget")
    @classmethod
    def _check_token_budget(cls, value: int | None) -> int | None:
        return None if value is None else _check_range(value, 1, MAX_TOKENS, "The token budget")

    @field_validator("max_episode_tokens")
    @classmethod
    def _check_max_episode_tokens(cls, value: int | None) -> int | None:
        return None if value is None else _check_range(value, 1, MAX_TOKENS, "The token limit of an episode")

    @field_validator("money_budget")
    @classmethod
    def _check_money_budget(cls, value: float | None) -> float | None:
        if value is not None and not 0 < value <= MAX_MONEY:
            raise _refused(f"The money budget must be more than 0 and at most {MAX_MONEY:,}, not {value:g}.")
        return value

    @field_validator("max_turns")
    @classmethod
    def _check_max_turns(cls, value: int | None) -> int | None:
        return None if value is None else _check_range(value, 1, MAX_TURNS, "The turn limit")

    @model_validator(mode="after")
    def _check_has_environments(self) -> Self:
        if not self.env_ids:
            raise _refused("Choose at least one environment, or a benchmark.")
        return self

    @model_validator(mode="after")
    def _check_opponent(self) -> Self:
        env_ids = self.multi_seat_env_ids
        if env_ids and self.opponent is None:
            raise _refused(
                f"{env_ids[0]} has several seats: name an opponent for the others, such as random or expert."
            )
        if self.opponent is not None and not env_ids:
            raise _refused("None of these environments has a seat for an opponent; leave it out.")
        return self

    @model_validator(mode="after")
    def _check_tools(self) -> Self:
        if self.tools:
            try:
                tool_catalog.wrapper(self.tools, self.max_tool_uses, self.tool_format)
                for env_id in self.env_ids:
                    tool_catalog.check_takes_tools(registry.spec(env_id))
            except UsageError as error:
                raise _refused(str(error)) from error
        return self

    @property
    def parts(self) -> list[EvaluationPart]:
        """The episodes to play: for each environment one part for every try."""
        if self.benchmark and self.is_current:
            parts = [
                EvaluationPart(e.env_id, e.first_seed, e.episodes) for e in benchmarks.load(self.benchmark).entries
            ]
        else:
            parts = [EvaluationPart(env_id, self.seed, self.episodes_per_env) for env_id in self.env_ids]
        return [part._replace(repeat=repeat) for part in parts for repeat in range(self.repeats)]

    def repeat_of(self, slot: int) -> int:
        """Return the number of the try, from 0, of the episode with this place in the batch."""
        for part in self.parts:
            if slot < part.episodes:
                return part.repeat
            slot -= part.episodes
        return 0

    @property
    def limits_tokens(self) -> bool:
        """Whether the tokens or the money of the job or of an episode are limited, so that answers have to be too."""
        return (self.token_budget, self.money_budget, self.max_episode_tokens) != (None, None, None)

    @property
    def exact_money_budget(self) -> Decimal | None:
        """The money budget as the decimal number that was written."""
        return None if self.money_budget is None else Decimal(str(self.money_budget))

    @property
    def multi_seat_env_ids(self) -> list[str]:
        """The environments with several seats."""
        return [env_id for env_id in self.env_ids if registry.spec(env_id).seats > 1]

    @property
    def is_current(self) -> bool:
        """Whether the benchmark, if there is one, still has the version of the specification."""
        return self.benchmark is None or self.benchmark_version == benchmarks.load(self.benchmark).version

    @property
    def episodes_total(self) -> int:
        """The number of all episodes."""
        return sum(part.episodes for part in self.parts)

    @property
    def wrappers(self) -> list[dict[str, Any]]:
        """The wrappers of every episode as plain data: the turn limit, and around it the tools."""
        limit = [] if self.max_turns is None else [{"name": "time_limit", "max_turns": self.max_turns}]
        tools = [tool_catalog.wrapper(self.tools, self.max_tool_uses, self.tool_format)] if self.tools else []
        return limit + tools

    @property
    def tools_in_words(self) -> str:
        """The tools and their budget in words; empty without tools. Only results with equal tools are compared."""
        return tool_catalog.in_words(self.tools, self.max_tool_uses, self.tool_format)


def _check_range(value: int, low: int, high: int, label: str) -> int:
    if not low <= value <= high:
        raise _refused(f"{label} must be from {low:,} to {high:,}, not {value:,}.")
    return value


def _refused(sentence: str) -> PydanticCustomError:
    """Make a validation error whose message is exactly this sentence."""
    return PydanticCustomError("refused", "{sentence}", {"sentence": sentence})
