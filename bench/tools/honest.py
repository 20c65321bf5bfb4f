"""False verdicts on honest programs beside hostile ones: python -m bench.tools honest

Honest programs, which print, compute, write, delete, read and start threads, share the sandboxes of one pool with
hostile ones, which loop, crash, and fill memory, output and files. There are four honest programs for each hostile one,
in an order drawn from `--seed`, and twice as many sandboxes as cores, so that every sandbox runs both kinds and all of
them wait for the processor. An honest program has a false verdict if it does not end as `ok` with its own output.
"""

from __future__ import annotations

import argparse
import os
import time
from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass

from gem.rng import SplitMix64, shuffle
from gem.sandbox import levels
from gem.sandbox.limits import Level, Limits, Result
from gem.sandbox.pool import Pool

HONEST = {
    "prints": "print('fine')",
    "reads its input": "print(input())",
    "computes": "print(sum(number * number for number in range(20_000)))",
    "writes a file": "open('notes', 'w').write('kept ' * 1000)\nprint(len(open('notes').read()))",
    "writes in folders": (
        "import os\nfor name in 'abc':\n    os.makedirs(f'{name}/{name}')\n"
        "    open(f'{name}/{name}/x', 'w').write(name)\n"
        "print(sorted(os.listdir('.')))"
    ),
    "writes and deletes": (
        "import os, shutil\nfor number in range(50):\n    os.makedirs('room/inner')\n"
        "    open('room/inner/x', 'wb').write(bytes(4096))\n    shutil.rmtree('room')\nprint(os.listdir('.'))"
    ),
    "uses a temporary file": (
        "import tempfile\nwith tempfile.TemporaryFile() as file:\n"
        "    file.write(bytes(100_000))\n    print(file.tell())"
    ),
    "starts threads": (
        "import threading\ndone = []\nworkers = [threading.Thread(target=done.append, args=(1,)) for _ in range(6)]\n"
        "for worker in workers: worker.start()\nfor worker in workers: worker.join()\nprint(len(done))"
    ),
    "sleeps": "import time\ntime.sleep(0.12)\nprint('awake')",
    "takes memory": "data = bytearray(50_000_000)\nprint(len(data))",
}
"""Name to an honest program."""
INPUT = "a line"
OUTPUTS = {
    "prints": "fine", "reads its input": INPUT, "computes": str(sum(number * number for number in range(20_000))),
    "writes a file": "5000", "writes in folders": "['a', 'b', 'c']", "writes and deletes": "[]",
    "uses a temporary file": "100000", "starts threads": "6", "sleeps": "awake", "takes memory": "50000000",
}  # fmt: skip
"""Name of an honest program to what it prints."""
HOSTILE = (
    "while True: pass",
    "x = [0] * 10**10",
    "print('x' * 10**8)",
    "import os\nos.kill(0, 9)\nwhile True: pass",
    "import os\nos._exit(7)",
    "import ctypes\nctypes.string_at(0)",
    "open('big', 'wb').write(bytes(1 << 26))",
    "for number in range(10**6): open(str(number), 'wb').write(bytes(4096))",
    "import os\nfor _ in range(10**4):\n    os.mkdir('d')\n    os.chdir('d')\nwhile True: pass",
    "import os\nos.mkdir('secret')\nopen('secret/x', 'wb').write(bytes(1 << 22))\nos.chmod('secret', 0)\n"
    "while True: pass",
    "files = []\nimport os\nwhile True:\n    files.append(open('x', 'wb'))\n    files[-1].write(bytes(1 << 20))\n"
    "    files[-1].flush()\n    os.unlink('x')",
    "import threading, time\nwhile True: threading.Thread(target=time.sleep, args=(9,)).start()",
    "import sys\nsys.setrecursionlimit(10**9)\ndef f(): f()\nf()",
    "import os\nos.fork()",
    "import signal, os\nfor number in range(1, 65):\n    try: signal.signal(number, signal.SIG_IGN)\n"
    "    except OSError: pass\nwhile True: pass",
)
HONEST_FOR_EACH_HOSTILE = 4
HOSTILE_SECONDS = 0.3
HONEST_SECONDS = 120.0
"""Wall-clock seconds for an honest program: far more than it needs, so that a busy machine causes no timeout."""


@dataclass(frozen=True, slots=True)
class Run:
    """An honest program by its name, or a hostile one, which has none."""

    name: str
    code: str


def arguments(parser: argparse.ArgumentParser) -> None:
    """What the part takes."""
    parser.add_argument("--count", type=int, default=5000, help="honest programs at each level")
    parser.add_argument("--level", action="append", choices=levels.DEFAULT_ORDER, help="only this level; repeatable")
    parser.add_argument("--seed", type=int, default=0, help="the order of the programs")


def run(options: argparse.Namespace) -> int:
    """Print the number of false verdicts at each level that works on this machine; 1 if there are any."""
    print("| level | honest | hostile | false verdicts | seconds |\n|---|---|---|---|---|")
    false_verdicts: list[tuple[Level, Run, Result]] = []
    for level in options.level or levels.DEFAULT_ORDER:
        probe = levels.probe(level)
        if not probe.ok:
            print(f"| {level} | | | not on this machine: {probe.message} | |")
            continue
        runs = programs(options.count, options.seed)
        started = time.monotonic()
        found = _false_verdicts(level, runs)
        hostile = sum(not one.name for one in runs)
        seconds = time.monotonic() - started
        print(f"| {level} | {options.count:,} | {hostile:,} | {len(found):,} | {seconds:.0f} |", flush=True)
        false_verdicts += [(level, one, result) for one, result in found]
    counts = Counter((level, one.name, result.status) for level, one, result in false_verdicts)
    for (level, name, status), number in counts.most_common():
        example = next(
            result for at, one, result in false_verdicts if (at, one.name, result.status) == (level, name, status)
        )
        print(f"{number} times at {level}: a program that {name} ended as {status}: {example.stderr.strip()[-200:]!r}")
    return int(bool(false_verdicts))


def programs(count: int, seed: int) -> list[Run]:
    """`count` honest programs and a quarter as many hostile ones, in an order that the seed determines."""
    honest, hostile = list(HONEST.items()), count // HONEST_FOR_EACH_HOSTILE
    runs = [Run(*honest[number % len(honest)]) for number in range(count)]
    runs += [Run("", HOSTILE[number % len(HOSTILE)]) for number in range(hostile)]
    shuffle(SplitMix64(seed), runs)
    return runs


def _false_verdicts(level: Level, runs: list[Run]) -> list[tuple[Run, Result]]:
    """The honest programs that did not end well, with their results."""
    size = 2 * len(os.sched_getaffinity(0))
    pool = Pool(level, size)
    try:
        with ThreadPoolExecutor(size) as threads:
            results = list(threads.map(lambda one: _execute(pool, one), runs))
    finally:
        pool.close()
    pairs = zip(runs, results, strict=True)
    return [(one, result) for one, result in pairs if one.name and not _is_right(one, result)]


def _execute(pool: Pool, one: Run) -> Result:
    limits = Limits(wall_seconds=HONEST_SECONDS if one.name else HOSTILE_SECONDS)
    return pool.run(one.code, stdin=f"{INPUT}\n", limits=limits)


def _is_right(one: Run, result: Result) -> bool:
    return result.ok and result.stdout == f"{OUTPUTS[one.name]}\n"
