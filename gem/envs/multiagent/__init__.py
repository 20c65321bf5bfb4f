r"""The base of environments with several seats: who acts, what each seat reads and earns, and how an episode ends.

    env = gem.make("duel:TicTacToe-v0")
    observation, info = env.reset(seed=7)
    while env.to_act:
        seat = env.to_act[0]
        reading, own = observation_for_seat(seat, observation, info)   # gem.seats
        observation, reward, terminated, truncated, info = env.step(agents[seat](reading, own))

One call of `step` takes the action of one seat, so an episode is a single sequence of actions, whichever seat took
them. This also holds where all seats act at the same time (`SimultaneousEnv`): the environment keeps their actions
sealed until the last seat has acted.
"""

from __future__ import annotations

from abc import abstractmethod
from typing import Any, ClassVar, Literal

from gem.core import Info, State, Step
from gem.envs.game import BoxedEnv
from gem.errors import MissingMethod
from gem.seats import SPECTATOR, with_success
from gem.validation.values import check_action

Fault = Literal["rule"] | None
"""The fault in an action that could be parsed: "rule" if the rules forbid it, otherwise None."""


class MultiAgentEnv(BoxedEnv):
    r"""An environment in which several seats act in turn.

    A subclass defines the abstract methods of `BoxedEnv` and those below. Its `_play` calls `_end` when the episode
    is over, `_tell` when a seat should read something other than the public account of the turn, and `_pass_turn` (or
    sets `self.acting`) when another seat acts next.

    An action that cannot be parsed ends the episode, and so does a second action in a row that the rules forbid. The
    seat at fault then earns `forfeit[0]`, every other seat `forfeit[1]`.
    """

    num_seats: ClassVar[int] = 2
    names: ClassVar[tuple[str, ...]] = ("the first player", "the second player")
    """The names of the seats in observations and instructions."""
    forfeit: ClassVar[tuple[float, float]] = (-1.0, 1.0)
    """Rewards of the seat at fault and of every other seat when a fault ends the episode.

    They equal those of a lost and a won episode, so no seat gains by a fault.
    """

    def __init__(self, seed: int | None = None) -> None:
        super().__init__(seed)
        self.acting = 0
        """The seat whose turn it is."""
        self.warned = False
        """Whether the rules forbade the last action, so that another such action ends the episode."""
        self.returns = [0.0] * self.num_seats
        """The sum of each seat's rewards in this episode."""
        self.winners: list[int] = []
        """The seats for which the episode was a success."""
        self._unread: list[list[str]] = [[] for _ in range(self.num_seats)]
        """For each seat, the texts since its last action."""
        self._private_texts: dict[int, str] = {}
        """Seat to what it reads in place of the public account of this turn (see `_tell`)."""
        self._turn_rewards = [0.0] * self.num_seats
        """What each seat earns in this turn."""

    # ------------------------------------------------------------------ what an environment defines

    @abstractmethod
    def _play(self, seat: int, match: Any) -> tuple[str, Fault]:
        """Play the parsed action of `seat`; return the public account of it, and "rule" if the rules forbid it."""

    @abstractmethod
    def _suffix(self, seat: int) -> str:
        """The board as `seat` (or `SPECTATOR`) may see it, followed by the prompt if the seat is to act."""

    def random_actions(self) -> list[str]:
        """The actions of which `sample_random_action` draws one, each with the same probability.

        Raises:
            MissingMethod: if the environment does not draw so, or does not say.
        """
        raise MissingMethod(f"{type(self).__name__} does not list its random actions: define random_actions().")

    def _briefing(self, seat: int) -> str:
        """The text that only `seat` reads at the beginning."""
        return f"You are {self.names[seat]}."

    # ------------------------------------------------------------------ what it can call while it plays

    def _tell(self, seat: int, text: str) -> None:
        """Let `seat` read `text` instead of the public account of this turn."""
        self._private_texts[seat] = text

    def _end(self, rewards: list[float]) -> None:
        """End the episode with a reward for each seat. A positive reward counts as a success."""
        self.over = True
        self._turn_rewards = list(rewards)
        self.winners = [seat for seat, reward in enumerate(rewards) if reward > 0]

    def _win(self, seat: int) -> None:
        """End the episode with 1 for `seat` and -1 for the others."""
        self._end([1.0 if i == seat else -1.0 for i in range(self.num_seats)])

    # ------------------------------------------------------------------ what every environment does

    @property
    def seats(self) -> int:
        """See `Env.seats`."""
        return self.num_seats

    @property
    def to_act(self) -> tuple[int, ...]:
        """See `Env.to_act`; empty when the episode is over."""
        return () if self.over else (self.acting,)

    def _start(self) -> tuple[str, Info]:
        self.turn = self._num_random_actions = self.acting = 0
        self.over = self.warned = False
        self.returns = [0.0] * self.num_seats
        self._turn_rewards = [0.0] * self.num_seats
        self.winners = []
        self._draw()
        rules = self._instructions()
        self._unread = [[rules, self._briefing(seat)] for seat in range(self.num_seats)]
        return rules, self._info(None, None)

    def step(self, action: str) -> Step:
        """See `Env.step`. The action and the reward are those of the first seat in `to_act`."""
        is_over = self.over  # read into a local, or mypy takes `self.over` for False in the rest of the method
        if is_over:
            raise self._episode_over_error()
        check_action(action)
        seat = self.to_act[0]
        self.turn += 1
        self._num_random_actions = 0
        self._unread[seat], self._private_texts = [], {}
        self._turn_rewards = [0.0] * self.num_seats
        text, fault = self._take_action(seat, action)
        terminated = self.over
        truncated = self.turn >= self.max_turns and not terminated
        if truncated:
            self.over = True
            text = f"{text} That was turn {self.turn} of {self.max_turns}: the turn limit ends the episode."
        for reader, unread in enumerate(self._unread):
            unread.append(self._private_texts.get(reader, text))
        self.returns = [total + reward for total, reward in zip(self.returns, self._turn_rewards, strict=True)]
        return text, self._turn_rewards[seat], terminated, truncated, self._info(seat, fault)

    def _take_action(self, seat: int, action: str) -> tuple[str, Literal["format", "rule"] | None]:
        """Play the action if it can be parsed; return the public account of it and the fault in it."""
        matches = self.pattern.findall(action)
        if not matches:
            text = self._format_help()
            self._forfeit_episode(seat)
            return text, "format"
        text, fault = self._play(seat, matches[-1])
        if fault is None:
            self.warned = False
        elif self.warned:
            self._forfeit_episode(seat)
            text = f"{text} It is the second such action in a row, which ends the episode."
        else:
            self.warned = True
            text = f"{text} It is still the same turn; a second such action ends the episode."
        return text, fault

    def _forfeit_episode(self, seat: int) -> None:
        """End the episode because of a fault of `seat`."""
        own_reward, other_reward = self.forfeit
        self._end([own_reward if i == seat else other_reward for i in range(self.num_seats)])

    def _capitalized_name(self, seat: int) -> str:
        """The name of a seat as it is written at the beginning of a sentence."""
        return self.names[seat][0].upper() + self.names[seat][1:]

    def _pass_turn(self) -> None:
        """Give the turn to the next seat."""
        self.acting = (self.acting + 1) % self.num_seats

    def _info(self, actor: int | None, fault: str | None) -> Info:
        seats: list[Info] = [
            {"observation": "\n".join(text for text in unread if text), "suffix": self._suffix(seat), "reward": reward}
            for seat, (unread, reward) in enumerate(zip(self._unread, self._turn_rewards, strict=True))
        ]
        info: Info = {"suffix": self._suffix(SPECTATOR), "seats": seats}
        if actor is not None and fault is not None:
            info["error"] = seats[actor]["error"] = fault
        return with_success(info, [seat in self.winners for seat in range(self.num_seats)]) if self.over else info

    def _common_state(self) -> State:
        return {
            "acting": self.acting,
            "warned": self.warned,
            "returns": list(self.returns),
            "winners": list(self.winners),
            "unread": [list(unread) for unread in self._unread],
        }

    def _set_common_state(self, state: State) -> None:
        self.acting, self.warned = state["acting"], state["warned"]
        self.returns, self.winners = list(state["returns"]), list(state["winners"])
        self._unread = [list(unread) for unread in state["unread"]]


class SimultaneousEnv(MultiAgentEnv):
    """An environment in which all seats act at the same time.

    `to_act` lists the seats that have not chosen yet in this round. No view, observation or info reveals a choice
    before the last seat has chosen; then `_resolve` plays the round.
    """

    def __init__(self, seed: int | None = None) -> None:
        super().__init__(seed)
        self.sealed: list[Any] = []
        """The choices of the first seats in this round, as plain JSON."""

    @abstractmethod
    def _parse_choice(self, seat: int, match: Any) -> tuple[Any, str]:
        """The choice in a parsed action, as plain JSON, and an error message, empty if the rules allow the choice."""

    @abstractmethod
    def _resolve(self, choices: list[Any]) -> str:
        """Play a round with the choices of all seats; return the public account of it."""

    @property
    def to_act(self) -> tuple[int, ...]:
        """See `Env.to_act`."""
        return () if self.over else tuple(range(len(self.sealed), self.num_seats))

    def _start(self) -> tuple[str, Info]:
        self.sealed = []
        return super()._start()

    def _play(self, seat: int, match: Any) -> tuple[str, Fault]:
        choice, problem = self._parse_choice(seat, match)
        if problem:
            return problem, "rule"
        self.sealed.append(choice)
        if len(self.sealed) < self.num_seats:
            self._tell(seat, "Your choice is sealed.")
            return f"{self._capitalized_name(seat)} has chosen.", None
        choices, self.sealed = self.sealed, []
        return self._resolve(choices), None

    def _common_state(self) -> State:
        return {**super()._common_state(), "sealed": list(self.sealed)}

    def _set_common_state(self, state: State) -> None:
        super()._set_common_state(state)
        self.sealed = list(state["sealed"])
