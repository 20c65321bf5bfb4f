"""Benchmarks that people add: checked with all reasons at once, versioned, private until opened, and ranked."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from django.conf import settings
from django.db import OperationalError
from django.test import Client

from apps.accounts.models import User
from apps.agents.models import Agent
from apps.benchmarks import operations
from apps.benchmarks.models import BenchmarkVersion, OwnBenchmark
from apps.benchmarks.operations import BenchmarkRefused
from apps.jobs import operations as jobs
from apps.jobs.errors import JobRefusal
from apps.jobs.models import Job
from apps.leaderboard.models import Score
from apps.leaderboard.proofs import checks
from apps.visibility import Visibility
from gem import benchmarks
from gem.benchmarks import document
from gem.client import schemas
from gem.errors import InvalidArgument
from gem.evaluation.spec import EvaluationSpec
from tests.workers.records import play_out

pytestmark = pytest.mark.django_db
ENV_ID = "game:GuessTheNumber-v0-easy"
NAME = "ada.guessing"
SEEDS = 3


def written(**changes: Any) -> dict[str, Any]:
    """The file of a small benchmark."""
    whole = document.parse(benchmarks.text_of("games-easy"))
    entry = next(each for each in whole["entries"] if each["env_id"] == ENV_ID)
    own = {"name": "guessing", "version": 1, "title": "Guessing", "summary": "One game.", "score": "clipped"}
    return {**own, "entries": [{**entry, "hidden_seeds": 30}], **changes}


@pytest.fixture
def ada(transactional_db: None, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> User:
    monkeypatch.setattr(settings, "ENDPOINT_KEYS_FILE", tmp_path / "keys")
    for kind in ("random", "expert", "human"):
        Agent.objects.get_or_create(slug=kind, defaults={"name": kind, "kind": kind, "colour": 8})
    return User.objects.create_user("ada", password="analytical")


def add(owner: User, visibility: str = "", **changes: Any) -> BenchmarkVersion:
    version = operations.add(owner, json.dumps(written(**changes)), visibility)
    operations.check(version.pk)
    version.refresh_from_db()
    return version


def browser_of(user: User) -> Client:
    browser = Client()
    browser.force_login(user)
    return browser


def test_a_benchmark_has_ranked_jobs_seasons_and_a_board(ada: User) -> None:
    assert add(ada).state == "ready"
    Agent.objects.create(slug="own", name="own", kind="random", colour=1, owner=ada)
    spec = EvaluationSpec(agent="own", benchmark=NAME, hidden_seeds=True)
    job = play_out(jobs.submit(ada, spec, visibility="public"))
    assert job.visibility == Visibility.PRIVATE  # as its benchmark
    while checks.check_next():
        pass
    assert [score.job for score in Score.objects.of(benchmarks.load(NAME)).newest()] == [job]
    assert job.batch.season.benchmark == NAME
    page = browser_of(ada).get(f"/leaderboard/?benchmark={NAME}")
    assert page.status_code == 200
    assert f"row/{job.scores.get(env_id='').pk}/" in page.content.decode()
    assert NAME not in Client().get("/leaderboard/seasons/").content.decode()


def test_nobody_knows_of_a_private_benchmark(ada: User) -> None:
    add(ada)
    eve = browser_of(User.objects.create_user("eve"))
    for browser in (eve, Client()):
        for address in (
            f"/benchmarks/{NAME}/",
            f"/benchmarks/{NAME}/benchmark.json",
            f"/leaderboard/?benchmark={NAME}",
            f"/leaderboard/elsewhere/?benchmark={NAME}",
            f"/api/v1/benchmarks/{NAME}",
            f"/api/v1/benchmarks/{NAME}/versions",
            f"/api/v1/benchmarks/{NAME}/seasons",
            f"/api/v1/leaderboard/{NAME}",
        ):
            assert browser.get(address).status_code == 404, address
        assert NAME not in browser.get("/benchmarks/").content.decode()
        assert NAME not in browser.get("/api/v1/benchmarks").content.decode()
        assert NAME not in browser.get("/jobs/submit/").content.decode()

    def refused(name: str) -> str:
        body = {"agent": "random", "benchmark": name}
        answer = eve.post("/api/v1/jobs", body, content_type="application/json")
        assert answer.status_code == 422
        return str(answer.json()["errors"][0]["detail"]).replace(name, "NAME")

    assert refused(NAME) == refused("ada.nothing")
    body = {"agent": "random", "benchmark": NAME}
    assert browser_of(ada).post("/api/v1/jobs", body, content_type="application/json").status_code == 201


def test_all_reasons_are_named_at_once(ada: User) -> None:
    wrong = written(version=0, score="best", title="")
    with pytest.raises(BenchmarkRefused) as refusal:
        operations.add(ada, json.dumps(wrong))
    assert len(refusal.value.reasons) == 3
    answer = browser_of(ada).post("/benchmarks/new/", {"text": json.dumps(wrong)})
    assert answer.status_code == 422
    assert all(reason[:30] in answer.content.decode() for reason in ("version has to be", "title has to be"))
    entries = written()["entries"]
    version = add(ada, entries=[{**entries[0], "max_turns": 1}, {**entries[0], "env_id": "game:Nothing-v0"}])
    assert version.state == "refused"
    assert len(version.problems) == 2
    page = browser_of(ada).get(f"/benchmarks/{NAME}/").content.decode()
    assert "was refused" in page
    assert version.problems[0][:20] in page
    with pytest.raises(InvalidArgument):
        benchmarks.load(NAME)


def test_stand_in_data_say_so_in_the_name(ada: User) -> None:
    sample = document.parse(benchmarks.text_of("math-sample"))
    with pytest.raises(BenchmarkRefused, match="stand in"):
        operations.add(ada, json.dumps({**sample, "name": "math"}))


def test_a_version_is_never_changed(ada: User) -> None:
    add(ada)
    with pytest.raises(BenchmarkRefused, match="has version 1 already"):
        add(ada, title="Another")
    assert add(ada, version=2, title="Another").state == "ready"
    assert benchmarks.load(NAME).title == "Another"
    earlier = benchmarks.earlier(NAME, 1)
    assert earlier is not None
    assert earlier.title == "Guessing"


def test_a_benchmark_has_a_bounded_number_of_versions(ada: User, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(operations, "MOST_VERSIONS", 2)
    for number in (1, 2):
        add(ada, version=number)
    with pytest.raises(BenchmarkRefused, match="has 2 versions, the most"):
        add(ada, version=3)
    assert BenchmarkVersion.objects.count() == 2


def test_a_check_that_breaks_has_a_verdict(ada: User, monkeypatch: pytest.MonkeyPatch) -> None:
    def broken(_: Any) -> list[str]:
        raise ZeroDivisionError("an environment\0 broke")

    monkeypatch.setattr(operations.benchmark_file, "problems", broken)
    version = add(ada)
    assert version.state == "refused"
    assert version.problems == ["It could not be checked: ZeroDivisionError: an environment\u2400 broke"]
    assert operations.wake_workers() == 0


def test_what_is_no_fault_of_a_benchmark_leaves_it_waiting(ada: User, monkeypatch: pytest.MonkeyPatch) -> None:
    def away(_: Any) -> list[str]:
        raise OperationalError("Postgres is away")

    monkeypatch.setattr(operations.benchmark_file, "problems", away)
    with pytest.raises(OperationalError):
        add(ada)
    assert operations.wake_workers() == 1


def test_a_benchmark_is_opened_and_never_closed(ada: User) -> None:
    row = add(ada).benchmark
    browser = browser_of(ada)
    assert (
        browser.put(
            f"/api/v1/benchmarks/{NAME}/visibility", {"visibility": "public"}, content_type="application/json"
        ).json()["visibility"]
        == "public"
    )
    row.refresh_from_db()
    with pytest.raises(BenchmarkRefused, match="others may have rows"):
        operations.open_up(row, Visibility.PRIVATE)
    assert Client().get(f"/benchmarks/{NAME}/").status_code == 200
    assert NAME in Client().get("/benchmarks/").content.decode()
    assert browser_of(User.objects.create_user("eve")).post(f"/benchmarks/{NAME}/delete/").status_code == 403


def test_a_benchmark_without_rows_can_be_deleted(ada: User) -> None:
    row = add(ada).benchmark
    other = add(ada, name="other").benchmark
    jobs.submit(ada, EvaluationSpec(agent="random", benchmark=NAME, hidden_seeds=True))
    with pytest.raises(BenchmarkRefused, match="has had a season"):
        operations.delete(row)
    assert browser_of(ada).delete(f"/api/v1/benchmarks/{other.name}").status_code == 204
    assert not OwnBenchmark.objects.filter(pk=other.pk).exists()


def test_the_api_and_the_form_add_one(ada: User) -> None:
    browser = browser_of(ada)
    body = {"document": written(), "visibility": "unlisted"}
    made = browser.post("/api/v1/benchmarks", body, content_type="application/json")
    assert made.status_code == 202
    assert made.json()["versions"][0]["state"] == "checking"
    assert operations.wake_workers() == 1
    operations.check(BenchmarkVersion.objects.get().pk)
    assert browser.get(f"/api/v1/benchmarks/{NAME}/versions").json()["versions"][0]["state"] == "ready"
    added = browser.post("/benchmarks/new/", {"text": json.dumps(written(name="second")), "visibility": "private"})
    assert added.status_code == 302
    assert added["Location"] == "/benchmarks/ada.second/"


def test_a_benchmark_that_comes_with_gemweb_has_one_version() -> None:
    for name in benchmarks.names():
        found = schemas.OwnBenchmark.model_validate_json(Client().get(f"/api/v1/benchmarks/{name}/versions").content)
        (version,) = found.versions
        assert (found.name, found.owner, found.visibility) == (name, None, "public")
        assert (version.number, version.state, version.problems) == (benchmarks.load(name).version, "ready", [])
    assert Client().get("/api/v1/benchmarks/no-such/versions").status_code == 404


def test_of_two_choices_at_once_the_more_open_one_stays(ada: User) -> None:
    add(ada)
    first, second = OwnBenchmark.objects.get(), OwnBenchmark.objects.get()
    operations.open_up(first, Visibility.PUBLIC)
    with pytest.raises(BenchmarkRefused, match="cannot be made less visible"):
        operations.open_up(second, Visibility.UNLISTED)
    assert OwnBenchmark.objects.get().visibility == Visibility.PUBLIC


def test_what_others_play_on_it_does_not_become_more_open_than_it_is(ada: User) -> None:
    add(ada, visibility="unlisted")
    bob = User.objects.create_user("bob")
    spec = EvaluationSpec(agent="random", benchmark=NAME, hidden_seeds=True)
    job = jobs.submit(bob, spec, visibility="public")
    for chosen, kept in (("public", "unlisted"), ("private", "private"), ("unlisted", "unlisted")):
        answer = browser_of(bob).post(f"{job.get_absolute_url()}visibility/", {"visibility": chosen})
        assert (answer.status_code, Job.objects.get(pk=job.pk).visibility) == (302, kept)
    with pytest.raises(JobRefusal, match="Here you can choose unlisted or private"):
        jobs.set_visibility(Job.objects.get(pk=job.pk), Visibility.PUBLIC)
