"""Starting a study: what is planned, what is taken from the repository, and what is refused."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from django.test import Client, override_settings

from apps.accounts.models import User
from apps.jobs.errors import NotYours, TooManyJobs
from apps.studies import operations
from apps.studies.estimates import estimate
from apps.studies.models import Study, StudyRun
from apps.studies.operations import Unfit, own_plan, plan_named, with_choices
from apps.studies.pages.curves import turns_in_words
from gem.errors import InvalidArgument
from gem.studies.results import FolderResults
from gem.studies.study import find
from gem.training import recipes
from gem.training.spec import read_spec
from tests.apps.studies.started import PLAN, plan, start

pytestmark = pytest.mark.django_db


def test_every_run_is_a_row_in_the_order_of_the_plan(ada: User) -> None:
    study = start(ada)
    runs = [(run.seed, run.environment, run.variant) for run in StudyRun.objects.filter(study=study)]
    assert runs == [
        (seed, environment, variant)
        for seed in range(3)
        for environment in ("fifteen", "gcd")
        for variant in ("rebn", "ppo")
    ]
    assert (study.total, study.done, study.state) == (12, 0, "queued")


def test_at_first_only_trials_are_planned_where_a_setting_is_tuned(ada: User) -> None:
    study = start(ada, tuning={"learning_rate": [0.001, 0.002]})
    runs = StudyRun.objects.filter(study=study)
    assert [run.is_trial for run in runs] == [True] * 8
    assert study.total == 20


def test_results_that_come_with_gemweb_are_not_made_again(ada: User) -> None:
    gamma = find("gamma")
    known = FolderResults(gamma).done
    study = operations.start(ada, gamma)
    assert (study.state, study.done, study.reused) == ("done", known, known)
    anew = operations.start(ada, with_choices(gamma, seeds=2), reuses_results=False)
    assert (anew.state, anew.done, anew.total) == ("queued", 0, 2 * gamma.places)
    more = operations.start(ada, with_choices(gamma, seeds=gamma.seeds + 1))
    assert (more.done, more.total) == (known, known + gamma.places)
    assert {run.seed for run in StudyRun.objects.filter(study=more, state="waiting")} == {gamma.seeds}


def test_the_values_that_recorded_trials_have_chosen_are_taken(ada: User) -> None:
    algorithms = with_choices(find("algorithms"), seeds=11, environments=["gcd"])
    study = operations.start(ada, algorithms)
    assert study.total - study.done == 4, "one seed more of each algorithm"
    chosen = FolderResults(find("algorithms")).chosen()
    for run in StudyRun.objects.filter(study=study, state="waiting"):
        assert run.tuned == chosen["gcd", run.variant]


def test_a_study_is_estimated_from_equal_runs_and_from_its_recipe() -> None:
    gamma = find("gamma")
    assert estimate(gamma).to_make == 0
    more = estimate(with_choices(gamma, seeds=gamma.seeds + 1))
    assert more.to_make == gamma.places
    seconds = [
        result.cpu_seconds
        for by_variant in FolderResults(gamma).finished().values()
        for own in by_variant.values()
        for result in own.values()
    ]
    assert more.cpu_seconds == pytest.approx(gamma.places * sum(seconds) / len(seconds), rel=0.25)
    own = estimate(plan())
    assert (own.runs, own.to_make, own.unknown) == (12, 12, ())
    assert 0 < own.cpu_seconds < 120
    unknown = estimate(plan(environments={"other": {"env_id": "rg:dice", "updates": 2}}))
    assert unknown.unknown == ("other",)


def test_the_same_request_starts_one_study(ada: User) -> None:
    first = operations.start(ada, plan(), idempotency_key="once")
    assert operations.start(ada, plan(), idempotency_key="once").pk == first.pk
    assert Study.objects.count() == 1


@override_settings(STUDIES_PER_USER=1)
def test_one_person_may_have_only_so_many(ada: User) -> None:
    study = start(ada)
    with pytest.raises(TooManyJobs, match="one person may have at most 1 studies"):
        start(ada)
    operations.pause(study.pk, ada)
    other = start(ada)
    with pytest.raises(TooManyJobs):
        operations.resume(study.pk, ada)
    operations.cancel(other.pk, ada)
    assert operations.resume(study.pk, ada).state == "queued"


@pytest.mark.parametrize(
    ("changes", "said"),
    [
        ({"seeds": 1}, "seeds has to be at least 2"),
        ({"environments": {"x": {"recipe": "gcdd"}}}, "Did you mean gcd?"),
        ({"variants": {"x": {"title": "x", "settings": {"learning_rat": 1}}}}, "Did you mean learning_rate?"),
        ({"environments": {"x": {"recipe": "gcd", "model": "agent:mine"}}}, "do not name an agent"),
        ({"wrong": 1}, "There is no setting wrong"),
    ],
)
def test_a_plan_that_cannot_be_carried_out_is_refused(changes: dict[str, Any], said: str, ada: User) -> None:
    with pytest.raises(Unfit) as refused:
        own_plan(ada, {**PLAN, **changes})
    assert said in str(refused.value)


@override_settings(LOCAL_MODE=False)
@pytest.mark.parametrize(
    "changes",
    [
        {"environments": {"x": {"recipe": "gcd", "model": "/etc"}}},
        {"variants": {"x": {"title": "x", "settings": {"server_url": "http://127.0.0.1:1/v1", "lora_rank": 4}}}},
        {"environments": {"x": {"recipe": "gcd", "wrappers": [{"name": "record", "path": "/tmp/x"}]}}},
        {"measured_in": {"x": {"recipe": "gcd", "env_kwargs": {"attributes": "/etc/passwd"}}}},
        {"tuning": {"model": ["/etc", "/tmp"]}},
        {"every_recipe": {"model": "/etc"}},
    ],
)
def test_a_plan_names_no_files_or_addresses_of_the_server(changes: dict[str, Any], ada: User) -> None:
    with pytest.raises(Unfit, match="only administrators of this site may"):
        own_plan(ada, {**PLAN, **changes})


def test_the_name_of_a_study_leads_to_no_file(tmp_path: Path) -> None:
    path = tmp_path / "mine.json.json"
    path.write_text(json.dumps({key: value for key, value in PLAN.items() if key != "name"}))
    for name in (str(path), str(path).removesuffix(".json"), "gamma.json", "../plans/gamma"):
        with pytest.raises(Unfit, match="There is no study"):
            plan_named(name)
    assert plan_named("gamma") == find("gamma")


def test_too_large_a_study_is_refused(ada: User) -> None:
    with pytest.raises(Unfit, match="one study has at most 1,000"):
        operations.start(ada, with_choices(plan(variants={f"v{n}": {"title": f"x{n}"} for n in range(8)}), seeds=63))
    with pytest.raises(Unfit, match="compares at most 8 variants, not 9"):
        operations.start(ada, plan(variants={f"v{n}": {"title": f"x{n}"} for n in range(9)}))
    with pytest.raises(Unfit, match="policies are too many to keep"):
        operations.start(ada, with_choices(plan(), seeds=30), keeps_policies=True)
    with pytest.raises(Unfit, match="has no environment 'chess'"):
        with_choices(plan(), environments=["chess"])


def test_only_its_owner_and_staff_change_a_study(ada: User) -> None:
    study = start(ada)
    eve = User.objects.create_user("eve")
    for change in (operations.pause, operations.cancel, operations.resume, operations.delete):
        with pytest.raises(NotYours):
            change(study.pk, eve)
    staff = User.objects.create_user("root", is_staff=True)
    assert operations.pause(study.pk, staff).state == "paused"


def test_a_study_stays_what_it_is_when_a_recipe_is_gone(
    ada: User, client: Client, monkeypatch: pytest.MonkeyPatch
) -> None:
    study = start(ada, measured_in={"gcd": {"recipe": "gcd"}})
    spec = study.plan.spec_of("fifteen", "rebn", 0)
    assert find("gamma").name == "gamma"  # those of ours have been read

    def gone(name: str) -> dict[str, Any]:
        raise InvalidArgument(f"There is no recipe {name}.")

    monkeypatch.setattr("gem.training.recipes.data", gone)
    with pytest.raises(ValueError, match="There is no recipe"):
        plan()
    assert study.plan.spec_of("fifteen", "rebn", 0) == spec
    assert client.get(study.get_absolute_url()).status_code == 200


def test_the_length_of_episodes_is_said_in_words() -> None:
    lengths = {name: turns_in_words(read_spec(recipes.data(name))) for name in ("gcd", "guess-easy", "python-products")}
    assert lengths == {
        "gcd": "one turn",
        "guess-easy": "many turns",
        "python-products": "one answer, after calls of tools",
    }
