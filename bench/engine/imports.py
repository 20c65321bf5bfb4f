"""What `import gem` takes: a fresh process each time, ours and the peers' in turn."""

from __future__ import annotations

import os
import statistics
import subprocess
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

CODE = """
import sys, time
sys.path.{where}
before = time.process_time()
{statement}
print(time.process_time() - before, open('/proc/self/status').read().split('VmHWM:')[1].split()[0])
"""
"""Linux tells the most memory so far as VmHWM; getrusage would tell the larger of this process's and its parent's."""
MOST_SECONDS, MOST_MEGABYTES = 0.1, 30
"""What importing ours may take."""
ROOT = Path(__file__).resolve().parents[2]


@dataclass
class Row:
    """Seconds of CPU time, and the most memory of the process in MB, the interpreter's own included."""

    name: str
    seconds: float
    megabytes: float


def measure(pythons: Mapping[str, tuple[Path, str]], rounds: int) -> list[Row]:
    """A row for each name, given its interpreter and what it executes; medians over the rounds."""
    taken: dict[str, list[tuple[float, float]]] = {name: [] for name in pythons}
    for number in range(-1, rounds):  # the first one writes bytecode
        for name, (python, statement) in pythons.items():
            where = f"insert(0, {str(ROOT)!r})" if name.startswith("ours") else "append('')"
            environment = {key: value for key, value in os.environ.items() if key != "PYTHONPATH"}
            command = [str(python), "-P", "-c", CODE.format(where=where, statement=statement)]
            done = subprocess.run(command, capture_output=True, text=True, check=True, env=environment)
            seconds, kilobytes = done.stdout.split()[-2:]
            if number >= 0:
                taken[name].append((float(seconds), int(kilobytes) / 1024))
    return [
        Row(name, statistics.median(s for s, _ in values), statistics.median(m for _, m in values))
        for name, values in taken.items()
    ]
