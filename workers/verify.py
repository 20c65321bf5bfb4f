"""What takes too long for a page: verification, the expert's view of an episode, and rows that rank, with ranks."""

from __future__ import annotations

from celery import current_app

from apps.benchmarks import operations as benchmarks
from apps.episodes.questions import mistakes, verification
from apps.leaderboard.boards import computing, waking
from apps.leaderboard.challenges import checking, receiving
from apps.leaderboard.proofs import checks, waiting
from apps.play.bench import trials
from workers.evaluate import stopping
from workers.playing.cpu import CpuMeter


@current_app.task(name=verification.TASK)
def episode(episode_id: str) -> None:  # noqa: ARG001 (the queue decides, not the message)
    """Replay the episodes that wait, and leave the verdicts for their pages. `episode_id` only woke this worker."""
    while not stopping() and verification.answer_next():
        pass


@current_app.task(name=mistakes.TASK)
def explanation(episode_id: str) -> None:  # noqa: ARG001 (the line decides, not the message)
    """Ask the expert about the episodes that wait. `episode_id` only woke this worker."""
    while not stopping() and mistakes.answer_next():
        pass


@current_app.task(name=trials.TASK)
def trial(episode_id: str) -> None:  # noqa: ARG001 (the line decides, not the message)
    """Run the programs that people want to try. `episode_id` only woke this worker."""
    while not stopping() and trials.answer_next(CpuMeter.of_checks):
        pass


@current_app.task(name=waiting.TASK)
def rows(job_id: str) -> None:  # noqa: ARG001 (the line decides, not the message)
    """Execute a part of the row that is next. What is left of it has a message of its own, behind other work."""
    if not stopping():
        checks.check_next(stopping, CpuMeter.of_checks)


@current_app.task(name=receiving.TASK)
def results(challenge_id: str) -> None:  # noqa: ARG001 (the line decides, not the message)
    """Execute a part of the episodes that somebody has sent. What is left has a message of its own."""
    if not stopping():
        checking.check_next(stopping, CpuMeter.of_checks)


@current_app.task(name=benchmarks.TASK)
def benchmark(version_id: str) -> None:
    """Check a version of a benchmark that somebody has added."""
    benchmarks.check(int(version_id))


@current_app.task(name=waking.TASK)
def rankings() -> None:
    """Compute the ranks of the boards whose rows have changed."""
    computing.compute_all(stopping)
