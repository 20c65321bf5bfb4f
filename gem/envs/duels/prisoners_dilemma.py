r"""Stay silent or betray, both at the same time and again and again.

Rules:
    In each of `rounds` rounds both players choose at the same time and then learn what the other chose. Both silent
    earns 3 points each, both betraying 1 each; who betrays a silent one earns 5 and the other nothing. An action
    against the rules may be repaired once: a second one in a row ends the episode.

Actions:
    `\boxed{silent}` or `\boxed{betray}`.

Rewards:
    At the end, the own mean points per round divided by 5. An action that cannot be parsed ends the episode and costs
    0.1; the other player earns 0 then. A success is a mean of at least 3 points, which is what lasting trust earns.

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
MOST, TRUST = 5, 3


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
        self.rounds: list[list[str]] = []
        """What both chose in the rounds so far."""

    def _draw(self) -> None:
        self.max_turns = 4 * self.config.rounds if self.config.max_turns is None else self.config.max_turns
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
        gained = POINTS[choices[0], choices[1]]
        text = (
            f"Round {len(self.rounds)}: the first player chose {choices[0]} and gets {gained[0]}, the second "
            f"{choices[1]} and gets {gained[1]}."
        )
        if len(self.rounds) == self.config.rounds:
            means = [points / len(self.rounds) for points in self.points()]
            self._end([mean / MOST for mean in means])
            self.winners = [seat for seat, mean in enumerate(means) if mean >= TRUST]
        return text

    def points(self) -> list[int]:
        """The points of both so far."""
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
        """What both chose in each round, one row for each player."""
        open_round = [] if self.over else [""]
        rows = [[self._cell(one, past) for past in [*(c[one] for c in self.rounds), *open_round]] for one in (0, 1)]
        acting = seat in self.to_act
        return GridView(
            kind="grid",
            name=f"PrisonersDilemma, {len(self.rounds)} of {self.config.rounds} rounds",
            rows=rows,
            keys={option[0]: f"\\boxed{{{option}}}" for option in CHOICES} if acting else {},
            notes=[("Rows", [f"{name}{' (you)' * (one == seat)}" for one, name in enumerate(self.names)])],
            facts=[("Points", "{} and {}".format(*self.points()))],
            legend=[("S", "stay silent"), ("B", "betray")] if seat != SPECTATOR else [],
        )

    def _cell(self, seat: int, chosen: str) -> Cell:
        whose = self._capitalized_name(seat)
        if not chosen:
            done = seat < len(self.sealed)
            return Cell(
                tone="hidden", label=f"{whose}: {'has chosen' if done else 'chooses'}", text="✓" if done else "?"
            )
        return Cell(tone="hit" if chosen == "silent" else "bad", label=f"{whose}: {chosen}", text=chosen[0].upper())


register_duel("PrisonersDilemma", PrisonersDilemma)
