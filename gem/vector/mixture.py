"""Episodes of several environments, drawn by weight, as one environment to train on.

Rules:
    Every episode is one of the parts': its observations, actions, rewards and end. `info["env_id"]` and
    `info["env_seed"]` say which one and under which seed it can be played alone.

Arguments:
    - `parts`: the environments, `{"env_id": ..., "weight": 1, "kwargs": {}, "wrappers": []}` each.
    - `curriculum`: how their weights follow from what was solved so far, if they should.
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
from gem.validation.messages import error_sentence
from gem.views import TextView, View


class Part(BaseModel):
    """One environment of a mixture."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    env_id: str
    weight: float = Field(default=1.0, gt=0, allow_inf_nan=False)
    kwargs: dict[str, Any] = {}
    wrappers: list[dict[str, Any]] = []
    """Plain data, innermost first (see `gem.wrappers.wrap`)."""


class Curriculum(BaseModel):
    """How weights follow from the share of the last `window` episodes of each part that were solved.

    `learnable` prefers parts that are solved about as often as `target`: a part's weight is multiplied by a number
    that falls from 1 at the target to `floor` at never or always. `stages` begins with the first part; the next one
    joins when the last that has joined is solved at least as often as `target` over a whole window.
    """

    model_config = ConfigDict(extra="forbid", frozen=True)

    kind: Literal["learnable", "stages"]
    target: float = Field(default=0.5, gt=0, lt=1)
    window: int = Field(default=20, ge=1, le=10_000)
    floor: float = Field(default=0.1, ge=0, le=1)


class Mixture(BaseModel):
    """What a mixture is made of."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    parts: list[Part] = Field(min_length=1)
    curriculum: Curriculum | None = None


def register_mixture(env_id: str, mixture: Mixture | Mapping[str, Any] | str | Path) -> None:
    """Make `gem.make(env_id)` give this mixture: a `Mixture`, the same as plain data, or a JSON file with it.

    A mixture without a curriculum replays exactly. With one, an episode also depends on those before it, so its
    `replay` is "none"; the episode of the part, which the info names, still replays.

    Raises:
        InvalidArgument: if something else is in it, or the id is taken.
        UnknownEnvironment: if a part is not registered.
    """
    read = _read(mixture)
    specs = [registry.spec(part.env_id) for part in read.parts]
    replays = {spec.replay for spec in specs} | ({"none"} if read.curriculum else set())
    replay: registry.Replay = "none" if "none" in replays else "taped" if "taped" in replays else "exact"
    given = read.model_dump()
    registry.register(
        env_id,
        MixtureEnv,
        replay=replay,
        cost="slow" if any(spec.cost == "slow" for spec in specs) else "fast",
        winnable=all(spec.winnable for spec in specs),
        turns="single" if all(spec.turns == "single" for spec in specs) else "multi",
        tools=sorted({tool for spec in specs for tool in spec.tools}),
        requires=sorted({package for spec in specs for package in spec.requires}),
        summary=f"A mixture of {len(specs)} environments.",
        parts=given["parts"],
        curriculum=given["curriculum"],
    )


def _read(mixture: Mixture | Mapping[str, Any] | str | Path) -> Mixture:
    if isinstance(mixture, Mixture):
        return mixture
    try:
        if isinstance(mixture, Mapping):
            return Mixture.model_validate(mixture)
        return Mixture.model_validate_json(Path(mixture).read_bytes())
    except OSError as error:
        raise InvalidArgument(f"The mixture {mixture} cannot be read: {error.strerror}.") from error
    except ValidationError as error:
        raise InvalidArgument(f"That is no mixture. {error_sentence(error, Mixture)}") from error


class MixtureEnv(Env):
    """Draws a part for every episode and passes everything on to it.

    Args:
        parts: the environments, as `Part`.
        curriculum: as `Curriculum`; without one the weights stay.
        seed: of the first episode.

    Raises:
        InvalidArgument: if these are no parts or no curriculum.
    """

    def __init__(
        self,
        parts: Sequence[Mapping[str, Any]],
        curriculum: Mapping[str, Any] | None = None,
        seed: int | None = None,
    ) -> None:
        super().__init__(seed)
        self._mixture = _read({"parts": list(parts), "curriculum": curriculum})
        self._made: dict[int, Env] = {}
        self._place: int | None = None
        self._part_seed = 0
        self._ended = True
        self.solved: list[list[bool]] = [[] for _ in self._mixture.parts]
        """Of each part, whether its last episodes were solved, the oldest first; empty without a curriculum."""
        hashes = [self._env(i).data_hash for i in range(len(self._mixture.parts))]
        self.data_hash = hashlib.sha256(json.dumps(hashes).encode()).hexdigest()[:32] if any(hashes) else ""
        self.max_turns = max(env.max_turns for env in self._made.values())

    def weights(self) -> list[float]:
        """The weight of each part now, not normalized."""
        base = [part.weight for part in self._mixture.parts]
        curriculum = self._mixture.curriculum
        if curriculum is None:
            return base
        if curriculum.kind == "stages":
            joined = self._joined(curriculum)
            return [weight if i < joined else 0.0 for i, weight in enumerate(base)]
        return [weight * self._worth(i, curriculum) for i, weight in enumerate(base)]

    def _joined(self, curriculum: Curriculum) -> int:
        for i, past in enumerate(self.solved):
            if len(past) < curriculum.window or sum(past) / len(past) < curriculum.target:
                return i + 1
        return len(self.solved)

    def _worth(self, place: int, curriculum: Curriculum) -> float:
        past = self.solved[place]
        if len(past) < curriculum.window:
            return 1.0
        rate, target = sum(past) / len(past), curriculum.target
        far = (target - rate) / target if rate < target else (rate - target) / (1 - target)
        return max(curriculum.floor, 1 - far, 1e-9)

    def _start(self) -> tuple[str, Info]:
        self._place = self._draw(self.weights())
        self._part_seed = int(self.rng.random() * 2**53)
        self._ended = False
        observation, info = self._current.reset(seed=self._part_seed)
        self.max_turns = self._current.max_turns
        return observation, self._marked(info)

    def _draw(self, weights: Sequence[float]) -> int:
        left = self.rng.random() * sum(weights)
        for i, weight in enumerate(weights):
            left -= weight
            if left < 0:
                return i
        return max(i for i, weight in enumerate(weights) if weight > 0)

    def step(self, action: str) -> Step:
        """As `Env.step`, of the part that was drawn."""
        if self._ended:
            raise EpisodeOver("There is no episode under way; call reset() to begin one.")
        observation, reward, terminated, truncated, info = self._current.step(action)
        if terminated or truncated:
            self._ended = True
            self._remember(bool(info.get("success", False)))
        return observation, reward, terminated, truncated, self._marked(info)

    def _remember(self, solved: bool) -> None:
        if self._mixture.curriculum is not None and self._place is not None:
            past = self.solved[self._place]
            past.append(solved)
            del past[: -self._mixture.curriculum.window]

    def _marked(self, info: Info) -> Info:
        assert self._place is not None
        return {**info, "env_id": self._mixture.parts[self._place].env_id, "env_seed": self._part_seed}

    @property
    def _current(self) -> Env:
        if self._place is None:
            raise EpisodeOver("There is no episode yet; call reset() first.")
        return self._env(self._place)

    def _env(self, place: int) -> Env:
        if place not in self._made:
            part = self._mixture.parts[place]
            self._made[place] = make_wrapped(part.env_id, part.kwargs, part.wrappers)
        return self._made[place]

    def get_state(self) -> State:
        """As `Env.get_state`, with what the curriculum has seen."""
        inner = None if self._place is None else self._current.get_state()
        return {
            "seed": self.seed,
            "rng": pack_generator(self.rng),
            "place": self._place,
            "part_seed": self._part_seed,
            "ended": self._ended,
            "solved": [list(past) for past in self.solved],
            "env": inner,
        }

    def set_state(self, state: State) -> None:
        """As `Env.set_state`."""
        with reading_state(self):
            self.seed, self._next_seed = state["seed"], None
            self.rng = unpack_generator(state["rng"])
            self._place, self._part_seed, self._ended = state["place"], state["part_seed"], state["ended"]
            self.solved = [list(past) for past in state["solved"]]
            if self._place is not None:
                self._current.set_state(state["env"])
                self.max_turns = self._current.max_turns

    def sample_random_action(self) -> str:
        """As `Env.sample_random_action`."""
        return self._current.sample_random_action()

    def view(self, seat: int = 0) -> View:
        """As `Env.view`: the part's."""
        if self._place is None:
            return TextView(kind="text", name="Mixture", text="No episode has begun.")
        return self._current.view(seat)

    def close(self) -> None:
        """As `Env.close`, of every part."""
        for env in self._made.values():
            env.close()
