"""Benchmarks on data: what was played on other data, or on another version of an environment, is not ranked."""

import json
from pathlib import Path

import pytest
from django.test import Client

from apps.accounts.models import User
from apps.agents.models import Agent
from apps.episodes.models import Episode, Seat
from apps.jobs import operations
from apps.jobs.errors import NotAsRanked
from apps.jobs.models import Job
from apps.leaderboard.models import Score
from apps.leaderboard.operations import record_missing_scores, record_scores
from gem import benchmarks
from gem.evaluation.spec import EvaluationSpec
from tests.apps.benchmarks import shorten
from tests.html import tight
from tests.workers.records import play_out

PLAYED = pytest.mark.django_db(transaction=True)
"""For tests that play a job out: its lease is renewed by a thread with a connection of its own."""


def played(benchmark: str, *, hidden_seeds: bool = False) -> Job:
    """A finished job of the random agent."""
    Agent.objects.get_or_create(slug="random", defaults={"name": "random", "kind": "random", "colour": 8})
    job = operations.submit(None, EvaluationSpec(agent="random", benchmark=benchmark, hidden_seeds=hidden_seeds))
    play_out(job)
    return Job.objects.get(pk=job.pk)


@PLAYED
@pytest.mark.parametrize("changed", [{"data_hash": "other"}, {"env_version": 7}])
def test_a_job_on_other_data_or_versions_is_not_ranked(
    changed: dict[str, str | int], monkeypatch: pytest.MonkeyPatch
) -> None:
    shorten(monkeypatch, 2)
    job = played("qa-sample")
    assert job.scores.count() == 8
    job.scores.all().delete()
    some = Episode.objects.filter(batch=job.batch_id, env_id="eval:TriviaQA")
    assert some[:1].get().data_hash == benchmarks.load("qa-sample").entry("eval:TriviaQA").data.hash  # type: ignore[union-attr]
    Episode.objects.filter(pk=some[:1].get().pk).update(**changed)
    assert record_scores(job.pk) == 0
    assert record_missing_scores() == 0
    assert not Score.objects.exists()


@PLAYED
def test_the_mean_of_an_environment_is_clipped_and_its_returns_are_not(monkeypatch: pytest.MonkeyPatch) -> None:
    shorten(monkeypatch, 2)
    job = played("dialogue", hidden_seeds=True)
    job.scores.all().delete()
    easy = Seat.objects.filter(episode__batch=job.batch_id, episode__env_id="dialogue:Retail-v0-easy")
    easy.update(total_reward=-5.0)
    hard = Seat.objects.filter(episode__batch=job.batch_id, episode__env_id="dialogue:Retail-v0-hard")
    hard.update(total_reward=3.0)
    assert record_scores(job.pk) == 3
    scores = {score.env_id: (score.mean, score.mean_return) for score in job.scores.all()}
    assert scores == {"dialogue:Retail-v0-easy": (0, -5), "dialogue:Retail-v0-hard": (1, 3), "": (0.5, -1)}


@pytest.mark.django_db
def test_a_job_that_would_not_be_ranked_is_refused(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("GEM_DATA", str(tmp_path))
    monkeypatch.setenv("GEM_DATA_FROM", "folder")
    (tmp_path / "eval").mkdir()
    (tmp_path / "eval" / "CodeContest.jsonl").write_text(json.dumps({"problem": "?", "tests": "{}"}), "utf-8")
    Agent.objects.get_or_create(slug="random", defaults={"name": "random", "kind": "random", "colour": 8})
    with pytest.raises(NotAsRanked, match="code-sample ranks eval:CodeContest on the built-in sample code"):
        operations.submit(None, EvaluationSpec(agent="random", benchmark="code-sample"))
    assert not Job.objects.exists()


@pytest.mark.django_db
def test_every_benchmark_is_offered_and_says_what_it_has(client: Client) -> None:
    client.force_login(User.objects.create_user("ada"))
    form = tight(client.get("/jobs/new/"))
    assert all(f'name="benchmark" value="{name}"' in form for name in benchmarks.names())
    for name in ("games", "duel", "gem-suite-sample"):
        page = tight(client.get("/leaderboard/", {"benchmark": name}))
        assert f'href="?benchmark={name}" aria-current="page"' in page
        answer = client.get(f"/api/v1/benchmarks/{name}").json()
        assert [entry["env_id"] for entry in answer["entries"]] == benchmarks.load(name).env_ids
    page = tight(client.get("/leaderboard/about/", {"benchmark": "math-sample"}))
    assert page.count("open set: public data") == 5
    assert "in place of axon-rl/math-eval" in page
