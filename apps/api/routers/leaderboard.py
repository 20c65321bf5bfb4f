"""Benchmarks, and the ranking of agents on each."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Annotated

from django.http import Http404, HttpRequest
from django.http.response import HttpResponseBase
from django.urls import reverse
from ninja import Query, Router, Status

from apps.api import answers
from apps.api.callers import account, player
from apps.jobs.models import Job
from apps.jobs.results.tallies import Tally
from apps.leaderboard import ranked_play
from apps.leaderboard.board import Row, ranked
from apps.leaderboard.evidence import actions_by_environment, actions_of, stand_ins_of
from apps.leaderboard.frontier import tokens_per_episode
from apps.leaderboard.models import Score
from apps.leaderboard.proofs import reading
from apps.leaderboard.proofs.views import download
from apps.leaderboard.season_views import MOST
from apps.play import limits
from apps.seasons.models import Season
from gem import benchmarks
from gem.benchmarks import Benchmark, DataSource
from gem.client import schemas
from gem.errors import UsageError
from gem.evaluation.data import DataUse

router = Router(tags=["leaderboard"])


@router.get("/benchmarks", response=schemas.BenchmarkPage)
def list_benchmarks(request: HttpRequest) -> schemas.BenchmarkPage:
    """All benchmarks."""
    return schemas.BenchmarkPage(items=[_benchmark(request, benchmarks.load(name)) for name in benchmarks.names()])


@router.get("/benchmarks/{name}", response=schemas.Benchmark)
def get_benchmark(request: HttpRequest, name: str) -> schemas.Benchmark:
    """One benchmark: its environments, seeds and scales."""
    return _benchmark(request, _find(name))


@router.get("/benchmarks/{name}/seasons", response=schemas.SeasonPage)
def list_seasons(request: HttpRequest, name: str) -> schemas.SeasonPage:
    """The seasons of a benchmark, the newest first, with their commitments and, when they are over, their keys."""
    found = Season.objects.filter(benchmark=_find(name).name).order_by("-version", "-number")
    return schemas.SeasonPage(items=[_season(season) for season in found[:MOST]])


@router.get("/leaderboard/{name}", response=schemas.Leaderboard)
def get_leaderboard(
    request: HttpRequest,
    name: str,
    env_id: Annotated[str, Query("", max_length=120, description="Only this environment; empty for all.")] = "",
    tools: Annotated[bool, Query(False, description="The agents with tools, which are ranked apart.")] = False,
) -> schemas.Leaderboard:
    """The ranking of a benchmark: the newest score of each agent, the best first."""
    benchmark = _find(name)
    if env_id and env_id not in benchmark.env_ids:
        raise Http404(f"{env_id} is not in the benchmark {benchmark.name}.")
    scores = list(Score.objects.of(benchmark).with_tools(tools).newest(env_id))
    tokens, stand_ins, actions = tokens_per_episode(scores, env_id), stand_ins_of(scores), actions_of(scores, env_id)
    jobs = {
        score.job_id: (tokens.get(score.job_id), actions[score.job_id], stand_ins[score.job_id]) for score in scores
    }
    items = [_row(row, *jobs[row.score.job_id]) for row in ranked(scores)]
    return schemas.Leaderboard(benchmark=benchmark.name, version=benchmark.version, env_id=env_id, items=items)


@router.post("/leaderboard/{name}/episodes", response={201: schemas.Episode}, auth=player)
def play_ranked_seed(request: HttpRequest, name: str, sent: schemas.RankedStart) -> Status[schemas.Episode]:
    """Begin an episode on a ranked seed that is new to you. The leaderboard's page compares you with agents."""
    benchmark, user = _find(name), account(request)
    if sent.env_id and sent.env_id not in benchmark.env_ids:
        raise Http404(f"{sent.env_id} is not in the benchmark {benchmark.name}.")
    limits.check_start(request)
    row = ranked_play.begin(benchmark, user, "", env_id=sent.env_id)
    return Status(201, answers.episode(request, row.pk))


@router.get("/leaderboard/rows/{int:score_id}", response=schemas.Leaderboard)
def get_row(request: HttpRequest, score_id: int) -> schemas.Leaderboard:
    """The scores of one row by environment. They have no ranks."""
    visible = Score.objects.of_jobs(Job.objects.visible_to(request.user))
    score = visible.filter(pk=score_id).first() if score_id < 2**63 else None
    if score is None:
        raise Http404("There is no such score.")
    uses = stand_ins_of([score])[score.job_id]
    parts = (
        Score.objects.filter(job=score.job)
        .exclude(env_id="")
        .select_related("agent", "job__owner", "job__reexecution")
        .order_by("pk")
    )
    actions = actions_by_environment(score.job_id)
    return schemas.Leaderboard(
        benchmark=score.benchmark,
        version=score.benchmark_version,
        env_id="",
        items=[
            _row(
                Row(part, 0, 0),
                None,
                actions.get(part.env_id, Tally()),
                [use for use in uses if use.env_id == part.env_id],
            )
            for part in parts
        ],
    )


@router.get("/leaderboard/rows/{int:score_id}/proof", response=schemas.Proof)
def get_proof(request: HttpRequest, score_id: int) -> schemas.Proof:
    """How far a row is proved, and its certificate."""
    score = reading.find(request.user, score_id)
    page, standing = reading.page_of(score), reading.standing_of(score.job)
    row, season = page["row"], page["season"]
    return schemas.Proof(
        state=row.state if row else "waiting" if score.job.plays_hidden_seeds else "none",
        tier=standing.tier,
        sentence=standing.sentence,
        executed=row.executed if row else 0,
        choices=row.choices if row else "",
        difference=reading.difference_of(score.job),
        notes=row.notes if row else {},
        engine_version=row.engine_version if row else "",
        agent=score.agent.slug,
        agent_kind=score.agent.kind,
        closed=page["is_closed"],
        opens=season.ends if season and not season.is_revealed else None,
        certificate=row.certificate if row else None,
    )


@router.get("/leaderboard/rows/{int:score_id}/digests", response=schemas.RowDigests)
def get_digests(request: HttpRequest, score_id: int) -> schemas.RowDigests:
    """The digest of every episode of a verified row, with the proof that the row has it. They are public at once."""
    return schemas.RowDigests.model_validate(reading.digests(reading.find_verified(request.user, score_id)))


@router.get(
    "/leaderboard/rows/{int:score_id}/episodes.jsonl",
    response=bytes,
    openapi_extra={"x-media-type": "application/jsonl"},
)
def export_episodes_of_row(request: HttpRequest, score_id: int) -> HttpResponseBase:
    """The episodes of a verified row as `gemweb verify` reads them; 404 while their season runs."""
    return download(reading.find_verified(request.user, score_id), score_id)


def _find(name: str) -> Benchmark:
    try:
        return benchmarks.load(name)
    except UsageError as error:
        raise Http404(str(error)) from error


def _benchmark(request: HttpRequest, benchmark: Benchmark) -> schemas.Benchmark:
    return schemas.Benchmark(
        name=benchmark.name,
        version=benchmark.version,
        title=benchmark.title,
        summary=benchmark.summary,
        score=benchmark.rule,
        members=[name for name, _ in benchmark.members],
        entries=[
            schemas.BenchmarkEntry(
                env_id=entry.env_id,
                first_seed=entry.first_seed,
                episodes=entry.episodes,
                random_return=entry.random_return,
                best_return=entry.best_return,
                anchor=entry.anchor.by if entry.anchor else "",
                env_version=entry.env_version,
                max_turns=entry.max_turns,
                hidden_seeds=entry.hidden_seeds,
                open_set=entry.open_set,
                **_data(entry.data),
            )
            for entry in benchmark.entries
        ],
        url=answers.link(request, f"{reverse('leaderboard:benchmark')}?benchmark={benchmark.name}"),
    )


def _season(season: Season) -> schemas.Season:
    return schemas.Season(
        benchmark=season.benchmark,
        version=season.version,
        number=season.number,
        begins=season.begins,
        ends=season.ends,
        commitment=season.commitment,
        key=season.published_key or None,
        hidden_seeds=season.hidden,
    )


def _data(data: DataSource | None) -> dict[str, str]:
    """The data of an environment of a benchmark as fields of its answer."""
    if data is None:
        return {}
    return {"data": data.name, "data_hash": data.hash, "licence": data.licence, "stands_in_for": data.stands_in_for}


def _row(row: Row, tokens: float | None, tally: Tally, stand_ins: Iterable[DataUse]) -> schemas.Row:
    score = row.score
    return schemas.Row(
        id=score.pk,
        rank=row.rank,
        best_rank=row.best,
        worst_rank=row.worst,
        agent=score.agent.slug,
        agent_name=score.agent.name,
        owner=score.job.owner.get_username() if score.job.owner else None,
        env_id=score.env_id,
        tools=score.tools,
        score=score.mean,
        low=score.low,
        high=score.high,
        why_no_interval=score.reason,
        mean_return=score.mean_return,
        success_rate=score.success_rate,
        episodes=score.n,
        errors=score.errors,
        partial=score.errors > 0,
        success_low=score.success_low,
        success_high=score.success_high,
        stand_ins=[answers.data_of(use) for use in stand_ins],
        tokens_per_episode=tokens,
        actions=tally.actions or None,
        unreadable=tally.unreadable if tally.actions else None,
        forbidden=tally.forbidden if tally.actions else None,
        job=score.job_id,
        created=score.created,
        tier=reading.standing_of(score.job).tier,
    )
