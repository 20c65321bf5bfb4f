"""Benchmarks, and the ranking of agents on each."""

from __future__ import annotations

from typing import Annotated

from django.http import Http404, HttpRequest
from django.http.response import HttpResponseBase
from django.urls import reverse
from ninja import Query, Router, Status

from apps.api import answers
from apps.api.answers.boards import board_answer, row_answer
from apps.api.callers import account, player
from apps.benchmarks.reading import listed_names
from apps.leaderboard import ranked_play
from apps.leaderboard.boards.filters import Choice
from apps.leaderboard.proofs import reading
from apps.leaderboard.proofs.views import download_episodes
from apps.leaderboard.season_views import MOST
from apps.play.starting import limits
from apps.seasons.models import Season
from apps.standings import people
from gem import benchmarks
from gem.benchmarks import Benchmark, DataSource
from gem.client import schemas
from gem.errors import UsageError

router = Router(tags=["leaderboard"])


@router.get("/benchmarks", response=schemas.BenchmarkPage)
def list_benchmarks(request: HttpRequest) -> schemas.BenchmarkPage:
    """All benchmarks: those that come with gemweb, those of your own, and those that others have opened."""
    names = [*benchmarks.names(), *listed_names(request.user)]
    return schemas.BenchmarkPage(items=[_benchmark(request, benchmarks.load(name)) for name in names])


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
    season: Annotated[
        int | None, Query(None, ge=1, le=999_999, description="A season by its number; the newest one without it.")
    ] = None,
) -> schemas.Leaderboard:
    """The board of a benchmark: the newest row of each agent and submitter, the best first, by groups of tiers."""
    benchmark = _find(name)
    if env_id and env_id not in benchmark.env_ids:
        raise Http404(f"{env_id} is not in the benchmark {benchmark.name}.")
    choice = Choice(benchmark, env_id=env_id, season=str(season or ""), tools="with" if tools else "")
    return board_answer(request, choice)


@router.get("/leaderboard/{name}/people", response=schemas.People)
def list_people(
    request: HttpRequest,
    name: str,
    env_id: Annotated[str, Query("", max_length=120, description="Only this environment; empty for all.")] = "",
) -> schemas.People:
    """People as rows: all of them together, and those who want to be named."""
    benchmark = _find(name)
    if env_id and env_id not in benchmark.env_ids:
        raise Http404(f"{env_id} is not in the benchmark {benchmark.name}.")
    season = Season.objects.of(benchmark.name, benchmark.version).first()
    rows = [
        schemas.PeopleRow(
            name=row.name,
            people=row.people,
            episodes=row.n,
            score=row.score,
            low=row.low,
            high=row.high,
            reason=row.reason,
            solved=row.solved,
            environments=row.environments,
        )
        for row in people.rows_of(season, env_id)
    ]
    return schemas.People(benchmark=benchmark.name, env_id=env_id, items=rows)


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
    return row_answer(request, score_id)


@router.get("/leaderboard/rows/{int:score_id}/proof", response=schemas.Proof)
def get_proof(request: HttpRequest, score_id: int) -> schemas.Proof:
    """How far a row is proved, and its certificate."""
    score = reading.find(request.user, score_id)
    page, standing = reading.page_of(score, request.user), reading.standing_of(score.job)
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
    return download_episodes(request, score_id)


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
        url=board_of(request, benchmark.name),
    )


def board_of(request: HttpRequest, name: str) -> str:
    """The address of the board of a benchmark."""
    return answers.link(request, f"{reverse('leaderboard:benchmark')}?benchmark={name}")


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
