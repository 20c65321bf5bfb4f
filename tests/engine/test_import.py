"""`import gem` is quick and brings nothing heavy."""

import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).parents[2]
PROBE = """
import sys, time
before = set(sys.modules)
start = time.process_time()
import gem
print(time.process_time() - start)
print(*sorted({name.partition(".")[0] for name in set(sys.modules) - before}))
assert "game:Wordle-v0" in gem.registry.ENV_REGISTRY
print(time.process_time() - start)
print(*sorted(sys.modules))
"""
YARDSTICK = """
import time
start = time.process_time()
import asyncio, http.client, logging.config
print(time.process_time() - start)
"""
"""Modules of the standard library whose import takes about 0.1 s, however fast the machine is."""
HEAVY = {"pydantic", "numpy", "torch", "django", "celery", "asyncio", "email", "urllib", "http", "unittest", "socket"}
LISTED_HEAVY = HEAVY - {"urllib"} | {"urllib.request"}
"""The games may read files, for which `pathlib` takes `urllib.parse`."""


def run(code: str) -> list[str]:
    """The lines that a new process prints."""
    command = [sys.executable, "-c", code]
    return subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=True).stdout.splitlines()


def test_importing_takes_less_than_the_yardstick_and_no_heavy_module_and_listing_little_more() -> None:
    imported, listed, yardstick = [], [], []
    for _ in range(3):
        yardstick.append(float(run(YARDSTICK)[0]))
        spent, modules, spent_listing, listing_modules = run(PROBE)
        assert not HEAVY & set(modules.split())
        assert not LISTED_HEAVY & set(listing_modules.split())
        imported.append(float(spent))
        listed.append(float(spent_listing))
    assert min(imported) < min(yardstick)
    assert min(listed) < 2 * min(yardstick)
