"""The opponents of a policy that plays against itself: its own earlier weights, and agents that need no training.

Every game against an opponent counts for the ratings, which a Bradley-Terry model gives all of them together. The
policy as it is now is one player, as if it had not changed since an earlier one of it last entered the pool.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import NamedTuple

from safetensors.torch import load_file, save_file
from torch import Tensor

from gem.evaluation.ranking.bradley_terry import ELO, Game, Result, fit

NOW = "now"
"""The name of the policy as it is, among those of the pool."""
TENSORS, GAMES = "pool.safetensors", "pool.json"
RESULTS: tuple[Result, ...] = ("won", "tied", "lost")
ANY_GAME = "game"
"""Bradley-Terry models know several games; here there is one."""


class Played(NamedTuple):
    """A game between two names."""

    first: str
    """The player in seat 0."""
    second: str
    result: Result
    """For the first seat."""


class Pool:
    """Opponents and what is known of their strength.

    Args:
        size: the most earlier policies; when there is one more, the oldest leaves.
        agents: kinds of agents that are always in it, such as `random`.
    """

    def __init__(self, size: int, agents: Sequence[str]) -> None:
        self.size, self.agents = size, tuple(agents)
        self.weights: dict[int, dict[str, Tensor]] = {}
        """The weights of earlier policies by the number of updates they had, the oldest first."""
        self.games: dict[tuple[str, str], list[int]] = {}
        """By the names in seats 0 and 1, how often the first won, tied and lost."""

    @property
    def names(self) -> tuple[str, ...]:
        """All opponents; an earlier policy has the number of its updates as its name."""
        return (*self.agents, *map(str, self.weights))

    def enter(self, update: int, weights: Mapping[str, Tensor]) -> None:
        """Add the policy as it is. The games that it played since the last one entered are now those of this one."""
        if self.size < 1:
            return
        self.weights[update] = {name: tensor.detach().clone() for name, tensor in weights.items()}
        for gone in list(self.weights)[: -self.size]:
            del self.weights[gone]
        renamed = {
            (self._entered(first, update), self._entered(second, update)): counts
            for (first, second), counts in self.games.items()
        }
        known = set(self.names)
        self.games = {names: counts for names, counts in renamed.items() if known.issuperset(names)}

    def record(self, games: Iterable[tuple[Played, int]]) -> None:
        """Count games, each with how often it happened."""
        for played, times in games:
            if times and played.first != played.second:
                counts = self.games.setdefault((played.first, played.second), [0, 0, 0])
                counts[RESULTS.index(played.result)] += times

    def possible(self) -> list[Played]:
        """Every game that the policy can play against an opponent, with every result, always in the same order."""
        pairs = [pair for name in self.names for pair in ((NOW, name), (name, NOW))]
        return [Played(first, second, result) for first, second in pairs for result in RESULTS]

    def ratings(self) -> dict[str, float]:
        """Points on the Elo scale by name, the first of the pool having 0; empty before the first game."""
        games = [
            Game(ANY_GAME, first, second, result, times)
            for (first, second), counts in sorted(self.games.items())
            for result, times in zip(RESULTS, counts, strict=True)
            if times
        ]
        if not games:
            return {}
        fitted = fit(games)
        anchor = next(name for name in (*self.names, NOW) if name in fitted.strengths)
        zero = fitted.strengths[anchor].mean
        return {name: ELO * (fitted.strengths[name].mean - zero) for name in fitted.names}

    def save(self, folder: Path) -> None:
        """Write the pool into the folder of a checkpoint."""
        tensors = {
            f"{update}/{name}": tensor.cpu().contiguous()
            for update, own in self.weights.items()
            for name, tensor in own.items()
        }
        save_file(tensors, folder / TENSORS)
        games = [[first, second, *counts] for (first, second), counts in sorted(self.games.items())]
        content = {"policies": list(self.weights), "games": games}
        (folder / GAMES).write_text(json.dumps(content) + "\n", encoding="utf-8")

    def restore(self, folder: Path, device: str) -> bool:
        """Read what `save` wrote; return whether there was anything, or the training before had no pool."""
        if not (folder / GAMES).exists():
            return False
        content = json.loads((folder / GAMES).read_text(encoding="utf-8"))
        self.weights = {update: {} for update in content["policies"]}
        for key, tensor in load_file(folder / TENSORS, device=device).items():
            update, _, name = key.partition("/")
            self.weights[int(update)][name] = tensor
        self.games = {(first, second): counts for first, second, *counts in content["games"]}
        return True

    @staticmethod
    def _entered(name: str, update: int) -> str:
        return str(update) if name == NOW else name
