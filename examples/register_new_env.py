r"""A new environment in one file: registered, then played by the random agent and by its own agent.

Checked: run on CPU in tests.

    python -m examples.register_new_env

The contract of environments is in gem/core.py. `Game` counts turns, parses the action and ends the episode, so a game
consists only of its rules. To add your own, follow docs/add-an-environment.md. To check it on the command line:

    gemweb check --module examples.register_new_env game:RowOfLamps-v0

Rules:
    `num_lamps` lamps stand in a row, some of them on. Pressing a lamp switches it and its neighbours. Switch all off.

Actions:
    `\boxed{N}`, the number of a lamp, from 1.

Rewards:
    1 when all are off; at the turn limit the share of lamps that are off. -0.1 for an action that cannot be parsed,
    which ends the episode.

Source:
    Lights Out (Tiger Electronics, 1995), in one dimension.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

import gem
from gem.agents import Decision, RandomAgent, Request
from gem.core import State
from gem.envs.game import Game, PlayResult
from gem.errors import InvalidArgument
from gem.rng import SplitMix64, randint, sample
from gem.rollout import EpisodeRequest, rollout
from gem.views import Cell, GridView

ENV_ID = "game:RowOfLamps-v0"


class RowOfLamps(Game):
    """See the module's documentation, which is also the page in the catalog."""

    pattern = re.compile(r"\\boxed{(\d{1,3})}", re.ASCII)
    prompt = "Which lamp do you press?"

    def __init__(self, num_lamps: int = 7, max_turns: int = 10, seed: int | None = None) -> None:
        super().__init__(seed)
        if not 2 <= num_lamps <= 30 or max_turns < num_lamps:
            raise InvalidArgument("num_lamps is from 2 to 30, and max_turns at least as many.")
        self.num_lamps = num_lamps
        self.max_turns = max_turns
        self.lamps: list[bool] = []

    def _draw(self) -> None:
        """Switch all lamps off and press a few, so that there is always a solution."""
        self.lamps = [False] * self.num_lamps
        while not any(self.lamps):
            for lamp in sample(self.rng, range(self.num_lamps), randint(self.rng, 1, self.num_lamps)):
                press(self.lamps, lamp)

    def _instructions(self) -> str:
        return (
            f"{self.num_lamps} lamps stand in a row. Pressing one switches it and its neighbours. Switch all of them "
            f"off within {self.max_turns} turns.\nWrite the number of a lamp as \\boxed{{N}}, from \\boxed{{1}} on."
        )

    def _play(self, match: str) -> PlayResult:
        lamp = int(match)
        if not 1 <= lamp <= self.num_lamps:
            return f"There is no lamp {lamp}.", self._earned(), "rule"
        press(self.lamps, lamp - 1)
        self.over = self.solved = not any(self.lamps)
        return f"You pressed lamp {lamp}.", 1.0 if self.solved else self._earned(), None

    def _earned(self) -> float:
        """The reward of a turn that does not solve the puzzle: 0 before the last turn."""
        return self.lamps.count(False) / self.num_lamps if self.turn == self.max_turns else 0.0

    def _suffix(self) -> str:
        return f"Lamps: {' '.join('on' if lamp else 'off' for lamp in self.lamps)}\n{self.prompt}"

    def _format_help(self) -> str:
        return "There is no lamp in your answer. Write \\boxed{N}. The episode ends."

    def _random_action(self, rng: SplitMix64) -> str:
        return f"\\boxed{{{randint(rng, 1, self.num_lamps)}}}"

    def _get_own_state(self) -> State:
        return {"lamps": list(self.lamps)}

    def _set_own_state(self, state: State) -> None:
        self.lamps = list(state["lamps"])

    def view(self, seat: int = 0) -> GridView:
        """The row of lamps; a click presses a lamp."""
        row = [
            Cell(
                tone="mark" if lamp else "blank",
                text="●" if lamp else "○",
                label=f"lamp {i}, {'on' if lamp else 'off'}",
                act=f"\\boxed{{{i}}}",
            )
            for i, lamp in enumerate(self.lamps, start=1)
        ]
        return GridView(kind="grid", name="A row of lamps", rows=[row])


def press(lamps: list[bool], lamp: int) -> None:
    """Switch a lamp and its neighbours."""
    for place in range(max(0, lamp - 1), min(len(lamps), lamp + 2)):
        lamps[place] = not lamps[place]


class LampAgent:
    """Reads the row and presses the next lamp of a solution.

    From left to right there is no choice: a lamp that is on must be switched by its right neighbour. So the first
    press determines the solution, and there are only two candidates.
    """

    name = "lamps"

    def act(self, requests: Sequence[Request]) -> list[Decision]:
        """Decide for each request."""
        return [self._decide(str(request.info["suffix"])) for request in requests]

    def _decide(self, suffix: str) -> Decision:
        lamps = [word == "on" for word in re.findall(r"\b(on|off)\b", suffix)]
        plans = [plan for first in (False, True) if (plan := chase(list(lamps), first)) is not None]
        lamp = min(plans, key=len)[0]
        return Decision(f"\\boxed{{{lamp + 1}}}", "The next press of the shortest solution.")


def chase(lamps: list[bool], press_first: bool) -> list[int] | None:
    """The presses that switch all lamps off, if the first lamp is pressed or not; None if there is no solution."""
    presses = []
    for lamp in range(len(lamps)):
        if lamps[lamp - 1] if lamp else press_first:
            press(lamps, lamp)
            presses.append(lamp)
    return None if any(lamps) else presses


gem.register(ENV_ID, RowOfLamps)
gem.register(f"{ENV_ID}-hard", RowOfLamps, num_lamps=20, max_turns=25)


def main() -> None:
    slots = [EpisodeRequest(index, ENV_ID, seed=index) for index in range(200)]
    for agent in (RandomAgent(), LampAgent()):
        solved = sum(bool(record.success) for record in rollout(agent, slots))
        print(f"{agent.name}: {solved} of {len(slots)} solved")


if __name__ == "__main__":
    main()
