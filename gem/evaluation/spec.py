"""The specification of an evaluation, a Pydantic model with which forms, the API and workers validate."""

from __future__ import annotations

import operator
from collections.abc import Mapping
from decimal import Decimal
from typing import Annotated, Any, Literal, NamedTuple

from pydantic import BaseModel, ConfigDict, Field, ValidationInfo, field_validator, model_validator
from pydantic_core import PydanticCustomError

from gem import benchmarks, registry
from gem.errors import UnknownEnvironment, UsageError
from gem.evaluation import wrapping
from gem.evaluation.by_benchmark import DEFAULT_MAX_ERROR_SHARE, fields_of_benchmark
from gem.registry import DEFAULT_MAX_TOOL_USES
from gem.tools import tool_catalog
from gem.validation.stored import STORED, is_stored
from gem.validation.whole import Flag, Whole

MAX_ENVIRONMENTS = 300
MAX_EPISODES_PER_ENV = 10_000
MAX_FIRST_SEED = 2**53
"""The largest first seed. Readers of JSON may store numbers as doubles, which are exact up to here."""
HIDDEN = -(2**16)
"""The first of the numbers in the place of hidden seeds. They are no seeds, and no environment begins with them: a site
puts numbers of its own in their place (`apps.seasons`), and its workers play the seeds behind these."""
MAX_NUM_ENVS = 256
MAX_TURNS = 1000
MAX_REPEATS = 64
MAX_RETRIES = 10
MAX_TOKENS = 10**12
MAX_TURN_BUDGET = 10**12
MAX_MONEY = 1_000_000

ErrorKind = Literal["environment", "unanswered"]
"""An environment error, or an episode in which the agent gave no answer."""


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
        """The number of seats of the environment; 1 if it is gone."""
        return _seats(self.env_id)


class EvaluationSpec(BaseModel):
    """An evaluation of an agent: the environments, the seeds, the number of episodes and how they are played.

    A `benchmark` determines the environments, seeds and number of episodes, and excludes settings that would make good
    results easier than for others. Its version is stored, so that the specification keeps its meaning when the
    benchmark changes. The fields are checked in their order, and every error names its field.
    """

    model_config = ConfigDict(extra="forbid", frozen=True)

    agent: Annotated[str, Field(pattern=r"^[a-z0-9][a-z0-9-]{0,79}$")]
    """The short name of the agent."""
    benchmark: str | None = None
    benchmark_version: Whole | None = None
    """The version of the benchmark that the environments and seeds come from."""
    hidden_seeds: Annotated[Flag, Field(exclude_if=operator.not_)] = False
    """Whether the hidden seeds of the season that runs when the job begins are played, instead of the public seeds.
    Only a site has them, and only such jobs are ranked if the benchmark has hidden seeds."""
    env_ids: Annotated[tuple[str, ...], Field(validate_default=True)] = ()
    episodes_per_env: Whole = 100
    seed: Whole = 0
    """The first seed of each environment; the others follow it."""
    repeats: Whole = 1
    """The number of tries at each seed."""
    num_envs: Whole = 16
    """The number of episodes that are played at the same time."""
    max_turns: Whole | None = None
    """A turn limit below that of the environments."""
    token_budget: Whole | None = None
    """The most input and output tokens of all requests together. No request is sent that could exceed it."""
    money_budget: float | None = None
    """The most money of all requests together, in the currency of the agents' prices."""
    turn_budget: Whole | None = None
    """The most turns of all episodes together, also of those that are cut off or played again."""
    max_episode_tokens: Whole | None = None
    """The most input and output tokens of an episode, those of all its agents. One that reaches it is not solved."""
    max_episode_money: float | None = None
    """The most money of an episode, in the currency of the agents' prices. One that reaches it is not solved."""
    max_error_share: float = DEFAULT_MAX_ERROR_SHARE
    """The share of episodes, from 0 to 1, that may go uncounted because the environment or the agent failed. The job
    fails if there are more; 1 allows any number."""
    opponent: Annotated[
        Annotated[str, Field(pattern=r"^[a-z0-9][a-z0-9-]{0,79}$")] | None, Field(validate_default=True)
    ] = None
    """The short name of the agent in the other seats, if there are several."""
    max_tool_uses: Whole = DEFAULT_MAX_TOOL_USES
    """How often tools may be used in an episode; these turns do not count for the turn limit."""
    tool_format: tool_catalog.Format = "tags"
    """The format of tool calls (see `gem.tools.ToolEnvWrapper`)."""
    tools: tuple[str, ...] = ()
    """Short names of tools that the agent may use between its actions: `python`, `search:wikigame`, `mcp:time`."""
    wrappers: tuple[dict[str, Any], ...] = ()
    """Further wrappers as plain data: those of `gem.evaluation.wrapping.OFFERED`. Their order has no meaning."""
    backend: Literal["sync", "threads"] = "sync"
    """How a worker steps its environments: one after the other, or in threads. It has no effect on results."""
    retries: Whole = 0
    """How often an episode that ends in an error is played again, before it counts as one."""
    count_as_failed: tuple[ErrorKind, ...] = ()
    """The errors that count as not solved. Others are left out of all results, and reported."""
    stop_against: Annotated[str | None, Field(pattern=r"^[A-Za-z0-9]{1,20}$")] = None
    """Stop as soon as it is decided which of two agents solves more: this one, or that of the job with this id, which
    plays the same seeds with the same settings. `group` is the other job of a submission with two agents, and then both
    stop."""

    @model_validator(mode="before")
    @classmethod
    def _apply_benchmark(cls, data: Any, info: ValidationInfo) -> Any:
        """Set the fields that the benchmark determines. What contradicts it is refused at the field `benchmark`."""
        if not isinstance(data, dict) or not data.get("benchmark") or (is_stored(info) and data.get("env_ids")):
            return data
        try:
            return {**data, **fields_of_benchmark(data)}
        except UsageError as error:
            return {**data, "benchmark": error}

    @field_validator("benchmark", mode="before")
    @classmethod
    def _check_benchmark(cls, benchmark: Any) -> Any:
        if isinstance(benchmark, UsageError):
            raise _refused(str(benchmark)) from benchmark
        return benchmark or None

    @field_validator("hidden_seeds")
    @classmethod
    def _check_hidden_seeds(cls, value: bool, info: ValidationInfo) -> bool:
        if value and "benchmark" in info.data and info.data["benchmark"] is None:
            raise _refused("Only a benchmark has hidden seeds; choose one, or play public seeds.")
        return value

    @field_validator("env_ids")
    @classmethod
    def _check_env_ids(cls, env_ids: tuple[str, ...], info: ValidationInfo) -> tuple[str, ...]:
        if not env_ids and "benchmark" not in info.data:
            return env_ids  # the benchmark is refused already
        if not env_ids:
            raise _refused("Choose at least one environment, or a benchmark.")
        if len(env_ids) > MAX_ENVIRONMENTS:
            raise _refused(f"Choose at most {MAX_ENVIRONMENTS} environments; you chose {len(env_ids)}.")
        if len(set(env_ids)) != len(env_ids):
            raise _refused("An environment is chosen twice.")
        for env_id in () if is_stored(info) else env_ids:
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

    @field_validator("turn_budget")
    @classmethod
    def _check_turn_budget(cls, value: int | None) -> int | None:
        return None if value is None else _check_range(value, 1, MAX_TURN_BUDGET, "The turn budget")

    @field_validator("max_episode_tokens")
    @classmethod
    def _check_max_episode_tokens(cls, value: int | None) -> int | None:
        return None if value is None else _check_range(value, 1, MAX_TOKENS, "The token limit of an episode")

    @field_validator("money_budget", "max_episode_money")
    @classmethod
    def _check_money(cls, value: float | None, info: ValidationInfo) -> float | None:
        if value is not None and not 0 < value <= MAX_MONEY:
            what = "money budget" if info.field_name == "money_budget" else "money limit of an episode"
            raise _refused(f"The {what} must be more than 0 and at most {MAX_MONEY:,}, not {value:g}.")
        return value

    @field_validator("max_error_share")
    @classmethod
    def _check_error_share(cls, value: float) -> float:
        if not 0 <= value <= 1:  # also refuses NaN
            raise _refused(f"The share of errors that a job allows must be from 0 to 1, not {value:g}.")
        return value

    @field_validator("max_turns")
    @classmethod
    def _check_max_turns(cls, value: int | None) -> int | None:
        return None if value is None else _check_range(value, 1, MAX_TURNS, "The turn limit")

    @field_validator("retries")
    @classmethod
    def _check_retries(cls, value: int) -> int:
        return _check_range(value, 0, MAX_RETRIES, "The number of retries")

    @field_validator("count_as_failed")
    @classmethod
    def _sort_error_kinds(cls, kinds: tuple[ErrorKind, ...]) -> tuple[ErrorKind, ...]:
        return tuple(sorted(set(kinds)))

    @field_validator("opponent")
    @classmethod
    def _check_opponent(cls, opponent: str | None, info: ValidationInfo) -> str | None:
        if "env_ids" not in info.data or is_stored(info):
            return opponent
        env_ids = _multi_seat(info.data["env_ids"])
        if env_ids and opponent is None:
            raise _refused(
                f"{env_ids[0]} has several seats: name an opponent for the others, such as random or expert."
            )
        if opponent is not None and not env_ids:
            raise _refused("None of these environments has a seat for an opponent; leave it out.")
        return opponent

    @field_validator("tools")
    @classmethod
    def _check_tools(cls, tools: tuple[str, ...], info: ValidationInfo) -> tuple[str, ...]:
        if tools and {"max_tool_uses", "tool_format"} <= info.data.keys() and not is_stored(info):
            try:
                tool_catalog.wrapper(tools, info.data["max_tool_uses"], info.data["tool_format"])
                for env_id in info.data.get("env_ids", ()):
                    tool_catalog.check_takes_tools(registry.spec(env_id))
            except UsageError as error:
                raise _refused(str(error)) from error
        return tools

    @field_validator("wrappers")
    @classmethod
    def _check_wrappers(cls, wrappers: tuple[dict[str, Any], ...]) -> tuple[dict[str, Any], ...]:
        try:
            return wrapping.check(wrappers)
        except UsageError as error:
            raise _refused(str(error)) from error

    @property
    def parts(self) -> list[EvaluationPart]:
        """The episodes to play: for each environment one part for every try."""
        played = self._played_benchmark
        if played is not None:
            parts = [self._part(entry) for entry in played.entries]
        else:
            parts = [EvaluationPart(env_id, self.seed, self.episodes_per_env) for env_id in self.env_ids]
        return [part._replace(repeat=repeat) for part in parts for repeat in range(self.repeats)]

    def _part(self, entry: benchmarks.BenchmarkEntry) -> EvaluationPart:
        """The episodes of an environment of the benchmark. Those of hidden seeds count from `HIDDEN`."""
        if self.hidden_seeds and entry.hidden_seeds:
            return EvaluationPart(entry.env_id, HIDDEN, entry.hidden_seeds * _seats(entry.env_id))
        return EvaluationPart(entry.env_id, entry.first_seed, entry.episodes)

    @property
    def _played_benchmark(self) -> benchmarks.Benchmark | None:
        """The version of the benchmark that is played; None without a benchmark, or if that version was not kept."""
        if self.benchmark is None:
            return None
        if self.is_current:
            return benchmarks.load(self.benchmark)
        return benchmarks.earlier(self.benchmark, self.benchmark_version or 0)

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
        return self.limits_money or (self.token_budget, self.max_episode_tokens) != (None, None)

    @property
    def limits_money(self) -> bool:
        """Whether the money of the job or of an episode is limited, so that agents have to have prices."""
        return (self.money_budget, self.max_episode_money) != (None, None)

    @property
    def exact_money_budget(self) -> Decimal | None:
        """The money budget as the decimal number that was written."""
        return _exact(self.money_budget)

    @property
    def exact_episode_money(self) -> Decimal | None:
        """The money limit of an episode as the decimal number that was written."""
        return _exact(self.max_episode_money)

    @property
    def multi_seat_env_ids(self) -> list[str]:
        """The environments with several seats."""
        return _multi_seat(self.env_ids)

    @property
    def is_current(self) -> bool:
        """Whether the benchmark, if there is one, is still here and has the version of the specification."""
        try:
            return self.benchmark is None or self.benchmark_version == benchmarks.load(self.benchmark).version
        except UsageError:
            return False

    @property
    def episodes_total(self) -> int:
        """The number of all episodes."""
        return sum(part.episodes for part in self.parts)

    @property
    def all_wrappers(self) -> list[dict[str, Any]]:
        """The wrappers of every episode as plain data, innermost first: the turn limit, the tools, and `wrappers`."""
        limit = [] if self.max_turns is None else [{"name": "time_limit", "max_turns": self.max_turns}]
        tools = [tool_catalog.wrapper(self.tools, self.max_tool_uses, self.tool_format)] if self.tools else []
        return wrapping.around(limit, self.wrappers, tools)

    @property
    def tools_in_words(self) -> str:
        """The tools and their budget in words; empty without tools. Only results with equal tools are compared."""
        return tool_catalog.in_words(self.tools, self.max_tool_uses, self.tool_format)


def read_stored(data: Mapping[str, Any]) -> EvaluationSpec:
    """The specification of an evaluation that was submitted before; its environments may be gone (`validation.stored`).

    Raises:
        pydantic.ValidationError: if the data are none.
    """
    return EvaluationSpec.model_validate(data, context=STORED)


def _seats(env_id: str) -> int:
    """The number of seats of an environment; 1 if it is gone, which only a stored specification names."""
    try:
        return registry.spec(env_id).seats
    except UnknownEnvironment:
        return 1


def _exact(money: float | None) -> Decimal | None:
    return None if money is None else Decimal(str(money))


def _multi_seat(env_ids: tuple[str, ...]) -> list[str]:
    return [env_id for env_id in env_ids if _seats(env_id) > 1]


def _check_range(value: int, low: int, high: int, label: str) -> int:
    if not low <= value <= high:
        raise _refused(f"{label} must be from {low:,} to {high:,}, not {value:,}.")
    return value


def _refused(sentence: str) -> PydanticCustomError:
    """Make a validation error whose message is exactly this sentence."""
    return PydanticCustomError("refused", "{sentence}", {"sentence": sentence})
