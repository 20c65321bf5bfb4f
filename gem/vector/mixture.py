"""A mixture: an environment that draws every episode from several others by weight, for training on all of them.

Rules:
    Every episode is one of a part, with its observations, actions, rewards and end. `info["env_id"]` and
    `info["env_seed"]` have the part and the seed with which the same episode can be played alone.

Arguments:
    - `parts`: the environments, `{"env_id": ..., "weight": 1, "kwargs": {}, "wrappers": []}` each.
    - `curriculum`: how the weights depend on the episodes that were solved so far; optional.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, Literal

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from gem import registry
from gem.core import Env, Info, State, Step, reading_state
from gem.errors import EpisodeOver, InvalidArgument
from gem.factory import make_wrapped
from gem.rng import pack_generator, unpack_generator
from gem.tools.schema import FunctionSchema
from gem.validation.messages import error_sentence
from gem.validation.whole import Whole
from gem.views import TextView, View
from gem.wrappers.wrapper_factory import has_tools, names_of_tools


class MixturePart(BaseModel):
    """One environment of a mixture."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    env_id: str
    weight: float = Field(default=1.0, gt=0, allow_inf_nan=False)
    kwargs: dict[str, Any] = {}
    wrappers: list[dict[str, Any]] = []
    """The wrappers as plain data, innermost first (see `gem.wrappers.wrap`)."""


class Curriculum(BaseModel):
    """How the weights depend on the success rate of each part, which is taken over its last `window` episodes.

    `learnable` prefers parts with a success rate near `target`: the weight of a part is multiplied by a factor that
    falls from 1 at the target to `floor` at a rate of 0 or 1. `stages` begins with the first part only; the next part
    joins when the one that joined last reaches a rate of `target` over a whole window.
    """

    model_config = ConfigDict(extra="forbid", frozen=True)

    kind: Literal["learnable", "stages"]
    target: float = Field(default=0.5, gt=0, lt=1)
    window: Whole = Field(default=20, ge=1, le=10_000)
    floor: float = Field(default=0.1, ge=0, le=1)


class Mixture(BaseModel):
    """The parts of a mixture and its curriculum."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    parts: list[MixturePart] = Field(min_length=1)
    curriculum: Curriculum | None = None


def register_mixture(env_id: str, mixture: Mixture | Mapping[str, Any] | str | Path) -> None:
    """Register a mixture as an environment, so that `gem.make(env_id)` makes it.

    A mixture without a curriculum replays as its parts do: exactly, or as "taped" if one of them is, or has tools in
    its arguments or wrappers; then the mixture is slow as well. Its `tools` are those of all parts. With a curriculum,
    an episode also depends on earlier episodes, so its `replay` is "none"; the episode of the part, which the info
    names, can still be replayed.

    Args:
        mixture: a `Mixture`, the same as plain data, or the path of a JSON file with it.

    Raises:
        InvalidArgument: if the mixture is malformed, or the id is taken.
        UnknownEnvironment: if a part is not registered.
    """
    parsed = _parse_mixture(mixture)
    specs = [registry.spec(part.env_id) for part in parsed.parts]
    with_tools = any(has_tools(part.kwargs, part.wrappers) for part in parsed.parts)
    replays = {spec.replay for spec in specs} | ({"none"} if parsed.curriculum else set())
    replays |= {"taped"} if with_tools else set()
    replay: registry.Replay = "none" if "none" in replays else "taped" if "taped" in replays else "exact"
    plain = parsed.model_dump()
    registry.register(
        env_id,
        MixtureEnv,
        replay=replay,
        cost="slow" if with_tools or any(spec.cost == "slow" for spec in specs) else "fast",
        winnable=all(spec.winnable for spec in specs),
        turns="single" if all(spec.turns == "single" for spec in specs) else "multi",
        tools_of_parts=list(dict.fromkeys(name for part in parsed.parts for name in _tools_of(part))),
        requires=sorted({package for spec in specs for package in spec.requires}),
        summary=f"A mixture of {len(specs)} environments.",
        parts=plain["parts"],
        curriculum=plain["curriculum"],
    )


def _tools_of(part: MixturePart) -> list[str]:
    """The names of the tools of a part: its own, unless its arguments name others, and those of its wrappers."""
    own = () if "tools" in part.kwargs else registry.spec(part.env_id).tools
    return [*own, *names_of_tools(part.kwargs, part.wrappers)]


def _parse_mixture(mixture: Mixture | Mapping[str, Any] | str | Path) -> Mixture:
    if isinstance(mixture, Mixture):
        return mixture
    if not isinstance(mixture, Mapping | str | Path):
        raise InvalidArgument(
            'A mixture is an object with parts, {"parts": [{"env_id": "game:..."}, ...]}, or the path of a file with '
            f"one, not {mixture!r:.80}."
        )
    try:
        if isinstance(mixture, Mapping):
            return Mixture.model_validate(mixture)
        return Mixture.model_validate_json(Path(mixture).read_bytes())
    except OSError as error:
        raise InvalidArgument(f"The mixture {mixture} cannot be read: {error.strerror}.") from error
    except ValidationError as error:
        raise InvalidArgument(f"This is not a mixture. {error_sentence(error, Mixture)}") from error


class MixtureEnv(Env):
    """Draws a part for every episode and delegates everything to its environment.

    Args:
        parts: the fields of a `MixturePart` for each part.
        curriculum: the fields of a `Curriculum`; without it the weights are constant.
        seed: the seed of the first episode.

    Raises:
        InvalidArgument: if the parts or the curriculum are malformed, or a part has several seats.
    """

    def __init__(
        self,
        parts: Sequence[Mapping[str, Any]],
        curriculum: Mapping[str, Any] | None = None,
        seed: int | None = None,
    ) -> None:
        super().__init__(seed)
        self._mixture = _parse_mixture({"parts": list(parts), "curriculum": curriculum})
        self._part_envs: dict[int, Env] = {}
        self._part_index: int | None = None
        self._part_seed = 0
        self._is_over = True
        self._tape: tuple[Info, bool] | None = None
        """The arguments of `feed_tape` for the next turn: the part that reads them may not be drawn yet."""
        self.solved: list[list[bool]] = [[] for _ in self._mixture.parts]
        """Whether the last episodes of each part were solved, the oldest first; empty without a curriculum."""
        hashes = [self._part_env(i).data_hash for i in range(len(self._mixture.parts))]
        self.data_hash = hashlib.sha256(json.dumps(hashes).encode()).hexdigest()[:32] if any(hashes) else ""
        self.max_turns = max(env.max_turns for env in self._part_envs.values())
        for part, env in zip(self._mixture.parts, self._part_envs.values(), strict=True):
            if env.seats > 1:
                raise InvalidArgument(
                    f"{part.env_id} has {env.seats} seats, and the parts of a mixture are played from one: fill the "
                    'others with kwargs={"opponent": "expert"}.'
                )

    def weights(self) -> list[float]:
        """Return the present weight of each part, not normalized."""
        base_weights = [part.weight for part in self._mixture.parts]
        curriculum = self._mixture.curriculum
        if curriculum is None:
            return base_weights
        if curriculum.kind == "stages":
            stage_count = self._stage_count(curriculum)
            return [weight if i < stage_count else 0.0 for i, weight in enumerate(base_weights)]
        return [weight * self._learnability(i, curriculum) for i, weight in enumerate(base_weights)]

    def _stage_count(self, curriculum: Curriculum) -> int:
        for i, successes in enumerate(self.solved):
            if len(successes) < curriculum.window or sum(successes) / len(successes) < curriculum.target:
                return i + 1
        return len(self.solved)

    def _learnability(self, part_index: int, curriculum: Curriculum) -> float:
        successes = self.solved[part_index]
        if len(successes) < curriculum.window:
            return 1.0
        rate, target = sum(successes) / len(successes), curriculum.target
        distance = (target - rate) / target if rate < target else (rate - target) / (1 - target)
        return max(curriculum.floor, 1 - distance, 1e-9)

    def _start(self) -> tuple[str, Info]:
        self._part_index = self._draw_part(self.weights())
        self._part_seed = int(self.rng.random() * 2**53)
        self._is_over = False
        self._feed_current()
        observation, info = self.current.reset(seed=self._part_seed)
        self.max_turns = self.current.max_turns
        return observation, self._with_part_info(info)

    def _draw_part(self, weights: Sequence[float]) -> int:
        remainder = self.rng.random() * sum(weights)
        for i, weight in enumerate(weights):
            remainder -= weight
            if remainder < 0:
                return i
        return max(i for i, weight in enumerate(weights) if weight > 0)

    def step(self, action: str) -> Step:
        """See `Env.step`; the part that was drawn takes the turn."""
        if self._is_over:
            raise EpisodeOver("There is no episode under way; call reset() to begin one.")
        self._feed_current()
        observation, reward, terminated, truncated, info = self.current.step(action)
        if terminated or truncated:
            self._is_over = True
            self._record_success(bool(info.get("success", False)))
        return observation, reward, terminated, truncated, self._with_part_info(info)

    def _record_success(self, is_success: bool) -> None:
        if self._mixture.curriculum is not None and self._part_index is not None:
            successes = self.solved[self._part_index]
            successes.append(is_success)
            del successes[: -self._mixture.curriculum.window]

    def _with_part_info(self, info: Info) -> Info:
        assert self._part_index is not None
        return {**info, "env_id": self._mixture.parts[self._part_index].env_id, "env_seed": self._part_seed}

    @property
    def current(self) -> Env:
        """The environment that plays the present episode, with the wrappers of its part.

        Raises:
            EpisodeOver: if there has been no episode yet.
        """
        if self._part_index is None:
            raise EpisodeOver("There is no episode yet; call reset() first.")
        return self._part_env(self._part_index)

    @property
    def tool_schemas(self) -> list[FunctionSchema]:
        """The functions that may be called in the present episode (see `ToolEnvWrapper.tool_schemas`)."""
        return [] if self._part_index is None else getattr(self.current, "tool_schemas", [])

    def _part_env(self, part_index: int) -> Env:
        if part_index not in self._part_envs:
            part = self._mixture.parts[part_index]
            self._part_envs[part_index] = make_wrapped(part.env_id, part.kwargs, part.wrappers)
        return self._part_envs[part_index]

    @classmethod
    def reads_tape(cls, **kwargs: Any) -> bool:
        """See `Env.reads_tape`: whether one of the parts does, apart from its tools."""
        return any(registry.spec(part["env_id"]).reads_tape() for part in kwargs["parts"])

    def feed_tape(self, recorded: Info, *, repeat: bool = False) -> None:
        """See `Env.feed_tape`; the part reads it, which the next `reset` may have yet to draw."""
        self._tape = recorded, repeat

    def _feed_current(self) -> None:
        if self._tape is not None:
            (recorded, repeat), self._tape = self._tape, None
            self.current.feed_tape(recorded, repeat=repeat)

    @property
    def unrepeated(self) -> tuple[str, ...]:  # type: ignore[override]  # here it is that of the part
        """The outputs that did not repeat in the present episode (see `Env.unrepeated`)."""
        return () if self._part_index is None else self.current.unwrapped.unrepeated

    @property
    def draw_key(self) -> int:
        """The key that the draws of the part depend on (see `Env.draw_key`)."""
        return 0 if self._part_index is None else self.current.unwrapped.draw_key

    @draw_key.setter
    def draw_key(self, key: int) -> None:
        self.current.unwrapped.draw_key = key

    @draw_key.deleter
    def draw_key(self) -> None:
        del self.current.unwrapped.draw_key

    def draw_anew(self, key: int) -> None:
        """See `Env.draw_anew`; what is left to chance is drawn by the part."""
        super().draw_anew(key)
        self.current.draw_anew(key)

    def get_state(self) -> State:
        """See `Env.get_state`; the state includes the results that the curriculum uses."""
        part_state = None if self._part_index is None else self.current.get_state()
        return {
            "seed": self.seed,
            "rng": pack_generator(self.rng),
            "place": self._part_index,
            "part_seed": self._part_seed,
            "ended": self._is_over,
            "solved": [list(successes) for successes in self.solved],
            "env": part_state,
        }

    def set_state(self, state: State) -> None:
        """See `Env.set_state`."""
        with reading_state(self):
            self.seed, self._next_seed, self._tape = state["seed"], None, None
            self.rng = unpack_generator(state["rng"])
            self._part_index, self._part_seed, self._is_over = state["place"], state["part_seed"], state["ended"]
            self.solved = [list(successes) for successes in state["solved"]]
            if self._part_index is not None:
                self.current.set_state(state["env"])
                self.max_turns = self.current.max_turns

    def sample_random_action(self) -> str:
        """See `Env.sample_random_action`; before the first `reset`, an action of the first part."""
        if self._part_index is None:
            return self._part_env(0).sample_random_action()
        return self.current.sample_random_action()

    def view(self, seat: int = 0) -> View:
        """Return the view of the part."""
        if self._part_index is None:
            return TextView(kind="text", name="Mixture", text="No episode has begun.")
        return self.current.view(seat)

    def close(self) -> None:
        """Close the environments of all parts."""
        for env in self._part_envs.values():
            env.close()
