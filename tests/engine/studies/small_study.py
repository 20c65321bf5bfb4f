"""A small study and results of it, for tests."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from gem.studies.digests import digest, measured_digests
from gem.studies.results import FolderResults, RunResult
from gem.studies.study import Run, Study, compared

PLAN: Mapping[str, Any] = {
    "name": "small",
    "title": "A small study",
    "question": "Which of two solves more?",
    "seeds": 4,
    "episodes": 100,
    "environments": {
        "fifteen": {"recipe": "fifteen-easy", "updates": 2},
        "gcd": {"recipe": "gcd", "model": "nano-base", "updates": 2},
    },
    "variants": {
        "rebn": {"title": "ReBN", "settings": {"algorithm": "rebn"}},
        "ppo": {"title": "PPO", "settings": {"algorithm": "ppo"}},
    },
}


def result(study: Study, run: Run, solved: int, *, end: float = 0.5, **changes: Any) -> RunResult:
    return RunResult(
        digest=digest(study, run),
        tuned=run.tuned,
        episodes=study.episodes,
        solved=solved,
        mean_return=solved / study.episodes,
        turns=4.0,
        turns_when_solved=3.5,
        cpu_seconds=36.0,
        curve=(0.0, end),
        **changes,
    )


def filled(study: Study, folder: Path, solved: Mapping[str, int], seeds: int) -> FolderResults:
    """Results in which each variant solves so many episodes, and one more with each seed."""
    results = FolderResults(study, folder)
    for run in compared(study, {}):
        if run.seed < seeds:
            results.write(run, result(study, run, solved[run.variant] + run.seed))
    return results


TWO = {"gcd": {"recipe": "gcd"}, "tictactoe": {"recipe": "tictactoe"}}
"""Environments to measure in: one of the two that are trained in, and another."""


def measured(study: Study, folder: Path, before: Mapping[str, int], after: Mapping[str, int]) -> FolderResults:
    """Results in which every policy solves so many episodes elsewhere, before and after its training."""
    results = FolderResults(study, folder)
    for run in results.planned():
        solved = before if run.is_untrained else after
        results.write(run, result(study, run, 50, elsewhere=dict(solved), measured=measured_digests(study)))
    return results
