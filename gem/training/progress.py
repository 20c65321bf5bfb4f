"""How far a training is: the numbers that every checkpoint stores, among them the stage of the curriculum."""

from __future__ import annotations

import logging
import math
from collections.abc import Sequence
from dataclasses import dataclass, field

from gem.rng import SplitMix64
from gem.training.collecting.batch import mean
from gem.training.spec import Stage, TrainingSpec

logger = logging.getLogger(__name__)

STAGE_KEY = 9
"""What a stream of random numbers is used for, besides those of `collecting`."""
STEEPNESS = 2.0
"""How quickly an adaptive curriculum reacts, as in its source: with all solved and half aimed at, three quarters of a
whole step."""

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
    level: float = 0.0
    """With an adaptive curriculum, the stage as a number between two: 1.25 plays three quarters of stage 1."""
    unsolved: list[int] = field(default_factory=list)
    """With `retry_unsolved`, the seeds of the stage that were not solved, the oldest first."""
    last: Metrics = field(default_factory=dict)
    """Metrics of the last update."""

    def enter(self, spec: TrainingSpec) -> None:
        """Go on with a fork: its curriculum may have fewer stages, or be adaptive where that of its parent was not."""
        last = len(spec.stages) - 1
        self.stage = min(self.stage, last)
        self.level = min(self.level or float(self.stage), float(last))

    def stage_of(self, spec: TrainingSpec, group: int) -> Stage:
        """The stage in which a group of episodes is played in the next update."""
        if not spec.target_success:
            return spec.stages[self.stage]
        lower = min(int(self.level), len(spec.stages) - 1)
        share = self.level - lower
        is_higher = share > 0 and SplitMix64(spec.seed, STAGE_KEY, self.update, group).random() < share
        return spec.stages[lower + is_higher]

    def follow_success(self, spec: TrainingSpec, success: float) -> None:
        """Move through the curriculum after an update.

        Args:
            success: the success rate of the update that was just made.
        """
        if spec.target_success:
            self._adapt(spec, success)
        else:
            self._advance(spec.stages, success)

    def _adapt(self, spec: TrainingSpec, success: float) -> None:
        """Go up if more is solved than aimed at, and down if less.

        Source: the target difficulty of AdaRFT (Shi et al., arXiv 2504.05520), with stages instead of problems.
        """
        change = spec.level_step * math.tanh(STEEPNESS * (success - spec.target_success))
        self.level = min(max(self.level + change, 0.0), len(spec.stages) - 1.0)
        self.stage = round(self.level)

    def _advance(self, stages: Sequence[Stage], success: float) -> None:
        """Enter the next stage once the current one is solved often enough, or has had its number of updates."""
        stage = stages[self.stage]
        self.staged += 1
        self.recent = [*self.recent, success][-stage.window :]
        is_solved = len(self.recent) == stage.window and mean(self.recent) >= stage.until_success
        if (is_solved or self.staged == stage.updates) and self.stage < len(stages) - 1:
            self.stage += 1
            self.recent, self.staged, self.unsolved = [], 0, []
            logger.info("stage %d of the curriculum", self.stage + 1)
