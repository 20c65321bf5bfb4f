"""The server time of every page that lists something, in a database with a million episodes: `python -m bench.scale`.

    python -m bench.scale --episodes 200000

A database of its own is filled by SQL: nine tenths of the episodes belong to jobs, one of which has 45,000; the others
are of people. Then each page is requested in this process, without a network, by somebody with an account and many
episodes. Of a page whose 95th percentile is above the target, the plan of its slowest query is printed.
"""

from __future__ import annotations

import argparse
import os
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from bench.stack import machine, percentile, print_table, stack

TARGET_MS = 80.0
LARGE_JOB, SMALL_JOB, SHARD = 45_000, 1_000, 250
"""Episodes of the large job, of every other job, and of a shard."""
FILED = 20_000
"""Old jobs of ten episodes with names and tags, some of them archived, whose episodes were deleted."""
OF_PEOPLE = 0.1
"""The share of episodes that people played."""
SQL = Path(__file__).with_name("scale.sql")
ENV_ID = "game:GuessTheNumber-v0-easy"
RANKED = 30
"""Rows of the board of `games`."""
LIVE = 12
"""Episodes that are under way with real boards, for the lobby."""


def fill(episodes: int) -> None:
    """Fill the migrated database of this process."""
    from django.db import connection

    from apps.accounts.models import User
    from apps.play import operations as play

    people = round(episodes * OF_PEOPLE)
    jobs = 1 + max(0, episodes - people - LARGE_JOB) // SMALL_JOB
    values = {"people": people, "jobs": jobs, "filed": FILED, "large": LARGE_JOB, "small": SMALL_JOB, "shard": SHARD}
    for number in range(20):
        User.objects.create_user(f"person-{number}", is_staff=number == 0)
    with connection.cursor() as cursor:
        for statement in SQL.read_text("utf-8").split(";\n"):
            if statement.strip():
                cursor.execute(statement, values)
        _fill_board()
        cursor.execute("VACUUM ANALYZE")
    for number in range(LIVE):
        user = User.objects.get(username=f"person-{number}")
        episode = play.begin(ENV_ID, seed=number, user=user, visitor="")
        play.take_turn(episode.id, "\\boxed{5}", expected_seq=0, user=user, visitor="")
    _keep_standings()


def _keep_standings() -> None:
    """Results of jobs, profiles and ratings as workers keep them: some are measured, the others are like these."""
    from apps.agents.models import Agent
    from apps.daily import days, operations
    from apps.daily.models import Try
    from apps.episodes.models import Episode
    from apps.jobs.models import Job
    from apps.standings import measuring, profiles, ratings
    from apps.standings.models import JobResult

    for agent in Agent.objects.filter(slug__in=("random", "expert")):
        jobs = Job.objects.filter(agent=agent, state=Job.State.DONE).order_by("-ended")
        kept = measuring.record(jobs[0])
        JobResult.objects.bulk_create(
            JobResult(job=job, agent=agent, environments=kept.environments, ended=job.ended or job.created)
            for job in jobs[1:2000]
        )
        profiles.refresh(agent.pk)
    ratings.refresh()
    day = days.today()
    keys = Episode.objects.filter(of_job=False, batch=None).order_by("pk").values_list("pk", "seats__user")
    players = {user: key for key, user in keys[:200]}
    batch = operations.batch_of(day)
    Episode.objects.filter(pk__in=players.values()).update(batch=batch)
    Try.objects.bulk_create(
        Try(season=day, user_id=user, episode_id=key, solved=True, turns=user % 7, score=1.0, ended=day.begins)
        for user, key in players.items()
    )


def _fill_board() -> None:
    """Rows of the first jobs on the board of `games`, each of an agent of its own, with ranks as workers keep them."""
    from itertools import combinations

    from apps.agents.models import Agent, Endpoint
    from apps.jobs.models import Job
    from apps.leaderboard.boards.keys import Group
    from apps.leaderboard.models import Ranking, Score
    from gem import benchmarks

    benchmark = benchmarks.load("games")
    scores = []
    for number, job in enumerate(Job.objects.filter(state="done").order_by("pk")[:RANKED]):
        agent = Agent.objects.create(
            slug=f"row-{number}", name=f"row {number}", kind="endpoint", colour=number % 8 + 1, owner_id=job.owner_id
        )
        Endpoint.objects.create(agent=agent, spec={"url": "https://model.example/v1", "model": f"model {number}"})
        mean = 1 - number / RANKED
        values = {"mean": mean, "low": mean - 0.02, "high": mean + 0.02, "mean_return": mean, "success_rate": mean}
        scores += [
            Score(
                job=job, agent=agent, benchmark="games", benchmark_version=benchmark.version, env_id=env, n=50, **values
            )
            for env in (*benchmark.env_ids, "")
        ]
    Score.objects.bulk_create(scores)
    rows = sorted(score.pk for score in scores if not score.env_id)
    ranks = {str(pk): [place + 1, place + 2] for place, pk in enumerate(rows)}
    Ranking.objects.create(
        benchmark="games",
        version=benchmark.version,
        group=Group.PLAYED_HERE,
        with_tools=False,
        rows=rows,
        ranks=dict.fromkeys(["", *benchmark.env_ids], ranks),
        claims=[[first, second, 0.1, 0.05, 0.15, 0.001] for first, second in combinations(rows, 2)],
    )


def addresses() -> Iterator[tuple[str, str]]:
    """The pages by name."""
    from django.urls import reverse

    from apps.episodes.models import Episode
    from apps.jobs.models import Job

    large = Job.objects.order_by("-episodes_total", "pk")[0]
    small = Job.objects.filter(episodes_total=SMALL_JOB).order_by("pk")[0]
    played_by_job = Episode.objects.filter(env_id=ENV_ID, of_job=True)
    ranked = played_by_job.opened().order_by("pk")[0]
    of_people = Episode.objects.filter(env_id=ENV_ID, of_job=False, status="ended").order_by("pk")[0]
    episodes, jobs = reverse("episodes:list"), reverse("jobs:list")
    yield from _places_to_begin()
    yield from _of_an_episode(ranked.pk)
    for source in ("", "jobs", "all"):
        yield f"episodes, source={source}", f"{episodes}?source={source}"
        yield f"episodes, source={source}, page 1,500", f"{episodes}?source={source}&page=1500"
        for outcome in Episode.Outcome.values:
            yield f"episodes, source={source}, outcome={outcome}", f"{episodes}?source={source}&outcome={outcome}"
    yield "episodes, oldest", f"{episodes}?source=all&before={_oldest()}"
    yield "episodes of an environment", f"{episodes}?source=all&env_id={ENV_ID}"
    yield "errors in an environment", f"{episodes}?source=all&env_id={ENV_ID}&outcome=error"
    yield "episodes of an agent", f"{episodes}?source=all&agent=expert"
    yield "errors of an agent", f"{episodes}?source=all&agent=expert&outcome=error"
    yield "episodes of a seed", f"{episodes}?source=all&env_id={ENV_ID}&seed=7"
    yield "my episodes", f"{episodes}?mine=on"
    yield "my errors", f"{episodes}?mine=on&source=all&outcome=error"
    yield "latest episodes of an environment", f"{reverse('episodes:recent')}?env_id={ENV_ID}"
    yield from _lists_of_jobs(jobs)
    yield "latest jobs", reverse("jobs:recent")
    for name, job in (("45,000 episodes", large), ("1,000 episodes", small)):
        inside = reverse("jobs:episodes", args=[job.pk])
        yield f"job of {name}", job.get_absolute_url()
        yield f"episodes of the job of {name}", inside
        yield f"episodes of the job of {name}, last page", f"{inside}?before=999999999"
        yield f"errors of the job of {name}", f"{inside}?outcome=error"
        yield f"wins of the job of {name}", f"{inside}?outcome=won"
    yield "form of a job", reverse("jobs:submit")
    yield "estimate of a job", f"{reverse('jobs:estimate')}?agent=random&env_id={ENV_ID}&episodes_per_env=100"
    yield "form of a training", reverse("trainings:train")
    yield from _boards()
    yield "agents on a seed", reverse("leaderboard:seed", args=[ranked.pk])
    yield "tree of forks", reverse("forks:tree", args=[of_people.pk])
    yield "credit of an episode", reverse("lens:credit", args=[of_people.pk])
    yield "all episodes of a seed", reverse("lens:same_seed", args=[of_people.pk])
    yield from _of_agents_and_days()
    yield "search", f"{reverse('site:search')}?q=guess"
    yield "account", reverse("accounts:account")
    yield "health", reverse("site:health")


def _boards() -> Iterator[tuple[str, str]]:
    """The leaderboard, with rows of the first benchmark."""
    from django.urls import reverse

    from apps.leaderboard.models import Score

    board, row = reverse("leaderboard:benchmark"), Score.objects.filter(env_id="").order_by("pk").first()
    yield "leaderboard", board
    yield "leaderboard with rows", f"{board}?benchmark=games"
    yield "leaderboard of an environment", f"{board}?benchmark=games&env_id={ENV_ID}"
    yield "leaderboard, all seasons", f"{board}?season=all"
    yield "top of the leaderboard", reverse("leaderboard:top")
    yield "agents on an environment", f"{reverse('leaderboard:agents')}?env_id={ENV_ID}"
    yield "benchmark", reverse("leaderboard:about")
    yield "leaderboard as a file", f"{reverse('leaderboard:scores')}?benchmark=games"
    yield "leaderboard to embed", f"{reverse('leaderboard:embed')}?benchmark=games"
    yield "feed of first places", reverse("leaderboard:first")
    yield "log of decisions", reverse("leaderboard:log")
    yield "played elsewhere", f"{reverse('leaderboard:elsewhere')}?benchmark=games-easy"
    yield "challenges", reverse("leaderboard:challenges")
    yield "form of a challenge", f"{reverse('leaderboard:challenge_new')}?benchmark=games-easy"
    yield "benchmarks of people", reverse("benchmarks:list")
    yield "leaderboard through the API", "/api/v1/leaderboard/games"
    if row is not None:
        yield "row of the leaderboard", row.get_absolute_url()
        yield "opened row", f"{board}?benchmark=games&row={row.pk}"
        yield "badge of a row", reverse("leaderboard:badge", args=[row.pk])


def _places_to_begin() -> Iterator[tuple[str, str]]:
    """The pages from which people go on, by name."""
    from django.urls import reverse

    yield "home", reverse("site:home")
    yield "lobby", reverse("play:lobby")
    yield "lobby, newest games", f"{reverse('play:lobby')}?kind=Games&sort=new"
    yield "TV mode", reverse("play:tv")
    yield "your games", reverse("play:mine")
    yield "your games against agents", f"{reverse('play:mine')}?against=agents&result=won"
    yield "catalog", reverse("catalog:list")
    yield "catalog, most played", f"{reverse('catalog:list')}?sort=played"
    yield "environment", reverse("catalog:environment", args=[ENV_ID])


def _of_an_episode(key: str) -> Iterator[tuple[str, str]]:
    """The pages of one episode by name."""
    from django.urls import reverse

    yield "replay", reverse("episodes:episode", args=[key])
    yield "replay in a frame", reverse("episodes:embed", args=[key])
    yield "why an episode failed", reverse("episodes:why", args=[key])


def _of_agents_and_days() -> Iterator[tuple[str, str]]:
    """Pages that read what is kept of results."""
    from django.urls import reverse

    yield "agents", reverse("agents:list")
    yield "agents that are programs", f"{reverse('agents:list')}?nature=program"
    yield "page of an agent", reverse("agents:agent", args=["expert"])
    yield "profile of an agent through the API", "/api/v1/agents/expert/profile"
    yield "latest episodes of an agent", f"{reverse('episodes:recent')}?agent=expert"
    yield "duels", reverse("standings:duels")
    yield "people", f"{reverse('standings:people')}?benchmark=games-easy"
    yield "your rating", f"{reverse('standings:own')}"
    yield "daily seed", reverse("daily:today")
    yield "daily seed, one line", reverse("daily:line")


def _lists_of_jobs(jobs: str) -> Iterator[tuple[str, str]]:
    """The list of jobs at this address, with all its filters."""
    from apps.jobs.models import Job

    yield "jobs", jobs
    yield "jobs, last page", f"{jobs}?page=100000"
    for state in Job.State.values:
        yield f"jobs, {state}", f"{jobs}?state={state}"
    yield "my jobs", f"{jobs}?whose=mine"
    yield "my jobs that are done", f"{jobs}?whose=mine&state=done"
    yield "archived jobs", f"{jobs}?archived=1"
    yield "my archived jobs", f"{jobs}?archived=1&whose=mine"
    for tag in ("often", "rare", "never"):
        yield f"jobs with a tag, {tag}", f"{jobs}?tag={tag}"
        yield f"jobs with a tag that are done, {tag}", f"{jobs}?tag={tag}&state=done"
    for words in ("often", "rare", "never", "expert"):
        yield f"jobs by words, {words}", f"{jobs}?q={words}"
    yield "jobs by words and tag", f"{jobs}?q=often&tag=rare"
    yield "jobs through the API, by words", "/api/v1/jobs?q=often&limit=50"


def _oldest() -> str:
    """The place in the list shortly before its end."""
    from apps.episodes.lists.paging import place_of
    from apps.episodes.models import Episode

    return place_of(Episode.objects.order_by("created", "-id")[60])


@dataclass(frozen=True, slots=True)
class Times:
    """The requests of a page."""

    milliseconds: list[float]
    """Of each, by the clock."""
    computing: list[float]
    """Milliseconds that this process computed for each: the clock of a busy machine says more than the page needs."""
    status: int


def measure(address: str, requests: int) -> Times:
    """Request a page."""
    from django.test import Client

    from apps.accounts.models import User

    client = Client()
    client.force_login(User.objects.get(username="person-0"), backend="django.contrib.auth.backends.ModelBackend")
    for _ in range(2):  # templates and results of jobs that are over are kept
        client.get(address)
    milliseconds, computing, status = [], [], 0
    for _ in range(requests):
        began, computed = time.perf_counter(), time.process_time()
        status = client.get(address).status_code
        milliseconds.append(1000 * (time.perf_counter() - began))
        computing.append(1000 * (time.process_time() - computed))
    return Times(milliseconds, computing, status)


def explain(address: str) -> str:
    """The slowest query of a page, and how Postgres executes it."""
    from django.db import connection

    connection.force_debug_cursor = True
    connection.queries_log.clear()
    measure(address, 1)
    connection.force_debug_cursor = False
    slowest: dict[str, Any] = max(connection.queries, key=lambda query: float(query["time"]))
    if not slowest["sql"].upper().lstrip().startswith(("SELECT", "WITH")):
        return str(slowest["sql"])
    with connection.cursor() as cursor:
        cursor.execute(f"EXPLAIN (ANALYZE, BUFFERS) {slowest['sql'].replace('%', '%%')}", ())
        plan = "\n".join(row[0][:300] for row in cursor.fetchall())
    return f"{slowest['sql'][:1500]}\n{plan}"


def main() -> None:
    """Fill, measure, and print."""
    parser = argparse.ArgumentParser(prog="python -m bench.scale", description=__doc__)
    parser.add_argument("--episodes", type=int, default=1_000_000, help="episodes in the database")
    parser.add_argument("--only", default="", metavar="TEXT", help="only pages with this in their name")
    parser.add_argument("--requests", type=int, default=20, help="requests of each page")
    arguments = parser.parse_args()
    os.environ["TRANSACTION_SECONDS"] = "0"  # the database is filled in large steps
    with stack():
        from django.conf import settings

        settings.ALLOWED_HOSTS.append("testserver")
        began = time.perf_counter()
        fill(arguments.episodes)
        print(f"{arguments.episodes:,} episodes in {time.perf_counter() - began:.0f} s; {machine()}\n", flush=True)
        import gemweb.asgi  # noqa: F401 (so that garbage is collected as in a web process)

        rows: list[tuple[str, ...]] = [("page", "p50 ms", "p95 ms", "computing, p50 ms", "p95 ms", "status")]
        slow = []
        for name, address in addresses():
            if arguments.only not in name:
                continue
            times = measure(address, arguments.requests)
            p50, p95 = percentile(times.milliseconds, 0.5), percentile(times.milliseconds, 0.95)
            computing = [f"{percentile(times.computing, share):.0f}" for share in (0.5, 0.95)]
            rows.append((name, f"{p50:.0f}", f"{p95:.0f}", *computing, str(times.status)))
            if p95 > TARGET_MS:
                slow.append((p95, name, address))
        print_table(rows)
        for p95, name, address in sorted(slow, reverse=True):
            print(f"\n{name}: {p95:.0f} ms, {address}\n{explain(address)}", flush=True)


if __name__ == "__main__":
    main()
