"""Play benchmarks with an adversary that looks everything up in a table of what is public, and computes nothing.

python -m bench.agents.lookup_agent                   # every environment that has not been measured; writes starts.json
python -m bench.agents.lookup_agent Sokoban 200       # ids that contain the word, on 200 seeds of an unrelated key
python -m bench.agents.lookup_agent games --key HEX   # also on the seeds of a published season's key
python -m bench.agents.lookup_agent Sokoban --again   # also what has been measured

The table is built from the practice seeds of a benchmark: what an agent has read so far, to what the expert did then,
or to the correct answer that an environment shows after a wrong one. What the table does not know, it plays at random.
Where it reaches 0.9 of the anchor on seeds of a key that nobody has published, hidden seeds hide nothing, and the
environment is labelled an open set (`python -m bench.benchmark_files` writes the label).
"""

from __future__ import annotations

import argparse
import hashlib
import math
import os
from collections.abc import Iterable, Sequence
from statistics import NormalDist

import gem
from bench.starts import count, digest, read, write
from gem import benchmarks
from gem.agents import Decision, ExpertAgent, RandomAgent, Request, has_expert
from gem.benchmarks import Benchmark, BenchmarkEntry
from gem.benchmarks.seeds import COMMON, derive_seed
from gem.check.benchmark_file import OPEN_SCORE
from gem.envs.problems.problem import CORRECT_ANSWER
from gem.evaluation.intervals import SeedSums, estimate_return
from gem.rollout import EpisodeRequest, rollout

EPISODES = 100
UNRELATED_KEY = hashlib.sha256(b"a key that no season has").digest()
MAX_STARTS = 500
"""The number of seeds whose starts are counted where `bench.starts` has not done so."""


class LookupAgent:
    """Does what the table says about what it has read so far; at random where the table says nothing."""

    name = "lookup"

    def __init__(self, table: dict[bytes, str]) -> None:
        self.table = table
        self.known = self.unknown = 0
        self._random = RandomAgent()

    def act(self, requests: Sequence[Request]) -> list[Decision]:
        """See `Agent.act`."""
        return [self._decide(request) for request in requests]

    def _decide(self, request: Request) -> Decision:
        for key in keys(request):
            if key in self.table:
                self.known += 1
                return Decision(self.table[key])
        self.unknown += 1
        return self._random.act([request])[0]


class WritingExpert:
    """Plays as the expert, and writes into the table what it did and what it had read."""

    name = "expert"

    def __init__(self, table: dict[bytes, str]) -> None:
        self.table = table
        self._expert = ExpertAgent()

    def act(self, requests: Sequence[Request]) -> list[Decision]:
        """See `Agent.act`."""
        decisions = self._expert.act(requests)
        for request, decision in zip(requests, decisions, strict=True):
            for key in keys(request):
                self.table.setdefault(key, decision.action)
        return decisions


def keys(request: Request) -> tuple[bytes, bytes]:
    """Everything that the agent has read and done in this episode, and what it reads now alone."""
    now = reading(request.observation, request.info)
    past = [[reading(each.observation, each.info), each.action] for each in request.past]
    return digest([past, now]), digest(now)


def reading(observation: str, info: object) -> str:
    """What an agent reads in a turn."""
    return observation + str(info.get("suffix", "")) if isinstance(info, dict) else observation


def public_table(entry: BenchmarkEntry) -> dict[bytes, str]:
    """The table that the practice seeds of an environment give."""
    table: dict[bytes, str] = {}
    requests = [EpisodeRequest(index, entry.env_id, seed) for index, seed in enumerate(entry.seeds)]
    if has_expert(entry.env_id):
        for _ in rollout(WritingExpert(table), requests):
            pass
        return table
    for record in rollout(RandomAgent(), requests):
        last = record.turns[-1].observation if record.turns else ""
        if CORRECT_ANSWER in last:
            answer = last.partition(CORRECT_ANSWER)[2]
            table[digest(reading(record.first_observation, record.first_info))] = f"\\boxed{{{answer}}}"
    return table


def seeds_of(key: bytes, benchmark: Benchmark, env_id: str, n: int) -> list[int]:
    """The first seeds that a season with this key has for an environment of a benchmark."""
    return [derive_seed(key, benchmark.name, benchmark.version, env_id, COMMON, number) for number in range(n)]


def returns_on(agent: LookupAgent, env_id: str, seeds: Iterable[int]) -> list[float]:
    """The returns of the adversary, by seed."""
    requests = [EpisodeRequest(index, env_id, seed) for index, seed in enumerate(seeds)]
    records = sorted(rollout(agent, requests), key=lambda record: record.index)
    if failed := [record.failure for record in records if record.failure]:
        raise RuntimeError(f"{env_id}: {failed[0]}")
    return [record.total_reward for record in records]


def entries(word: str) -> list[tuple[Benchmark, BenchmarkEntry]]:
    """The environments with hidden seeds whose id, or whose benchmark's name, contains the word; each once."""
    found: dict[str, tuple[Benchmark, BenchmarkEntry]] = {}
    for benchmark in map(benchmarks.load, benchmarks.names()):
        for entry in benchmark.entries:
            is_wanted = word in entry.env_id or word == benchmark.name
            if entry.hidden_seeds and not benchmark.members and is_wanted:
                found.setdefault(entry.env_id, (benchmark, entry))
    return [pair for pair in found.values() if not gem.spec(pair[1].env_id).missing_packages()]


def main() -> None:
    """Measure environment by environment; what is done stays when it is interrupted."""
    parser = argparse.ArgumentParser(description="Play benchmarks by looking up what is public.")
    parser.add_argument("word", nargs="?", default="")
    parser.add_argument("episodes", nargs="?", type=int, default=EPISODES)
    parser.add_argument("--key", default="", help="64 hexadecimal digits: a season's published key")
    parser.add_argument("--again", action="store_true")
    arguments = parser.parse_args()
    chosen = entries(arguments.word)
    differing = []
    print(f"{'environment':34} {'starts':>6} {'practice':>8} {'hidden':>8} {'95 %':>15} {'known':>6}")
    for benchmark, entry in chosen:
        row = read().get(entry.env_id, {})
        is_done = row.get("env_version") == entry.env_version and row.get("hidden") is not None
        if is_done and not arguments.again and not arguments.key:
            continue
        if row.get("env_version") != entry.env_version:
            starts, observations = count(entry.env_id, MAX_STARTS)
            row = {"env_id": entry.env_id, "env_version": entry.env_version, "seeds": MAX_STARTS,
                   "starts": starts, "observations": observations}  # fmt: skip
        agent = LookupAgent(public_table(entry))
        practice = returns_on(agent, entry.env_id, entry.seeds)
        agent.known = agent.unknown = 0
        seeds = seeds_of(UNRELATED_KEY, benchmark, entry.env_id, arguments.episodes)
        unrelated = returns_on(agent, entry.env_id, seeds)
        share = agent.known / (agent.known + agent.unknown)
        row |= {"practice": score(entry, practice), "hidden": score(entry, unrelated)}
        write(read() | {entry.env_id: row})
        print_row(entry, row["starts"], practice, unrelated, share)
        if arguments.key:
            season = seeds_of(bytes.fromhex(arguments.key), benchmark, entry.env_id, arguments.episodes)
            of_season = returns_on(agent, entry.env_id, season)
            print(f"{'':34} season {score(entry, of_season):.3f}")
            if not agrees(of_season, unrelated, len(chosen)):
                differing.append(entry.env_id)
    if arguments.key:
        print(f"Seeds of the season differ from those of an unrelated key in: {', '.join(differing) or 'none'}.")


def score(entry: BenchmarkEntry, returns: Sequence[float]) -> float:
    """The clipped score of the mean return."""
    return round(entry.score(sum(returns) / len(returns)), 4)


def print_row(
    entry: BenchmarkEntry, starts: int, practice: Sequence[float], unrelated: Sequence[float], share: float
) -> None:
    """Print a line about one environment: both scores, and how many of the turns the table knew."""
    found = estimate_return(SeedSums.of([value]) for value in unrelated)
    low, high = (found.mean, found.mean) if found.interval is None else found.interval[1:]
    ends = f"{entry.score(low):.2f} to {entry.score(high):.2f}" if low < high else ""
    label = "  open set" if score(entry, unrelated) >= OPEN_SCORE else ""
    print(
        f"{entry.env_id:34} {starts:6,} {score(entry, practice):8.3f} {score(entry, unrelated):8.3f} {ends:>15} "
        f"{share:6.0%}{label}",
        flush=True,
    )


def agrees(first: Sequence[float], second: Sequence[float], comparisons: int) -> bool:
    """Whether the difference of two means has zero in its interval, which is simultaneous over all comparisons."""
    means = [sum(values) / len(values) for values in (first, second)]
    variances = [
        sum((value - mean) ** 2 for value in values) / max(1, len(values) - 1) / len(values)
        for values, mean in zip((first, second), means, strict=True)
    ]
    quantile = NormalDist().inv_cdf(1 - 0.025 / comparisons)
    return abs(means[0] - means[1]) <= quantile * math.sqrt(sum(variances)) + 1e-9


if __name__ == "__main__":
    os.environ["GEM_DATA_FROM"] = "sample"  # what everybody has, and no network
    main()
