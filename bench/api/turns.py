"""Turns a second that one client reads as JSON lines from one web process, and the memory that it needs for them.

    python -m bench.api.turns [--episodes 5000] [--rounds 5]

Two evaluations are played, one with a tenth of the episodes of the other, and their episodes are read whole with
`client.jobs.records` by a process of its own, which makes an object of every turn. Server, client and database share
this machine. The memory is the peak of the client's process; if it needed the whole stream, it would grow tenfold.
"""

import argparse
import json
import os
import resource
import subprocess
import sys
import time
from statistics import median
from typing import Any

import psutil

from bench.stack import Stack, machine, print_table, root, stack

ENV_ID = "game:Sokoban-v0-easy"
TARGET = 5_000


def main() -> None:
    """Measure, or be the client that is measured."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--episodes", type=int, default=5000)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument(
        "--read", nargs=2, metavar=("URL", "JOB"), help="read the episodes of a job and print what it took"
    )
    options = parser.parse_args()
    if options.read:
        print(json.dumps(_read(*options.read)))
        return
    with stack() as running:
        _measure(running, options.episodes, options.rounds)


def _measure(running: Stack, episodes: int, rounds: int) -> None:
    web, port = running.web()
    url = f"http://127.0.0.1:{port}"
    rows: list[tuple[str, ...]] = [
        ("episodes", "turns", "MB", "turns/s", "CPU s of the client", "CPU s of the web process", "peak memory, MB")
    ]
    for number in (episodes // 10, episodes):
        job_id = _play(number)
        results = [_ask_client(url, job_id, web.process.pid) for _ in range(rounds)]
        middle: dict[str, Any] = {name: median(result[name] for result in results) for name in results[0]}
        rows.append(
            (
                f"{number:,}",
                f"{middle['turns']:,.0f}",
                f"{middle['bytes'] / 1e6:.1f}",
                f"{middle['turns'] / middle['seconds']:,.0f}",
                f"{middle['cpu']:.2f}",
                f"{middle['server_cpu']:.2f}",
                f"{middle['memory']:.0f}",
            )
        )
    print_table(rows)
    print(f"Medians of {rounds} rounds; target {TARGET:,} turns/s; {machine()}.")


def _play(episodes: int) -> str:
    """Play an evaluation as a worker does, and return its job."""
    from apps.accounts.models import User
    from apps.jobs import leases, operations
    from gem.agents import make_agent
    from gem.evaluation.spec import EvaluationSpec
    from gem.rollout import rollout

    owner, _ = User.objects.get_or_create(username="bench")
    spec = EvaluationSpec(agent="expert", env_ids=(ENV_ID,), episodes_per_env=episodes)
    job = operations.submit(owner, spec, visibility="public")
    agent = make_agent("expert")
    while (claim := leases.claim()) is not None:
        leases.record_episodes(claim, list(rollout(agent, claim.slots(), num_envs=64)))
    return str(job.pk)


def _ask_client(url: str, job_id: str, web_pid: int) -> dict[str, float]:
    before = psutil.Process(web_pid).cpu_times()
    command = [sys.executable, "-m", "bench.api.turns", "--read", url, job_id]
    environment = {name: value for name, value in os.environ.items() if not name.startswith("GEMWEB_")}
    done = subprocess.run(command, cwd=root(), env=environment, check=True, capture_output=True, text=True)
    after = psutil.Process(web_pid).cpu_times()
    return {**json.loads(done.stdout), "server_cpu": after.user + after.system - before.user - before.system}


def _read(url: str, job_id: str) -> dict[str, float]:
    """Read all episodes of a job with their turns."""
    from gem.client import Client

    with Client(url) as client:
        size = sum(len(part) for part in client.jobs.export(job_id))
        start, cpu = time.perf_counter(), time.process_time()
        turns = sum(len(record.turns) for record in client.jobs.records(job_id))
        seconds, cpu = time.perf_counter() - start, time.process_time() - cpu
    memory = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / (1 << 20 if sys.platform == "darwin" else 1 << 10)
    return {"turns": turns, "bytes": size, "seconds": seconds, "cpu": cpu, "memory": memory}


if __name__ == "__main__":
    main()
