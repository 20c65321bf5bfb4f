"""Making the runs of a study: who is next, what a worker writes, and how a study ends."""

from __future__ import annotations

from dataclasses import replace
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest
from django.test import override_settings
from django.utils import timezone

from apps.accounts.models import CpuUse, User
from apps.accounts.quotas import record_cpu, set_limit
from apps.agents.models import Agent
from apps.leases import Heartbeat, LeaseLost
from apps.studies import claims, operations, recording
from apps.studies.limits import folder_of
from apps.studies.models import Study, StudyRun
from apps.studies.planning import results_of
from apps.trainings import operations as trainings
from gem.studies.report import report
from gem.training.built_in_policies import policy_location
from tests.apps.studies.started import claimed, make_all, plan, result, start
from tests.apps.trainings.trainings import small
from workers.playing.cpu import CpuMeter
from workers.studies import _Making

pytestmark = pytest.mark.django_db


def test_a_study_is_made_run_by_run_until_it_is_done(ada: User) -> None:
    study = start(ada)
    assert make_all(study, {"rebn": 80, "ppo": 40}) == 12
    study.refresh_from_db()
    assert (study.state, study.done, study.cpu_seconds) == ("done", 12, 12 * 36)
    assert study.started is not None
    assert study.ended is not None
    found = report(results_of(study))
    assert found.sentences[0].startswith("ReBN solves more than PPO by 40 (")


def test_after_the_trials_come_the_runs_with_the_chosen_value(ada: User) -> None:
    study = start(ada, tuning={"learning_rate": [0.001, 0.002]})
    assert make_all(study, {"rebn": 80, "ppo": 40}, best=0.002) == 20
    study.refresh_from_db()
    assert study.state == "done"
    compared = [run for run in StudyRun.objects.filter(study=study) if not run.is_trial]
    assert {run.tuned for run in compared} == {0.002}
    assert [run.number for run in compared] == list(range(8, 20))


def test_policies_are_measured_before_any_training_first(ada: User) -> None:
    study = start(ada, measured_in={"gcd": {"recipe": "gcd"}})
    first = claimed(study)
    assert first.run.is_untrained
    recording.record_result(first, result(first, 3), None)
    make_all(study, {"rebn": 80, "ppo": 40})
    found = report(results_of(Study.objects.get(pk=study.pk)))
    assert found.matrix is not None
    cell = found.matrix.cells["fifteen", "gcd"]
    assert cell.before is not None
    assert cell.before.mean == 0.03


def test_people_are_served_in_turn(ada: User) -> None:
    bob = User.objects.create_user("bob")
    mine, theirs = start(ada), start(bob)
    first = claims.claim()
    assert first is not None
    claims.note_time(first, 60.0)
    second = claims.claim()
    assert second is not None
    assert {first.study_id, second.study_id} == {mine.pk, theirs.pk}


def test_whoever_has_used_up_their_cpu_seconds_waits(ada: User) -> None:
    start(ada)
    set_limit(ada, "cpu-seconds", 10)
    record_cpu(CpuUse.Use.TRAININGS, {ada.pk: 11.0})
    assert claims.claim() is None


def test_a_run_gives_way_to_a_training_and_after_a_while_to_somebody_else(ada: User) -> None:
    claim = claimed(start(ada))
    assert not claims.gives_way(claim, is_slice_over=True)
    bob = User.objects.create_user("bob")
    start(bob)
    assert claims.gives_way(claim, is_slice_over=True)
    assert not claims.gives_way(claim, is_slice_over=False)
    set_limit(bob, "cpu-seconds", 10)
    record_cpu(CpuUse.Use.TRAININGS, {bob.pk: 11.0})
    assert not claims.gives_way(claim, is_slice_over=True), "nobody could claim that run"
    trainings.submit(ada, small())
    assert claims.gives_way(claim, is_slice_over=False)


def test_a_run_that_was_given_back_is_claimed_again_and_counts_no_attempt(ada: User) -> None:
    study = start(ada)
    claim = claimed(study)
    claims.give_back(claim)
    again = claimed(study)
    assert again.run == claim.run
    assert StudyRun.objects.get(pk=again.pk).attempt == 1


def test_faults_of_the_infrastructure_and_progress_do_not_wear_a_run_out(ada: User) -> None:
    study = start(ada)
    for _ in range(4):
        claims.postpone(claimed(study))
    claim = claimed(study)
    row = StudyRun.objects.get(pk=claim.pk)
    assert row.attempt == 1
    claims.try_again(claim)
    claim = claimed(study)
    recording.record_progress(claim, 5, 20, [0.1])
    row.refresh_from_db()
    assert (row.attempt, row.update) == (0, 5)
    claims.try_again(claim)
    claim = claimed(study)
    recording.record_progress(claim, 4, 20, [0.1])  # from the last checkpoint, which is older
    row.refresh_from_db()
    assert (row.attempt, row.update) == (1, 5)


@pytest.mark.parametrize("stop", [operations.pause, operations.cancel])
def test_a_paused_or_cancelled_study_takes_its_runs_back(stop: Any, ada: User) -> None:
    study = start(ada)
    claim = claimed(study)
    stop(study.pk, ada)
    assert not claim.holds()
    with pytest.raises(LeaseLost):
        recording.record_result(claim, result(claim, 50), None)
    assert claims.claim() is None
    operations.resume(study.pk, ada)
    assert claimed(study).run == claim.run


def test_a_process_that_saves_late_leaves_no_files_of_a_deleted_study(ada: User, tmp_path: Path) -> None:
    with override_settings(RUNS_DIR=tmp_path):
        study = start(ada)
        claim = claimed(study)
        folder = recording.folder_of_run(claim)
        folder.mkdir(parents=True)
        operations.cancel(study.pk, ada)
        recording.remove_what_was_deleted(claim)
        assert folder.is_dir(), "the study can be resumed"
        operations.delete(study.pk, ada)
        folder.mkdir(parents=True)
        recording.remove_what_was_deleted(claim)
        assert not folder_of(claim.study_id).exists()


def test_progress_is_written_by_its_worker_alone(ada: User) -> None:
    study = start(ada)
    claim = claimed(study)
    recording.record_progress(claim, 1, 2, [0.25])
    row = StudyRun.objects.get(pk=claim.pk)
    assert (row.update, row.updates, row.curve) == (1, 2, [0.25])
    StudyRun.objects.filter(pk=claim.pk).update(lease_until=timezone.now() - timedelta(seconds=1))
    with pytest.raises(LeaseLost):
        recording.record_progress(claim, 2, 2, [0.25, 0.5])


def test_a_failed_run_does_not_keep_the_others_from_being_made(ada: User) -> None:
    study = start(ada)
    claim = claimed(study)
    recording.record_failure(claim, "The environment broke.")
    study.refresh_from_db()
    assert study.state == "running"
    assert make_all(study, {"rebn": 80, "ppo": 40}) == 11
    study.refresh_from_db()
    assert study.state == "failed", "one run is missing in the end"
    assert study.reason == "A run has failed: The environment broke."
    operations.resume(study.pk, ada)
    assert claimed(study).run == claim.run


def test_a_plan_that_an_upgrade_has_made_invalid_fails_its_run_with_the_reason(ada: User) -> None:
    study = start(ada)
    claim = claimed(study)
    environments = {"fifteen": {**study.plan_data["environments"]["fifteen"], "of_an_older_version": 1}}
    broken = replace(claim, plan_data={**study.plan_data, "environments": environments})
    _Making(broken, Heartbeat(broken.renew, name="test"), CpuMeter(ada.pk, CpuUse.Use.TRAININGS)).make()
    row = StudyRun.objects.get(pk=claim.pk)
    assert row.state == StudyRun.State.FAILED
    assert "This version of gemweb does not take the plan: " in row.sentence
    assert "of_an_older_version" in row.sentence


def test_after_several_failures_a_study_has_failed(ada: User) -> None:
    study = start(ada)
    for _ in range(3):
        recording.record_failure(claimed(study), "The environment broke.")
    study.refresh_from_db()
    assert study.state == "failed"
    assert study.reason.startswith("3 runs have failed")
    assert claims.claim() is None


@override_settings(MAX_ATTEMPTS=2)
def test_a_run_whose_workers_have_died_fails(ada: User) -> None:
    study = start(ada)
    for _ in range(2):
        claim = claimed(study)
        StudyRun.objects.filter(pk=claim.pk).update(lease_until=timezone.now() - timedelta(seconds=1))
    recording.fail_worn()
    row = StudyRun.objects.get(pk=claim.pk)
    assert (row.state, row.sentence) == ("failed", "The workers that made this run died every time.")


def test_a_kept_policy_becomes_an_agent_as_visible_as_the_study(ada: User, tmp_path: Path) -> None:
    with override_settings(RUNS_DIR=tmp_path):
        study = operations.start(ada, plan(), keeps_policies=True, visibility="private")
        claim = claimed(study)
        assert claim.keeps_policy
        policy = folder_of(study.pk) / "00000" / "policy"
        policy.parent.mkdir(parents=True)
        policy.symlink_to(policy_location("nano-base"))
        recording.record_result(claim, result(claim, 50), policy)
        agent = Agent.objects.get(study_run__study=study)
        assert (agent.name, agent.visibility, agent.owner) == ("fifteen, ReBN, seed 0", "private", ada)
        assert agent.weights.path == policy
        operations.set_visibility(study, "public")  # type: ignore[arg-type]
        agent.refresh_from_db()
        assert agent.visibility == "public"
        operations.cancel(study.pk, ada)
        operations.delete(study.pk, ada)
        agent.refresh_from_db()
        assert agent.retired
        assert not Study.objects.exists()
