"""Forks: what they count is their own."""

from __future__ import annotations

import pytest

from apps.accounts.models import User
from apps.jobs.models import Job
from apps.trainings import events, operations, pages, records
from tests.apps.trainings.trainings import add_checkpoint, claimed, row, small
from workers import train


def test_a_fork_counts_its_own_episodes_and_not_those_of_its_parent(ada: User) -> None:
    parent = operations.submit(ada, small(episodes=64))
    claim = claimed(parent)
    records.record_points(claim, [row(update, episodes=64 * update) for update in range(1, 5)])
    add_checkpoint(claim, 4)
    fork = operations.submit(ada, small(updates=20), parent=parent.checkpoints.get())
    assert fork.episodes_total == (20 - 4) * 16
    queued = next(iter(events.training_events(fork, list(fork.events.all()))))
    assert queued.model_dump()["episodes_total"] == fork.episodes_total
    records.finish(claim)
    own = claimed(fork)
    records.record_points(own, [row(5, episodes=4 * 64 + 16, turns=300, seconds=9.0)])
    fork = Job.objects.get(pk=fork.pk)
    assert (fork.episodes_done, fork.turns_done, fork.seconds_busy) == (16, 300 - 60 * 4, 9.0 - 1.5 * 4)
    assert pages.seconds_left(fork, fork.points.last()) == 3.0 * 15
    extended = operations.extend(fork.pk, ada, 5)
    assert extended.episodes_total == (25 - 4) * 16
    Job.objects.filter(pk=fork.pk).update(parent=None)
    assert records.before_fork(Job.objects.get(pk=fork.pk))["episodes"] == 4 * 16, "as far as it is known"


def test_a_fork_whose_checkpoint_was_deleted_does_not_begin_anew(ada: User) -> None:
    """Whoever resumes it, after the owner of the checkpoint has left, is told why it does not go on."""
    parent = operations.submit(ada, small(episodes=64))
    own = claimed(parent)
    add_checkpoint(own, 4)
    records.finish(own)
    fork = operations.submit(ada, small(updates=20), parent=parent.checkpoints.get())
    claim, folder = claimed(fork), records.folder_of(fork.pk)
    (folder / "checkpoints").mkdir(parents=True)
    Job.objects.filter(pk=fork.pk).update(parent=None)
    with pytest.raises(operations.Unfit, match="checkpoint from which this training was to continue was deleted"):
        train.prepare(claim, folder)
    (folder / "checkpoints" / "000004").mkdir()
    train.prepare(claim, folder)  # it has a copy of its own
