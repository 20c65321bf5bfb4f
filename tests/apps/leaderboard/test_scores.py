"""Scores and ranks: hand-computed, written once, and shown with their evidence."""

import csv
import io
import re
from dataclasses import replace
from datetime import timedelta
from html import unescape

import pytest
from django.core.cache import cache
from django.test import Client
from django.utils import timezone
from pytest_django.fixtures import Settings

from apps.accounts.models import User
from apps.agents.models import Agent
from apps.jobs import operations
from apps.jobs.errors import OldBenchmark
from apps.jobs.models import Job
from apps.jobs.results.clusters import scores_of
from apps.leaderboard.boards import site_rows
from apps.leaderboard.models import Score
from apps.leaderboard.operations import record_missing_scores, record_scores
from apps.leaderboard.templatetags.leaderboard import reference_interval
from gem import benchmarks
from gem.data.wiki import PAGES_HASH
from gem.evaluation.spec import EvaluationSpec
from tests.apps.benchmarks import shorten
from tests.apps.boards import rank_all
from tests.html import tight
from tests.workers.records import play_out


@pytest.fixture
def agents(built_in: None, monkeypatch: pytest.MonkeyPatch) -> None:
    """The built-in agents, and benchmarks of a few environments and episodes."""
    shorten(monkeypatch, every=4)


@pytest.fixture
def built_in(transactional_db: None) -> None:
    """The built-in agents, in rows that the thread which renews a lease can see."""
    for kind in ("random", "expert", "human"):
        Agent.objects.get_or_create(slug=kind, defaults={"name": kind, "kind": kind, "colour": 8})


def finished(agent: str) -> Job:
    job = operations.submit(None, EvaluationSpec.model_validate({"agent": agent, "benchmark": "games"}))
    play_out(job)
    return Job.objects.get(pk=job.pk)


def test_the_interval_of_a_row_is_that_of_the_jobs_page(agents: None) -> None:
    job = finished("random")
    benchmark = benchmarks.load("games")
    scores = scores_of(job)
    for entry in benchmark.entries:
        row, found = job.scores.get(env_id=entry.env_id), scores.of(entry.env_id).mean_return
        assert found is not None
        assert row.reason == found.reason
        if found.low is not None:
            assert (row.low, row.high) == pytest.approx((entry.score(found.low), entry.score(found.high or 0.0)))
    assert any(row.reason and row.low is None for row in job.scores.all()), "two seeds have no interval"


def test_a_row_says_which_actions_were_not_accepted(agents: None, client: Client) -> None:
    job = finished("random")
    shards = list(job.shards.all())
    job.shards.update(actions=50, unreadable=10, forbidden=20)
    page = tight(client.get(f"/leaderboard/?benchmark=games&row={job.scores.get(env_id='').pk}"))
    assert "20.0\u00a0% could not be read and 40.0\u00a0% were forbidden" in page
    (item,) = client.get("/api/v1/leaderboard/games").json()["items"]
    assert (item["actions"], item["unreadable"], item["forbidden"]) == tuple(n * len(shards) for n in (50, 10, 20))
    (line,) = csv.DictReader(io.StringIO(client.get("/leaderboard/scores.csv?benchmark=games").content.decode()))
    assert (float(line["unreadable_share"]), float(line["forbidden_share"])) == (0.2, 0.4)
    job.shards.update(actions=None, unreadable=None, forbidden=None)
    cache.clear()  # what is known of a job that is over is kept
    pk = job.scores.get(env_id="").pk
    assert "could not be read" not in tight(client.get(f"/leaderboard/?benchmark=games&row={pk}"))
    (item,) = client.get("/api/v1/leaderboard/games").json()["items"]
    assert item["unreadable"] is None


def test_a_finished_job_has_a_score_for_each_environment_and_overall(
    built_in: None, monkeypatch: pytest.MonkeyPatch
) -> None:
    shorten(monkeypatch)  # of all environments
    job = finished("random")
    benchmark = benchmarks.load("games")
    parts = {score.env_id: score for score in job.scores.all()}
    assert set(parts) == {*benchmark.env_ids, ""}
    for entry in benchmark.entries:
        rewards = list(job.batch.episodes.filter(env_id=entry.env_id).values_list("seats__total_reward", flat=True))
        score = parts[entry.env_id]
        mean = sum(rewards) / len(rewards)
        assert score.n == entry.episodes == len(rewards)
        assert score.mean_return == pytest.approx(mean)
        assert score.mean == pytest.approx((mean - entry.random_return) / (entry.best_return - entry.random_return))
        assert bool(score.reason) == (score.low is None)
        assert score.low is None or score.high is None or score.low <= score.mean <= score.high
    own = [parts[env_id] for env_id in benchmark.env_ids]
    overall = parts[""]
    assert overall.mean == pytest.approx(sum(score.mean for score in own) / len(own))
    assert (overall.low, overall.high) == (None, None)
    assert "the environment with the fewest has 3 seeds" in overall.reason
    assert overall.n == sum(score.n for score in own)


def test_scores_are_written_once(agents: None) -> None:
    job = finished("random")
    count = Score.objects.count()
    assert record_scores(job.pk) == 0
    assert record_missing_scores() == 0
    assert Score.objects.count() == count
    Score.objects.all().delete()
    assert record_missing_scores() == 1
    assert Score.objects.count() == count


def test_jobs_that_are_no_benchmark_have_no_scores(agents: None) -> None:
    spec = {"agent": "random", "env_ids": ["game:GuessTheNumber-v0-easy"], "episodes_per_env": 5}
    job = operations.submit(None, EvaluationSpec.model_validate(spec))
    play_out(job)
    assert record_scores(job.pk) == 0
    assert record_missing_scores() == 0
    assert not Score.objects.exists()


def test_the_board_has_each_agent_once_with_its_latest_job(agents: None, client: Client) -> None:
    first, expert = finished("random"), finished("expert")
    Score.objects.filter(job=first).update(created=timezone.now() - timedelta(days=1))
    second = finished("random")
    page = client.get("/leaderboard/?benchmark=games").content.decode()
    assert f"/jobs/{expert.pk}/" in page
    assert f"/jobs/{second.pk}/" in page
    assert f"/jobs/{first.pk}/" not in page
    assert page.index(expert.pk) < page.index(second.pk)
    detail = client.get(f"/leaderboard/row/{Score.objects.get(job=second, env_id='').pk}/").content.decode()
    assert f"/jobs/{first.pk}/" in detail
    assert "Reproduce this row" in detail


def test_every_order_and_environment_has_an_address(agents: None, client: Client) -> None:
    finished("random")
    env_id = benchmarks.load("games").env_ids[0]
    for sort in ("score", "return", "solved", "n", "agent", "date", "nonsense", "%00"):
        assert (
            client.get(f"/leaderboard/?benchmark=games&sort={sort}&env_id={env_id}&row=999999999").status_code == 200
        ), sort
    assert ">Episodes<" in client.get(f"/leaderboard/agents/?env_id={env_id}").content.decode()


def test_what_is_not_there_is_404(agents: None, client: Client) -> None:
    assert client.get("/leaderboard/?benchmark=nope").status_code == 404
    assert client.get("/leaderboard/?env_id=nope").status_code == 404
    assert client.get("/leaderboard/row/99999/").status_code == 404
    assert client.get("/leaderboard/agents/?env_id=%00").content == b""


def test_an_empty_board_says_how_to_fill_it_and_a_running_job_is_named(agents: None, client: Client) -> None:
    assert "No agent is ranked yet" in client.get("/leaderboard/?benchmark=games").content.decode()
    assert "No agent is ranked yet" in client.get("/leaderboard/top/").content.decode()
    job = operations.submit(None, EvaluationSpec.model_validate({"agent": "random", "benchmark": "games"}))
    page = client.get("/leaderboard/?benchmark=games").content.decode()
    assert "The first agents are being evaluated" in page
    assert job.get_absolute_url() in page


POLLS = 'hx-get="/leaderboard/?benchmark=games" hx-select="#rows" hx-select-oob="#under-way" hx-trigger="every 10s"'


def test_a_board_without_rows_asks_for_them_while_they_are_made(
    agents: None, client: Client, settings: Settings
) -> None:
    address = "/leaderboard/?benchmark=games"
    site_rows.can_play.cache_clear()
    assert "hx-trigger" not in rows_of(client, address), "nothing is under way"
    settings.SITE_ROWS = True
    assert POLLS in rows_of(client, address)
    assert 'hx-get="/leaderboard/top/" hx-trigger="every 10s"' in tight(client.get("/leaderboard/top/"))
    settings.SITE_ROWS = False
    site_rows.can_play.cache_clear()  # it was asked about the short benchmark
    operations.submit(None, EvaluationSpec.model_validate({"agent": "random", "benchmark": "games"}))
    assert POLLS in rows_of(client, address)
    finished("random")
    assert "hx-trigger" not in rows_of(client, address), "rows are there"


def rows_of(client: Client, address: str) -> str:
    """The tag of the ranking on a board."""
    page = tight(client.get(address))
    start = page.rindex("<section", 0, page.index('id="rows"'))
    return page[start : page.index(">", start)]


def test_a_row_says_the_version_it_was_played_under(
    agents: None, client: Client, monkeypatch: pytest.MonkeyPatch
) -> None:
    job = finished("random")
    version = benchmarks.load("games").version
    assert set(job.scores.values_list("benchmark_version", flat=True)) == {version}
    assert job.spec["benchmark_version"] == version
    job.scores.all().delete()
    changed = replace(benchmarks.load("games"), version=version + 1)
    monkeypatch.setattr(benchmarks, "load", {"games": changed}.__getitem__)
    assert record_scores(job.pk) == 0, "the scale of the earlier version is gone"
    assert record_missing_scores() == 0
    page = tight(client.get(job.get_absolute_url()))
    assert f"games v{version}<" in page
    with pytest.raises(OldBenchmark, match="has changed since"):
        operations.submit(None, EvaluationSpec.model_validate(job.spec))


def test_the_ranking_is_a_file_for_a_spreadsheet(agents: None, client: Client) -> None:
    job = finished("random")
    Agent.objects.filter(pk=job.agent_id).update(name="=HYPERLINK(1)")
    rank_all()
    answer = client.get("/leaderboard/scores.csv?benchmark=games")
    assert answer["Content-Disposition"].startswith('attachment; filename="gemweb-games-v')
    (line,) = csv.DictReader(io.StringIO(answer.content.decode()))
    overall = job.scores.get(env_id="")
    assert (line["rank"], line["agent"], line["environment"]) == ("1", "'=HYPERLINK(1)", "all")
    assert (float(line["score"]), int(line["episodes"])) == (overall.mean, overall.n)
    env_id = benchmarks.load("games").env_ids[0]
    (line,) = csv.DictReader(
        io.StringIO(client.get("/leaderboard/scores.csv", {"benchmark": "games", "env_id": env_id}).content.decode())
    )
    assert float(line["score"]) == job.scores.get(env_id=env_id).mean
    assert client.get("/leaderboard/scores.csv", {"env_id": "nothing"}).status_code == 404


def test_the_ranking_is_a_table_for_a_paper(agents: None, client: Client) -> None:
    job = finished("random")
    Agent.objects.filter(pk=job.agent_id).update(name="50%_of {a}\\b")
    job.scores.filter(env_id="").update(errors=2)
    rank_all()
    answer = client.get("/leaderboard/scores.tex?benchmark=games")
    text, score = answer.content.decode(), job.scores.get(env_id="")
    version = benchmarks.load("games").version
    assert answer["Content-Disposition"] == f'attachment; filename="gemweb-games-v{version}.tex"'
    row = next(line for line in text.splitlines() if "50" in line)
    cells = row.strip().removesuffix(r"\\").split(" & ")
    assert cells[:2] == ["1", r"50\%\_of \{a\}\textbackslash{}b*"]
    assert cells[2].startswith(f"{score.mean:.2f}")
    assert cells[4] == str(score.n)
    assert "some episodes are not counted" in text
    assert rf"\cite{{gemweb-games-v{version}}}" in text
    assert f"% @misc{{gemweb-games-v{version}," in text
    assert text.count(r"\begin{") == text.count(r"\end{") == 2
    assert "scores.tex?benchmark=games" in client.get("/leaderboard/?benchmark=games").text


def test_nobody_takes_over_the_row_of_somebody_else(agents: None, client: Client) -> None:
    ada, bob = (User.objects.create_user(name) for name in ("ada", "bob"))
    of_site = finished("random")
    taken = operations.submit(ada, EvaluationSpec.model_validate({"agent": "random", "benchmark": "games"}))
    play_out(taken)
    benchmark = benchmarks.load("games")
    assert [score.job for score in Score.objects.of(benchmark).newest()] == [of_site]
    Agent.objects.filter(slug="random").update(owner=ada)  # an agent of hers, which others may evaluate too
    third = operations.submit(bob, EvaluationSpec.model_validate({"agent": "expert", "benchmark": "games"}))
    Job.objects.filter(pk=third.pk).update(agent=of_site.agent)
    Score.objects.filter(job=of_site).update(job=third)
    assert {score.job.owner for score in Score.objects.of(benchmark).newest()} == {ada, bob}


def test_a_row_with_missing_episodes_is_partial_and_stand_in_data_are_named(agents: None, client: Client) -> None:
    job = finished("random")
    overall, part = job.scores.get(env_id=""), job.scores.exclude(env_id="").order_by("-success_rate", "env_id")[0]
    Score.objects.filter(pk__in=[overall.pk, part.pk]).update(errors=3)
    page = tight(client.get(f"/leaderboard/?benchmark=games&row={overall.pk}"))
    assert "partial, 3 missing" in page
    assert "Some environments use stand-in data:" in page
    assert PAGES_HASH[:12] in page
    (line,) = csv.DictReader(io.StringIO(client.get("/leaderboard/scores.csv?benchmark=games").content.decode()))
    assert line["partial"] == "yes"
    lost = part.success_rate * 3 / (part.n + 3) / len(benchmarks.load("games").entries)
    assert float(line["solved_low"]) == pytest.approx(overall.success_rate - lost)
    assert f"{PAGES_HASH} for Wikipedia" in line["stand_in_data"]
    (row,) = client.get("/api/v1/leaderboard/games").json()["items"]
    assert row["partial"] is True
    assert {use["stands_in_for"] for use in row["stand_ins"]} == {"Wikipedia"}


def test_the_address_of_details_shows_them(agents: None, client: Client) -> None:
    pk = finished("random").scores.get(env_id="").pk
    page = tight(client.get("/leaderboard/?benchmark=games"))
    (address,) = re.findall(r'hx-push-url="([^"#]*)#score-', page)
    assert "Reproduce this row" in client.get(f"/leaderboard/{unescape(address)}").content.decode()
    assert f"row={pk}" in address


def test_the_bounds_of_a_partial_row_weigh_environments_equally(agents: None) -> None:
    job = finished("random")
    first, *others = job.scores.exclude(env_id="").order_by("env_id")
    job.scores.exclude(env_id="").update(success_rate=0.0)
    Score.objects.filter(pk=first.pk).update(success_rate=1.0, n=1, errors=1)
    count = len(others) + 1
    overall = job.scores.get(env_id="")
    overall.success_rate, overall.errors = 1 / count, 1
    assert overall.success_low == pytest.approx(0.5 / count), "one of two episodes of one environment"
    assert overall.success_high == pytest.approx(1 / count)
    assert overall.success_low <= overall.success_rate <= overall.success_high


def test_an_anchor_whose_returns_are_all_equal_has_no_interval() -> None:
    entry = next(entry for entry in benchmarks.load("duel").entries if entry.env_id == "duel:ConnectFour-v0-vs-random")
    assert reference_interval(entry.anchor) == "no interval: all 500 returns are equal"
    assert reference_interval(entry.random) == "95 % interval −0.076 to 0.100, n 500"
    assert reference_interval(None) == ""
