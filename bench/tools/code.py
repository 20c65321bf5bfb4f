"""Programs judged by their tests, beside GEM: python -m bench.tools code

Speed: the solutions of the built-in sample's problems that read an input, ten tests each, against GEM's grader (a
process for every test, five at once) in one run, in turns.

Rightness: with --human-eval, a file of HumanEval's problems as JSON lines: all canonical solutions must pass, and all
of them with the body replaced must fail.
"""

from __future__ import annotations

import argparse
import json
import os
import statistics
import time
from collections.abc import Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

from bench.engine import peers
from bench.tools._gem_process import ask
from gem.datasets.samples import sample
from gem.grading.code import grade_code
from gem.grading.code_tests import read_tests
from gem.sandbox.pool import shared

WANTED = 6.0
"""Times GEM's rate."""
TESTS = 10
BROKEN = "    return None\n"


def arguments(parser: argparse.ArgumentParser) -> None:
    """What the part takes."""
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--human-eval", type=Path, help="HumanEval's problems as JSON lines")
    parser.add_argument("--peers", type=Path, default=peers.cache_folder(), help="the peers' virtual environment")


def run(options: argparse.Namespace) -> int:
    """Print the figures; 1 if a target is missed or a program is judged wrong."""
    kept = _speed(options)
    if options.human_eval:
        kept = _human_eval(options.human_eval) and kept
    return int(not kept)


def _speed(options: argparse.Namespace) -> bool:
    python, missing = peers.install(options.peers)
    if "gem-llm" in missing:
        print(f"GEM cannot be installed: {missing['gem-llm']}")
        return False
    rows = [row for row in sample("code") if "fn_name" not in row["tests"] and len(row["tests"]["inputs"]) == TESTS]
    cores = len(os.sched_getaffinity(0))
    _judge(rows, cores)  # warm
    theirs, ours = list[float](), list[float]()
    for _ in range(options.rounds):
        found = ask(python, "judge", rows=rows)
        assert found["right"] == len(rows), found
        theirs.append(len(rows) / found["seconds"])
        ours.append(_judge(rows, cores))
    gem, we = statistics.median(theirs), statistics.median(ours)
    load = os.getloadavg()[0]
    print(
        f"{len(rows)} problems with {TESTS} tests each, {cores} cores, level {shared().level}, load average {load:.1f}"
    )
    print("| GEM, problems/s | ours | times GEM | wanted |\n|---|---|---|---|")
    print(f"| {gem:.1f} | {we:.1f} | {we / gem:.1f} | {WANTED} |")
    return we >= WANTED * gem


def _judge(rows: Sequence[Mapping[str, Any]], threads: int) -> float:
    """Problems a second."""
    with ThreadPoolExecutor(threads) as workers:
        begun = time.perf_counter()
        passed = list(workers.map(lambda row: grade_code(row["solution"], read_tests(row)).passed, rows))
        seconds = time.perf_counter() - begun
    assert all(passed)
    return len(rows) / seconds


def _human_eval(path: Path) -> bool:
    rows = [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]
    begun = time.perf_counter()
    right = [grade_code(row["prompt"] + row["canonical_solution"], read_tests(row)).passed for row in rows]
    wrong = [grade_code(row["prompt"] + BROKEN, read_tests(row)).passed for row in rows]
    rate = 2 * len(rows) / (time.perf_counter() - begun)
    print(
        f"\nHumanEval: {sum(right)} of {len(rows)} canonical solutions pass, {sum(wrong)} of {len(rows)} broken ones."
    )
    print(f"{rate:.0f} programs/s, one after the other, the program and its assertions in a sandbox each")
    return all(right) and not any(wrong)
