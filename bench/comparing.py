"""Whether comparisons keep their word: false alarms, coverage of the intervals, and the sequential stop, by simulation.

    python -m bench.comparing
    python -m bench.comparing --full

Agents are simulated, and the functions that compare them are those of `gem.evaluation`. In a null pair both agents are
equally good, so every decision is a false alarm. The default repeats each set of null pairs 10,000 times and everything
else less often; `--full` repeats all of it 10,000 times.
"""

from __future__ import annotations

import argparse
import functools
import math
import multiprocessing
import os
import random
import statistics
import sys
import time
from collections.abc import Callable, Iterator

from bench.agents.simulated_agents import beta_chances, clustered_run, skewed, solved_pairs
from bench.stack import print_table
from gem.evaluation.compare import compare
from gem.evaluation.comparison import power, sequential
from gem.evaluation.comparison.differences import by_environment, difference
from gem.evaluation.comparison.pairs import SeedPair, pair
from gem.evaluation.comparison.runs import Measure, Run, ScoredEpisode
from gem.evaluation.intervals import Estimate, SeedSums, estimate_return, estimate_success

FULL = 10_000
MAX_ALARMS = 0.055
MIN_COVERAGE = 0.94
LARGE, MAX_SECONDS = 10_000, 1.0
CHUNKS = 8
"""Parts of a set that run in parallel, each with random numbers of its own."""


# ------------------------------------------------------------------ sets of null pairs

Alarms = tuple[bool, bool, bool]
"""Whether the interval leaves out zero, whether p is below 5 %, and whether the comparison claims a winner."""


def _alarms(pairs: list[SeedPair], measure: Measure, *, single: bool = True) -> Alarms:
    found = difference(pairs, measure, single=single)
    return found.estimate.excludes_zero, found.p_value < 0.05, found.decided


def null_ties(draw: random.Random) -> Alarms:
    return _alarms(solved_pairs(draw, 100, 0.8, 0.8, alike=0.85), "success")


def null_independent(draw: random.Random) -> Alarms:
    return _alarms(solved_pairs(draw, 50, 0.5, 0.5), "success")


def null_few(draw: random.Random) -> Alarms:
    return _alarms(solved_pairs(draw, 12, 0.6, 0.6), "success")


def null_clusters(draw: random.Random) -> Alarms:
    chances = beta_chances(draw, 30, 0.6, 0.5)
    first, second = (clustered_run(draw, chances, tries=4, seats=2) for _ in range(2))
    return _alarms(pair(first, second, "success").pairs, "success", single=False)


def null_skewed(draw: random.Random) -> Alarms:
    pairs = []
    for seed in range(30):
        scale = draw.lognormvariate(0, 0.5)
        pairs.append(SeedPair("game", seed, skewed(draw, scale), skewed(draw, scale)))
    return _alarms(pairs, "return")


def null_rare_returns(draw: random.Random) -> Alarms:
    """Returns that are mostly 0, and sometimes 1 or 5."""
    rewards = (0.0, 0.0, 0.0, 0.0, 1.0, 1.0, 5.0)
    pairs = [SeedPair("game", seed, draw.choice(rewards), draw.choice(rewards)) for seed in range(50)]
    return _alarms(pairs, "return")


def null_environments(draw: random.Random) -> Alarms:
    """Whether any of eight environments has a winner, with Holm's correction."""
    pairs = [
        row._replace(env_id=str(env))
        for env in range(8)
        for row in solved_pairs(draw, 20, 0.1 * (env + 1), 0.1 * (env + 1))
    ]
    found = by_environment(pairs, "success", single=True)
    return (
        any(one.estimate.excludes_zero for one in found) and any(one.decided for one in found),
        any(one.p_adjusted < 0.05 for one in found),
        any(one.decided for one in found),
    )


def null_agents(draw: random.Random) -> Alarms:
    """Whether any of the six pairs of four agents has a winner, with Holm's correction."""
    chances = beta_chances(draw, 30, 0.5, 0.4)
    runs = [clustered_run(draw, chances, tries=1, seats=1) for _ in range(4)]
    found = [one.difference for one in compare(runs).pairs if one.difference]
    alarm = any(one.decided for one in found)
    return alarm, any(one.p_adjusted < 0.05 for one in found), alarm


PLANNED = 0.15
"""The difference of solved shares that the sequential comparisons plan for."""


@functools.cache
def planned_seeds() -> int:
    return power.seeds_needed(PLANNED, power.COIN_DEVIATION)


def null_sequential(draw: random.Random) -> Alarms:
    """Whether bets decide at any seed up to the planned number."""
    chosen = sequential.bets(PLANNED, power.COIN_DEVIATION)
    rounds = ([row.difference] for row in solved_pairs(draw, planned_seeds(), 0.5, 0.5))
    alarm = sequential.seeds_until_decided(rounds, chosen) is not None
    return alarm, alarm, alarm


def null_sequential_clusters(draw: random.Random) -> Alarms:
    """The same with four tries for each seed, three environments in rounds, and bets that were not planned."""
    alarm_at = sequential.seeds_until_decided(_clustered_rounds(draw))
    return (alarm_at is not None,) * 3


def _clustered_rounds(draw: random.Random) -> list[list[float]]:
    rounds = []
    for _ in range(40):
        differences = []
        for mean in (0.2, 0.5, 0.9):
            chance = draw.betavariate(2 * mean, 2 * (1 - mean))
            wins = [sum(draw.random() < chance for _ in range(4)) for _ in range(2)]
            differences.append((wins[0] - wins[1]) / 4)
        rounds.append(differences)
    return rounds


NULL_SETS: dict[str, Callable[[random.Random], Alarms]] = {
    "mostly ties, 100 seeds": null_ties,
    "no ties by design, 50 seeds": null_independent,
    "12 seeds": null_few,
    "30 seeds x 2 seats x 4 tries": null_clusters,
    "skewed returns, 30 seeds": null_skewed,
    "rare returns, 50 seeds": null_rare_returns,
    "any of 8 environments": null_environments,
    "any pair of 4 agents": null_agents,
    "sequential, a look at each seed": null_sequential,
    "sequential, 3 environments x 4 tries": null_sequential_clusters,
}


# ------------------------------------------------------------------ coverage


def _covers(estimate: Estimate, truth: float) -> tuple[bool, bool]:
    """Whether there is an interval, and whether it holds the truth."""
    if estimate.low is None or estimate.high is None:
        return False, False
    return True, estimate.low <= truth <= estimate.high


def cover_share(
    draw: random.Random, seeds: int, share: float, tries: int = 1, spread: float = 0.0
) -> tuple[bool, bool]:
    chances = beta_chances(draw, seeds, share, spread) if spread else [share] * seeds
    wins = [sum(draw.random() < chance for _ in range(tries)) for chance in chances]
    return _covers(estimate_success(SeedSums(tries, 0, 0, 0, 0, won) for won in wins), share)


def cover_return(draw: random.Random, seeds: int, kind: str) -> tuple[bool, bool]:
    values = [RETURNS[kind][0](draw) for _ in range(seeds)]
    return _covers(estimate_return(SeedSums.of([value]) for value in values), RETURNS[kind][1])


def cover_difference(draw: random.Random, seeds: int, first: float, second: float, alike: float) -> tuple[bool, bool]:
    truth = (1 - alike) * (first - second)
    pairs = solved_pairs(draw, seeds, first, second, alike)
    return _covers(difference(pairs, "success", single=True).estimate, truth)


def cover_clusters(draw: random.Random, seeds: int, first: float, gain: float) -> tuple[bool, bool]:
    """Two agents with four tries; the second is better by a part of what is missing on each seed."""
    pairs = []
    for seed, chance in enumerate(beta_chances(draw, seeds, first, 0.4)):
        better = chance + gain * (1 - chance)
        wins = [sum(draw.random() < own for _ in range(4)) / 4 for own in (better, chance)]
        pairs.append(SeedPair("game", seed, wins[0], wins[1]))
    return _covers(difference(pairs, "success", single=False).estimate, gain * (1 - first))


def cover_return_difference(draw: random.Random, seeds: int, kind: str) -> tuple[bool, bool]:
    """One agent has the returns of `kind`, the other normal ones of mean 0, and both a part that the seed decides."""
    make, truth = RETURNS[kind]
    pairs = []
    for seed in range(seeds):
        shared = draw.gauss(0, 1)
        pairs.append(SeedPair("game", seed, shared + make(draw), shared + draw.gauss(0, 0.5)))
    return _covers(difference(pairs, "return", single=True).estimate, truth)


RETURNS: dict[str, tuple[Callable[[random.Random], float], float]] = {
    "normal": (lambda draw: draw.gauss(0, 1), 0.0),
    "uniform": (lambda draw: draw.random(), 0.5),
    "exponential": (lambda draw: draw.expovariate(1), 1.0),
    "lognormal": (lambda draw: draw.lognormvariate(0, 1), math.exp(0.5)),
    "0, or 0 to 1": (lambda draw: draw.random() * (draw.random() > 0.6), 0.2),
    "-1, 0 or 1": (lambda draw: float(draw.choice((-1, 0, 0, 1))), 0.0),
    "-1, 0 or 1, mostly 0": (lambda draw: float((draw.random() < 0.05) - (draw.random() < 0.05)), 0.0),
}

EXTREME = frozenset({"lognormal", "-1, 0 or 1, mostly 0"})
"""Returns whose mean depends on values that 50 seeds seldom show; the target does not apply to them."""
Cover = Callable[[random.Random], tuple[bool, bool]]


def coverage_cells() -> list[tuple[str, bool, Cover]]:
    """What is measured: its name, whether the target applies, and the function that draws one interval."""
    return [*_share_cells(), *_return_cells(), *_difference_cells()]


def _share_cells() -> Iterator[tuple[str, bool, Cover]]:
    for share in (0.5, 0.65, 0.8, 0.9, 0.97, 0.99):
        for seeds in (200, 50, 10):
            cell = functools.partial(cover_share, seeds=seeds, share=share)
            yield f"share {share}, {seeds} seeds", seeds >= 50 and share <= 0.8, cell
    for share, seeds in ((0.6, 50), (0.6, 10), (0.9, 50), (0.97, 50)):
        cell = functools.partial(cover_share, seeds=seeds, share=share, tries=4, spread=0.4)
        yield f"share {share}, {seeds} seeds x 4 tries", seeds >= 50 and share <= 0.8, cell


def _return_cells() -> Iterator[tuple[str, bool, Cover]]:
    for kind in RETURNS:
        for seeds in (50, 10):
            cell = functools.partial(cover_return, seeds=seeds, kind=kind)
            yield f"mean return, {kind}, {seeds} seeds", seeds >= 50 and kind not in EXTREME, cell


def _difference_cells() -> Iterator[tuple[str, bool, Cover]]:
    for first, second, alike in ((0.7, 0.5, 0.0), (0.7, 0.5, 0.5), (0.5, 0.5, 0.8), (0.97, 0.9, 0.0)):
        for seeds in (50, 10):
            cell = functools.partial(cover_difference, seeds=seeds, first=first, second=second, alike=alike)
            tied = f", {alike:.0%} alike" if alike else ""
            yield f"difference {first} - {second}{tied}, {seeds} seeds", seeds >= 50 and first < 0.9, cell
    for seeds in (50, 10):
        cell = functools.partial(cover_clusters, seeds=seeds, first=0.5, gain=0.3)
        yield f"difference, {seeds} seeds x 4 tries", seeds >= 50, cell
    for kind in ("uniform", "exponential", "lognormal", "0, or 0 to 1"):
        cell = functools.partial(cover_return_difference, seeds=50, kind=kind)
        yield f"difference of returns, {kind}, 50 seeds", kind not in EXTREME, cell


# ------------------------------------------------------------------ sequential stops and speed


def stop_at(draw: random.Random, deviation: float, fixed: int, true_difference: float) -> int:
    """After how many seeds bets decide; more than `fixed` if they do not."""
    disagree = deviation**2 + PLANNED**2
    up = (disagree + true_difference) / 2
    chosen = sequential.bets(PLANNED, deviation)

    def rounds() -> list[list[float]]:
        outcomes = []
        for _ in range(fixed):
            number = draw.random()
            outcomes.append([1.0 if number < up else -1.0 if number < disagree else 0.0])
        return outcomes

    return sequential.seeds_until_decided(rounds(), chosen) or fixed + 1


def measure_stops(repeats: int) -> bool:
    """Print when bets decide, and return whether the median at twice the planned difference is at half of the seeds."""
    rows: list[tuple[str, ...]] = [("deviation", "fixed n", "true difference", "median stop", "decided")]
    reached = True
    for deviation in (0.7, 0.5):
        fixed = power.seeds_needed(PLANNED, deviation)
        for times in (1, 2):
            draw = random.Random(times)
            stops = [stop_at(draw, deviation, fixed, times * PLANNED) for _ in range(repeats)]
            median = statistics.median(stops)
            share = sum(stop <= fixed for stop in stops) / repeats
            shown = f"{median:.0f}" if median <= fixed else "not before the end"
            rows.append((f"{deviation}", str(fixed), f"{times} x {PLANNED}", shown, f"{share:.1%}"))
            if times == 2:
                reached = reached and median <= fixed / 2
    print_table(rows)
    return reached


def measure_speed() -> float:
    """The seconds to compare two runs with 10,000 seeds each; the slower one of the two measures."""
    draw = random.Random(0)
    runs = [
        Run(name, [ScoredEpisode("game", seed, 0, 0, skewed(draw), draw.random() < 0.5) for seed in range(LARGE)])
        for name in "AB"
    ]
    seconds = []
    for measure in ("success", "return"):
        before = time.process_time()
        compare(runs, measure)
        seconds.append(time.process_time() - before)
    return max(seconds)


# ------------------------------------------------------------------ running


def _repeat_alarms(job: tuple[str, int, int]) -> list[Alarms]:
    name, chunk, repeats = job
    draw = random.Random(f"{name} {chunk}")
    return [NULL_SETS[name](draw) for _ in range(repeats)]


def _repeat_coverage(job: tuple[int, int]) -> tuple[int, int]:
    place, repeats = job
    draw = random.Random(place)
    cell = coverage_cells()[place][2]
    found = [cell(draw) for _ in range(repeats)]
    return sum(made for made, _ in found), sum(covered for _, covered in found)


def main() -> None:
    """Print the tables, and exit with 1 if a target is missed."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--full", action="store_true", help="repeat everything 10,000 times")
    parser.add_argument("--repeats", type=int, help="repeat every set so often, to try it out")
    chosen = parser.parse_args()
    start = time.monotonic()
    null_repeats = chosen.repeats or FULL
    other_repeats = chosen.repeats or (FULL if chosen.full else 2_000)
    with multiprocessing.get_context("spawn").Pool(min(2, os.cpu_count() or 1)) as pool:
        targets = [print_alarms(pool, null_repeats), print_coverage(pool, other_repeats)]
    stops = chosen.repeats or (FULL if chosen.full else 400)
    print(
        f"\nSequential stops, {stops:,} comparisons each; target: at twice the planned difference, half of the fixed n"
    )
    targets.append(measure_stops(stops))
    seconds = measure_speed()
    targets.append(seconds < MAX_SECONDS)
    print(f"\nTwo runs with {LARGE:,} seeds are compared in {seconds:.2f} CPU seconds; target: under {MAX_SECONDS:.0f}")
    elapsed, busy = time.monotonic() - start, sum(os.times()[:4])
    print(f"{elapsed:.0f} seconds, {busy:.0f} CPU seconds; targets {'met' if all(targets) else 'missed'}")
    sys.exit(0 if all(targets) else 1)


def print_alarms(pool: multiprocessing.pool.Pool, repeats: int) -> bool:
    """Print the share of false alarms of each set, and return whether all are low enough."""
    print(f"False alarms in {repeats:,} null pairs; target: at most {MAX_ALARMS:.1%} decided")
    rows: list[tuple[str, ...]] = [("set", "interval leaves out 0", "p < 0.05", "decided")]
    size = math.ceil(repeats / CHUNKS)
    low_enough = True
    for name in NULL_SETS:
        jobs = [(name, chunk, min(size, repeats - chunk * size)) for chunk in range(CHUNKS)]
        found = [alarms for part in pool.map(_repeat_alarms, jobs, 1) for alarms in part]
        shares = [sum(column) / len(found) for column in zip(*found, strict=True)]
        rows.append((name, *(f"{share:.2%}" for share in shares)))
        low_enough = low_enough and shares[2] <= MAX_ALARMS
    print_table(rows)
    return low_enough


def print_coverage(pool: multiprocessing.pool.Pool, repeats: int) -> bool:
    """Print how many intervals hold the truth, and return whether enough do where the target applies."""
    print(f"\nCoverage of the 95 % intervals, {repeats:,} each; target: at least {MIN_COVERAGE:.0%} where it says so")
    cells = coverage_cells()
    counts = pool.map(_repeat_coverage, [(place, repeats) for place in range(len(cells))], 1)
    rows: list[tuple[str, ...]] = [("interval", "shown", "covered", "target")]
    enough = True
    for (name, has_target, _), (made, covered) in zip(cells, counts, strict=True):
        share = covered / made if made else 0.0
        rows.append((name, f"{made / repeats:.1%}", f"{share:.1%}", f"{MIN_COVERAGE:.0%}" if has_target else ""))
        enough = enough and (not has_target or share >= MIN_COVERAGE)
    print_table(rows)
    return enough


if __name__ == "__main__":
    main()
