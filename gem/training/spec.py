"""The specification of a training as one Pydantic model, with which form, API, command and worker validate."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any, Literal, Self

from pydantic import (
    BaseModel,
    ConfigDict,
    Field,
    ValidationError,
    ValidationInfo,
    field_validator,
    model_validator,
)

from gem import registry
from gem.credit import ALGORITHMS, Algorithm, CreditUnit
from gem.errors import InvalidArgument, MissingDependency, UsageError
from gem.training import environment_check
from gem.training.built_in_policies import NANO_BASE
from gem.training.combinations import check_combinations
from gem.training.study.alarms import StopOn
from gem.validation.messages import error_sentence, refused
from gem.validation.stored import STORED, is_stored
from gem.validation.whole import Flag, Whole, typed

MOST_STAGES, MOST_WRAPPERS = 20, 16
"""Stages of a curriculum, and wrappers: a specification makes the environment of each stage, to check it."""

RENAMED_SETTINGS = {"trace": "gae_lambda", "value_coefficient": "value_loss_coef"}
"""Present names of settings by the names that they had in specifications of earlier versions."""

OptimizerName = Literal["adamw", "muon"]
"""How the weights follow their gradients; see `gem.training.optimizers`."""
PoolAgent = Literal["random", "expert"]
"""Agents that a policy may play against without training them."""
Schedule = Literal["constant", "linear", "cosine"]
"""How a setting decreases from the first update to the last: not at all, linearly to 0, or along half a cosine to 0."""

MACHINE_SETTINGS = (
    "device",
    "threads",
    "microbatch_tokens",
    "generation_tokens",
    "gradient_checkpointing",
    "server_url",
    "checkpoint_seconds",
    "keep_checkpoints",
    "sample_every",
    "sample_episodes",
    "exam_episodes",
    "stop_on",
)
"""Settings of where a training runs, what it writes and when it stops by itself, not of what it learns; they may change
when it resumes."""


class Stage(BaseModel):
    """One stage of a curriculum: an environment to train in until it is solved often enough, or for some updates."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    env_id: str
    env_kwargs: dict[str, Any] = {}
    until_success: float = Field(
        default=0.8, gt=0, le=1, description="Share of episodes to solve before the next stage begins."
    )
    window: Whole = Field(default=5, ge=1, le=1000, description="Number of updates over which this share is measured.")
    updates: Whole = Field(
        default=0,
        ge=0,
        le=1_000_000,
        description="Number of updates after which the next stage begins in any case; 0 sets no limit.",
    )


class TrainingSpec(BaseModel):
    """Train a policy in an environment.

    In an update, a batch of `episodes` complete episodes is played, `gem.credit` computes the advantage of each turn,
    and `epochs` passes over the batch change the policy.
    """

    model_config = ConfigDict(extra="forbid", frozen=True)

    recipe: str = Field(default="", max_length=80, description="The recipe that this comes from; empty if none.")

    env_id: str = Field(description="The environment, such as game:GuessTheNumber-v0-easy.")
    env_kwargs: dict[str, Any] = Field(default={}, description="Arguments of the environment.")
    wrappers: tuple[dict[str, Any], ...] = Field(
        default=(), max_length=MOST_WRAPPERS, description="Wrappers as plain data, innermost first."
    )
    self_play: Flag = Field(
        default=False, description="Play both seats of an environment with two, against itself and earlier policies."
    )
    pool_share: float = Field(
        default=0.5,
        ge=0,
        le=1,
        description="Share of the episodes against an opponent of the pool, whose responses teach nothing.",
    )
    pool_every: Whole = Field(
        default=10, ge=1, le=1_000_000, description="Updates after which the policy enters the pool as it is then."
    )
    pool_size: Whole = Field(
        default=6, ge=0, le=64, description="Most earlier policies in the pool; the oldest leaves first."
    )
    pool_agents: tuple[PoolAgent, ...] = Field(
        default=("random",), max_length=2, description="Agents that are always in the pool: random, expert."
    )
    measured_against: PoolAgent = Field(
        default="random", description="Who has the other seat on held-out seeds and in exams, with self_play."
    )
    curriculum: tuple[Stage, ...] = Field(
        default=(), max_length=MOST_STAGES, description="Easier environments to train in first, in order."
    )
    target_success: float = Field(
        default=0.0,
        ge=0,
        lt=1,
        description="Share solved at which an adaptive curriculum keeps the policy, going up and down; 0 goes up only.",
    )
    level_step: float = Field(
        default=0.25, gt=0, le=8, description="Stages by which an adaptive curriculum moves in an update at most."
    )

    model: str = Field(
        default=NANO_BASE,
        description="nano-base, -wide, -large, -tools or -reader, a folder, or an id of a hub.",
    )
    lora_rank: Whole = Field(
        default=0, ge=0, le=512, description="Rank of low-rank adapters, which alone are trained; 0 trains all weights."
    )
    device: Literal["auto", "cpu", "cuda"] = Field(
        default="auto", description="Where torch computes; auto takes cuda if there is a GPU."
    )
    precision: Literal["float32", "bfloat16"] = Field(default="float32", description="Precision of forward passes.")
    sampler: Literal["auto", "server"] = Field(
        default="auto", description="What writes the responses: this process (auto), or a server."
    )
    server_url: str = Field(
        default="", description="Address of an OpenAI-compatible server, such as http://127.0.0.1:8001/v1."
    )

    input_mode: Literal["transcript", "markov"] = Field(
        default="transcript", description="The policy reads the whole episode so far, or only the present board."
    )
    max_tokens: Whole = Field(
        default=12, ge=1, le=32768, description="Most tokens of a response; a longer one is a format fault."
    )
    max_length: Whole = Field(
        default=1024, ge=32, le=131072, description="Most tokens of a sequence; beyond it old turns are dropped."
    )
    temperature: float = Field(default=1.0, gt=0, le=5, description="Temperature at which responses are drawn.")

    algorithm: Algorithm = Field(default="rebn", description="The algorithm that computes the advantages of turns.")
    credit_unit: CreditUnit = Field(
        default="turn",
        description="What one action is: a turn's response, each of its tokens, or all responses of an episode.",
    )
    discount: float = Field(default=1.0, ge=0, le=1, description="Discount (gamma) from one action to the next.")
    gae_lambda: float = Field(default=0.95, ge=0, le=1, description="Lambda of PPO's advantage estimate.")
    group_size: Whole = Field(default=8, ge=2, le=256, description="Episodes that share a seed, with GRPO.")
    dynamic_sampling: Whole = Field(
        default=0,
        ge=0,
        le=16,
        description="Rounds in which groups with equal returns, which teach nothing, are replaced, with GRPO.",
    )
    retry_unsolved: float = Field(
        default=0.0,
        ge=0,
        lt=1,
        description="Share of a batch that tries seeds again which were not solved; 0 plays new seeds only.",
    )
    fork_turns: Whole = Field(
        default=0,
        ge=0,
        le=64,
        description="Turns of each episode from which it is continued anew, so that no critic is needed, with ReBN.",
    )
    fork_count: Whole = Field(
        default=4,
        ge=2,
        le=64,
        description="Most continuations from a turn; after two that return the same there are no more.",
    )
    scale_groups: Flag = Field(default=True, description="Divide by the group's standard deviation, with GRPO.")
    value_loss_coef: float = Field(default=0.5, ge=0, le=100, description="Weight of the critic's loss, with PPO.")
    value_clip: float = Field(
        default=0.2, ge=0, le=100, description="How far the critic's estimate may move in an update; 0 sets no limit."
    )

    episodes: Whole = Field(default=128, ge=1, le=65536, description="Episodes in one update.")
    updates: Whole = Field(default=100, ge=1, le=1_000_000, description="Number of updates.")
    epochs: Whole = Field(default=2, ge=1, le=100, description="Passes over each batch.")
    minibatches: Whole = Field(default=1, ge=1, le=1024, description="Optimizer steps in one pass.")
    microbatch_tokens: Whole = Field(default=8192, ge=32, le=10_000_000, description="Tokens in one forward pass.")
    generation_tokens: Whole = Field(
        default=0,
        ge=0,
        le=100_000_000,
        description="Tokens of prompts and responses that are written at once; 0 is four times microbatch_tokens.",
    )
    gradient_checkpointing: Flag = Field(
        default=False, description="Recompute activations in the backward pass: less memory, more time."
    )
    optimizer: OptimizerName = Field(
        default="adamw", description="AdamW, or Muon for the matrices inside the layers and AdamW for the rest."
    )
    learning_rate: float = Field(default=1e-3, gt=0, le=1, description="The highest learning rate of the schedule.")
    critic_learning_rate: float = Field(
        default=0.0, ge=0, le=1, description="Learning rate of PPO's value head; 0 takes the policy's learning rate."
    )
    schedule: Schedule = Field(default="constant", description="How the learning rate decreases.")
    warmup: Whole = Field(default=5, ge=0, le=100_000, description="Updates over which the learning rate rises.")
    clip_range: float = Field(
        default=0.2, gt=0, le=10, description="How far the probability ratio may move in an update."
    )
    clip_range_high: float = Field(
        default=0.0, ge=0, le=10, description="How far the ratio may move upwards; 0 is the same as clip_range."
    )
    target_kl: float = Field(
        default=0.0,
        ge=0,
        le=100,
        description="Divergence from the policy that played beyond which an update ends; 0 sets no limit.",
    )
    entropy_bonus: float = Field(
        default=0.0, ge=0, le=10, description="Reward for each nat of entropy, at the start of the training."
    )
    entropy_schedule: Schedule = Field(default="constant", description="How the entropy bonus decreases.")
    kl_coefficient: float = Field(
        default=0.0, ge=0, le=100, description="Weight of the penalty for diverging from the first policy."
    )
    gradient_clip: float = Field(
        default=1.0, ge=0, le=1e6, description="Largest norm of the gradient; 0 sets no limit."
    )
    token_divisor: float = Field(
        default=1.0, gt=0, le=1e6, description="Constant by which the summed token losses of a response are divided."
    )

    seed: Whole = Field(default=0, ge=0, le=2**53, description="Seed of the episodes and responses.")
    threads: Whole = Field(default=1, ge=1, le=256, description="Number of CPU threads that torch uses.")
    checkpoint_seconds: float = Field(
        default=30.0, ge=0, le=86400, description="Seconds after which the next update writes a checkpoint."
    )
    keep_checkpoints: Whole = Field(default=3, ge=1, le=1000, description="Number of newest checkpoints that are kept.")
    sample_every: Whole = Field(
        default=5, ge=1, le=100_000, description="Number of updates between two whose episodes are kept."
    )
    sample_episodes: Whole = Field(default=8, ge=0, le=65536, description="Episodes of such an update that are kept.")
    exam_episodes: Whole = Field(
        default=5,
        ge=0,
        le=1024,
        description="Episodes on seeds 0, 1, ... that are played before the first update and at every checkpoint.",
    )
    held_out_every: Whole = Field(
        default=0, ge=0, le=1_000_000, description="Updates between measurements on held-out seeds; 0 makes none."
    )
    held_out_episodes: Whole = Field(default=64, ge=1, le=65536, description="Episodes in such a measurement.")
    held_out_kwargs: dict[str, Any] = Field(
        default={}, description="Arguments of the environment that measurements change, such as the split of its data."
    )
    stop_on: tuple[StopOn, ...] = Field(
        default=(),
        max_length=16,
        description="Alarms for which the training stops by itself; collapse is invalid, return and success together.",
    )

    @model_validator(mode="before")
    @classmethod
    def _rename_settings(cls, data: Any) -> Any:
        return with_current_names(data) if isinstance(data, Mapping) else data

    @field_validator("stop_on", mode="before")
    @classmethod
    def _list_alarms(cls, value: Any) -> Any:
        return (value,) if isinstance(value, str) else value

    @field_validator("env_id")
    @classmethod
    def _check_registered(cls, env_id: str, info: ValidationInfo) -> str:
        if is_stored(info):
            return env_id
        try:
            env_spec = registry.spec(env_id)
        except UsageError as error:
            raise refused(str(error)) from error
        if missing := env_spec.missing_packages():
            raise refused(str(MissingDependency(env_id, missing)))
        return env_id

    @model_validator(mode="after")
    def _check_combinations(self) -> Self:
        check_combinations(self)
        return self

    @model_validator(mode="after")
    def _check_environments(self, info: ValidationInfo) -> Self:
        """Make the environment of every stage once, with its wrappers."""
        if is_stored(info):
            return self
        played = [(stage, 2 if self.self_play else 1) for stage in self.stages]
        is_other = self.self_play or bool(self.held_out_kwargs)
        for stage, needed_seats in [*played, *([(self.measured_stage, 1)] if is_other else [])]:
            try:
                seats = environment_check.count_seats(stage.env_id, stage.env_kwargs, self.wrappers)
            except UsageError as error:
                raise refused(str(error)) from error
            if seats > 1 and needed_seats == 1:
                raise refused(
                    f'{stage.env_id} has {seats} seats: fill the others with env_kwargs={{"opponent": "expert"}}, or '
                    "set self_play=true."
                )
            if seats != needed_seats:
                raise refused(f"{stage.env_id} has {seats} seat{'s' * (seats > 1)}, and self_play needs two.")
        return self

    @property
    def env_ids(self) -> list[str]:
        """The environments of all stages, each once."""
        return list(dict.fromkeys(stage.env_id for stage in self.stages))

    @property
    def stages(self) -> tuple[Stage, ...]:
        """The stages of the curriculum; the last one is the environment itself."""
        return (*self.curriculum, Stage(env_id=self.env_id, env_kwargs=self.env_kwargs, until_success=1.0))

    @property
    def measured_stage(self) -> Stage:
        """Where the policy is measured: the last stage with `held_out_kwargs`, in self-play against an agent."""
        last = self.stages[-1]
        opponent = {"opponent": self.measured_against} if self.self_play else {}
        return last.model_copy(update={"env_kwargs": {**last.env_kwargs, **self.held_out_kwargs, **opponent}})

    @property
    def group(self) -> int:
        """How many episodes of a batch share a seed."""
        return self.group_size if ALGORITHMS[self.algorithm].has_groups else 1


def with_current_names(data: Mapping[str, Any]) -> dict[str, Any]:
    """Settings that an earlier version may have written, under their present names.

    Where the data have both names of a setting, the later entry counts.
    """
    return {RENAMED_SETTINGS.get(name, name): value for name, value in data.items()}


def read_spec(data: Mapping[str, Any]) -> TrainingSpec:
    """The specification that plain data describe.

    Raises:
        InvalidArgument: if the data are invalid, with a sentence for each field.
    """
    return _read(data, None)


def read_stored(data: Mapping[str, Any]) -> TrainingSpec:
    """The specification of a training that was submitted before, whose environments may be gone (`validation.stored`).

    Raises:
        InvalidArgument: see `read_spec`.
    """
    return _read(data, STORED)


def _read(data: Mapping[str, Any], context: Mapping[str, bool] | None) -> TrainingSpec:
    try:
        return TrainingSpec.model_validate(data, context=context)
    except ValidationError as error:
        raise InvalidArgument(error_sentence(error, TrainingSpec)) from error


def with_settings(data: Mapping[str, Any], settings: list[str]) -> dict[str, Any]:
    """Plain data changed by settings such as `learning_rate=3e-4`; values that are not JSON are strings.

    Raises:
        InvalidArgument: if a setting has no "=".
    """
    changed = dict(data)
    for setting in settings:
        name, equals, value = setting.partition("=")
        if not equals:
            raise InvalidArgument(f"A setting is written key=value, not {setting!r}.")
        try:
            changed[name] = typed(json.loads(value))
        except ValueError:
            changed[name] = value
    return changed
