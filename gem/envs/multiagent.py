r"""What all environments with several seats share: who acts, what each seat reads and earns, and how an episode ends.

    env = gem.make("duel:TicTacToe-v0")
    observation, info = env.reset(seed=7)
    while env.to_act:
        seat = env.to_act[0]
        reading, own = observation_for_seat(seat, observation, info)   # gem.seats
        observation, reward, terminated, truncated, info = env.step(agents[seat](reading, own))

One call of `step` is one seat's action, also where all seats act at the same time (`SimultaneousEnv`): then the
actions are kept sealed until the last one is there. So an episode is one sequence of actions, whoever took them.
"""

from __future__ import annotations

from abc import abstractmethod
from typing import Any, ClassVar, Literal

from gem.core import Info, State, Step, check_action
from gem.envs.game import BoxedEnv
from gem.seats import SPECTATOR, with_success

Fault = Literal["rule"] | None


class MultiAgentEnv(BoxedEnv):
    r"""An environment that several seats act from in turn.

    Subclasses define what `BoxedEnv` asks for and the methods below. `_play` calls `_end` when the episode is over,
    `_tell` where a seat reads something else than the public account, and sets `self.acting` where the turn does not
    simply go round.

    An action that cannot be parsed, or a second one in a row that the rules do not allow, ends the episode: the seat
    at fault earns `forfeit[0]`, every other seat `forfeit[1]`.
    """

    num_seats: ClassVar[int] = 2
    names: ClassVar[tuple[str, ...]] = ("the first player", "the second player")
    """What the texts call the seats."""
    forfeit: ClassVar[tuple[float, float]] = (-1.0, 1.0)
    """Worth as much as a lost and a won episode, so that nobody saves anything by a fault."""

    def __init__(self, seed: int | None = None) -> None:
        super().__init__(seed)
        self.acting = 0
        """The seat whose turn it is."""
        self.warned = False
        """Whether the last action was against the rules, so that the next such one ends the episode."""
        self.returns = [0.0] * self.num_seats
        """What each seat has earned in this episode."""
        self.winners: list[int] = []
        """The seats for which the episode was a success."""
        self._unread: list[list[str]] = [[] for _ in range(self.num_seats)]
        self._told: dict[int, str] = {}
        self._earned = [0.0] * self.num_seats

    # ------------------------------------------------------------------ what an environment defines

    @abstractmethod
    def _play(self, seat: int, match: Any) -> tuple[str, Fault]:
        """Take the parsed action of `seat`: what everybody may read of it, and whether it was against the rules."""

    @abstractmethod
    def _suffix(self, seat: int) -> str:
        """The board as `seat` may see it and, if it is to act, the prompt; also for `SPECTATOR`."""

    def _briefing(self, seat: int) -> str:
        """What is told to `seat` alone at the beginning."""
        return f"You are {self.names[seat]}."

    # ------------------------------------------------------------------ what it can call while it plays

    def _tell(self, seat: int, text: str) -> None:
        """Let `seat` read `text` instead of the public account of this turn."""
        self._told[seat] = text

    def _end(self, rewards: list[float]) -> None:
        """End the episode: what it earns each seat; a success for those that earn more than nothing."""
        self.over = True
        self._earned = list(rewards)
        self.winners = [seat for seat, reward in enumerate(rewards) if reward > 0]

    def _win(self, seat: int) -> None:
        """End the episode with 1 for `seat` and -1 for the others."""
        self._end([1.0 if one == seat else -1.0 for one in range(self.num_seats)])

    # ------------------------------------------------------------------ what every environment does

    @property
    def seats(self) -> int:
        """As `Env.seats`."""
        return self.num_seats

    @property
    def to_act(self) -> tuple[int, ...]:
        """As `Env.to_act`; nobody after the end."""
        return () if self.over else (self.acting,)

    def _start(self) -> tuple[str, Info]:
        self.turn = self._asked = self.acting = 0
        self.over = self.warned = False
        self.returns = [0.0] * self.num_seats
        self._earned = [0.0] * self.num_seats
        self.winners = []
        self._draw()
        rules = self._instructions()
        self._unread = [[rules, self._briefing(seat)] for seat in range(self.num_seats)]
        return rules, self._info(None, None)

    def step(self, action: str) -> Step:
        """As `Env.step`: the action of the first seat in `to_act`; the reward is that seat's."""
        already_over = self.over
        if already_over:
            raise self._no_episode()
        check_action(action)
        seat = self.to_act[0]
        self.turn += 1
        self._asked = 0
        self._unread[seat], self._told = [], {}
        self._earned = [0.0] * self.num_seats
        text, fault = self._take(seat, action)
        terminated = self.over
        truncated = self.turn >= self.max_turns and not terminated
        if truncated:
            self.over = True
            text = f"{text} That was turn {self.turn} of {self.max_turns}: the turn limit ends the episode."
        for one, unread in enumerate(self._unread):
            unread.append(self._told.get(one, text))
        self.returns = [total + earned for total, earned in zip(self.returns, self._earned, strict=True)]
        return text, self._earned[seat], terminated, truncated, self._info(seat, fault)

    def _take(self, seat: int, action: str) -> tuple[str, Literal["format", "rule"] | None]:
        """Play the action if it can be; its account and the fault in it."""
        matches = self.pattern.findall(action)
        if not matches:
            text = self._format_help()
            self._give_up(seat)
            return text, "format"
        text, fault = self._play(seat, matches[-1])
        if fault is None:
            self.warned = False
        elif self.warned:
            self._give_up(seat)
            text = f"{text} It is the second such action in a row, which ends the episode."
        else:
            self.warned = True
            text = f"{text} It is still the same turn; a second such action ends the episode."
        return text, fault

    def _give_up(self, seat: int) -> None:
        """End the episode by the fault of `seat`."""
        own, others = self.forfeit
        self._end([own if one == seat else others for one in range(self.num_seats)])

    def _title(self, seat: int) -> str:
        """The name of a seat at the beginning of a sentence."""
        return self.names[seat][0].upper() + self.names[seat][1:]

    def _pass_on(self) -> None:
        """Give the turn to the next seat."""
        self.acting = (self.acting + 1) % self.num_seats

    def _info(self, actor: int | None, fault: str | None) -> Info:
        seats: list[Info] = [
            {"observation": "\n".join(part for part in unread if part), "suffix": self._suffix(seat), "reward": earned}
            for seat, (unread, earned) in enumerate(zip(self._unread, self._earned, strict=True))
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
    """An environment whose seats act at the same time.

    `to_act` names all seats that have not acted yet. What they choose is in no view, observation or info before the
    last of them has acted; then `_resolve` says what comes of it.
    """

    def __init__(self, seed: int | None = None) -> None:
        super().__init__(seed)
        self.sealed: list[Any] = []
        """What the first seats have chosen in this round, as plain JSON."""

    @abstractmethod
    def _read(self, seat: int, match: Any) -> tuple[Any, str]:
        """The choice in a parsed action, as plain JSON, and what is wrong with it (empty if nothing is)."""

    @abstractmethod
    def _resolve(self, choices: list[Any]) -> str:
        """Play a round in which every seat has chosen; the public account of it."""

    @property
    def to_act(self) -> tuple[int, ...]:
        """As `Env.to_act`."""
        return () if self.over else tuple(range(len(self.sealed), self.num_seats))

    def _start(self) -> tuple[str, Info]:
        self.sealed = []
        return super()._start()

    def _play(self, seat: int, match: Any) -> tuple[str, Fault]:
        choice, problem = self._read(seat, match)
        if problem:
            return problem, "rule"
        self.sealed.append(choice)
        if len(self.sealed) < self.num_seats:
            self._tell(seat, "Your choice is sealed.")
            return f"{self._title(seat)} has chosen.", None
        choices, self.sealed = self.sealed, []
        return self._resolve(choices), None

    def _common_state(self) -> State:
        return {**super()._common_state(), "sealed": list(self.sealed)}

    def _set_common_state(self, state: State) -> None:
        super()._set_common_state(state)
        self.sealed = list(state["sealed"])
