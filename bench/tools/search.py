"""The search tool's index over the paragraphs of HotpotQA: how quick it is, and what it finds.

--data is a folder with corpus.jsonl (title, text) and questions.jsonl (question, supporting_titles). What is timed is
`Index.search` with the whole question as the query, one question at a time, after one that is not counted. Processor
time is judged; what the clock says besides depends on what else the machine does.
"""

from __future__ import annotations

import argparse
import json
import os
import statistics
import sys
import tempfile
import time
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from gem.tools.search.index import Index

TARGET_MS = 10.0
TOPK = 10
ROUNDS = 10


def arguments(parser: argparse.ArgumentParser) -> None:
    """What it takes."""
    default = os.environ.get("GEM_DATA")
    parser.add_argument(
        "--data", type=Path, default=Path(default) / "hotpotqa" if default else None, help="(GEM_DATA/hotpotqa)"
    )


def run(options: argparse.Namespace) -> int:
    """Print times and shares; 1 if the 95th percentile is above the target."""
    from gem.tools.search import index as search_index

    if options.data is None or not (options.data / "corpus.jsonl").exists():
        print("search: name a folder with corpus.jsonl and questions.jsonl by --data or GEM_DATA.", file=sys.stderr)
        return 2
    questions = [json.loads(line) for line in (options.data / "questions.jsonl").read_text().splitlines()]
    with tempfile.TemporaryDirectory() as folder:
        start = time.perf_counter()
        search_index.build(options.data / "corpus.jsonl", Path(folder) / "hotpotqa")
        built = time.perf_counter() - start
        start = time.perf_counter()
        index = search_index.load(Path(folder) / "hotpotqa")
        opened = time.perf_counter() - start
        index.search(questions[0]["question"], TOPK)
        computing, clock = [], []
        for question in questions * ROUNDS:
            begun, start = time.process_time(), time.perf_counter()
            index.search(question["question"], TOPK)
            computing.append(1000 * (time.process_time() - begun))
            clock.append(1000 * (time.perf_counter() - start))
        both = sum(_finds_both(index, question) for question in questions)
    p95 = statistics.quantiles(computing, n=20)[-1]
    print(f"{len(index):,} paragraphs, indexed in {1000 * built:.0f} ms, opened in {1000 * opened:.0f} ms")
    print(f"{len(computing):,} searches, load average {os.getloadavg()[0]:.1f}")
    print(f"processor time: median {statistics.median(computing):.2f} ms, 95th percentile {p95:.2f} ms", end="")
    print(f" (target {TARGET_MS:g} ms)")
    print(f"by the clock: median {statistics.median(clock):.2f} ms", end="")
    print(f", 95th percentile {statistics.quantiles(clock, n=20)[-1]:.2f} ms")
    print(f"both supporting paragraphs in the first {TOPK}: {both} of {len(questions)} questions")
    return int(p95 > TARGET_MS)


def _finds_both(index: Index, question: dict[str, Any]) -> bool:
    found = {passage.title for passage in index.search(question["question"], TOPK)}
    return set(question["supporting_titles"]) <= found
