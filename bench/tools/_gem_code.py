"""GEM's way of running programs, timed in GEM's own interpreter: a request as JSON on stdin, seconds as JSON on stdout.

Run by `bench.tools.python` and `bench.tools.code` with the Python of the peers' virtual environment.
"""

from __future__ import annotations

import importlib
import json
import sys
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from types import ModuleType
from typing import Any


def run(code: str, count: int, threads: int) -> dict[str, Any]:
    """Run a program `count` times, so many at once; how many ended well."""
    run_python: Any = importlib.import_module("gem.utils.sandbox").run_python
    with ThreadPoolExecutor(threads) as pool:
        begun = time.perf_counter()
        ended = list(pool.map(lambda _: run_python(code, "none")[0], range(count)))
        return {"seconds": time.perf_counter() - begun, "right": sum(ended)}


class _Table(list[Any]):
    """What GEM asks of its table of problems; the package `datasets` would be a gigabyte for this."""

    def shuffle(self, **_: Any) -> _Table:
        return self


class _Datasets(ModuleType):
    Dataset, DatasetDict, load_dataset = _Table, dict, None


def judge(rows: list[dict[str, Any]]) -> dict[str, Any]:
    """Judge the solution of every row by its tests, with as many threads as GEM takes; how many pass."""
    sys.modules.setdefault("datasets", _Datasets("datasets"))
    kind: Any = importlib.import_module("gem.envs.code_env").CodeEnv
    env = kind(dataset=_Table(rows), dataset_name="taco")
    right, seconds = 0, 0.0
    for row in rows:
        env.tests = row["tests"]
        begun = time.perf_counter()
        _, reward, *_ = env.step(f"```python\n{row['solution']}\n```")
        seconds += time.perf_counter() - begun
        right += reward == 1
    return {"seconds": seconds, "right": right}


if __name__ == "__main__":
    request = json.load(sys.stdin)
    verbs: dict[str, Callable[..., dict[str, Any]]] = {"run": run, "judge": judge}
    print(json.dumps(verbs[request.pop("verb")](**request)))
