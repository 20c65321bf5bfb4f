"""What a training is asked to do, as one Pydantic model: form, API, command and worker validate with the same one."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any, Literal, Self

from pydantic import BaseModel, ConfigDict, Field, ValidationError, field_validator, model_validator
from pydantic_core import PydanticCustomError

from gem import registry
from gem.credit import ALGORITHMS, Algorithm
from gem.errors import InvalidArgument, UsageError
from gem.factory import make_wrapped
from gem.validation.messages import error_sentence

NANO_BASE = "nano-base"
"""The name of the policy that comes with the engine."""

RENAMED = {"trace": "gae_lambda", "value_coefficient": "value_loss_coef"}
"""Settings by the names that they had in specifications of earlier versions, and their names now."""

Schedule = Literal["constant", "linear", "cosine"]
"""How a setting falls from the first update to the last: not at all, evenly to 0, or along half a cosine to 0."""


OF_THE_MACHINE = (
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
)
"""Settings of where a training runs and what it writes down, not of what it learns: they may change when it goes on."""


class Stage(BaseModel):
    """One step of a curriculum: what is trained on until it is solved often enough, or for some updates."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    env_id: str
    env_kwargs: dict[str, Any] = {}
    until_success: float = Field(default=0.8, gt=0, le=1, description="Go on once this share of episodes is solved.")
    window: int = Field(default=5, ge=1, le=1000, description="The share is taken over so many updates.")
    updates: int = Field(
        default=0, ge=0, le=1_000_000, description="Go on after so many updates, solved or not; 0 waits until it is."
    )


class TrainingSpec(BaseModel):
    """Train a policy in an environment.

    A batch of `episodes` complete episodes is played, `gem.credit` says what each turn earned, and `epochs` passes over
    the batch change the policy; that is one update.
    """

    model_config = ConfigDict(extra="forbid", frozen=True)

    recipe: str = Field(default="", max_length=80, description="The recipe this comes from, empty if none.")

    env_id: str = Field(description="The environment, such as game:GuessTheNumber-v0-easy.")
    env_kwargs: dict[str, Any] = Field(default={}, description="Arguments of the environment.")
    wrappers: tuple[dict[str, Any], ...] = Field(default=(), description="Wrappers as plain data, innermost first.")
    curriculum: tuple[Stage, ...] = Field(default=(), description="Easier environments first, one after the other.")

    model: str = Field(default=NANO_BASE, description="nano-base, a folder, or the id of a model on a hub.")
    lora_rank: int = Field(default=0, ge=0, le=512, description="Train low-rank adapters only; 0 trains all weights.")
    device: Literal["auto", "cpu", "cuda"] = Field(default="auto", description="auto is cuda where there is one.")
    precision: Literal["float32", "bfloat16"] = Field(default="float32", description="Of the forward passes.")
    sampler: Literal["auto", "server"] = Field(
        default="auto", description="Who writes the responses: this process, or a server."
    )
    server_url: str = Field(default="", description="Of an OpenAI-compatible server, such as http://127.0.0.1:8001/v1.")

    input_mode: Literal["transcript", "markov"] = Field(
        default="transcript", description="The policy reads the whole episode so far, or only the present board."
    )
    max_tokens: int = Field(default=12, ge=1, le=32768, description="Longest response; a longer one is a format fault.")
    max_length: int = Field(default=1024, ge=32, le=131072, description="Longest sequence; beyond it old turns go.")
    temperature: float = Field(default=1.0, gt=0, le=5, description="Of the responses.")

    algorithm: Algorithm = Field(default="rebn", description="How turns are credited.")
    discount: float = Field(default=1.0, ge=0, le=1, description="Gamma, from turn to turn.")
    gae_lambda: float = Field(default=0.95, ge=0, le=1, description="Lambda of PPO's advantage estimate.")
    group_size: int = Field(default=8, ge=2, le=256, description="Episodes of one seed, with GRPO.")
    scale_groups: bool = Field(default=True, description="Divide by the group's standard deviation, with GRPO.")
    value_loss_coef: float = Field(default=0.5, ge=0, le=100, description="Weight of the critic's loss, with PPO.")
    value_clip: float = Field(
        default=0.2, ge=0, le=100, description="How far the critic may move; 0 does not limit it."
    )

    episodes: int = Field(default=128, ge=1, le=65536, description="Episodes of one update.")
    updates: int = Field(default=100, ge=1, le=1_000_000, description="How many updates.")
    epochs: int = Field(default=2, ge=1, le=100, description="Passes over each batch.")
    minibatches: int = Field(default=1, ge=1, le=1024, description="Optimizer steps of one pass.")
    microbatch_tokens: int = Field(default=8192, ge=32, le=10_000_000, description="Tokens of one forward pass.")
    generation_tokens: int = Field(
        default=0,
        ge=0,
        le=100_000_000,
        description="Tokens of prompts and responses that are written at once; 0 is four times microbatch_tokens.",
    )
    gradient_checkpointing: bool = Field(
        default=False, description="Keep less for the backward pass and compute it anew: less memory, more time."
    )
    learning_rate: float = Field(default=1e-3, gt=0, le=1, description="The highest one of the schedule.")
    critic_learning_rate: float = Field(
        default=0.0, ge=0, le=1, description="Of PPO's value head, by the same schedule; 0 is as the policy's."
    )
    schedule: Schedule = Field(default="constant", description="Of the learning rate.")
    warmup: int = Field(default=5, ge=0, le=100_000, description="Updates over which the learning rate rises.")
    clip_range: float = Field(default=0.2, gt=0, le=10, description="How far the probability ratio may move.")
    clip_range_high: float = Field(
        default=0.0, ge=0, le=10, description="How far it may move upwards; 0 is as far as clip_range says."
    )
    target_kl: float = Field(
        default=0.0, ge=0, le=100, description="An update ends before a step that begins farther away; 0 sets no limit."
    )
    entropy_bonus: float = Field(default=0.0, ge=0, le=10, description="Reward for staying undecided, at the start.")
    entropy_schedule: Schedule = Field(default="constant", description="Of the entropy bonus.")
    kl_coefficient: float = Field(default=0.0, ge=0, le=100, description="Penalty for leaving the first policy.")
    gradient_clip: float = Field(default=1.0, ge=0, le=1e6, description="Longest gradient; 0 does not limit it.")
    token_divisor: float = Field(default=1.0, gt=0, le=1e6, description="A response's token losses, summed, over this.")

    seed: int = Field(default=0, ge=0, le=2**53, description="Of episodes and responses.")
    threads: int = Field(default=1, ge=1, le=256, description="Threads of torch.")
    checkpoint_seconds: float = Field(default=30.0, ge=0, le=86400, description="At most so long between checkpoints.")
    keep_checkpoints: int = Field(default=3, ge=1, le=1000, description="The newest ones that stay.")
    sample_every: int = Field(default=5, ge=1, le=100_000, description="Episodes are written every so many updates.")
    sample_episodes: int = Field(default=8, ge=0, le=65536, description="How many of them.")
    exam_episodes: int = Field(default=5, ge=0, le=1024, description="Seeds 0, 1, ... played at every checkpoint.")
    held_out_every: int = Field(
        default=0, ge=0, le=1_000_000, description="Updates between measurements on held-out seeds; 0 makes none."
    )
    held_out_episodes: int = Field(default=64, ge=1, le=65536, description="Episodes of such a measurement.")

    @model_validator(mode="before")
    @classmethod
    def _rename_settings(cls, data: Any) -> Any:
        return with_current_names(data) if isinstance(data, Mapping) else data

    @field_validator("env_id")
    @classmethod
    def _registered(cls, env_id: str) -> str:
        try:
            found = registry.spec(env_id)
        except UsageError as error:
            raise _refused(str(error)) from error
        if found.missing_packages():
            raise _refused(f"{env_id} needs packages that are not installed: {', '.join(found.missing_packages())}.")
        return env_id

    @model_validator(mode="after")
    def _fits(self) -> Self:
        if ALGORITHMS[self.algorithm].has_groups and self.episodes % self.group_size:
            raise _refused(
                f"GRPO plays groups of {self.group_size} episodes, and {self.episodes} episodes are no whole number "
                "of groups."
            )
        if self.minibatches > self.episodes:
            raise _refused(f"{self.episodes} episodes cannot be {self.minibatches} minibatches.")
        if self.max_tokens >= self.max_length:
            raise _refused("A response must be shorter than a sequence: raise max_length or lower max_tokens.")
        if self.sampler == "server" and not self.server_url:
            raise _refused("With sampler=server, server_url names the server, such as http://127.0.0.1:8001/v1.")
        if self.sampler == "server" and not self.lora_rank:
            raise _refused("A server can follow a training of adapters only: set lora_rank.")
        if self.sampler == "server" and ALGORITHMS[self.algorithm].has_critic:
            raise _refused("PPO's critic is in this process, and a server does not ask it: choose another algorithm.")
        return self

    @model_validator(mode="after")
    def _playable(self) -> Self:
        for stage in self.stages:
            try:
                env = make_wrapped(stage.env_id, stage.env_kwargs, self.wrappers)
            except UsageError as error:
                raise _refused(str(error)) from error
            seats = env.seats
            env.close()
            if seats > 1:
                raise _refused(
                    f'{stage.env_id} has {seats} seats: fill the others with env_kwargs={{"opponent": "expert"}}.'
                )
        return self

    @property
    def stages(self) -> tuple[Stage, ...]:
        """The curriculum, the environment itself last."""
        return (*self.curriculum, Stage(env_id=self.env_id, env_kwargs=self.env_kwargs, until_success=1.0))

    @property
    def group(self) -> int:
        """How many episodes of a batch share a seed."""
        return self.group_size if ALGORITHMS[self.algorithm].has_groups else 1


def with_current_names(data: Mapping[str, Any]) -> dict[str, Any]:
    """Settings that an earlier version wrote, under their names now; of an old and a new name the later one counts."""
    return {RENAMED.get(name, name): value for name, value in data.items()}


def read_spec(data: Mapping[str, Any]) -> TrainingSpec:
    """The specification that plain data describe.

    Raises:
        InvalidArgument: with what is wrong, in a sentence for each field.
    """
    try:
        return TrainingSpec.model_validate(data)
    except ValidationError as error:
        raise InvalidArgument(error_sentence(error, TrainingSpec)) from error


def with_settings(data: Mapping[str, Any], settings: list[str]) -> dict[str, Any]:
    """Plain data changed by settings such as `learning_rate=3e-4`; values are JSON, or else text.

    Raises:
        InvalidArgument: if one has no "=".
    """
    changed = dict(data)
    for setting in settings:
        name, equals, value = setting.partition("=")
        if not equals:
            raise InvalidArgument(f"A setting is written key=value, not {setting!r}.")
        try:
            changed[name] = json.loads(value)
        except ValueError:
            changed[name] = value
    return changed


def _refused(sentence: str) -> PydanticCustomError:
    """An error whose message is exactly this sentence."""
    return PydanticCustomError("refused", "{sentence}", {"sentence": sentence})
