"""The grader of mathematics beside GEM's and math-verify's: python -m bench.tools math

Speed: answers a second, right ones, wrong integers and wrong expressions, against GEM's grader (its function of text,
without the process it asks through) in a virtual environment of its own, in one run, turn by turn. Ours is measured
without its memory of earlier answers, with the process that holds SymPy running.

Agreement: over pairs made from the references (see `bench/tools/_pairs.py`), with math-verify alone; every kind of
difference is listed with an example. And whether every reference is a correct answer to itself.

References are the answers of the JSONL files in --data, or of the built-in samples.
"""

from __future__ import annotations

import argparse
import json
import statistics
import sys
import time
from collections import Counter
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from bench.engine import peers
from bench.engine.peers import PeerError, Worker
from bench.tools._pairs import Pair, bare, pairs
from gem.datasets import samples
from gem.datasets.files import read
from gem.grading import formula, judge, latex
from gem.grading import math as grading

FILES = ("aime24", "amc", "math500", "minerva", "olympiad-bench")
TARGETS = {"right": 20.0, "wrong integer": 10.0, "wrong expression": 5.0}
AGREEMENT = 0.995
SHARE = 40
"""Pairs of each kind that are timed."""


def arguments(parser: argparse.ArgumentParser) -> None:
    """What the part takes."""
    parser.add_argument("--data", type=Path, help="a folder of JSONL files with a column `answer`")
    parser.add_argument("--rounds", type=int, default=7)
    parser.add_argument("--peers", type=Path, default=peers.cache_folder(), help="the peers' virtual environment")


def run(options: argparse.Namespace) -> int:
    """Print the tables; 1 if a target is missed."""
    references = _references(options.data)
    print(f"{len(references):,} references")
    kept = [_self_check(references), _agreement(references), _speed(options)]
    judge.close()
    return int(not all(kept))


def _references(folder: Path | None) -> list[str]:
    tables = sorted(folder.glob("*.jsonl")) if folder else [samples.FOLDER / f"{name}.jsonl" for name in FILES]
    rows = [row for path in tables for row in read([path], "file", path.name)]
    return [text for row in rows for text in grading.alternatives(row["answer"])]


def _self_check(references: Sequence[str]) -> bool:
    wrong = [reference for reference in references if not grading.is_correct(reference, reference)]
    print(f"correct as an answer to itself: {len(references) - len(wrong):,}")
    for reference in wrong:
        print(f"    not: {reference!r}")
    return not wrong


def _agreement(references: Sequence[str]) -> bool:
    """Compare with math-verify alone on every pair whose reference it can read."""
    unread = {text for text in map(bare, references) if not _judged(text, text)}
    count, how, differences = 0, Counter[str](), list[tuple[Pair, bool]]()
    for pair in pairs(references):
        if pair.reference in unread:
            continue
        ours, theirs = grading.grade(pair.answer, pair.reference), _judged(pair.answer, pair.reference)
        how[ours.by] += 1
        count += 1
        if theirs is not None and ours.correct != theirs:
            differences.append((pair, ours.correct))
    share = 1 - len(differences) / count
    print(f"\nmath-verify takes {len(unread)} references for no answer to themselves; their pairs are left out:")
    for text in sorted(unread):
        print(f"    {text}")
    print(f"\nagreement with math-verify: {share:.3%} of {count:,} pairs (at least {AGREEMENT:.1%} wanted)")
    print(f"decided by: {', '.join(f'{by} {n:,}' for by, n in how.most_common())}")
    print(
        "\n| kind of pair | ours | differences | for example, the answer | and the reference |\n|---|---|---|---|---|"
    )
    for (kind, correct), number in Counter((pair.kind, said) for pair, said in differences).most_common():
        example = next(pair for pair, said in differences if (pair.kind, said) == (kind, correct))
        said = "correct" if correct else "wrong"
        print(f"| {kind} | {said} | {number} | `{example.answer}` | `{example.reference}` |")
    return share >= AGREEMENT


def _judged(answer: str, reference: str) -> bool | None:
    return judge.ask(grading.tidy_for_judge(answer), grading.tidy_for_judge(reference))


def _speed(options: argparse.Namespace) -> bool:
    """Answers per second, ours and GEM's."""
    chosen = _chosen(_references(options.data))
    python, missing = peers.install(options.peers)
    worker = None if "gem-llm" in missing else Worker("gem_grader", python, options.peers)
    found: dict[str, list[tuple[float, float | None]]] = {kind: [] for kind in chosen}
    judge.start()
    for _ in range(options.rounds):
        for kind, those in chosen.items():
            found[kind].append((_ours(those), _theirs(worker, those)))
    if worker is not None:
        worker.close()
    print("\nAnswers per second\n\n| | ours | GEM | ours / GEM | target |\n|---|---|---|---|---|")
    reached = True
    for kind, times in found.items():
        size = len(chosen[kind])
        own = size / statistics.median(ours for ours, _ in times)
        other = [size / theirs for _, theirs in times if theirs]
        ratios = [theirs / ours for ours, theirs in times if theirs]
        ratio = statistics.median(ratios) if ratios else None
        missed = ratio is not None and ratio < TARGETS[kind]
        reached = reached and not missed
        cells = [f"{own:,.0f}", f"{statistics.median(other):,.0f}" if other else "", f"{ratio:.1f}" if ratio else ""]
        print(f"| {kind} | {' | '.join(cells)} | {TARGETS[kind]:g}{' **missed**' * missed} |")
    return reached


def _chosen(references: Sequence[str]) -> dict[str, list[Pair]]:
    """Some pairs of each kind that is timed, spread over the references."""
    kinds: dict[str, Callable[[Pair], bool]] = {
        "right": lambda pair: pair.kind in ("as it is", "dfrac", "decimal", "slash", "spaces", "thousands"),
        "wrong integer": lambda pair: pair.kind in ("one more", "negated", "tenfold"),
        "wrong expression": lambda pair: (
            pair.kind in ("another digit", "another sign", "another letter", "upside down") and "\\" in pair.reference
        ),
    }
    made = list(pairs(references))
    found = {}
    for name, belongs in kinds.items():
        those = [pair for pair in made if belongs(pair)]
        found[name] = those[:: max(1, len(those) // SHARE)][:SHARE]
    return found


def _ours(chosen: Sequence[Pair]) -> float:
    """Seconds by the clock for all of them, nothing remembered."""
    for memory in (grading.decide_without_judge, judge.ask, latex.tidy, formula.parse):
        memory.cache_clear()
    begun = time.perf_counter()
    for pair in chosen:
        grading.is_correct(pair.answer, pair.reference)
    return time.perf_counter() - begun


def _theirs(worker: Worker | None, chosen: Sequence[Pair]) -> float | None:
    """The same of GEM's grader."""
    if worker is None:
        return None
    asked: list[Any] = [[f"\\boxed{{{pair.answer}}}", pair.reference] for pair in chosen]
    try:
        return float(worker.ask("seconds", pairs=json.loads(json.dumps(asked))))
    except PeerError as error:
        print(f"GEM's grader: {error}", file=sys.stderr)
        return None
