"""How long it takes to send 10,000 episodes that were played elsewhere, and until all of them are verified.

    python -m bench.results
    python -m bench.results --episodes 100000

A person adds a benchmark of ten games, draws a challenge of 1,000 episodes and one of 10,000, plays each with random
actions in this process, and sends the files as `gemweb push` does, packed with gzip. One web process receives them, and
one worker executes every episode again and records it. The memory is the most that the processes of each had, above
what they had before; it may not grow with the number of episodes, but for 200 bytes of digest each. Target: 10,000
episodes are sent in under 30 s.
"""

from __future__ import annotations

import argparse
import gzip
import json
import logging
import sys
import threading
import time
from pathlib import Path
from types import TracebackType
from typing import Self

import psutil

from bench.jobs.workers import start_workers
from bench.stack import Stack, machine, print_table, stack
from gem import benchmarks
from gem.agents import make_agent
from gem.benchmarks import document
from gem.client import Client
from gem.records import episode_files
from gem.rollout import EpisodeRequest, rollout
from gem.verification import challenges

EPISODES = 10_000
SMALL = 10
"""The smaller challenge has so many times fewer."""
TARGET_SECONDS = 30.0
GAMES = 10
MAX_GROWTH_MIB = 64
"""How much more memory the larger challenge may need than the smaller one."""
MIB = 2**20


def main() -> None:
    """Print the table, and exit with 1 if a target is missed."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--episodes", type=int, default=EPISODES, help="of the larger challenge (10,000)")
    chosen = parser.parse_args()
    logging.getLogger("httpx2").setLevel(logging.WARNING)
    with stack() as made:
        rows, targets = measure(made, chosen.episodes)
    print_table(rows)
    print(f"{machine()}; targets {'met' if all(targets) else 'missed'}")
    sys.exit(0 if all(targets) else 1)


def measure(made: Stack, most: int) -> tuple[list[tuple[str, ...]], list[bool]]:
    """Send a small and a large challenge, and return the rows of the table and whether each target is met."""
    web, port = made.web(UPLOADS_PER_HOUR="1000")
    worker = start_workers(made, 1)
    secret = _person()
    rows: list[tuple[str, ...]] = [
        ("episodes", "turns", "packed", "sent", "verified after", "web process", "worker"),
    ]
    growths: list[dict[str, float]] = []
    sent = 0.0
    with Client(f"http://127.0.0.1:{port}", secret) as client:
        for number in (most // SMALL, most):
            name = _add_benchmark(client, number)
            drawn = client.challenges.draw(name, "random elsewhere", "program")
            file = made.folder / f"{drawn.id}.jsonl.gz"
            turns = _play(challenges.read(client.challenges.document(drawn.id)), file)
            with MemoryOf({"web": psutil.Process(web.process.pid), "worker": worker}) as memory:
                began = time.monotonic()
                client.challenges.push(drawn.id, file)
                sent = time.monotonic() - began
                verified = _wait(client, drawn.id) - began
            growths.append(memory.growth)
            rows.append(
                (
                    f"{number:,}", f"{turns:,}", f"{file.stat().st_size / MIB:.1f} MiB", f"{sent:.1f} s",
                    f"{verified:.1f} s", *(f"+{memory.growth[name] / MIB:.0f} MiB" for name in ("web", "worker")),
                )
            )  # fmt: skip
    grown = max(growths[1][name] - growths[0][name] for name in growths[0]) / MIB
    print(f"Target: sent in under {TARGET_SECONDS:.0f} s, and at most {MAX_GROWTH_MIB} MiB more for ten times as many")
    return rows, [sent < TARGET_SECONDS, grown < MAX_GROWTH_MIB]


def _person() -> str:
    """Somebody with a token that may do everything."""
    from apps.accounts.models import User
    from apps.agents.models import Agent
    from apps.api.operations import make_token

    Agent.objects.get_or_create(slug="random", defaults={"name": "random", "kind": "random", "colour": 8})
    user = User.objects.create_user("bench", password="bench", is_staff=True)
    return make_token(user, "bench", ("read", "submit", "manage"))[1]


def _add_benchmark(client: Client, episodes: int) -> str:
    """Add a benchmark of some games with so many hidden seeds, and return its name."""
    whole = document.parse(benchmarks.text_of("games-easy"))
    slow = ("Sokoban", "Sudoku")
    entries = [each for each in whole["entries"] if not any(name in each["env_id"] for name in slow)][:GAMES]
    data = {
        **whole,
        "name": f"games-{episodes}",
        "entries": [{**each, "hidden_seeds": episodes // GAMES} for each in entries],
    }
    made = client.benchmarks.add(data)
    while made.versions[0].state == "checking":
        time.sleep(0.1)
        made = client.benchmarks.own(made.name)
    if made.versions[0].state != "ready":
        raise SystemExit(" ".join(made.versions[0].problems))
    return made.name


def _play(challenge: challenges.Challenge, file: Path) -> int:
    """Play a challenge with the random agent into a packed file, and return the number of turns."""
    planned = map(challenge.planned, range(challenge.episodes))
    requests = [EpisodeRequest(n, each.env_id, each.seed, {}, each.wrappers) for n, each in enumerate(planned) if each]
    turns = 0
    with gzip.open(file, "wt", 3, encoding="utf-8") as out:
        for record in rollout(make_agent("random"), requests):
            out.write(episode_files.episode_line(record, "random"))
            turns += record.turn_count
    return turns


def _wait(client: Client, key: str) -> float:
    """Wait until a challenge is verified, and return the time."""
    while True:
        found = client.challenges.get(key)
        if found.state == "verified":
            return time.monotonic()
        if found.problem:
            raise SystemExit(f"The episodes are not verified: {json.dumps(found.problem)}")
        time.sleep(0.2)


class MemoryOf:
    """Notes the most memory that some processes have, with their children, while the block lasts."""

    def __init__(self, processes: dict[str, psutil.Process]) -> None:
        self._processes = processes
        self._before = {name: _memory(process) for name, process in processes.items()}
        self._most = dict(self._before)
        self._is_over = threading.Event()
        self._thread = threading.Thread(target=self._watch, daemon=True)

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        self._is_over.set()
        self._thread.join()

    @property
    def growth(self) -> dict[str, float]:
        """Bytes above those before, by the names of the processes."""
        return {name: most - self._before[name] for name, most in self._most.items()}

    def _watch(self) -> None:
        while not self._is_over.wait(0.2):
            for name, process in self._processes.items():
                self._most[name] = max(self._most[name], _memory(process))


def _memory(process: psutil.Process) -> float:
    total = 0.0
    for each in (process, *process.children(recursive=True)):
        try:
            total += each.memory_info().rss
        except psutil.NoSuchProcess:
            continue
    return total


if __name__ == "__main__":
    main()
