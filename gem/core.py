"""The contract between an agent and an environment, on one page.

    obs, info = env.reset(seed=7)
    obs, reward, terminated, truncated, info = env.step(action)

Observations and actions are text. `terminated` is the problem's own end, `truncated` the turn limit, never both.
At the end of an episode `info["success"]` says whether the problem was solved. `info["suffix"]`, where present,
is what an agent should read after the observation (the board, the prompt for the next action). `info["images"]`,
where present, is a list of pictures that belong to the observation, each a `data:` address of a PNG, JPEG, GIF or WebP.
`info["error"]` names a fault of the agent's in its last action: "format" (not understood) or "rule" (not allowed).

An environment with several seats is played with the same calls: `to_act` says whose action `step` takes next. Its
observations are public, the reward is the acting seat's, and `info["seats"]` has what each seat reads and earns
(see `gem.seats` and `gem.envs.multiagent`).

A class needs `step` and either `_start` or, as in GEM, a `reset` of its own, which calls `super().reset(seed)` first.
The other methods have defaults: the state is all attributes, as long as they are plain data; the picture is empty; a
random action has to be defined by whoever needs one.
"""

from __future__ import annotations

import inspect
import math
import operator
import random
import reprlib
import struct
from abc import ABC, abstractmethod
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, Literal, Self

from gem.attributes import pack_attributes, unpack_attributes
from gem.errors import EnvironmentFailure, GemError, InvalidArgument, MissingMethod
from gem.validation.arguments import check_arguments
from gem.views import TextView, View

if TYPE_CHECKING:
    from gem.registry import EnvSpec

Info = dict[str, Any]
State = dict[str, Any]
Step = tuple[str, float, bool, bool, Info]
AgentFault = Literal["format", "rule"]
ObsType = ActType = str
"""GEM's names for what observations and actions are."""

MAX_SEED = 2**63 - 1


class Remembers:
    """Keeps the constructor's arguments, so that another one can be made alike whatever its class does with them.

    A base of its own: the signature of an environment's class is that of its `__init__`.
    """

    _made_with: tuple[tuple[Any, ...], dict[str, Any]]

    def __new__(cls, *args: Any, **kwargs: Any) -> Self:
        made = super().__new__(cls)
        made._made_with = (args, kwargs)
        return made


class Env(Remembers, ABC):
    """One environment with one episode at a time.

    Same id, keyword arguments, seed and actions give the same turns, in any process, whatever other environments
    do in between: an environment draws only from `self.rng`, which it owns.
    """

    def __init__(self, seed: int | None = None) -> None:
        self.spec: EnvSpec | None = None
        """How the environment was made; set by `gem.make`."""
        self.env_kwargs: dict[str, Any] = {}
        """What `gem.make` was given besides the id and the seed; with the spec it says how to make another one."""
        self.max_turns = 0
        """Turns after which the episode is truncated; 0 means no limit."""
        self.data_hash = ""
        """Names the content of the data that episodes are drawn from; empty without data."""
        self.seed: int | None = None
        """The seed of the current episode (None before the first `reset`)."""
        self.rng = random.Random()
        self._next_seed = None if seed is None else check_seed(seed)

    def __repr__(self) -> str:
        name = type(self).__name__ if self.spec is None else self.spec.id
        return f"<{name}, {'no episode yet' if self.seed is None else f'seed {self.seed}'}>"

    def reset(self, seed: int | None = None) -> tuple[str, Info]:
        """Begin an episode and return its first observation and info.

        Args:
            seed: names the episode, 0 to 2**63 - 1. Without one, the constructor's seed is used the first time,
                and after that a seed drawn from the generator.

        Raises:
            InvalidArgument: if `seed` is no such integer.
        """
        self.seed = self._choose_seed(seed)
        self._next_seed = None
        self.rng.seed(self.seed)
        return self._start()

    def _choose_seed(self, seed: int | None) -> int:
        """The seed of the episode that `reset(seed)` begins."""
        if seed is not None:
            return check_seed(seed)
        return int(self.rng.random() * 2**53) if self._next_seed is None else self._next_seed

    def _start(self) -> tuple[str, Info]:
        """Draw a new episode from `self.rng`; return the first observation and info.

        Raises:
            MissingMethod: if a class defines neither this nor a `reset` of its own.
        """
        if type(self).reset is Env.reset:
            raise MissingMethod(
                f"{type(self).__name__} cannot begin an episode: define _start(), or reset(seed=None) that calls "
                "super().reset(seed) first. Both return the first observation and the info."
            )
        return "", {}

    @abstractmethod
    def step(self, action: str) -> Step:
        """Take one turn: `(observation, reward, terminated, truncated, info)`.

        Raises:
            EpisodeOver: before the first `reset` or after the end of the episode.
            InvalidArgument: if the action is no text.
        """

    def feed_tape(self, recorded: Info, *, repeat: bool = False) -> None:
        """Let the next `reset` or `step` take what came from outside from the info that was recorded of it.

        Does nothing where everything follows from the seed and the actions. What is not in the record is not asked
        for again.

        Args:
            repeat: ask again for what has to come out the same, so that a difference shows.
        """

    def get_state(self) -> State:
        """Everything the future depends on, as plain JSON, generator included; unless overridden, all attributes.

        Raises:
            MissingMethod: if it is not overridden and an attribute is no plain data (see `gem.attributes`).
        """
        return pack_attributes(self)

    def set_state(self, state: State) -> None:
        """Continue from a state that `get_state` of an environment with the same arguments returned.

        Raises:
            InvalidArgument: if it is none.
        """
        with reading_state(self):
            unpack_attributes(self, state)

    def sample_random_action(self) -> str:
        """A valid action; asking does not change what happens next.

        Raises:
            MissingMethod: if it is not overridden.
        """
        raise MissingMethod(
            f"{type(self).__name__} has no random actions: define sample_random_action(), which returns a valid "
            "action. The random agent and gemweb check play with them."
        )

    def spawn(self, *, same_state: bool = False, **overrides: Any) -> Self:
        """A new environment with the same arguments except `overrides`, at the same state if asked.

        The constructor's seed is not passed on: it was for one episode.

        Raises:
            InvalidArgument: on an unknown override, or if `same_state` is combined with overrides.
        """
        if same_state and overrides:
            raise InvalidArgument("A state belongs to its arguments: give same_state or overrides, not both.")
        check_arguments(type(self), overrides, type(self).__name__)
        args, kwargs = self._made_with
        arguments = dict(zip(inspect.signature(type(self)).parameters, args, strict=False)) | kwargs
        arguments.pop("seed", None)
        other = type(self)(**{**arguments, **overrides})
        other.spec = self.spec
        other.env_kwargs = self.env_kwargs | {name: value for name, value in overrides.items() if name != "seed"}
        if same_state:
            other.set_state(self.get_state())
        return other

    def view(self, seat: int = 0) -> View:
        """A picture of the present, as the person or agent in `seat` may see it (see `gem.views`).

        Without a seat one may see what `gem.seats.SPECTATOR` may.
        """
        return TextView(kind="text", name=type(self).__name__, text="")

    def close(self) -> None:
        """Release what the environment holds; safe to call twice."""

    @property
    def seats(self) -> int:
        """How many places an episode has that someone acts from."""
        return 1

    @property
    def to_act(self) -> tuple[int, ...]:
        """The seats whose actions are awaited; `step` takes that of the first of them."""
        return (0,)

    @property
    def unwrapped(self) -> Env:
        """The environment under all wrappers."""
        return self


class EnvWrapper(Env):
    """An environment around another one. It delegates everything and copies nothing.

    Attributes that a wrapper does not define are read from the environment inside. Another one like it is made with
    the same arguments (`_arguments`); a wrapper that remembers something says what in `_get_own_state`.
    """

    def __init__(self, env: Env) -> None:
        if not isinstance(env, Env):
            raise InvalidArgument(f"{type(self).__name__} wraps a gem.Env, not {reprlib.repr(env)}.")
        self.env = env

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self.env!r})"

    def __getattr__(self, name: str) -> Any:
        if name == "env" or name.startswith("__"):  # not there yet: while unpickling or copying
            raise AttributeError(name)
        return getattr(self.env, name)

    @property
    def seats(self) -> int:
        """As `Env.seats`."""
        return self.env.seats

    @property
    def to_act(self) -> tuple[int, ...]:
        """As `Env.to_act`."""
        return self.env.to_act

    @property
    def unwrapped(self) -> Env:
        """The environment under all wrappers."""
        return self.env.unwrapped

    def reset(self, seed: int | None = None) -> tuple[str, Info]:
        """As `Env.reset`."""
        return self.env.reset(seed=seed)

    def step(self, action: str) -> Step:
        """As `Env.step`."""
        return self.env.step(action)

    def feed_tape(self, recorded: Info, *, repeat: bool = False) -> None:
        """As `Env.feed_tape`."""
        self.env.feed_tape(recorded, repeat=repeat)

    def get_state(self) -> State:
        """The state inside and this wrapper's own."""
        return {"env": self.env.get_state(), "wrapper": self._get_own_state()}

    def set_state(self, state: State) -> None:
        """As `Env.set_state`."""
        with reading_state(self):
            inside, own = state["env"], state["wrapper"]
        self.env.set_state(inside)
        with reading_state(self):
            self._set_own_state(own)

    def _get_own_state(self) -> State:
        """What this wrapper itself remembers, as plain JSON."""
        return {}

    def _set_own_state(self, state: State) -> None:
        """Take back what `_get_own_state` returned."""

    def _arguments(self) -> dict[str, Any]:
        """The constructor's arguments besides the environment; unless overridden, those that were given."""
        args, kwargs = self._made_with
        inside, *names = inspect.signature(type(self)).parameters
        given = dict(zip(names, args[1:], strict=False)) | kwargs
        given.pop(inside, None)
        return given

    def spawn(self, *, same_state: bool = False, **overrides: Any) -> Self:
        """As `Env.spawn`; the overrides are the environment's, the new one is wrapped alike."""
        if same_state and overrides:
            raise InvalidArgument("A state belongs to its arguments: give same_state or overrides, not both.")
        other = type(self)(self.env.spawn(**overrides), **self._arguments())
        if same_state:
            other.set_state(self.get_state())
        return other

    def sample_random_action(self) -> str:
        """As `Env.sample_random_action`."""
        return self.env.sample_random_action()

    def view(self, seat: int = 0) -> View:
        """As `Env.view`."""
        return self.env.view(seat)

    def close(self) -> None:
        """As `Env.close`."""
        self.env.close()


@contextmanager
def reading_state(env: Env) -> Iterator[None]:
    """What goes wrong inside means that what `env.set_state` was given is no state of such an environment.

    Raises:
        InvalidArgument: instead of the error.
    """
    try:
        yield
    except GemError:
        raise
    except (LookupError, TypeError, ValueError, AttributeError, struct.error) as error:
        raise InvalidArgument(
            f"That is no state of {type(env.unwrapped).__name__} with these arguments: {type(error).__name__}: {error}."
        ) from error


def check_action(action: object) -> str:
    """`action`, if it is a text.

    Raises:
        InvalidArgument: if it is something else.
    """
    if not isinstance(action, str):
        raise InvalidArgument(f"An action is a text, not {type(action).__name__}: {reprlib.repr(action)}.")
    return action


def check_step(step: Step) -> Step:
    """What `Env.step` returned, its reward as a float, before it is written down.

    Raises:
        EnvironmentFailure: if the observation is no text or the reward no finite number.
    """
    observation, reward, terminated, truncated, info = step
    if not isinstance(observation, str):
        raise EnvironmentFailure(f"The observation is no text: {reprlib.repr(observation)}.")
    earned = check_reward(reward)
    if not math.isfinite(earned):
        raise EnvironmentFailure(f"The reward is no finite number: {reprlib.repr(reward)}.")
    return observation, earned, terminated, truncated, info


def check_reward(reward: object) -> float:
    """`reward` as a float, if it is a number of any kind, also NumPy's or one in an array.

    Raises:
        EnvironmentFailure: if it is something else; a text is no number, whatever stands in it.
    """
    try:
        if isinstance(reward, str | bytes | bytearray):
            raise TypeError
        return float(reward)  # type: ignore[arg-type]  # that is what is tried
    except (TypeError, ValueError, OverflowError):
        raise EnvironmentFailure(f"The reward is no finite number: {reprlib.repr(reward)}.") from None


def check_seed(seed: object) -> int:
    """`seed` as an integer that names an episode.

    Raises:
        InvalidArgument: if it is no integer from 0 to 2**63 - 1.
    """
    try:
        number = -1 if isinstance(seed, bool) else operator.index(seed)  # type: ignore[arg-type]  # NumPy's integers too
    except TypeError:
        number = -1
    if not 0 <= number <= MAX_SEED:
        raise InvalidArgument(f"A seed is an integer from 0 to 2**63 - 1, not {seed!r}.")
    return number
