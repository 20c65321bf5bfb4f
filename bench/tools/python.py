"""Programs a second in the sandbox, beside GEM's plain subprocess: python -m bench.tools python

`print(1)` alone, and with numpy imported before it. GEM runs `python -c` behind a filter of words; here every program
is confined (docs/sandbox.md). Both run as many at once as there are cores, in turns within one run; ours warm, as it is
from the second program of a process on. The numbers are medians over the rounds.
"""

from __future__ import annotations

import argparse
import os
import statistics
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from bench.engine import peers
from bench.tools._gem_process import ask
from gem.sandbox import levels
from gem.sandbox.limits import Level
from gem.sandbox.pool import Pool

PROGRAMS = {"print(1)": ("print(1)", 1.5, 120), "import numpy; print(1)": ("import numpy\nprint(1)", 8.0, 16)}
"""Name to the program, how many times GEM's rate is wanted, and how often GEM runs it in a round."""
OURS = 400
"""How often we run it in a round."""


def arguments(parser: argparse.ArgumentParser) -> None:
    """What the part takes."""
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--peers", type=Path, default=peers.cache_folder(), help="the peers' virtual environment")


def run(options: argparse.Namespace) -> int:
    """Print the table; 1 if a target is missed."""
    python, missing = peers.install(options.peers)
    if "gem-llm" in missing:
        print(f"GEM cannot be installed: {missing['gem-llm']}")
        return 1
    cores = len(os.sched_getaffinity(0))
    levels: list[Level] = [level for level in ("full", "landlock") if levels.probe(level).ok]
    print(f"{cores} at once, {options.rounds} rounds, load average {os.getloadavg()[0]:.1f}\n")
    print("| program | GEM, programs/s |" + "".join(f" ours, {level} |" for level in levels) + " times GEM | wanted |")
    print("|---|---|" + "---|" * len(levels) + "---|---|")
    kept = True
    for name, (code, wanted, count) in PROGRAMS.items():
        theirs, ours = _measure(python, code, count, levels, cores, options.rounds)
        times = [rate / theirs for rate in ours]
        rates = "".join(f" {rate:.0f} |" for rate in ours)
        print(f"| `{name}` | {theirs:.1f} |{rates} {', '.join(f'{one:.1f}' for one in times)} | {wanted} |")
        kept = kept and bool(times) and times[0] >= wanted
    return int(not kept)


def _measure(
    python: Path, code: str, count: int, levels: list[Level], cores: int, rounds: int
) -> tuple[float, list[float]]:
    """Median rates of GEM and of ours at each level."""
    pools = [Pool(level, cores) for level in levels]
    for pool in pools:
        _rate(pool, code, 4 * cores, cores)
    theirs, ours = list[float](), [list[float]() for _ in pools]
    for _ in range(rounds):
        found = ask(python, "run", code=code, count=count, threads=cores)
        assert found["right"] == count
        theirs.append(count / found["seconds"])
        for pool, rates in zip(pools, ours, strict=True):
            rates.append(_rate(pool, code, OURS, cores))
    for pool in pools:
        pool.close()
    return statistics.median(theirs), [statistics.median(rates) for rates in ours]


def _rate(pool: Pool, code: str, count: int, threads: int) -> float:
    with ThreadPoolExecutor(threads) as workers:
        begun = time.perf_counter()
        results = list(workers.map(lambda _: pool.run(code), range(count)))
        seconds = time.perf_counter() - begun
    assert all(result.stdout == "1\n" for result in results), [one for one in results if one.stdout != "1\n"][:3]
    return count / seconds
