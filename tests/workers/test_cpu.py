"""CPU seconds of workers: counted with those of their children, and charged to whoever the work is for."""

from __future__ import annotations

import subprocess
import sys
import threading
from time import monotonic, process_time

import pytest

from apps.accounts.models import CpuUse, User
from apps.jobs import operations as jobs
from apps.jobs.models import Job
from gem.evaluation.spec import EvaluationSpec
from workers import evaluate
from workers.playing.cpu import CpuLedger, CpuMeter, cpu_seconds

BUSY = "from time import process_time\nwhile process_time() < 0.3: pass"


def spend(seconds: float) -> None:
    until = process_time() + seconds
    while process_time() < until:
        pass


@pytest.fixture
def anna(transactional_db: None) -> User:
    return User.objects.create_user("anna")


def test_children_count_while_they_live_and_after_they_have_ended() -> None:
    before = cpu_seconds()
    subprocess.run([sys.executable, "-c", BUSY], check=True)
    assert cpu_seconds() - before >= 0.25


def test_a_shard_is_charged_to_the_owner_of_its_job(anna: User) -> None:
    spec = EvaluationSpec(agent="random", env_ids=("game:GuessTheNumber-v0-easy",), episodes_per_env=20)
    job = jobs.submit(anna, spec)
    evaluate.shards(job.pk)
    job.refresh_from_db()
    assert job.state == Job.State.DONE
    use = CpuUse.objects.get()
    assert (use.user, use.use) == (anna, CpuUse.Use.JOBS)
    assert use.seconds > 0


def test_work_of_nobody_is_charged_to_nobody(anna: User) -> None:
    with CpuMeter(None, CpuUse.Use.JOBS):
        spend(0.02)
    assert not CpuUse.objects.exists()


def test_a_host_shares_what_it_used_by_the_time_of_calls(anna: User) -> None:
    ledger = CpuLedger()
    began = monotonic()
    ledger.metered(anna.pk, lambda: spend(0.2))()
    ledger.metered(None, lambda: spend(0.1))()  # a visitor
    ledger.record()
    charged = CpuUse.objects.get(user=anna, use=CpuUse.Use.LIVE).seconds
    assert 0.1 <= charged <= monotonic() - began + 0.2
    ledger.record()
    assert CpuUse.objects.get().seconds == charged  # nothing was called since


def test_a_call_that_still_runs_is_charged_and_not_the_short_ones_beside_it(anna: User) -> None:
    ben = User.objects.create_user("ben")
    ledger = CpuLedger()
    has_spent, may_end = threading.Event(), threading.Event()

    def think_for_long() -> None:
        spend(0.1)
        has_spent.set()
        may_end.wait()

    call = threading.Thread(target=ledger.metered(anna.pk, think_for_long), daemon=True)
    call.start()
    has_spent.wait()
    ledger.metered(ben.pk, lambda: None)()
    ledger.record()
    charged = CpuUse.objects.get(user=anna).seconds
    assert charged >= 0.05
    assert CpuUse.objects.get(user=ben).seconds < charged
    spend(0.02)
    may_end.set()
    call.join()
    ledger.record()
    assert CpuUse.objects.get(user=anna).seconds > charged


def test_calls_of_several_threads_are_all_counted(anna: User) -> None:
    ledger = CpuLedger()
    threads = [threading.Thread(target=ledger.metered(anna.pk, lambda: spend(0.01))) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    ledger.record()
    assert CpuUse.objects.get().seconds > 0.02
