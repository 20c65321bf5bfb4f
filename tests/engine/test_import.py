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
HEAVY = {"pydantic", "numpy", "torch", "django", "celery", "asyncio", "email", "urllib", "http", "unittest", "socket"}
LISTED_HEAVY = HEAVY - {"urllib"} | {"urllib.request"}
"""The games may read files, for which `pathlib` takes `urllib.parse`."""


def test_importing_takes_under_100_ms_and_no_heavy_module_and_listing_little_more() -> None:
    imported, listed = [], []
    for _ in range(3):
        done = subprocess.run([sys.executable, "-c", PROBE], cwd=ROOT, capture_output=True, text=True, check=True)
        spent, modules, spent_listing, listing_modules = done.stdout.splitlines()
        assert not HEAVY & set(modules.split())
        assert not LISTED_HEAVY & set(listing_modules.split())
        imported.append(float(spent))
        listed.append(float(spent_listing))
    assert min(imported) < 0.1
    assert min(listed) < 0.25
