r"""Move a tower of disks to another place, one disk at a time, never a larger one onto a smaller one.

Rules:
    There are three towers, A, B and C, and `num_disks` disks of different sizes, all on A at first, the largest at
    the bottom. A turn moves the top disk of one tower onto another tower that is empty or whose top disk is larger.
    The puzzle is solved when all disks are on C. A move against the rules uses up a turn.

Actions:
    `\boxed{A C}` moves the top disk of tower A to tower C. Lower case is fine, and so is a comma or nothing between
    the letters.

Rewards:
    1 for the solution, 0 for any other move. If the turn limit ends the episode, the last turn earns the share of the
    disks that are on C. -0.1 for an action that cannot be parsed, which ends the episode.

Source:
    GEM (arXiv 2510.01051), `game:TowerofHanoi-v0`. The puzzle is Édouard Lucas's, 1883.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

from gem.core import State
from gem.envs.game import Game, PlayResult
from gem.errors import InvalidArgument
from gem.registry import register
from gem.rng import SplitMix64, choice
from gem.views import Compose, Tower, TowersView

RANDOM_PARAMETERS = [(3, 10), (4, 20), (5, 35)]
"""Pairs of disks and turn limit from which the `random` difficulty draws."""
TOWERS = "ABC"
DISKS = "987654321"
EMPTY_TOWER = "99"
"""Stands for the top disk of an empty tower in comparisons: as a string it is greater than every disk."""


@dataclass(frozen=True, slots=True)
class Config:
    """If either is None, both are drawn for each episode, as in the `random` difficulty."""

    num_disks: int | None
    max_turns: int | None


class TowerOfHanoi(Game):
    """See the module's documentation, which is also the catalog page."""

    pattern = re.compile(r"\\boxed{([ABCabc])\s*+(?:,\s*+)?([ABCabc])}")
    prompt = "Enter your move."

    def __init__(self, num_disks: int | None = 3, max_turns: int | None = 10, seed: int | None = None) -> None:
        super().__init__(seed)
        if num_disks is not None and not 1 <= num_disks <= len(DISKS):
            raise InvalidArgument(f"num_disks must be from 1 to {len(DISKS)}, not {num_disks}.")
        if max_turns is not None and max_turns < 1:
            raise InvalidArgument(f"max_turns must be at least 1, not {max_turns}.")
        self.config = Config(num_disks, max_turns)
        self.max_turns = 0 if num_disks is None else max_turns or 0
        self.num_disks = 0
        self.towers: dict[str, str] = {}
        """For each tower its disks from the bottom to the top, one digit each, as in "321"."""
        self.last = ""
        """The tower that the last move put a disk on, empty before the first move."""

    def _draw(self) -> None:
        config = self.config
        if config.num_disks is None or config.max_turns is None:
            self.num_disks, self.max_turns = choice(self.rng, RANDOM_PARAMETERS)
        else:
            self.num_disks, self.max_turns = config.num_disks, config.max_turns
        self.towers = {"A": DISKS[-self.num_disks :], "B": "", "C": ""}
        self.last = ""

    def _instructions(self) -> str:
        return (
            f"This is the Tower of Hanoi with {self.num_disks} disks, 1 being the smallest. They lie on tower A, the "
            f"largest at the bottom. Bring all of them to tower C in at most {self.max_turns} moves. A move takes the "
            "top disk of a tower to another tower; a disk never lies on a smaller one. Each tower is written from the "
            "bottom to the top.\n"
            "Put your move into \\boxed{}: where from, then where to, for example \\boxed{A C}."
        )

    def _play(self, match: tuple[str, str]) -> PlayResult:
        source, target = match[0].upper(), match[1].upper()
        towers = self.towers
        source_disks, target_disks = towers[source], towers[target]
        if not source_disks:
            return f"Tower {source} is empty.", 0.0, "rule"
        if source == target:
            return "A move goes from one tower to another.", 0.0, "rule"
        disk = source_disks[-1]
        if target_disks and target_disks[-1] < disk:
            return (
                f"Disk {disk} of tower {source} is larger than disk {target_disks[-1]} on tower {target}.",
                0.0,
                "rule",
            )
        towers[source] = source_disks[:-1]
        towers[target] = target_disks = target_disks + disk
        self.last = target
        if target == "C" and len(target_disks) == self.num_disks:
            self.over = self.solved = True
            return f"You moved disk {disk} from {source} to C. All disks are on C.", 1.0, None
        return f"You moved disk {disk} from {source} to {target}.", 0.0, None

    def _reward_at_limit(self, reward: float) -> float:
        return len(self.towers["C"]) / self.num_disks

    def _suffix(self) -> str:
        towers = self.towers
        return f"A: {' '.join(towers['A'])}\nB: {' '.join(towers['B'])}\nC: {' '.join(towers['C'])}\n{self.prompt}"

    def _format_help(self) -> str:
        return "There is no move in your answer. Write it as \\boxed{A C}. The episode ends."

    def _random_action(self, rng: SplitMix64) -> str:
        source, target = choice(rng, self.legal_moves())
        return f"\\boxed{{{source} {target}}}"

    def legal_moves(self) -> list[tuple[str, str]]:
        """Source and target tower of every move that the rules allow; there are two or three."""
        top_disks = {name: disks[-1:] or EMPTY_TOWER for name, disks in self.towers.items()}
        return [(source, target) for source in TOWERS for target in TOWERS if top_disks[source] < top_disks[target]]

    def _get_own_state(self) -> State:
        return {"num_disks": self.num_disks, "towers": dict(self.towers), "last": self.last}

    def _set_own_state(self, state: State) -> None:
        self.num_disks = state["num_disks"]
        self.towers = dict(state["towers"])
        self.last = state["last"]

    def view(self, seat: int = 0) -> TowersView:
        """The three towers."""
        self._require_reset()
        view = TowersView(
            kind="towers",
            name=f"Tower of Hanoi, {self.num_disks} disks",
            towers=[self._tower(name) for name in TOWERS],
            facts=[("On C", f"{len(self.towers['C'])} of {self.num_disks}")],
            legend=[("click", "lift, then put"), ("A B C", "choose a tower"), ("Escape", "put back")],
        )
        if not self.over:
            view["compose"] = Compose(
                picks=["place", "place"],
                prompts=["Choose a tower to lift from", "Choose a tower to put on"],
                before="\\boxed{",
                between=" ",
                after="}",
            )
        return view

    def _tower(self, name: str) -> Tower:
        disks = [int(disk) for disk in self.towers[name]]
        if disks:
            label = f"Tower {name}: {'disk' if len(disks) == 1 else 'disks'} {', '.join(map(str, disks))}"
        else:
            label = f"Tower {name}: empty"
        tower = Tower(text=name, label=label, disks=disks)
        if not self.over:
            tower["part"] = name
        if name == self.last:
            tower["last"] = True
        return tower


register("game:TowerofHanoi-v0", TowerOfHanoi, cost="fast")
register("game:TowerofHanoi-v0-easy", TowerOfHanoi, cost="fast", num_disks=3, max_turns=10)
register("game:TowerofHanoi-v0-hard", TowerOfHanoi, cost="fast", num_disks=5, max_turns=35)
register("game:TowerofHanoi-v0-random", TowerOfHanoi, cost="fast", num_disks=None, max_turns=None)
