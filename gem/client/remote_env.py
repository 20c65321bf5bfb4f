"""An episode on a server behind the interface of the engine, so that a program written for `gem.make` plays there.

env = client.make("game:GuessTheNumber-v0-easy")
observation, info = env.reset(seed=7)
observation, reward, terminated, truncated, info = env.step("\\\\boxed{5}")
env.episode.url    # where people see it, and can replay it afterwards
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import suppress
from typing import TYPE_CHECKING, Any, NoReturn, Self

from gem import registry
from gem.client.errors import Conflict
from gem.client.schemas import Episode, Turn
from gem.core import Env, Info, State, Step
from gem.errors import EnvironmentFailure, EpisodeOver, InvalidArgument, MissingMethod, UsageError
from gem.records import Identity
from gem.replay import restore
from gem.seats import observation_for_seat
from gem.validation.values import check_action, check_seed
from gem.views import TextView, View

if TYPE_CHECKING:
    from gem.client.clients import Client

ARGUMENTS = ("opponent", "seat", "tools", "max_tool_uses", "tool_format", "visibility")
"""The arguments of `Client.make`. Those of `gem.make` that a server does not take are refused."""
FIRST_PAUSE = 0.05
LONGEST_PAUSE = 1.0
"""How long to wait in seconds before asking again whether others have acted, at first and at most."""
PAUSE_GROWTH = 1.5


class RemoteEnv(Env):
    """An environment on a server, with one episode at a time; `Client.make` makes one.

    Every episode is recorded there and has a page. In an environment with several seats, one is this program's, and a
    step includes what the others do until it is to act again, as with `gem.make(env_id, opponent=...)`.

    Args:
        client: the client, whose token needs the scope `play`.
        env_id: the environment.
        arguments: `opponent`, `seat`, `tools`, `max_tool_uses`, `tool_format` and `visibility` as in `Episodes.begin`.

    Raises:
        InvalidArgument: if an argument is unknown, or `seed` is no seed.
    """

    def __init__(self, client: Client, env_id: str, **arguments: Any) -> None:
        super().__init__()
        unknown = [name for name in arguments if name not in ARGUMENTS and name != "seed"]
        if unknown:
            raise InvalidArgument(
                f"An environment on a server takes {', '.join(ARGUMENTS)}, and not {', '.join(unknown)}: episodes "
                "there have the registered arguments, so that they can be compared."
            )
        self.client = client
        self.env_id = env_id
        first_seed = arguments.pop("seed", None)
        self._next_seed = None if first_seed is None else check_seed(first_seed)
        self.env_kwargs = dict(arguments)
        self.episode: Episode | None = None
        """The episode as the server showed it last; None before the first `reset`."""
        self._seat = 0
        self._actions: list[str] = []
        self._copy: _LocalCopy | None = None
        try:
            self.spec = registry.spec(env_id)
        except UsageError:  # the server may have more environments than this machine
            self.spec = None

    def __repr__(self) -> str:
        state = "no episode yet" if self.episode is None else self.episode.url
        return f"<{self.env_id} on {self.client.url}, {state}>"

    def reset(self, seed: int | None = None) -> tuple[str, Info]:
        """Begin an episode on the server; see `Env.reset`. An episode that is not over is abandoned.

        Raises:
            ClientError: if the server cannot be reached, or refuses.
        """
        self.close()
        chosen = self._next_seed if seed is None else check_seed(seed)
        self._next_seed = None
        begun = self.client.episodes.begin(self.env_id, seed=chosen, **self.env_kwargs)
        self._seat = next((seat.number for seat in begun.seats if seat.mine), 0)
        self._actions = []
        self._copy = None
        self.episode = begun
        self.max_turns, self.data_hash = begun.max_turns, begun.data_hash
        turns = self._wait_for_own_turn()
        self.seed = self.episode.seed if chosen is None else chosen
        if self.episode.terminated or self.episode.truncated:
            raise EnvironmentFailure("The opponent ended the episode before anybody else could act.")
        if not turns:
            return self._reading(begun.first_observation, begun.first_info)
        observation, info = self._reading(turns[-1].observation, turns[-1].info)
        info.pop("error", None)
        return observation, info

    def step(self, action: str) -> Step:
        """Take one turn; see `Env.step`. A text that the environment cannot read is a fault, as in the engine.

        Raises:
            EpisodeOver: before the first `reset` or after the end of the episode.
            EnvironmentFailure: if the environment failed on the server.
            ClientError: if the server cannot be reached, or refuses.
        """
        check_action(action)
        episode = self.episode
        if episode is None or is_over(episode):
            raise EpisodeOver("The episode is over, or none has begun: call reset() first.")
        result = self.client.episodes.take_turn(episode.id, action, expected_seq=episode.seq, as_written=True)
        self.episode = result.episode
        self._actions.append(action)
        turns = [*result.turns, *self._wait_for_own_turn(episode.turn_count + len(result.turns))]
        self.seed = self.seed if self.episode.seed is None else self.episode.seed  # hidden while it is a secret
        if not turns:
            raise EnvironmentFailure(self.episode.problem or self.episode.failure or "The turn was not played.")
        own_fault = next(
            (own_info(turn.info, self._seat).get("error") for turn in turns if turn.seat == self._seat), None
        )
        observation, info = self._reading(turns[-1].observation, turns[-1].info)
        if own_fault is not None:
            info["error"] = own_fault
        reward = sum(own_reward(turn, self._seat) for turn in turns)
        return observation, reward, self.episode.terminated, self.episode.truncated, info

    def _wait_for_own_turn(self, known: int = 0) -> list[Turn]:
        """Wait until one is to act or the episode is over. Returns the turns after the number `known`.

        Raises:
            EnvironmentFailure: if the environment failed.
        """
        assert self.episode is not None
        pause = FIRST_PAUSE
        while must_wait(self.episode):
            self.client.pause(pause)
            pause = min(pause * PAUSE_GROWTH, LONGEST_PAUSE)
            self.episode = self.client.episodes.get(self.episode.id)
        if self.episode.failure:
            raise EnvironmentFailure(self.episode.failure)
        if self.episode.problem:
            raise EnvironmentFailure(self.episode.problem)
        if self.episode.turn_count <= known:
            return []
        return list(self.client.episodes.turns(self.episode.id, after=known))

    def _reading(self, observation: str, info: Info) -> tuple[str, Info]:
        """The observation and the info of the own seat."""
        reading, own = observation_for_seat(self._seat, observation, info)
        own = dict(own)
        if "seats" in info:
            own.pop("reward", None)
        return reading, own

    def sample_random_action(self) -> str:
        """Return a valid action, which a copy of the episode on this machine draws; see `Env.sample_random_action`.

        Raises:
            MissingMethod: if the episode cannot be copied: the environment is not installed here in the same version,
                has several seats or tools, or does not follow from its seed and actions.
        """
        if self._copy is None:
            self._copy = _LocalCopy(self._identity())
        return self._copy.after(self._actions).sample_random_action()

    def _identity(self) -> Identity:
        episode = self.episode
        if (
            episode is None or episode.seed is None or self.spec is None or self.spec.version != episode.env_version
            or self.spec.replay != "exact" or len(episode.seats) > 1 or episode.wrappers
        ):  # fmt: skip
            raise MissingMethod(
                f"{self.env_id} has no random actions here: they are drawn by a copy of the episode on this machine, "
                "which needs one seat, no tools, and the same version of the environment as the server's."
            )
        return Identity(episode.env_id, episode.env_version, episode.seed, episode.env_kwargs, episode.data_hash)

    def view(self, seat: int = 0) -> View:
        """Return the text of the last observation; the page of the episode has the board."""
        text = "" if self.episode is None else self.episode.observation
        return TextView(kind="text", name=self.env_id, text=text)

    def close(self) -> None:
        """Abandon an episode that is not over, so that it does not wait on the server for its next turn."""
        if self.episode is not None and not is_over(self.episode):
            episode, self.episode = self.episode, None
            with suppress(Conflict):  # it has ended in the meantime
                self.client.episodes.abandon(episode.id)

    def get_state(self) -> NoReturn:
        """Refuse: the state is on the server, where any turn of an episode can be forked.

        Raises:
            MissingMethod: always.
        """
        raise MissingMethod("The state of this episode is on the server. client.episodes.fork continues from any turn.")

    def set_state(self, state: State) -> NoReturn:
        """Refuse; see `get_state`."""
        self.get_state()

    def spawn(self, same_state: bool = False, **overrides: Any) -> Self:
        """Make another environment with the same arguments except `overrides`; its episodes are others.

        Raises:
            MissingMethod: with `same_state`.
            InvalidArgument: if an override is unknown.
        """
        if same_state:
            self.get_state()
        return type(self)(self.client, self.env_id, **{**self.env_kwargs, **overrides})


class _LocalCopy:
    """The same episode on this machine, played on when it is needed."""

    def __init__(self, identity: Identity) -> None:
        self.identity = identity
        self.env: Env | None = None
        self.played = 0

    def after(self, actions: Sequence[str]) -> Env:
        """Return the environment after these actions, of which it has played the first ones."""
        if self.env is None:
            self.env = restore(self.identity, actions)
        else:
            for action in actions[self.played :]:
                self.env.step(action)
        self.played = len(actions)
        return self.env


def is_over(episode: Episode) -> bool:
    """Whether an episode has ended."""
    return episode.ended is not None


def must_wait(episode: Episode) -> bool:
    """Whether others have to act, or a worker has to play an accepted turn, before the caller can continue."""
    return not is_over(episode) and not episode.problem and (episode.pending or not episode.your_turn)


def own_info(info: Info, seat: int) -> Mapping[str, Any]:
    """The part of an info that a seat may know."""
    seats: Sequence[Mapping[str, Any] | None] = info.get("seats") or ()
    return seats[seat] or {} if seats else info


def own_reward(turn: Turn, seat: int) -> float:
    """The reward of a seat for a turn."""
    if "seats" in turn.info:
        return float(own_info(turn.info, seat).get("reward", 0.0))
    return float(turn.reward or 0.0)
