"""Play a benchmark twice from within an endpoint that remembers everything it was asked: does the second time gain?

    python -m bench.agents.remembering_endpoint
    python -m bench.agents.remembering_endpoint --seasons 40 --benchmark games-hard

The endpoint has studied its first submission at leisure: for all that it was asked then, it knows what the expert did.
In its second submission it plays what it recognises, and at random elsewhere. If the seeds were the same again, memory
would be worth as much as the expert. With seeds of its own, as a site draws them for every submission, it has to be
worth no more than what anybody has studied on seeds of no submission at all: the gain is the difference to such an
agent on the same seeds. What is recognised is what episodes of any seeds have in common, such as the first turn of
games with few starts.

What the endpoint was asked decides how well it plays all seeds of its second submission. So these are not independent,
and all is repeated in several seasons with keys of their own, whose mean gains are.
Target: no gain in any environment, with intervals that hold for all of them at once (Student's t over seasons).
"""

from __future__ import annotations

import argparse
import hashlib
import math
import sys
from dataclasses import dataclass
from statistics import NormalDist, mean, stdev

from bench.agents.lookup_agent import LookupAgent, WritingExpert, returns_on
from bench.stack import machine, print_table
from gem import benchmarks
from gem.agents import has_expert
from gem.benchmarks import BenchmarkEntry
from gem.benchmarks.seeds import derive_seed
from gem.evaluation.intervals import student_quantile
from gem.rollout import EpisodeRequest, rollout

SEASONS, SEEDS = 20, 10
FIRST, SECOND, ELSEWHERE = "1", "2", "elsewhere"
"""The scopes of the seeds of two submissions, and of those that are of no submission."""
ROUNDING = 1e-9


@dataclass(frozen=True, slots=True)
class Play:
    """Mean returns in one season."""

    same: float
    """On the seeds of the first submission again."""
    second: float
    """On those of the second submission, with the memory of the first."""
    other: float
    """On these too, with the memory of seeds of no submission."""
    recognised: float
    """The share of the turns of the second submission that were remembered."""


def main() -> None:
    """Print the table, and exit with 1 if a second submission gains from memory."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--benchmark", default="games-easy")
    parser.add_argument("--seasons", type=int, default=SEASONS, help=f"each with a key of its own ({SEASONS})")
    parser.add_argument("--seeds", type=int, default=SEEDS, help=f"of each environment and submission ({SEEDS})")
    chosen = parser.parse_args()
    entries = [each for each in benchmarks.load(chosen.benchmark).entries if has_expert(each.env_id)]
    rows: list[tuple[str, ...]] = [
        ("environment", "same seeds again", "seeds of its own", "recognised", "studied elsewhere", "gain", "at once")
    ]
    gains = 0
    for entry in entries:
        plays = [play(chosen.benchmark, entry, season, chosen.seeds) for season in range(chosen.seasons)]
        row, has_gained = summary(entry, plays, len(entries))
        rows.append(row)
        gains += has_gained
    print_table(rows)
    print(f"Environments in which a second submission gains: {gains}; target: 0. {machine()}")
    sys.exit(1 if gains else 0)


def play(benchmark: str, entry: BenchmarkEntry, season: int, count: int) -> Play:
    """Play one environment in one season."""
    seeds = {scope: _seeds(benchmark, entry, season, scope, count) for scope in (FIRST, SECOND, ELSEWHERE)}
    remembered = _studied(entry, seeds[FIRST])
    same = returns_on(LookupAgent(remembered), entry.env_id, seeds[FIRST])
    second = LookupAgent(remembered)
    returns = returns_on(second, entry.env_id, seeds[SECOND])
    others = returns_on(LookupAgent(_studied(entry, seeds[ELSEWHERE])), entry.env_id, seeds[SECOND])
    return Play(mean(same), mean(returns), mean(others), second.known / max(1, second.known + second.unknown))


def summary(entry: BenchmarkEntry, plays: list[Play], environments: int) -> tuple[tuple[str, ...], bool]:
    """The row of the table for an environment, and whether memory was worth something."""
    gains = [each.second - each.other for each in plays]
    quantile = student_quantile(len(gains) - 1, NormalDist().inv_cdf(1 - 0.025 / environments))
    margin = quantile * stdev(gains) / math.sqrt(len(gains))
    row = (
        entry.env_id,
        f"{mean(each.same for each in plays):.3f}",
        f"{mean(each.second for each in plays):.3f}",
        f"{mean(each.recognised for each in plays):.1%}",
        f"{mean(each.other for each in plays):.3f}",
        f"{mean(gains):+.3f}",
        f"{mean(gains) - margin:+.3f} to {mean(gains) + margin:+.3f}",
    )
    return row, mean(gains) - margin > ROUNDING


def _studied(entry: BenchmarkEntry, seeds: list[int]) -> dict[bytes, str]:
    """What the expert did in everything that it was asked on these seeds."""
    table: dict[bytes, str] = {}
    for _ in rollout(WritingExpert(table), [EpisodeRequest(n, entry.env_id, seed) for n, seed in enumerate(seeds)]):
        pass
    return table


def _seeds(benchmark: str, entry: BenchmarkEntry, season: int, scope: str, count: int) -> list[int]:
    key = hashlib.sha256(f"the key of season {season} of this bench".encode()).digest()
    version = benchmarks.load(benchmark).version
    return [derive_seed(key, benchmark, version, entry.env_id, scope, index) for index in range(count)]


if __name__ == "__main__":
    main()
