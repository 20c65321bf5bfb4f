"""What a score costs: the picture of scores by tokens, hand-computed, and the page that shows it."""

import csv
import io
import itertools
from types import SimpleNamespace
from typing import Any

import pytest
from django.contrib.auth.models import AnonymousUser
from django.test import Client

from apps.agents.models import Agent
from apps.episodes.models import Batch
from apps.jobs.books.rows import JobBooks
from apps.jobs.models import Job
from apps.leaderboard.boards.costs import costs_of
from apps.leaderboard.evidence import evidence_of
from apps.leaderboard.frontier import BOTTOM, LEFT, MIN_NAME_GAP, RIGHT, TOP, frontier, leading
from apps.leaderboard.models import Score
from gem import benchmarks
from tests.html import tight

ENV = "game:GuessTheNumber-v0-easy"


def scored(name: str, mean: float, kind: str = "endpoint") -> Any:
    agent = SimpleNamespace(name=name, kind=kind, colour=1, cut=f"cut-{kind}")
    return SimpleNamespace(agent=agent, job_id=name, mean=mean, low=mean - 0.1, high=min(1.0, mean + 0.1))


def test_nobody_on_the_front_is_beaten_with_fewer_tokens() -> None:
    assert leading([(100, 0.5), (100, 0.4), (200, 0.5), (300, 0.7), (900, 0.6)]) == [True, False, False, True, False]
    assert leading([]) == []


def test_the_picture_has_fewer_tokens_to_the_left_and_better_scores_above() -> None:
    scores = [scored("cheap", 0.4), scored("dear", 0.8), scored("worse", 0.2), scored("expert", 1.0, "expert")]
    found = frontier(scores, {"cheap": 100.0, "dear": 10_000.0, "worse": 1_000.0})
    places = {point.score.agent.name: (point.x, point.y, point.leads) for point in found.points}
    assert list(places) == ["cheap", "worse", "dear"]
    assert LEFT == places["cheap"][0] < places["worse"][0] < places["dear"][0] <= RIGHT
    assert TOP < places["dear"][1] < places["cheap"][1] < places["worse"][1] < BOTTOM
    assert [point.score.agent.name for point in found.leading] == ["cheap", "dear"]
    assert [mark.words for mark in found.references] == ["expert, no tokens"]
    assert found.references[0].at == TOP
    assert found.steps[0][:2] == (LEFT, BOTTOM)
    assert found.steps[-1][2] == RIGHT


def test_names_do_not_lie_on_one_another() -> None:
    scores = [scored(f"agent-{n}", 0.5 + n / 1000) for n in range(8)]
    found = frontier(scores, {score.job_id: 500.0 for score in scores})
    names = sorted(point.name_y for point in found.points)
    assert all(below - above >= MIN_NAME_GAP - 0.01 for above, below in itertools.pairwise(names))
    assert all(TOP <= y <= BOTTOM for y in names)


def test_nobody_below_the_random_agent_is_on_the_front() -> None:
    scores = [scored("random", 0.0, "random"), scored("cheap", 0.05), scored("dear", 0.6), scored("worst", -2.0)]
    found = frontier(scores, {"cheap": 10.0, "dear": 1_000.0, "worst": 1.0})
    assert [point.score.agent.name for point in found.leading] == ["dear"], "0.05 is within the interval of random"
    assert found.floor is not None
    assert found.below > 0


@pytest.mark.parametrize("tokens", [1.0, 7.0, 1e9])
def test_one_agent_alone_is_within_the_picture(tokens: float) -> None:
    found = frontier([scored("alone", 0.3)], {"alone": tokens})
    (point,) = found.points
    assert point.leads
    assert LEFT <= point.x <= RIGHT
    assert TOP <= point.y <= BOTTOM


def test_without_tokens_there_is_no_picture() -> None:
    found = frontier([scored("silent", 0.3)], {})
    assert found.points == []
    assert [score.agent.name for score in found.free] == ["silent"]


@pytest.fixture
def ranked_job(db: None) -> Job:
    """An endpoint's job on the benchmark: 100 tokens for each episode of one environment, 300 of the other."""
    agent = Agent.objects.create(slug="model", name="a model", kind="endpoint", colour=1)
    version = benchmarks.load("games").version
    job = Job.objects.create(
        kind="evaluate",
        agent=agent,
        batch=Batch.objects.create(kind=Batch.Kind.JOB),
        state="done",
        episodes_total=20,
        spec={"agent": "model", "benchmark": "games"},
    )
    for number, (env_id, tokens) in enumerate(((ENV, 1_000), ("game:GuessTheNumber-v0-hard", 3_000))):
        job.shards.create(
            number=number, env_id=env_id, first_slot=10 * number, count=10, done=10, tokens_in=tokens - 1, tokens_out=1
        )
    for env_id in ("", ENV):
        Score.objects.create(
            job=job, agent=agent, benchmark="games", benchmark_version=version, env_id=env_id,
            mean=0.5, low=0.4, high=0.6, mean_return=0.5, success_rate=0.5, n=20,
        )  # fmt: skip
    return job


def test_tokens_are_counted_per_episode_of_what_is_asked_for(ranked_job: Job) -> None:
    scores = list(Score.objects.filter(env_id=""))
    evidence = evidence_of(scores)
    assert costs_of(scores, evidence, AnonymousUser())[ranked_job.pk].tokens == 200.0
    assert costs_of(scores, evidence, AnonymousUser(), ENV)[ranked_job.pk].tokens == 100.0


def test_the_page_says_in_words_what_the_picture_shows(ranked_job: Job, client: Client) -> None:
    page = tight(client.get("/leaderboard/?benchmark=games"))
    assert "a model (0.50 with 200 tokens)" in page
    assert '<td class="num">200</td>' in page
    assert "a model (0.50 with 100 tokens)" in tight(client.get("/leaderboard/", {"benchmark": "games", "env_id": ENV}))
    (line,) = csv.DictReader(io.StringIO(client.get("/leaderboard/scores.csv?benchmark=games").content.decode()))
    assert line["tokens_per_episode"] == "200.0"


def test_without_tokens_the_page_says_who_reports_them(ranked_job: Job, client: Client) -> None:
    ranked_job.shards.update(tokens_in=0, tokens_out=0)
    page = tight(client.get("/leaderboard/?benchmark=games"))
    assert "No agent in this ranking reports tokens yet." in page
    assert '<svg class="chart"' not in page
    (line,) = csv.DictReader(io.StringIO(client.get("/leaderboard/scores.csv?benchmark=games").content.decode()))
    assert line["tokens_per_episode"] == ""


def test_answers_that_no_server_counted_are_not_free(ranked_job: Job) -> None:
    books = JobBooks.objects.create(job=ranked_job, tokens_in=9_000, tokens_out=1_000, requests=40)
    scores = list(Score.objects.filter(env_id=""))
    evidence = evidence_of(scores)
    assert costs_of(scores, evidence, AnonymousUser())[ranked_job.pk].tokens == 500.0
    assert costs_of(scores, evidence, AnonymousUser(), ENV)[ranked_job.pk].tokens == 100.0
    books.estimated_in = 5_000
    books.save()
    assert costs_of(scores, evidence, AnonymousUser())[ranked_job.pk].tokens == 500.0
    assert costs_of(scores, evidence, AnonymousUser(), ENV)[ranked_job.pk].tokens is None


def test_turns_are_those_of_episodes_that_ended(ranked_job: Job) -> None:
    ranked_job.shards.update(turns=32, errors=2, unanswered=2)
    scores = list(Score.objects.filter(env_id=""))
    assert costs_of(scores, evidence_of(scores), AnonymousUser())[ranked_job.pk].turns == 4.0
