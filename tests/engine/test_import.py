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
spent = time.process_time() - start
assert gem.registry.ENV_REGISTRY
print(spent)
print(*sorted({name.partition(".")[0] for name in set(sys.modules) - before}))
"""
HEAVY = {"pydantic", "numpy", "torch", "django", "celery", "asyncio", "email", "urllib", "http", "unittest", "socket"}


def test_importing_takes_under_100_ms_and_no_heavy_module() -> None:
    runs = []
    for _ in range(3):
        done = subprocess.run([sys.executable, "-c", PROBE], cwd=ROOT, capture_output=True, text=True, check=True)
        spent, modules = done.stdout.splitlines()
        assert not HEAVY & set(modules.split())
        runs.append(float(spent))
    assert min(runs) < 0.1
