"""Pages of agents: what they are, and what is kept of their public evaluations."""

from __future__ import annotations

import math

import pytest
from django.db import connection
from django.test import Client
from django.test.utils import CaptureQueriesContext
from django.urls import reverse

from apps.accounts.models import User
from apps.agents import operations as agents
from apps.agents.models import Agent
from apps.jobs import operations as jobs
from apps.jobs.models import Checkpoint, Job, JobBooks
from apps.leaderboard.models import Ranking, Score
from apps.standings import measuring, pages, profiles, refreshing
from apps.standings.models import JobResult, Profile
from apps.trainings import operations as trainings
from apps.visibility import Visibility
from gem import benchmarks
from gem.agents.endpoint import EndpointSpec
from gem.evaluation.intervals import estimate_share
from gem.evaluation.scores import wilson
from gem.evaluation.spec import EvaluationSpec
from gem.training.spec import read_spec
from tests.apps.standings.played import played
from tests.html import tight

GUESS, CONNECT = "game:GuessTheNumber-v0-easy", "duel:TicTacToe-v0"
SPEC = EndpointSpec(url="http://127.0.0.1:1/v1", model="m")


@pytest.fixture
def ann(db: None) -> User:
    return User.objects.create_user("ann", password="correct horse battery")


def evaluated(owner: User | None, visibility: str = "public", agent: str = "expert", **more: object) -> Job:
    """A job that is done and measured."""
    fields = {"agent": agent, "env_ids": (GUESS,), "episodes_per_env": 12, "num_envs": 12, **more}
    job = played(owner, EvaluationSpec.model_validate(fields), visibility)
    refreshing.measure()
    return job


def page_of(slug: str, client: Client | None = None) -> str:
    return tight((client or Client()).get(reverse("agents:agent", args=[slug])))


def test_a_job_is_measured_once_and_says_what_its_episodes_say(ann: User) -> None:
    job = evaluated(ann)
    kept = JobResult.objects.get(job=job)
    measured = kept.environments[0]
    episodes = job.batch.episodes.all()
    assert measured["n"] == 12
    assert measured["solved"][0] == episodes.filter(success=True).count() / 12
    assert measured["turns"] == pytest.approx(sum(one.turn_count for one in episodes) / 12)
    best = min((one for one in episodes if one.success), key=lambda one: one.turn_count)
    assert episodes.get(pk=measured["best"]).turn_count == best.turn_count
    assert refreshing.measure() == 0


def test_tokens_are_unknown_if_a_server_did_not_count_all_of_them(ann: User) -> None:
    job = evaluated(ann)
    assert measuring.record(job).environments[0]["tokens"] is None, "nothing counted them"
    job.batch.episodes.update(tokens_in=90, tokens_out=10)
    job.batch.episodes.filter(slot=0).update(status="failed", failed_by="agent", success=None)
    books = JobBooks.objects.create(job=job, tokens_in=1080, tokens_out=120, requests=12)
    assert measuring.record(job).environments[0]["tokens"] == 1200, "also those of the episode that does not count"
    JobBooks.objects.filter(pk=books.pk).update(estimated_out=64)
    assert measuring.record(job).environments[0]["tokens"] is None


def test_the_tokens_of_episodes_that_a_retry_replaced_count(ann: User) -> None:
    job = evaluated(ann)
    job.batch.episodes.update(tokens_in=90, tokens_out=10)
    replaced = job.batch.episodes.get(slot=0)
    replaced.pk, replaced.slot, replaced.status, replaced.env_version = "replaced", None, "failed", 10**6
    replaced.save(force_insert=True)
    replaced.pk, replaced.env_id = "skipped", CONNECT
    replaced.save(force_insert=True)
    assert [one["env_id"] for one in measuring.record(job).environments] == [GUESS]
    measured = measuring.record(job).environments[0]
    assert (measured["n"], measured["errors"], measured["tokens"]) == (12, 0, 1300), "they are in the books too"
    assert measured["env_version"] < 10**6


def test_the_page_shows_the_newest_evaluation_and_leads_to_its_episodes(ann: User) -> None:
    evaluated(ann)
    newest = evaluated(ann, seed=50)
    page = page_of("expert")
    assert f'href="/jobs/{newest.pk}/episodes/?env_id=game%3AGuessTheNumber-v0-easy"' in page
    assert "2 public evaluations, 24 episodes" in page
    assert "Best" in page


def test_what_is_private_is_not_on_the_page_even_if_it_was_public_before(ann: User) -> None:
    first = evaluated(ann)
    second = evaluated(ann, seed=50)
    evaluated(ann, "private", seed=100)
    assert second.pk in page_of("expert")
    jobs.set_visibility(second, Visibility.PRIVATE)
    page = page_of("expert")
    assert second.pk not in page
    profiles.refresh(Agent.objects.get(slug="expert").pk)
    page = page_of("expert")
    assert first.pk in page
    assert "1 public evaluation, 12 episodes" in page
    listed = tight(Client().get(reverse("agents:list")))
    assert "mean of 1 environment" in listed
    Job.objects.filter(pk=first.pk).update(hidden_reason="spam")
    assert "mean of 1 environment" not in tight(Client().get(reverse("agents:list")))
    assert first.pk not in page_of("expert")


def test_settings_that_change_the_task_have_rows_of_their_own(ann: User) -> None:
    evaluated(ann)
    evaluated(ann, agent="random", max_turns=3)
    assert "at most 3 turns" in page_of("random")
    assert "at most" not in page_of("expert")


def test_versions_stand_beside_each_other_with_their_difference(ann: User) -> None:
    agent = agents.create(ann, "mine", SPEC, visibility="public")
    for version, share in ((1, 0.2), (2, 0.9)):
        job = jobs.submit(ann, EvaluationSpec(agent=agent.slug, env_ids=(GUESS,), episodes_per_env=20))
        job.state, job.set_up = Job.State.DONE, {"version": version}
        job.save()
        measured = measured_as(share, 20)
        JobResult.objects.create(
            job=job, agent=agent, version=version, environments=[measured], ended=job.created, setting=""
        )
    profiles.refresh(agent.pk)
    page = page_of(agent.slug)
    assert "v1" in page
    assert "v2" in page
    assert "+70.0" in page
    assert "better" in page


def measured_as(share: float, n: int) -> dict[str, object]:
    """What a job of `n` episodes would be measured as."""
    return {
        "env_id": GUESS, "env_version": 1, "n": n, "errors": 0, "seeds": n, "solved": [share, share - 0.1, share + 0.1],
        "returns": [share, None, None], "turns": 3.0, "tokens": 1000, "unreadable": 0, "best": "", "worst": "",
    }  # fmt: skip


def line_of(*solved: int, n: int) -> pages.Line:
    """What two versions of an agent solved of `n` seeds, side by side."""
    cells = []
    for count in solved:
        share = estimate_share((1, float(seed < count)) for seed in range(n))
        fields = {**measured_as(share.mean, n), "solved": [share.mean, share.low, share.high]}
        cells.append(pages.Cell(measuring.Measured(**fields), "job"))  # type: ignore[arg-type]
    return pages.Line(GUESS, "", [*cells])


def test_the_ends_of_a_difference_are_those_of_newcombes_method_10() -> None:
    """His example is 56 of 70 against 48 of 80: 0.0524 to 0.3339 with Wilson's intervals of 1.96."""
    cells = []
    for solved, n in ((48, 80), (56, 70)):
        fields = {**measured_as(solved / n, n), "solved": list(wilson(solved, n))}
        cells.append(pages.Cell(measuring.Measured(**fields), "job"))  # type: ignore[arg-type]
    assert pages.Line(GUESS, "", [*cells]).difference == pytest.approx((0.2, 0.0524, 0.3339), abs=1e-4)


@pytest.mark.parametrize("n", [10, 20])
def test_equal_versions_are_called_different_in_at_most_one_of_twenty_cases(n: int) -> None:
    verdicts = {(a, b): line_of(a, b, n=n).verdict for a in range(n + 1) for b in range(n + 1)}
    for share in (0.05, 0.2, 0.5, 0.8, 0.95):
        chances = [math.comb(n, k) * share**k * (1 - share) ** (n - k) for k in range(n + 1)]
        assert sum(chances[a] * chances[b] for (a, b), said in verdicts.items() if said != "too close") < 0.05


def test_checkpoints_of_a_training_are_versions_of_one_agent(ann: User) -> None:
    training = trainings.submit(ann, read_spec({"env_id": GUESS}), name="learner", visibility="public")
    for update in (10, 20):
        agent = Agent.objects.create(
            slug=f"learner-{update}", name=f"learner {update}", kind="checkpoint", owner=ann, colour=1, listed=False,
            visibility="public",
        )  # fmt: skip
        Checkpoint.objects.create(job=training, update=update, agent=agent)
        job = jobs.submit(ann, EvaluationSpec(agent="random", env_ids=(GUESS,), episodes_per_env=12))
        Job.objects.filter(pk=job.pk).update(agent=agent, state=Job.State.DONE)
        JobResult.objects.create(job=job, agent=agent, environments=[measured_as(0.5, 12)], ended=job.created)
    members = profiles.family_of(training.agent)
    assert [member.label for member in members] == ["update 10", "update 20", "newest"]
    profiles.refresh(training.agent_id)
    content = Profile.objects.get(agent__slug="learner-10").content
    assert [version["label"] for version in content["versions"]] == ["update 10", "update 20"]


def test_built_in_agents_have_pages_and_private_ones_are_not_there(ann: User) -> None:
    for slug in ("random", "expert", "human"):
        assert Client().get(reverse("agents:agent", args=[slug])).status_code == 200
    private = agents.create(ann, "secret-agent", SPEC, visibility="private")
    assert Client().get(private.get_absolute_url()).status_code == 404
    assert "secret-agent" not in Client().get(reverse("agents:list")).content.decode()


def test_the_list_is_filtered_by_what_agents_are(ann: User) -> None:
    client = Client()
    client.force_login(ann)
    small, large = (agents.create(ann, name, SPEC, visibility="public") for name in ("small-one", "large-one"))
    client.post(
        reverse("agents:facts", args=[small.slug]), {"nature": "model", "parameters": "600M", "openness": "open"}
    )
    client.post(reverse("agents:facts", args=[large.slug]), {"nature": "program", "parameters": "70b", "openness": ""})
    assert Agent.objects.get(pk=small.pk).parameters == 600 * 10**6

    def found(**asked: str) -> set[str]:
        page = tight(Client().get(reverse("agents:list"), asked))
        table = page.partition("<tbody>")[2].partition("</tbody>")[0]
        return {name for name in ("small-one", "large-one", "random", "expert") if f">{name}" in table}

    assert found() == {"small-one", "large-one", "random", "expert"}
    assert found(size="small") == {"small-one"}
    assert found(size="large") == {"large-one"}
    assert found(nature="program") == {"large-one", "random", "expert"}
    assert found(nature="model") == {"small-one"}
    assert found(weights="open") == {"small-one"}
    assert found(q="large") == {"large-one"}
    assert found(owner="ANN") == {"small-one", "large-one"}
    assert found(size="no such size") == {"small-one", "large-one", "random", "expert"}
    client.post(reverse("agents:facts", args=[small.slug]), {"parameters": "many"})
    assert Agent.objects.get(pk=small.pk).parameters == 600 * 10**6
    assert Client().post(reverse("agents:facts", args=[small.slug]), {"parameters": "1"}).status_code == 403


def test_the_page_reads_what_is_kept_however_many_episodes_there_are(ann: User) -> None:
    evaluated(ann)
    client = Client()
    page_of("expert", client)
    with CaptureQueriesContext(
        connection,
    ) as queries:
        page_of("expert", client)
    tables = ("episodes_turn", "jobs_shard", "jobs_jobevent")
    assert not [query["sql"] for query in queries if any(table in query["sql"] for table in tables)]
    assert len(queries) < 20


def test_places_on_boards_have_their_kept_ranks(ann: User) -> None:
    expert = Agent.objects.get(slug="expert")
    benchmark = benchmarks.load("games")
    score = Score.objects.create(
        job=jobs.submit(None, EvaluationSpec(agent="expert", benchmark="games"), visibility="public"), agent=expert,
        benchmark="games", benchmark_version=benchmark.version, mean=0.9, low=0.8, high=0.95, mean_return=1.0,
        success_rate=0.9, n=50,
    )  # fmt: skip
    (waiting,) = pages.boards_of(expert)
    assert (waiting.row.rank, waiting.of) == ("", 0)
    Ranking.objects.create(
        benchmark="games", version=benchmark.version, group="played here", with_tools=False,
        ranks={"": {str(score.pk): [1, 2], str(score.pk + 1): [1, 2]}}, rows=[score.pk, score.pk + 1],
    )  # fmt: skip
    (place,) = pages.boards_of(expert)
    assert (place.row.rank, place.of, place.season) == ("1–2", 2, None)
    assert "rank 1–2 of 2, published seeds" in page_of("expert")
