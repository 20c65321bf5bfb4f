r"""Stay silent or betray, both at the same time and again and again.

Rules:
    In each of `rounds` rounds both players choose at the same time and then learn each other's choice. If both stay
    silent, each earns 3 points; if both betray, each earns 1. If only one betrays, that player earns 5 points and the
    other none. After an action against the rules you may try again; a second one in a row ends the episode.

Actions:
    `\boxed{silent}` or `\boxed{betray}`.

Rewards:
    At the end, your mean points per round divided by 5. An action that cannot be parsed ends the episode and costs
    0.1; the other player then earns 0. Success means a mean of at least 3 points, which is what lasting trust earns.

Source:
    M. Flood and M. Dresher (1950); the repeated form with these points is R. Axelrod's (The Evolution of Cooperation,
    1984).
"""

from __future__ import annotations

import re
from dataclasses import dataclass

from gem.core import State
from gem.envs.duels.register import register_duel
from gem.envs.game import FORMAT_PENALTY
from gem.envs.multiagent import SimultaneousEnv
from gem.errors import InvalidArgument
from gem.rng import SplitMix64, choice
from gem.seats import SPECTATOR
from gem.views import Cell, GridView

CHOICES = ("silent", "betray")
POINTS = {
    ("silent", "silent"): (3, 3),
    ("silent", "betray"): (0, 5),
    ("betray", "silent"): (5, 0),
    ("betray", "betray"): (1, 1),
}
MAX_POINTS, TRUST_POINTS = 5, 3
"""The highest points of a round, and the points for mutual silence."""


@dataclass(frozen=True, slots=True)
class Config:
    rounds: int
    max_turns: int | None


class PrisonersDilemma(SimultaneousEnv):
    """See the module's documentation, which is also the catalog page."""

    pattern = re.compile(r"\\boxed{\s*(silent|betray)\s*}", re.IGNORECASE | re.ASCII)
    forfeit = (FORMAT_PENALTY, 0.0)

    def __init__(self, rounds: int = 10, max_turns: int | None = None, seed: int | None = None) -> None:
        super().__init__(seed)
        if not 1 <= rounds <= 200:
            raise InvalidArgument(f"rounds must be from 1 to 200, not {rounds}.")
        if max_turns is not None and max_turns < 1:
            raise InvalidArgument(f"max_turns must be at least 1, not {max_turns}.")
        self.config = Config(rounds, max_turns)
        self.max_turns = 4 * rounds if max_turns is None else max_turns
        self.rounds: list[list[str]] = []
        """The choices of both seats in each round so far."""

    def _draw(self) -> None:
        self.rounds = []

    def _instructions(self) -> str:
        return (
            f"In each of {self.config.rounds} rounds two players choose at the same time to stay silent or to betray. "
            "Both silent: 3 points each. Both betray: 1 point each. Only one betrays: 5 points for that one, none for "
            "the other. After each round both learn what was chosen.\n"
            "Write \\boxed{silent} or \\boxed{betray}."
        )

    def _parse_choice(self, seat: int, match: str) -> tuple[str, str]:
        return match.lower(), ""

    def _resolve(self, choices: list[str]) -> str:
        self.rounds.append(choices)
        points = POINTS[choices[0], choices[1]]
        text = (
            f"Round {len(self.rounds)}: the first player chose {choices[0]} and gets {points[0]}, the second "
            f"{choices[1]} and gets {points[1]}."
        )
        if len(self.rounds) == self.config.rounds:
            means = [points / len(self.rounds) for points in self.points()]
            self._end([mean / MAX_POINTS for mean in means])
            self.winners = [seat for seat, mean in enumerate(means) if mean >= TRUST_POINTS]
        return text

    def points(self) -> list[int]:
        """The points of each seat so far."""
        return [sum(POINTS[first, second][seat] for first, second in self.rounds) for seat in (0, 1)]

    def _suffix(self, seat: int) -> str:
        score = "Points: {} and {}.".format(*self.points())
        if seat in self.to_act:
            return f"{score} Round {len(self.rounds) + 1} of {self.config.rounds}. Do you stay silent or betray?"
        return score

    def _format_help(self) -> str:
        name = self.names[self.to_act[0]]
        return (
            f"There is no choice in the answer of {name}: it is \\boxed{{silent}} or \\boxed{{betray}}. It ends here."
        )

    def _random_action(self, rng: SplitMix64) -> str:
        return f"\\boxed{{{choice(rng, CHOICES)}}}"

    def _get_own_state(self) -> State:
        return {"rounds": [list(choices) for choices in self.rounds]}

    def _set_own_state(self, state: State) -> None:
        self.rounds = [list(choices) for choices in state["rounds"]]

    def view(self, seat: int = 0) -> GridView:
        """The choices in each round, one row for each player."""
        open_round = [] if self.over else [""]
        rows = [
            [self._cell(row, action) for action in [*(choices[row] for choices in self.rounds), *open_round]]
            for row in (0, 1)
        ]
        acting = seat in self.to_act
        return GridView(
            kind="grid",
            name=f"PrisonersDilemma, {len(self.rounds)} of {self.config.rounds} rounds",
            rows=rows,
            keys={action[0]: f"\\boxed{{{action}}}" for action in CHOICES} if acting else {},
            notes=[("Rows", [f"{name}{' (you)' * (row == seat)}" for row, name in enumerate(self.names)])],
            facts=[("Points", "{} and {}".format(*self.points()))],
            legend=[("S", "stay silent"), ("B", "betray")] if seat != SPECTATOR else [],
        )

    def _cell(self, seat: int, action: str) -> Cell:
        player = self._capitalized_name(seat)
        if not action:
            has_chosen = seat < len(self.sealed)
            return Cell(
                tone="hidden",
                label=f"{player}: {'has chosen' if has_chosen else 'chooses'}",
                text="✓" if has_chosen else "?",
            )
        return Cell(tone="hit" if action == "silent" else "bad", label=f"{player}: {action}", text=action[0].upper())


register_duel("PrisonersDilemma", PrisonersDilemma)
