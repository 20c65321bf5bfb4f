"""The engine beside its peers, measured in one run: python -m bench.engine

What is timed: CPU time (`time.process_time`) of `env.step(action)` alone. Resets, the choice of actions and the
inspection of results are not, except where a line says so. An action is the bare `\\boxed{...}`; the observation, the
reward and the info with the board are made in the step.

How: each library lives in a process of its own, the peers' in a virtual environment of their own (bench/peers.txt),
which the first run makes. The processes measure in turn, round after round and in changing order, so that a busy
machine slows all alike. A round of a game is up to 300 episodes and 3,000 turns, fewer where GEM takes long to make an
episode. GEM begins them; ours continues from the same hidden states, by the adapter of the parity tests, and both get
the same actions, which `bench/engine/actions.py` draws anew for each round. What is drawn during an episode differs:
the mines, the new tiles of 2048. Printed are medians over the rounds, and as ratio the median over the rounds of GEM's
time by ours.

TextArena plays its own nearest environments with the same actions in its notation; a turn is then `step` and
`get_observation`, without its wrappers. Figures marked † were measured earlier, on another machine.
"""

from __future__ import annotations

import argparse
import os
import platform
import sys
from collections.abc import Sequence
from contextlib import ExitStack
from datetime import UTC, datetime
from pathlib import Path

from bench.engine import imports, memory, peers, steps, vectors
from bench.engine.peers import Worker

PARTS = ("steps", "vectors", "memory", "import")
PEERS = {"gem-llm": "gem_llm", "textarena": "text_arena", "gymnasium": "cart_pole"}
"""Requirement to the side that measures it."""


def main() -> int:
    """Print the tables; exit code 1 if a target is missed (the shards have none: their clock counts other work too)."""
    parser = argparse.ArgumentParser(
        prog="bench.engine", description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("parts", nargs="*", help=f"some of {', '.join(PARTS)}; without, all")
    parser.add_argument("--rounds", type=int, default=31)
    parser.add_argument("--games", nargs="*", default=list(steps.TARGETS), help="families, for steps")
    parser.add_argument("--peers", type=Path, default=peers.cache_folder(), help="the peers' virtual environment")
    options = parser.parse_args()
    unknown = set(options.parts) - set(PARTS)
    if unknown:
        parser.error(f"There is no part {unknown.pop()!r}; the parts are {', '.join(PARTS)}.")
    python, missing = peers.install(options.peers)
    print(
        f"{datetime.now(UTC):%Y-%m-%d}, {platform.machine()}, {os.cpu_count()} cores, Python {sys.version.split()[0]}"
    )
    for name, reason in missing.items():
        print(f"{name} could not be installed: {reason}")
    with ExitStack() as stack:
        sides = [side for name, side in PEERS.items() if name not in missing]
        workers = {"ours": Worker("ours", Path(sys.executable), options.peers)}
        words = peers.word_lists(python, options.peers) if "gem_llm" in sides else ""
        workers |= {side: Worker(side, python, options.peers) for side in sides}
        for worker in workers.values():
            stack.callback(worker.close)
        tables = {
            "steps": lambda: print_steps(workers, options.rounds, options.games),
            "vectors": lambda: print_vectors(workers, options.rounds),
            "memory": lambda: print_memory(workers, words),
            "import": lambda: print_imports(python, sides, options.rounds),
        }
        kept = [tables[part]() for part in options.parts or PARTS]
    return int(not all(kept))


def print_steps(workers: dict[str, Worker], rounds: int, games: Sequence[str]) -> bool:
    """The time of a step of every game; whether all targets are reached."""
    print("\nMicroseconds of CPU time a step\n")
    print("| | ours | GEM | GEM / ours | target | TextArena |\n|---|---|---|---|---|---|")
    reached = True
    for row in steps.measure(workers, rounds, games):
        own, theirs, ratio, mark = row.median("ours") or 0.0, row.median("gem_llm"), row.ratio, ""
        if theirs is None and row.earlier is not None:
            theirs, ratio, mark = row.earlier, row.earlier / own, " †"
        missed = ratio is not None and ratio < row.target
        reached = reached and not missed
        print(
            f"| `{row.env_id}` | {own:.2f} | {number(theirs)}{mark} | {number(ratio)}{mark} | {row.target:g}"
            f"{' **missed**' if missed else ''} | {number(row.median('text_arena'))} |",
            flush=True,
        )
        for side, error in row.errors.items():
            if not error.startswith("KeyError"):  # it has no such environment
                print(f"{side}, {row.env_id}: {' '.join(error.split())[:160]}", file=sys.stderr)
    return reached


def print_vectors(workers: dict[str, Worker], rounds: int) -> bool:
    """What vectors add to a step; whether ours adds as little as it should."""
    print(f"\nMicroseconds of CPU time a turn that a vector of {vectors.NUM_ENVS} adds to the bare step and reset\n")
    print("| | bare | overhead |\n|---|---|---|")
    rows = {(row.side, row.kind): row for row in vectors.measure(workers, rounds)}
    for row in rows.values():
        print(f"| {row.name} | {row.bare:.2f} | {row.added:.2f} |", flush=True)
    reached = True
    for kind, share, words in (("sync", 3, "a third"), ("threads", 8, "an eighth")):
        if ("gem_llm", kind) in rows:
            allowed = rows["gem_llm", kind].added / share
            kept = rows["ours", "sync"].added <= allowed
            reached = reached and kept
            print(f"\nOurs may add {words} of GEM's {kind}, {allowed:.2f}: {'reached' if kept else '**missed**'}")
    print(f"\n{vectors.MANY_ENVS} environments, turns a second by the clock, resets included\n")
    print("| | one process | a shard for each core | cores busy | maximum speed-up |\n|---|---|---|---|---|")
    for shards in vectors.measure_shards(workers["ours"], max(3, rounds // 6)):
        print(
            f"| `{shards.env_id}` | {shards.alone:,.0f} | {shards.shards:,.0f} | {shards.cores:.2f} "
            f"| {shards.most_cores:.2f} |",
            flush=True,
        )
    return reached


def print_memory(workers: dict[str, Worker], words: str) -> bool:
    """The memory of an environment; whether ours take as little as they should."""
    print(f"\nMemory an environment in its first episode, KB, over {memory.COUNT:,} of ours")
    print(f"(the peers' word lists are {words}; with NLTK's, `game:WordSearch-v0-hard` took 15,500 KB earlier †)\n")
    print("| | ours | GEM | TextArena | target |\n|---|---|---|---|---|")
    reached = True
    for row in memory.measure(workers):
        missed = row.kilobytes["ours"] >= memory.MOST
        reached = reached and not missed
        cells = [number(row.kilobytes.get(side)) for side in ("ours", "gem_llm", "text_arena")]
        print(f"| `{row.env_id}` | {' | '.join(cells)} | {memory.MOST}{' **missed**' if missed else ''} |", flush=True)
    return reached


def print_imports(python: Path, sides: Sequence[str], rounds: int) -> bool:
    """What importing takes; whether ours takes as little as it should."""
    print("\nImporting, in a fresh process: CPU time, and the most memory with the interpreter's own\n")
    print("| | ms | MB | target |\n|---|---|---|---|")
    own = Path(sys.executable)
    pythons = {"nothing": (own, "pass"), "ours": (own, "import gem"), "ours, every game": (own, "import gem.envs")}
    modules = {"gem_llm": "gem", "text_arena": "textarena", "cart_pole": "gymnasium"}
    names = {side: name for name, side in PEERS.items()}
    pythons |= {names[side]: (python, f"import {modules[side]}") for side in sides}
    reached = True
    for row in imports.measure(pythons, rounds // 3):
        missed = row.name == "ours" and (row.seconds >= imports.MOST_SECONDS or row.megabytes >= imports.MOST_MEGABYTES)
        reached = reached and not missed
        wanted = f"{imports.MOST_SECONDS * 1000:.0f} ms, {imports.MOST_MEGABYTES} MB" if row.name == "ours" else ""
        print(f"| {row.name} | {row.seconds * 1000:.0f} | {row.megabytes:.0f} | {wanted}{' **missed**' * missed} |")
    return reached


def number(value: float | None) -> str:
    """Two decimals, none from 100 on; empty for what was not measured."""
    return "" if value is None else f"{value:.2f}" if value < 100 else f"{value:,.0f}"


if __name__ == "__main__":
    sys.exit(main())
