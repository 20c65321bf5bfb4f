"""How far a training is: the numbers that every checkpoint stores, among them the stage of the curriculum."""

from __future__ import annotations

import logging
from collections.abc import Sequence
from dataclasses import dataclass, field

from gem.training.collector import mean
from gem.training.spec import Stage

logger = logging.getLogger(__name__)

Metrics = dict[str, float]


@dataclass(slots=True)
class Progress:
    """All that a checkpoint stores besides tensors; the names of the fields are those in `trainer.json`."""

    update: int = 0
    """Number of updates made."""
    seconds: float = 0.0
    """Wall-clock time of these updates."""
    cpu_seconds: float = 0.0
    """CPU time of these updates, in the first process."""
    episodes: int = 0
    """Number of episodes learned from, over all processes."""
    turns: int = 0
    """Number of turns in these episodes."""
    stage: int = 0
    """Index of the curriculum's current stage."""
    recent: list[float] = field(default_factory=list)
    """Success rates of the last updates in the stage, at most `Stage.window` of them."""
    staged: int = 0
    """Number of updates made in the stage."""
    last: Metrics = field(default_factory=dict)
    """Metrics of the last update."""

    def advance_curriculum(self, stages: Sequence[Stage], success: float) -> None:
        """Enter the next stage once the current one is solved often enough, or has had its number of updates.

        Args:
            success: the success rate of the update that was just made.
        """
        stage = stages[self.stage]
        self.staged += 1
        self.recent = [*self.recent, success][-stage.window :]
        is_solved = len(self.recent) == stage.window and mean(self.recent) >= stage.until_success
        if (is_solved or self.staged == stage.updates) and self.stage < len(stages) - 1:
            self.stage += 1
            self.recent, self.staged = [], 0
            logger.info("stage %d of the curriculum", self.stage + 1)
