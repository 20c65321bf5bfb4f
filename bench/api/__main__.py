"""The server time of reads through the REST API, in a database with a million episodes: `python -m bench.api`.

    python -m bench.api --episodes 200000

The database is filled as by `bench.scale`. Then each address is read in this process, without a network, with the token
of somebody who has many episodes. The target is 30 ms (95th percentile).
"""

from __future__ import annotations

import argparse
import os
import time
from collections.abc import Iterator

from bench.scale import ENV_ID, SMALL_JOB, Times, fill
from bench.stack import machine, percentile, print_table, stack

TARGET_MS = 30.0


def addresses() -> Iterator[tuple[str, str]]:
    """What is read, by name."""
    from apps.episodes.lists.paging import place_of
    from apps.episodes.models import Episode
    from apps.jobs.models import Job

    oldest = place_of(Episode.objects.order_by("created", "-id")[60])
    played = Episode.objects.filter(of_job=False, status="ended").order_by("pk")[0]
    running = Episode.objects.filter(of_job=False, status="running", turn_count__gt=0).order_by("pk")[0]
    large = Job.objects.order_by("-episodes_total", "pk")[0]
    small = Job.objects.filter(episodes_total=SMALL_JOB).order_by("pk")[0]
    yield "account", "account"
    yield "quotas", "account/quotas"
    yield "environments", "environments?limit=50"
    yield "an environment", f"environments/{ENV_ID}"
    yield "agents", "agents"
    yield "an agent", "agents/expert"
    for source in ("", "jobs", "all"):
        yield f"episodes, source={source}", f"episodes?source={source}"
    yield "episodes, 200 at a time", "episodes?source=all&limit=200"
    yield "episodes, oldest", f"episodes?source=all&cursor={oldest}"
    yield "episodes of an environment", f"episodes?source=all&env_id={ENV_ID}"
    yield "episodes of an agent", "episodes?source=all&agent=expert"
    yield "episodes with an environment error", "episodes?source=all&outcome=error"
    yield "episodes of a seed", f"episodes?source=all&env_id={ENV_ID}&seed=7"
    yield "my episodes", "episodes?mine=true"
    yield "an episode that has ended", f"episodes/{played.pk}"
    yield "an episode that is running", f"episodes/{running.pk}"
    yield "its turns", f"episodes/{running.pk}/turns"
    yield "its record", f"episodes/{running.pk}/record.json"
    yield "jobs", "jobs"
    yield "my jobs", "jobs?mine=true"
    yield "jobs that failed", "jobs?state=failed"
    for name, job in (("45,000 episodes", large), ("1,000 episodes", small)):
        yield f"a job of {name}", f"jobs/{job.pk}"
        yield f"results of a job of {name}", f"jobs/{job.pk}/results"
        yield f"episodes of a job of {name}", f"jobs/{job.pk}/episodes"
        yield f"its last episodes, {name}", f"jobs/{job.pk}/episodes?cursor={job.episodes_total - 60}"
        yield f"its errors, {name}", f"jobs/{job.pk}/episodes?outcome=error"
        yield f"its log, {name}", f"jobs/{job.pk}/log"
    yield "trainings", "trainings"
    yield "benchmarks", "benchmarks"
    yield "leaderboard", "leaderboard/games"


def measure(path: str, secret: str, requests: int) -> Times:
    """Read an address."""
    from django.test import Client

    client, headers = Client(), {"Authorization": f"Bearer {secret}"}
    for _ in range(2):  # results of jobs that are over are kept
        client.get(f"/api/v1/{path}", headers=headers)
    milliseconds, computing, status = [], [], 0
    for _ in range(requests):
        began, computed = time.perf_counter(), time.process_time()
        status = client.get(f"/api/v1/{path}", headers=headers).status_code
        milliseconds.append(1000 * (time.perf_counter() - began))
        computing.append(1000 * (time.process_time() - computed))
    return Times(milliseconds, computing, status)


def main() -> None:
    """Fill, measure, and print."""
    parser = argparse.ArgumentParser(prog="python -m bench.api", description=__doc__)
    parser.add_argument("--episodes", type=int, default=1_000_000, help="episodes in the database")
    parser.add_argument("--requests", type=int, default=20, help="requests of each address")
    arguments = parser.parse_args()
    os.environ["TRANSACTION_SECONDS"] = "0"  # the database is filled in large steps
    with stack():
        from django.conf import settings

        from apps.accounts.models import User
        from apps.api import operations

        settings.ALLOWED_HOSTS.append("testserver")
        began = time.perf_counter()
        fill(arguments.episodes)
        print(f"{arguments.episodes:,} episodes in {time.perf_counter() - began:.0f} s; {machine()}\n", flush=True)
        import gemweb.asgi  # noqa: F401 (so that garbage is collected as in a web process)

        _, secret = operations.make_token(User.objects.get(username="person-1"), "bench", [])
        rows: list[tuple[str, ...]] = [("address", "p50 ms", "p95 ms", "computing, p95 ms", "status", "")]
        for name, path in addresses():
            times = measure(path, secret, arguments.requests)
            p50, p95, computing = (
                percentile(times.milliseconds, 0.5),
                percentile(times.milliseconds, 0.95),
                percentile(times.computing, 0.95),
            )
            note = "above the target" if p95 > TARGET_MS else ""
            rows.append((name, f"{p50:.1f}", f"{p95:.1f}", f"{computing:.1f}", str(times.status), note))
        print_table(rows)


if __name__ == "__main__":
    main()
