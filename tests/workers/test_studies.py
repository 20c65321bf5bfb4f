"""Studies are made by real training workers: run by run, after trainings, and once, whatever happens to the workers."""

from __future__ import annotations

from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from apps.jobs.models import Job
from apps.studies import operations
from apps.studies.limits import folder_of
from apps.studies.models import Study, StudyRun
from apps.studies.planning import results_of
from apps.trainings import operations as trainings
from gem.studies.report import report
from gem.studies.study import Study as Plan
from tests.workers.processes import wait_until
from tests.workers.records import fresh
from tests.workers.test_trainings_survive import broken_policy
from tests.workers.trainings import Trainer, small

if TYPE_CHECKING:
    from apps.accounts.models import User

pytestmark = [
    pytest.mark.skipif(find_spec("torch") is None, reason="trainings need torch, which `make test` installs"),
    pytest.mark.fault,
]
PATIENCE = 240


def plan(**more: Any) -> Plan:
    """A study of seconds: two variants, two seeds, and what their policies solve elsewhere."""
    asked = {
        "name": "small",
        "title": "A small study",
        "question": "Which of two solves more?",
        "seeds": 2,
        "episodes": 32,
        "environments": {"fifteen": {"recipe": "fifteen-easy", "updates": 4, "episodes": 16, "checkpoint_seconds": 0}},
        "variants": {
            "rebn": {"title": "ReBN", "settings": {"algorithm": "rebn"}},
            "ppo": {"title": "PPO", "settings": {"algorithm": "ppo"}},
        },
        "measured_in": {"gcd": {"recipe": "gcd"}},
    }
    return Plan.model_validate({**asked, **more})


def again(study: Study) -> Study:
    return Study.objects.get(pk=study.pk)


def assert_whole(study: Study) -> None:
    """Every run has a result."""
    study = again(study)
    assert study.state == "done", study.reason
    assert study.done == study.total == 5
    found = report(results_of(study))
    assert found.is_complete
    assert found.matrix is not None
    assert {run.attempt for run in StudyRun.objects.filter(study=study)} == {0}


def wait_until_tidy(study: Study) -> None:
    """Wait while the worker deletes what trainings needed, which it does once their results are recorded."""
    folder = folder_of(study.pk)
    wait_until(lambda: not list(folder.rglob("trainer.safetensors")), "what a training needs is deleted", PATIENCE)


def test_a_study_is_made_and_its_policies_are_agents(owner: User, trainer: Trainer) -> None:
    study = operations.start(owner, plan(), keeps_policies=True)
    with trainer():
        wait_until(lambda: again(study).over, "the study is over", PATIENCE)
        wait_until_tidy(study)
    assert_whole(study)
    kept = [run.agent for run in StudyRun.objects.filter(study=study) if run.agent is not None]
    assert len(kept) == 4
    assert all((agent.weights.path / "model.safetensors").is_file() for agent in kept)


@pytest.mark.parametrize("place", ["study-claimed", "study-recorded"])
def test_kill_9_between_two_steps_loses_and_repeats_nothing(owner: User, trainer: Trainer, place: str) -> None:
    study = operations.start(owner, plan())
    with trainer("--pool", "solo", queues="train", scheduler=False, FAIL_AT=place) as doomed:
        wait_until(lambda: doomed.process.poll() is not None, f"the worker killed itself at {place}", PATIENCE)
    made = set(StudyRun.objects.filter(study=study, state="done").values_list("pk", "ended"))
    assert len(made) == (1 if place == "study-recorded" else 0)
    with trainer():
        wait_until(lambda: again(study).over, "the study is over", PATIENCE)
    assert made <= set(StudyRun.objects.filter(study=study).values_list("pk", "ended"))
    study = again(study)
    assert study.done == study.total == 5


def test_a_run_gives_way_to_a_training_and_goes_on_from_its_checkpoint(owner: User, trainer: Trainer) -> None:
    long = {"recipe": "fifteen-easy", "updates": 60, "episodes": 32, "checkpoint_seconds": 0}
    study = operations.start(owner, plan(environments={"fifteen": long}, measured_in={}, seeds=2))
    first = StudyRun.objects.filter(study=study, number=0)
    with trainer():
        wait_until(lambda: first.get().update > 0, "a run is under way", PATIENCE)
        job = trainings.submit(owner, small(updates=2))
        wait_until(lambda: fresh(job).state == Job.State.DONE, "the training is done", PATIENCE)
        assert first.get().state == "waiting"
        reached = first.get().update
        wait_until(lambda: first.get().state == "done", "the run is done", PATIENCE)
        operations.cancel(study.pk, owner)
    assert 0 < reached < 60
    result = first.get().result
    assert result is not None
    assert len(result.curve) == 40, "no update is missing"


def test_a_paused_study_frees_its_worker_and_goes_on(owner: User, trainer: Trainer) -> None:
    study = operations.start(owner, plan())
    with trainer():
        wait_until(lambda: again(study).done >= 1, "a run is done", PATIENCE)
        operations.pause(study.pk, owner)
        job = trainings.submit(owner, small(updates=2))
        wait_until(lambda: fresh(job).state == Job.State.DONE, "the worker is free", PATIENCE)
        assert again(study).state == "paused"
        operations.resume(study.pk, owner)
        wait_until(lambda: again(study).over, "the study is over", PATIENCE)
        wait_until_tidy(study)
    assert_whole(study)


def test_a_run_that_cannot_be_made_says_why(owner: User, trainer: Trainer, tmp_path: Path) -> None:
    broken = {"recipe": "fifteen-easy", "updates": 2, "model": str(broken_policy(tmp_path / "broken"))}
    study = operations.start(owner, plan(environments={"x": broken}, measured_in={}))
    with trainer():
        wait_until(lambda: again(study).over, "the study is over", PATIENCE)
    study = again(study)
    assert study.state == "failed"
    assert study.reason.startswith("3 runs have failed. The last one: The gradient is nan")
    assert StudyRun.objects.filter(study=study, state="waiting").count() == 1
