"""The contract between an agent and an environment, on one page.

    obs, info = env.reset(seed=7)
    obs, reward, terminated, truncated, info = env.step(action)

Observations and actions are strings. `terminated` means that the problem itself ended, `truncated` that the turn limit
was reached; they are never both true. The info is a dictionary of plain JSON with these optional entries:

- `success`: whether the problem was solved; only at the end of an episode.
- `suffix`: what an agent should read after the observation, such as the board or the prompt for the next action.
- `images`: pictures that belong to the observation, each a `data:` URL of a PNG, JPEG, GIF or WebP file.
- `error`: the agent's fault in its last action, "format" (not understood) or "rule" (not allowed).

An environment with several seats is played with the same calls. `to_act` names the seats that have to act, and `step`
takes the action of the first of them. The observation is public, the reward is that of the seat that acted, and
`info["seats"]` has what each seat reads and earns (see `gem.seats` and `gem.envs.multiagent`).

A subclass has to define `step` and either `_start` or, as in GEM, a `reset` that calls `super().reset(seed)` first.
The other methods have defaults: `get_state` returns all attributes, as long as they are plain data, `view` returns an
empty text, and `sample_random_action` raises `MissingMethod`.
"""

from __future__ import annotations

import random
import reprlib
import struct
from abc import ABC, abstractmethod
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, ClassVar, Literal, Self

from gem.attributes import pack_attributes, unpack_attributes
from gem.errors import GemError, InvalidArgument, MissingMethod
from gem.validation.arguments import check_arguments, parameters_of
from gem.validation.values import check_seed
from gem.views import TextView, View

if TYPE_CHECKING:
    from gem.registry import EnvSpec

Info = dict[str, Any]
State = dict[str, Any]
Step = tuple[str, float, bool, bool, Info]
AgentFault = Literal["format", "rule"]
ObsType = ActType = str
"""The types of observations and actions, under the names that GEM has for them."""


class RecordConstructorArgs:
    """A base class that keeps the arguments of the constructor, so that an equal object can be made later.

    This is not part of `Env` because a `__new__` on a class hides the signature of its `__init__`: with this base,
    `inspect.signature` of an environment class still shows the arguments of the environment, or with an older Python
    `gem.validation.arguments.parameters_of`.
    """

    _constructor_args: tuple[tuple[Any, ...], dict[str, Any]]

    def __new__(cls, *args: Any, **kwargs: Any) -> Self:
        instance = super().__new__(cls)
        instance._constructor_args = (args, kwargs)
        return instance


class Env(RecordConstructorArgs, ABC):
    """An environment, which holds one episode at a time.

    The same id, keyword arguments, seed and actions give the same turns in any process, whatever other environments
    do in between. For this, an environment draws random numbers only from `self.rng`, which no other object uses.
    """

    return_bounds: ClassVar[tuple[float, float] | None] = None
    """The lowest and the highest possible return of an episode, where a class declares them. They bound the mean of an
    evaluation of which episodes are missing."""
    unrepeated: tuple[str, ...] = ()
    """Outputs that did not repeat while the present episode was verified, and were taken from its record instead."""
    draw_key: int = 0
    """The key of `draw_anew`, or 0: random actions and the draws of agents depend on it besides the seed."""

    def __init__(self, seed: int | None = None) -> None:
        self.spec: EnvSpec | None = None
        """The registered specification that `gem.make` made the environment from; None without `gem.make`."""
        self.env_kwargs: dict[str, Any] = {}
        """The arguments of `gem.make` except the id and the seed. With `spec` they suffice to make an equal one."""
        self.max_turns = 0
        """The number of turns after which the episode is truncated; 0 means no limit, or one that `reset` draws."""
        self.data_hash = ""
        """A hash of the data that episodes are drawn from; empty if there is none."""
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
            seed: identifies the episode, an integer from 0 to 2**63 - 1. If it is None, the first call uses the seed
                given to the constructor, and later calls draw one from the generator.

        Raises:
            InvalidArgument: if `seed` is not such an integer.
        """
        self.seed = self._choose_seed(seed)
        self._next_seed = None
        self.rng.seed(self.seed)
        if self.draw_key:
            del self.draw_key  # the class has 0; an episode begins as its seed says
        return self._start()

    def _choose_seed(self, seed: int | None) -> int:
        """Return the seed of the episode that `reset(seed)` begins."""
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
            InvalidArgument: if the action is not a string.
        """

    def feed_tape(self, recorded: Info, *, repeat: bool = False) -> None:
        """Make the next `reset` or `step` read outside outputs, such as those of tools, from a recorded info.

        Environments in which everything follows from the seed and the actions ignore it. An output that is missing in
        the record is not requested again.

        Args:
            recorded: the info that the same `reset` or `step` returned when the episode was recorded.
            repeat: request outputs that must not vary once more, so that a difference from the record shows.
        """

    @classmethod
    def reads_tape(cls, **kwargs: Any) -> bool:  # noqa: ARG003 (a mixture has to look at its parts)
        """Return whether an environment that is made with `kwargs` reads anything from a record (see `feed_tape`)."""
        return cls.feed_tape is not Env.feed_tape

    def get_state(self) -> State:
        """Return all that later turns depend on, the generator included, as plain JSON.

        Unless overridden, this is every attribute.

        Raises:
            MissingMethod: if it is not overridden and an attribute is not plain data (see `gem.attributes`).
        """
        return pack_attributes(self)

    def set_state(self, state: State) -> None:
        """Continue from a state that `get_state` of an environment with the same arguments returned.

        Raises:
            InvalidArgument: if it is not such a state.
        """
        with reading_state(self):
            unpack_attributes(self, state)

    def draw_anew(self, key: int) -> None:
        """Draw the remaining random numbers of this episode from `key` instead of from its seed.

        Earlier draws, such as a secret at the reset, stay. Equal keys give equal draws.

        Args:
            key: a whole number above 0.
        """
        self.rng.seed(key)
        self.draw_key = key

    def sample_random_action(self) -> str:
        """Return a valid action. The call has no effect on later turns.

        Before the first `reset`, it is an action of another episode of the same environment.

        Raises:
            MissingMethod: if it is not overridden.
        """
        raise MissingMethod(
            f"{type(self).__name__} has no random actions: define sample_random_action(), which returns a valid "
            "action. The random agent and gemweb check play with them."
        )

    def skip_random_actions(self, number: int) -> None:
        """Skip this number of random actions, so that the next one is another."""
        for _ in range(number):
            self.sample_random_action()

    def spawn(self, same_state: bool = False, **overrides: Any) -> Self:
        """Make a new environment with the same arguments except `overrides`.

        The constructor's seed is not passed on, because it is that of a single episode.

        Args:
            same_state: copy the state of this environment as well.

        Raises:
            InvalidArgument: if an override is unknown, or `same_state` is combined with overrides.
        """
        if same_state and overrides:
            raise InvalidArgument("A state belongs to its arguments: give same_state or overrides, not both.")
        check_arguments(type(self), overrides, type(self).__name__)
        args, kwargs = self._constructor_args
        arguments = dict(zip(parameters_of(type(self)), args, strict=False)) | kwargs
        arguments.pop("seed", None)
        spawned = type(self)(**{**arguments, **overrides})
        spawned.spec = self.spec
        spawned.env_kwargs = self.env_kwargs | {name: value for name, value in overrides.items() if name != "seed"}
        if same_state:
            spawned.set_state(self.get_state())
        return spawned

    def view(self, seat: int = 0) -> View:
        """Return a picture of the present state as `seat` may see it (see `gem.views`).

        Args:
            seat: a seat, or `gem.seats.SPECTATOR` for somebody who watches without one.
        """
        return TextView(kind="text", name=type(self).__name__, text="")

    def close(self) -> None:
        """Release resources such as processes and files; it may be called twice."""

    def __enter__(self) -> Self:
        """Return the environment, which is closed at the end of the `with` block."""
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    @property
    def seats(self) -> int:
        """The number of seats, which are the places of an episode that someone acts from."""
        return 1

    @property
    def to_act(self) -> tuple[int, ...]:
        """The seats that have to act; `step` takes the action of the first of them."""
        return (0,)

    @property
    def unwrapped(self) -> Env:
        """The environment under all wrappers."""
        return self


class EnvWrapper(Env):
    """An environment around another environment, to which it delegates everything that it does not override.

    Attributes that a wrapper does not define are read from the inner environment, never copied. `_arguments` returns
    the arguments that make an equal wrapper. A wrapper with a state returns it from `_get_own_state`.
    """

    def __init__(self, env: Env) -> None:
        if not isinstance(env, Env):
            raise InvalidArgument(f"{type(self).__name__} wraps a gem.Env, not {reprlib.repr(env)}.")
        self.env = env

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self.env!r})"

    def __getattr__(self, name: str) -> Any:
        if name == "env":  # it is not set yet while an object is unpickled or copied
            raise AttributeError(f"{type(self).__name__} wraps nothing: its __init__ has to call super().__init__(env)")
        if name.startswith("__"):
            raise AttributeError(name)
        return getattr(self.env, name)

    @property
    def seats(self) -> int:
        """See `Env.seats`."""
        return self.env.seats

    @property
    def to_act(self) -> tuple[int, ...]:
        """See `Env.to_act`."""
        return self.env.to_act

    @property
    def unwrapped(self) -> Env:
        """The environment under all wrappers."""
        return self.env.unwrapped

    def reset(self, seed: int | None = None) -> tuple[str, Info]:
        """See `Env.reset`."""
        return self.env.reset(seed=seed)

    def step(self, action: str) -> Step:
        """See `Env.step`."""
        return self.env.step(action)

    def feed_tape(self, recorded: Info, *, repeat: bool = False) -> None:
        """See `Env.feed_tape`."""
        self.env.feed_tape(recorded, repeat=repeat)

    def get_state(self) -> State:
        """Return the state of the inner environment and that of this wrapper."""
        return {"env": self.env.get_state(), "wrapper": self._get_own_state()}

    def set_state(self, state: State) -> None:
        """See `Env.set_state`."""
        with reading_state(self):
            env_state, own_state = state["env"], state["wrapper"]
        self.env.set_state(env_state)
        with reading_state(self):
            self._set_own_state(own_state)

    def _get_own_state(self) -> State:
        """Return the state of this wrapper without that of the inner environment, as plain JSON."""
        return {}

    def _set_own_state(self, state: State) -> None:
        """Restore a state that `_get_own_state` returned."""

    def _arguments(self) -> dict[str, Any]:
        """Return the constructor's arguments except the environment; unless overridden, those of the actual call."""
        args, kwargs = self._constructor_args
        env_parameter, *names = parameters_of(type(self))
        arguments = dict(zip(names, args[1:], strict=False)) | kwargs
        arguments.pop(env_parameter, None)
        return arguments

    def spawn(self, same_state: bool = False, **overrides: Any) -> Self:
        """Spawn the inner environment with `overrides` and put an equal wrapper around it; see `Env.spawn`."""
        if same_state and overrides:
            raise InvalidArgument("A state belongs to its arguments: give same_state or overrides, not both.")
        spawned = type(self)(self.env.spawn(**overrides), **self._arguments())
        if same_state:
            spawned.set_state(self.get_state())
        return spawned

    def draw_anew(self, key: int) -> None:
        """See `Env.draw_anew`."""
        self.env.draw_anew(key)

    def sample_random_action(self) -> str:
        """See `Env.sample_random_action`."""
        return self.env.sample_random_action()

    def skip_random_actions(self, number: int) -> None:
        """See `Env.skip_random_actions`."""
        if type(self).sample_random_action is EnvWrapper.sample_random_action:
            self.env.skip_random_actions(number)
        else:
            super().skip_random_actions(number)

    def view(self, seat: int = 0) -> View:
        """See `Env.view`."""
        return self.env.view(seat)

    def close(self) -> None:
        """See `Env.close`."""
        self.env.close()


@contextmanager
def reading_state(env: Env) -> Iterator[None]:
    """Report errors inside the block as `InvalidArgument`: a state that was passed to `env.set_state` does not fit.

    Raises:
        InvalidArgument: in place of the errors that reading from a malformed state raises.
    """
    try:
        yield
    except GemError:
        raise
    except (LookupError, TypeError, ValueError, AttributeError, struct.error) as error:
        name = type(env.unwrapped).__name__
        raise InvalidArgument(
            f"This is not a state of {name} with these arguments: {type(error).__name__}: {error}."
        ) from error
