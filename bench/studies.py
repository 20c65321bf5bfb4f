"""How often studies of equal variants claim that one solves more, and how often real differences are found, by
simulation.

    python -m bench.studies
    python -m bench.studies --studies 5000

A simulated study has variants that are trained in environments with seeds, and each training is measured with 256
held-out episodes. What is claimed is decided by the functions that reports use.
"""

from __future__ import annotations

import argparse
import multiprocessing
import os
import random
import sys
from collections.abc import Callable
from typing import NamedTuple

from bench.stack import print_table
from gem.evaluation.comparison.differences import holm
from gem.studies.statistics import (
    CONFIDENCE,
    FEWEST_SEEDS,
    Scores,
    Start,
    average_change,
    change,
    differences,
    seeds_needed,
)

EPISODES = 256
MOST_ERRORS = 0.068
"""5 %, and twice the standard error of a simulation of 600 studies."""

Chance = Callable[[random.Random], float]
"""Draws the share of all episodes that one training solves."""


def alike(draw: random.Random) -> float:
    """Trainings that vary by 10 points (standard deviation)."""
    return draw.gauss(0.5, 0.1)


def coins(draw: random.Random) -> float:
    """Trainings that either succeed or fail."""
    return draw.choice((0.1, 0.9)) + draw.gauss(0, 0.02)


def skewed(draw: random.Random) -> float:
    """Trainings that mostly succeed, some of them late."""
    return 1 - 0.1 * draw.lognormvariate(0, 1)


def rare(_draw: random.Random) -> float:
    """Trainings after which few episodes are solved, all of them alike."""
    return 0.01


CHANCES: dict[str, Chance] = {"alike": alike, "coins": coins, "skewed": skewed, "rare": rare}


class Design(NamedTuple):
    """How large a study is."""

    variants: int
    seeds: int
    environments: int


DESIGNS = (
    Design(2, 3, 1),
    Design(2, 3, 4),
    Design(4, 3, 1),
    Design(4, 3, 2),
    Design(8, 3, 2),
    Design(4, 4, 1),
    Design(4, 4, 4),
    Design(4, 5, 1),
    Design(4, 5, 4),
    Design(5, 5, 1),
    Design(8, 6, 2),
    Design(4, 10, 1),
    Design(4, 10, 6),
)
GAINS = ((Design(2, 5, 1), 0.2), (Design(4, 5, 1), 0.3), (Design(4, 10, 1), 0.2), (Design(4, 10, 6), 0.08))
"""Studies in which one variant solves so much more than all others."""
MATRICES = ((1, 3), (1, 10), (25, 3), (25, 10))
"""Cells of a matrix, and the trainings of each."""
AVERAGES = ((1, 8), (6, 12), (35, 14), (35, 28))
"""Columns of a matrix, and the environments that policies were trained in, with one training each."""
FIRST_POLICIES = 2
"""Policies that trainings begin with, in a simulated matrix."""
MEANS: dict[Chance, float] = {alike: 0.5, coins: 0.5, rare: 0.01}
"""What trainings solve on average, of the kinds where that is known."""
MEANS_SHOWN = [name for name, chance in CHANCES.items() if chance in MEANS]


def share(draw: random.Random, chance: float) -> float:
    """The share of the held-out episodes that a training solves."""
    return sum(draw.random() < chance for _ in range(EPISODES)) / EPISODES


def study(draw: random.Random, design: Design, chance: Chance, gain: float = 0.0) -> list[Scores]:
    """The scores of a study; the first variant solves so much more."""
    return [
        [
            [share(draw, chance(draw) + (gain if variant == 0 else 0.0)) for _ in range(design.seeds)]
            for _ in range(design.environments)
        ]
        for variant in range(design.variants)
    ]


def claims_an_order(variants: list[Scores]) -> bool:
    """Whether the report says of any variant that it solves more than another."""
    return any(interval.low > 0 for interval in differences(variants, EPISODES).values())


def found(variants: list[Scores]) -> float:
    """The share of the others that the report says the first variant solves more than."""
    intervals = differences(variants, EPISODES)
    return sum(interval.low > 0 for (better, _), interval in intervals.items() if better == 0) / (len(variants) - 1)


def claims_a_change(draw: random.Random, cells: int, runs: int, chance: Chance) -> bool:
    """Whether a matrix says of any cell that training there changes what is solved, where it changes nothing.

    The policy before any training solves what trainings solve on average.
    """
    p_values = [
        change([share(draw, chance(draw)) for _ in range(runs)], share(draw, MEANS[chance]), EPISODES).p_value
        for _ in range(cells)
    ]
    return runs >= FEWEST_SEEDS and min(holm(p_values)) < 1 - CONFIDENCE


def claims_an_average(draw: random.Random, columns: int, environments: int, chance: Chance) -> bool:
    """Whether a matrix says of any column that training elsewhere changes what is solved, where it changes nothing."""
    for _ in range(columns):
        first = [Start(f"{number}", share(draw, MEANS[chance])) for number in range(FIRST_POLICIES)]
        starts = [first[number % FIRST_POLICIES] for number in range(environments)]
        after = [share(draw, chance(draw)) for _ in range(environments)]
        if average_change(after, starts, EPISODES, columns).is_clear:
            return True
    return False


def _orders(job: tuple[Design, str, int]) -> float:
    design, name, studies = job
    draw = random.Random(f"{design} {name}")
    return sum(claims_an_order(study(draw, design, CHANCES[name])) for _ in range(studies)) / studies


def _gains(job: tuple[Design, float, int]) -> float:
    design, gain, studies = job
    draw = random.Random(f"{design} {gain}")
    return sum(found(study(draw, design, alike, gain)) for _ in range(studies)) / studies


def _changes(job: tuple[int, int, str, int]) -> float:
    cells, runs, name, studies = job
    draw = random.Random(f"{cells} {runs} {name}")
    return sum(claims_a_change(draw, cells, runs, CHANCES[name]) for _ in range(studies)) / studies


def _averages(job: tuple[int, int, str, int]) -> float:
    columns, environments, name, studies = job
    draw = random.Random(f"{columns} {environments} {name} average")
    return sum(claims_an_average(draw, columns, environments, CHANCES[name]) for _ in range(studies)) / studies


def main() -> None:
    """Print the tables, and exit with 1 if a target is missed."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--studies", type=int, default=600, help="simulated studies of each kind")
    studies = parser.parse_args().studies
    with multiprocessing.get_context("spawn").Pool(min(2, os.cpu_count() or 1)) as pool:
        orders = pool.map(_orders, [(design, name, studies) for design in DESIGNS for name in CHANCES], 1)
        gains = pool.map(_gains, [(design, gain, studies) for design, gain in GAINS], 1)
        changes = pool.map(_changes, [(*matrix, name, studies) for matrix in MATRICES for name in ("alike", "rare")], 1)
        averages = pool.map(_averages, [(*each, name, studies) for each in AVERAGES for name in MEANS_SHOWN], 1)
    print(f"Orders claimed of equal variants in {studies:,} studies each; target: at most {MOST_ERRORS:.1%}")
    rows: list[tuple[str, ...]] = [("variants", "seeds", "environments", *CHANCES)]
    for place, design in enumerate(DESIGNS):
        rates = orders[place * len(CHANCES) : (place + 1) * len(CHANCES)]
        silent = design.seeds < seeds_needed(design.variants * (design.variants - 1) // 2)
        rows.append((*map(str, design), *("none" if silent else f"{rate:.1%}" for rate in rates)))
    print_table(rows)
    print("\nOrders found where the first variant solves more; trainings vary by 10 points")
    print_table(
        [
            ("variants", "seeds", "environments", "more", "found"),
            *(
                (*map(str, design), f"{gain:.0%}", f"{rate:.0%}")
                for (design, gain), rate in zip(GAINS, gains, strict=True)
            ),
        ]
    )
    print("\nMatrices that claim a change where there is none; target: the same")
    rows = [("cells", "trainings of each", "alike", "rare")]
    for place, (cells, runs) in enumerate(MATRICES):
        rows.append((str(cells), str(runs), *(f"{rate:.1%}" for rate in changes[2 * place : 2 * place + 2])))
    print_table(rows)
    print("\nMatrices that claim a change on average over the environments, where there is none; target: the same")
    rows = [("columns", "environments", *MEANS_SHOWN)]
    for place, (columns, environments) in enumerate(AVERAGES):
        rates = averages[place * len(MEANS_SHOWN) : (place + 1) * len(MEANS_SHOWN)]
        rows.append((str(columns), str(environments), *(f"{rate:.1%}" for rate in rates)))
    print_table(rows)
    are_met = max(*orders, *changes, *averages) <= MOST_ERRORS
    print(f"Targets {'met' if are_met else 'missed'}")
    sys.exit(0 if are_met else 1)


if __name__ == "__main__":
    main()
