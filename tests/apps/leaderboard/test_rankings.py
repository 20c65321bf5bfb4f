"""Rankings: computed when rows change, kept, and read by pages, files and the API."""

import csv
import io
import json
from datetime import timedelta
from hashlib import sha256
from pathlib import Path
from typing import Any
from xml.etree import ElementTree as ET

import pytest
from django.db import DatabaseError, connection, transaction
from django.test import Client
from django.utils import timezone

from apps.accounts.models import User
from apps.agents import built_in
from apps.agents.models import Agent
from apps.episodes.models import Batch
from apps.jobs import admission, operations
from apps.jobs.models import Job
from apps.leaderboard.boards import citation, computing, filters, marks, reading, site_rows
from apps.leaderboard.models import Ranking, Reexecution, Score
from apps.leaderboard.results import Results
from apps.moderation.models import Decision
from apps.seasons.models import Season
from gem import benchmarks
from gem.benchmarks import Benchmark
from gem.evaluation.spec import EvaluationSpec
from gem.training.checkpoints.weights_file import parameters_in
from tests.apps.benchmarks import shorten
from tests.apps.boards import rank_all
from tests.html import tight

ATOM = "http://www.w3.org/2005/Atom"
BOARD = "/leaderboard/?benchmark=games"


@pytest.fixture
def rows(db: None, monkeypatch: pytest.MonkeyPatch) -> dict[str, Score]:
    """The overall scores of random and expert on a benchmark of two environments, which no worker has ranked yet.

    Their episodes are not stored: `returns` stands in for them.
    """
    shorten(monkeypatch, episodes=12, every=24)
    benchmark = benchmarks.load("games")
    returns = {"random": [0.0, 0.1] * 6, "expert": [1.0, 0.9] * 6}

    def results_of(job: Job, _: Benchmark) -> dict[str, Results]:
        by_seed = {seed: [value] for seed, value in enumerate(returns[job.agent.slug])}
        return {env_id: Results(by_seed) for env_id in benchmark.env_ids}

    monkeypatch.setattr(computing, "results_of", results_of)
    return {slug: scored(slug, benchmark, mean) for slug, mean in (("random", 0.05), ("expert", 0.95))}


def scored(slug: str, benchmark: Benchmark, mean: float) -> Score:
    """A row of a built-in agent, in a job of the site."""
    agent, _ = Agent.objects.get_or_create(slug=slug, defaults={"name": slug, "kind": slug, "colour": 8})
    job = Job.objects.create(
        agent=agent,
        batch=Batch.objects.create(kind=Batch.Kind.JOB),
        state=Job.State.DONE,
        episodes_total=24,
        spec={"agent": slug, "benchmark": benchmark.name, "benchmark_version": benchmark.version},
    )
    values = {"low": mean - 0.05, "high": mean + 0.05, "mean_return": mean, "success_rate": mean, "n": 24}
    rows = [
        Score.objects.create(
            job=job,
            agent=agent,
            benchmark=benchmark.name,
            benchmark_version=benchmark.version,
            env_id=env_id,
            mean=mean,
            **values,
        )
        for env_id in (*benchmark.env_ids, "")
    ]
    return rows[-1]


def items(client: Client, **asked: str) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = client.get("/api/v1/leaderboard/games", asked).json()["items"]
    return found


def test_a_worker_ranks_rows_once_and_again_when_they_change(rows: dict[str, Score], client: Client) -> None:
    assert [(item["agent"], item["rank"], item["best_rank"]) for item in items(client)] == [
        ("expert", "", 0),
        ("random", "", 0),
    ]
    assert rank_all() == 1
    assert computing.outdated() == {}
    assert rank_all() == 0
    found = items(client)
    assert [(item["agent"], item["rank"], item["group"]) for item in found] == [
        ("expert", "1", "played here"),
        ("random", "2", "played here"),
    ]
    env_id = benchmarks.load("games").env_ids[0]
    assert [item["agent"] for item in items(client, env_id=env_id)] == ["expert", "random"]
    Job.objects.filter(pk=rows["expert"].job_id).update(hidden_reason="It is spam.")
    assert [item["agent"] for item in items(client)] == ["random"], "what is hidden leaves the board at once"
    assert rank_all() == 1
    assert [item["rank"] for item in items(client)] == ["1"]
    Job.objects.all().update(hidden_reason="All of it is.")
    assert rank_all() == 1
    assert Ranking.objects.get().rows == []


def test_a_ranking_that_somebody_computes_is_left_to_them(rows: dict[str, Score]) -> None:
    (key, pks) = computing.outdated().popitem()
    Ranking.objects.create(
        benchmark=key.benchmark, version=key.version, group=key.group, with_tools=False, begun="2999-01-01T00:00Z"
    )
    assert not computing.compute(key, pks)
    Ranking.objects.update(begun="2001-01-01T00:00Z")
    assert computing.compute(key, pks), "its worker has died"


def test_the_page_says_who_is_surely_ahead_and_what_it_rests_on(rows: dict[str, Score], client: Client) -> None:
    rank_all()
    page = tight(client.get(f"{BOARD}&row={rows['expert'].pk}"))
    assert "Who is surely ahead of whom" in page
    assert 'data-v="ahead"' in page
    assert 'data-v="behind"' in page
    assert "Holm over 1 pair" in page
    assert "Compared with its neighbours" in page
    view = reading.read(benchmarks.load("games"), None)
    (claim,) = reading.claims_of(view, view.sections[0].group)
    assert claim.is_sure
    assert claim.low is not None
    assert claim.low < claim.difference < (claim.high or 0.0)
    back = claim.seen_from(claim.second)
    assert (back.verdict, back.difference) == ("behind", -claim.difference)


def test_filters_hide_rows_and_change_no_rank(rows: dict[str, Score], client: Client) -> None:
    rank_all()
    Agent.objects.filter(slug="expert").update(kind="endpoint")
    Job.objects.filter(pk=rows["expert"].job_id).update(set_up={"model": "Qwen/Qwen3-4B-Instruct"})
    model = tight(client.get(f"{BOARD}&kind=model"))
    assert "1 of 2 rows; ranks are among all of them" in model
    assert f"score-{rows['random'].pk}" not in model
    assert f"score-{rows['random'].pk}" in tight(client.get(f"{BOARD}&kind=program"))
    assert f"score-{rows['expert'].pk}" in tight(client.get(f"{BOARD}&size=10B"))
    assert f"score-{rows['expert'].pk}" not in tight(client.get(f"{BOARD}&size=1B"))
    assert f"score-{rows['expert'].pk}" not in tight(client.get(f"{BOARD}&open=open"))
    nonsense = "&kind=%00&size=9&open=x&tier=y&season=zero&against=gold&sort=nothing"
    assert f"score-{rows['expert'].pk}" in tight(client.get(BOARD + nonsense))


@pytest.mark.parametrize(
    ("model", "parameters"),
    [("Qwen/Qwen3-4B", 4 * 10**9), ("smol_135M", 135 * 10**6), ("llama-3.1-8b-instruct", 8 * 10**9), ("gpt-x", None)],
)
def test_the_size_of_a_model_is_read_from_its_name(model: str, parameters: int | None) -> None:
    score = Score(agent=Agent(kind="endpoint"), job=Job(set_up={"model": model}))
    assert filters.parameters_of(filters.Row(score)) == parameters


def test_a_maintainer_withdraws_a_row_with_a_reason_and_everybody_reads_it(
    rows: dict[str, Score], client: Client
) -> None:
    rank_all()
    staff = User.objects.create_user("root", is_staff=True)
    address, page_of = f"/leaderboard/row/{rows['expert'].pk}/mark/", rows["expert"].get_absolute_url()
    assert client.post(address, {"do": "withdraw", "reason": "x"}).status_code == 404
    assert "For maintainers" not in client.get(page_of).content.decode()
    as_staff = Client()
    as_staff.force_login(staff)
    assert "For maintainers" in as_staff.get(page_of).content.decode()
    for sent in ({"do": "withdraw", "reason": "  "}, {"do": "burn", "reason": "x"}):
        as_staff.post(address, sent)
        assert not Decision.objects.exists()
    as_staff.post(address, {"do": "flag", "reason": "It was trained on them."})
    assert [item["mark"] for item in items(client)] == ["flagged", ""]
    as_staff.post(address, {"do": "withdraw", "reason": "It was trained on <them>."})
    rank_all()
    assert [(item["agent"], item["rank"]) for item in items(client)] == [("random", "1")]
    board = tight(client.get(BOARD))
    assert "<s>" in board
    assert "It was trained on &lt;them&gt;." in board
    assert "Withdrawn by a maintainer." in tight(client.get(page_of))
    log = tight(client.get("/leaderboard/log/"))
    assert log.index("<td>withdrawn</td>") < log.index("<td>flagged</td>")
    as_staff.post(address, {"do": "restore", "reason": "It was not."})
    rank_all()
    assert len(items(client)) == 2
    assert Decision.objects.filter(kind=marks.KIND).count() == 3


def test_nobody_edits_the_log(rows: dict[str, Score]) -> None:
    marks.mark(rows["random"], "flag", "It looks odd.", User.objects.create_user("root", is_staff=True))
    for statement in (
        "UPDATE moderation_decision SET reason = 'none'",
        "DELETE FROM moderation_decision",
    ):
        with pytest.raises(DatabaseError), transaction.atomic(), connection.cursor() as cursor:
            cursor.execute(statement)
    assert Decision.objects.get().reason == "It looks odd."


def test_a_board_is_taken_along_as_a_file_a_frame_a_badge_and_a_citation(
    rows: dict[str, Score], client: Client
) -> None:
    rank_all()
    lines = list(csv.DictReader(io.StringIO(client.get("/leaderboard/scores.csv?benchmark=games").content.decode())))
    assert [(line["agent"], line["rank"], line["ranked_with"]) for line in lines] == [
        ("expert", "1", "played here"),
        ("random", "2", "played here"),
    ]
    client.force_login(User.objects.create_user("ada"))
    frame = client.get("/leaderboard/embed/?benchmark=games")
    assert "X-Frame-Options" not in frame
    assert "frame-ancestors *" in frame["Content-Security-Policy"]
    assert "frame-ancestors 'none'" in client.get(BOARD)["Content-Security-Policy"]
    assert "ada" not in frame.content.decode()
    badge = client.get(f"/leaderboard/row/{rows['expert'].pk}/badge.svg")
    assert badge["Content-Type"] == "image/svg+xml"
    assert "rank 1, score" in badge.content.decode()
    for answer in (frame, badge):
        assert "public" in answer["Cache-Control"]
        assert "Cookie" not in answer.get("Vary", "")
        assert not answer.cookies
    again = client.get(f"/leaderboard/row/{rows['expert'].pk}/badge.svg", headers={"If-None-Match": badge["ETag"]})
    assert again.status_code == 304
    Job.objects.filter(pk=rows["expert"].job_id).update(hidden_reason="It is spam.")
    assert client.get(f"/leaderboard/row/{rows['expert'].pk}/badge.svg").status_code == 404


def test_a_feed_says_who_leads_each_board_and_since_when(rows: dict[str, Score], client: Client) -> None:
    def entries(address: str = "/leaderboard/first.atom?benchmark=games") -> list[tuple[str, ...]]:
        feed = ET.fromstring(client.get(address).content)
        return [
            tuple(entry.findtext(f"{{{ATOM}}}{name}", "") for name in ("title", "summary"))
            for entry in feed.iter(f"{{{ATOM}}}entry")
        ]

    rank_all()
    expert = "expert leads games v1", "Score 0.95 (0.90 to 1.00) in 24 episodes. It is surely first."
    assert entries() == entries("/leaderboard/first.atom") == [expert]
    again = scored("expert", benchmarks.load("games"), 0.97)
    rank_all()
    assert entries() == [expert]  # a later try of whoever leads is no news
    marks.mark(again, "withdraw", "It looks odd.", User.objects.create_user("root", is_staff=True))
    marks.mark(rows["expert"], "withdraw", "It looks odd.", User.objects.get())
    assert entries() == []
    other = Agent.objects.create(slug="other", name="<b>other</b>", kind="random", colour=1, owner=User.objects.get())
    Score.objects.filter(pk=rows["random"].pk).update(agent=other)
    Job.objects.filter(pk=rows["random"].job_id).update(owner=User.objects.get())
    scored("random", benchmarks.load("games"), 0.01)
    rank_all()
    assert [title for title, _ in entries()] == ["<b>other</b> leads games v1"]
    Batch.objects.update(visibility="private")
    assert entries() == []
    assert client.get("/leaderboard/first.atom?benchmark=nothing").status_code == 404
    assert (
        'href="/leaderboard/first.atom?benchmark=games"' in client.get("/leaderboard/?benchmark=games").content.decode()
    )
    answer = client.get("/leaderboard/first.atom")
    assert answer["Content-Type"].startswith("application/atom+xml")
    assert "public" in answer["Cache-Control"]


def test_a_citation_names_version_and_season() -> None:
    benchmark = benchmarks.load("games-easy")
    lines = citation.as_cff(benchmark, None).partition("authors:")[0].splitlines()
    cff = dict(line.split(": ", 1) for line in lines)
    assert json.loads(cff["title"]) == f"games-easy, version {benchmark.version}"
    assert json.loads(cff["cff-version"]) == "1.2.0"
    assert "@misc{gemweb-games-easy-v1," in citation.as_bibtex(benchmark, None)


def test_the_site_submits_its_own_rows_one_after_the_other_and_once(
    rows: dict[str, Score], settings: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("apps.agents.built_in._has_torch", lambda: False)
    benchmarks.with_hidden_seeds()  # is kept, so it must not be asked for the first time with the names of this test
    monkeypatch.setattr(benchmarks, "names", lambda: ["games", "dialogue"])
    assert site_rows.submit_next() is None, "switched off"
    settings.SITE_ROWS = True
    site_rows.can_play.cache_clear()
    assert site_rows.submit_next() is None, "both rows are there, and no season has begun"
    Score.objects.filter(job=rows["expert"].job_id).delete()
    first = site_rows.submit_next()
    assert first is not None
    assert (first.agent.slug, first.owner, Job.objects.get(pk=first.pk).max_workers) == ("expert", None, 1)
    progress = site_rows.progress(benchmarks.load("games"), None)
    assert progress is not None
    assert (progress.done, progress.total, progress.job) == (1, 2, first)
    assert site_rows.submit_next() is None, "one at a time"
    Job.objects.filter(pk=first.pk).update(state=Job.State.FAILED)
    assert site_rows.submit_next() is None, "and each once"
    site_rows.can_play.cache_clear()


def test_the_jobs_of_the_site_come_after_those_of_people_and_give_way(rows: dict[str, Score]) -> None:
    spec = {"agent": "random", "env_ids": ["game:GuessTheNumber-v0-easy"], "episodes_per_env": 5}
    of_site = operations.submit(None, EvaluationSpec.model_validate(spec))
    shard = of_site.shards.get()
    shard.state = "running"
    shard.save()
    Job.objects.filter(pk=of_site.pk).update(state="running")
    assert not admission.should_yield(shard.pk, of_site.pk)
    operations.submit(None, EvaluationSpec.model_validate(spec))
    assert not admission.should_yield(shard.pk, of_site.pk), "another job of the site waits"
    ada = User.objects.create_user("ada")
    theirs = operations.submit(ada, EvaluationSpec.model_validate(spec))
    assert [candidate.owner_id for candidate in admission.next_jobs(Job.Kind.EVALUATION)] == [ada.pk, None]
    assert admission.should_yield(shard.pk, of_site.pk)
    their_shard = theirs.shards.get()
    their_shard.state = "running"
    their_shard.save()
    assert not admission.should_yield(their_shard.pk, theirs.pk), "nobody gives way to the site"
    assert admission.jobs_ahead(Job.objects.get(pk=theirs.pk)) == 0


@pytest.fixture
def two_seasons(db: None) -> tuple[Season, Season]:
    """Two seasons of `games-easy`, the first of them over, each with a row of the expert that was executed again."""
    benchmark, now = benchmarks.load("games-easy"), timezone.now()
    seasons = [
        Season.objects.create(
            benchmark=benchmark.name,
            version=benchmark.version,
            number=number,
            sealed_key="",
            commitment=f"{number}" * 64,
            begins=now + timedelta(days=days),
            ends=now + timedelta(days=days + 90),
        )
        for number, days in ((1, -100), (2, -10))
    ]
    for season, mean in zip(seasons, (0.25, 0.75), strict=True):
        row = scored("expert", benchmark, mean)
        Batch.objects.filter(job=row.job).update(season=season)
        Job.objects.filter(pk=row.job_id).update(spec={**row.job.spec, "hidden_seeds": True})
        Reexecution.objects.create(job=row.job, state="verified", tier="reproduced", certificate={})
    return seasons[0], seasons[1]


def test_seasons_have_boards_of_their_own_and_stand_side_by_side(
    two_seasons: tuple[Season, Season], client: Client
) -> None:
    present, first = (tight(client.get(f"/leaderboard/?benchmark=games-easy{asked}")) for asked in ("", "&season=1"))
    assert "<b>0.75</b>" in present
    assert "<b>0.25</b>" not in present
    assert "Scores by season: 0.25, 0.75" in present
    assert "<b>0.25</b>" in first
    assert "<b>0.75</b>" not in first
    both = tight(client.get("/leaderboard/?benchmark=games-easy&season=all"))
    assert both.index("<b>0.25</b>") < both.index("<b>0.75</b>")
    assert client.get("/leaderboard/?benchmark=games-easy&season=3").status_code == 404
    answers = [client.get("/api/v1/leaderboard/games-easy", asked).json() for asked in ({}, {"season": "1"})]
    assert [(answer["season"], answer["items"][0]["score"]) for answer in answers] == [(2, 0.75), (1, 0.25)]
    assert answers[0]["items"][0]["tier"] == "reproduced"
    assert client.get("/api/v1/leaderboard/games-easy", {"season": "3"}).status_code == 404
    about = tight(client.get("/leaderboard/about/?benchmark=games-easy"))
    assert "season=1" in about
    assert "@misc{gemweb-games-easy-v1-season-2," in about
    (line,) = csv.DictReader(io.StringIO(client.get("/leaderboard/scores.csv?season=1").content.decode()))
    assert (line["season"], line["tier"]) == ("1", "reproduced")


def test_nano_base_is_an_agent_of_the_site_whose_weights_it_holds(
    db: None, tmp_path: Path, settings: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    settings.RUNS_DIR = tmp_path
    monkeypatch.setattr(built_in, "_has_torch", lambda: False)
    built_in.ensure()
    assert not built_in.is_here("nano-base"), "nothing here could play it"
    monkeypatch.setattr(built_in, "_has_torch", lambda: True)
    built_in.ensure()
    built_in.ensure()
    agent = Agent.objects.get(slug="nano-base")
    assert built_in.is_here("nano-base")
    assert agent.owner is None
    assert (agent.weights.path / "tokenizer.json").is_file()
    assert agent.weights.card["parameters"] == parameters_in(agent.weights.path / "model.safetensors") > 100_000
    assert agent.weights.sha256 == sha256((agent.weights.path / "model.safetensors").read_bytes()).hexdigest()
