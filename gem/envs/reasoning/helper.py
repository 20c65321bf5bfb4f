"""The process that runs ReasoningGym. It reads a request from each line of its input and writes an answer to each.

Some datasets iterate over sets or use the global random generators. The process therefore runs with hash seed 0 and
seeds the generators before every problem, so that a problem depends only on its dataset, arguments and seed. It ends
when its input ends.
"""

from __future__ import annotations

import contextlib
import json
import os
import random
import signal
import sys
import warnings
from collections.abc import Iterable, Iterator, Mapping
from functools import lru_cache
from types import ModuleType
from typing import IO, Any

from gem.envs.reasoning.answers import is_safe

SIZED_DATASETS = frozenset({"acre", "composite", "gsm_symbolic", "list_functions", "word_ladder"})
"""Datasets with only `size` items; the others have an item for every index."""
NUM_INDICES = 2**31
"""Seeds that differ by a multiple of this number select the same problem, since NumPy accepts no larger seeds."""
MAX_ATTEMPTS = 20
"""Indices tried for a problem. A few problems of a few datasets cannot be generated; then another index is used."""
STRIDE = 1_000_003
"""The distance between the indices tried for a problem."""
CPU_SECONDS = {"describe": 10.0, "problem": 20.0, "score": 10.0}
"""CPU seconds that a request may take; one that needs more ends this process. Without a config, most need a hundredth
of a second; the slowest of 800 problems of futoshiki took 11."""
MAX_MEMORY_BYTES = 2 * 2**30
"""The memory of this process. All datasets together, without a config, take an eighth of it."""
MAX_KEPT_BYTES = 2**28
"""If this process has ever taken more memory, it ends after a request that asks to forget what it made: Python would
give back only a part, and the next request starts another process."""

LARGEST_IN_SEQUENCE = 1000
"""The dataset number_sequence drops sequences with larger numbers."""

DRAWING = (
    *("matplotlib", "matplotlib.animation", "matplotlib.collections", "matplotlib.pyplot"),
    *("mpl_toolkits", "mpl_toolkits.mplot3d"),
)
"""Modules with which cellpylib can draw automata. No dataset does, and they take half of the time of a start."""

Request = Mapping[str, Any]


def serve() -> None:
    """Answer requests until the input ends."""
    answers = os.fdopen(os.dup(1), "w", encoding="utf-8")
    os.dup2(os.open(os.devnull, os.O_WRONLY), 1)  # the datasets print, and nobody should read it
    warnings.simplefilter("ignore")
    for name in DRAWING:
        sys.modules.setdefault(name, _Unused(name))
    import reasoning_gym  # noqa: F401, PLC0415 (takes seconds; only this process pays them)

    _limit_memory()
    for answer in _answer(sys.stdin):
        _write(answers, answer)


def _answer(lines: Iterable[str]) -> Iterator[dict[str, Any]]:
    """Answer requests, until there are no more or this process has taken too much memory to go on."""
    for line in lines:
        request = json.loads(line)
        _limit(CPU_SECONDS[request["do"]])
        answer = _handle(request)
        _limit(0)
        yield answer
        if request.get("forget") and _peak_memory() > MAX_KEPT_BYTES:
            return


class _Unused(ModuleType):
    """Stands where a module is imported and not used."""

    def __getattr__(self, name: str) -> None:
        if name.startswith("__"):
            raise AttributeError(name)


def _limit(seconds: float) -> None:
    """End this process after so many CPU seconds; 0 removes the limit."""
    if hasattr(signal, "setitimer"):
        signal.setitimer(signal.ITIMER_VIRTUAL, seconds)


def _limit_memory() -> None:
    """Let requests that need more than `MAX_MEMORY_BYTES` fail, where the system can."""
    try:
        import resource  # noqa: PLC0415 (not on Windows)
    except ImportError:
        return
    _, hard = resource.getrlimit(resource.RLIMIT_DATA)
    most = MAX_MEMORY_BYTES if hard == resource.RLIM_INFINITY else min(MAX_MEMORY_BYTES, hard)
    with contextlib.suppress(OSError, ValueError):
        resource.setrlimit(resource.RLIMIT_DATA, (most, hard))


def _peak_memory() -> int:
    """The most bytes of memory that this process has had at a time; 0 where the system does not say."""
    try:
        import resource  # noqa: PLC0415 (not on Windows)
    except ImportError:
        return 0
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return peak if sys.platform == "darwin" else peak * 1024


def _write(answers: IO[str], answer: dict[str, Any]) -> None:
    answers.write(json.dumps(answer) + "\n")
    answers.flush()


def _handle(request: Request) -> dict[str, Any]:
    try:
        try:
            return HANDLERS[request["do"]](request)
        except MemoryError:  # what was asked before may take it
            _entry.cache_clear()
            _dataset.cache_clear()
            return HANDLERS[request["do"]](request)
    except MemoryError:
        return {"error": f"it needs more than {MAX_MEMORY_BYTES // 2**30} GB of memory"}
    except Exception as error:  # noqa: BLE001 (the datasets raise anything; the caller decides what it means)
        return {"error": f"{type(error).__name__}: {error}"}


def describe(request: Request) -> dict[str, Any]:
    """Make the dataset to check its arguments. With `forget` it is not kept for problems."""
    make = _dataset.__wrapped__ if request.get("forget") else _dataset
    make(request["dataset"], request["size"], request["dataset_seed"], json.dumps(request["config"]))
    return {}


def problem(request: Request) -> dict[str, Any]:
    """The question, and the answer if the dataset gives one."""
    _, entry = _entry(*_key(request))
    answer = entry["answer"]
    return {"question": str(entry["question"]), "answer": None if answer is None else str(answer)}


def score(request: Request) -> dict[str, Any]:
    """The score of an answer by the dataset; 0 if its scorer fails on the answer."""
    dataset, entry = _entry(*_key(request))
    answer = request["answer"]
    name = entry["metadata"].get("source_dataset", request["dataset"])
    if answer is not None and not is_safe(name, answer, entry):
        answer = None
    _seed_generators(0)
    try:
        return {"score": float(dataset.score_answer(answer=answer, entry=entry))}
    except Exception:  # noqa: BLE001 (scorers fail on answers in a form that they do not expect)
        return {"score": 0.0}


HANDLERS = {"describe": describe, "problem": problem, "score": score}


def _key(request: Request) -> tuple[str, int, int, str, int]:
    config = json.dumps(request["config"], sort_keys=True)
    return request["dataset"], request["size"], request["dataset_seed"], config, request["seed"] % NUM_INDICES


@lru_cache(maxsize=256)
def _entry(name: str, size: int, dataset_seed: int, config: str, index: int) -> tuple[Any, dict[str, Any]]:
    """The dataset and its item at `index`, or at the next index for which it can be generated."""
    for attempt in range(MAX_ATTEMPTS):
        item_index = (index + attempt * STRIDE) % NUM_INDICES
        first_index = item_index // size * size if name in SIZED_DATASETS else 0
        dataset = _dataset(name, size, (dataset_seed + first_index) % NUM_INDICES, config)
        _seed_generators(item_index)
        try:
            return dataset, dataset[item_index - first_index]
        except Exception:  # the datasets raise anything; after the last attempt the caller gets it
            if attempt == MAX_ATTEMPTS - 1:
                raise
    raise AssertionError("the last attempt returns or raises")


@lru_cache(maxsize=64)
def _dataset(name: str, size: int, seed: int, config: str) -> Any:
    from reasoning_gym.composite import DatasetSpec  # noqa: PLC0415

    arguments = json.loads(config)
    if name == "composite":
        arguments["datasets"] = [DatasetSpec(**{"config": {}, **part}) for part in arguments["datasets"]]
    _seed_generators(seed)
    return _package().create_dataset(name, size=size, seed=seed, **arguments)


@lru_cache(maxsize=1)
def _package() -> Any:
    """ReasoningGym, whose dataset number_sequence drops a sequence as soon as one of its numbers is too large.

    By itself it computes all numbers before it looks at them. Where a rule squares several times, each number has many
    times the digits of the one before: two of 3,000 seeds took 16 CPU seconds and more.
    """
    import reasoning_gym  # noqa: PLC0415 (see serve)
    from reasoning_gym.cognition.number_sequences import PatternRule  # noqa: PLC0415

    apply = PatternRule.apply

    def apply_to_small(rule: Any, sequence: list[int], position: int) -> Any:
        if abs(sequence[position]) > LARGEST_IN_SEQUENCE:
            raise OverflowError("The sequence is dropped.")  # the dataset then tries another rule, as it would later
        return apply(rule, sequence, position)

    PatternRule.apply = apply_to_small
    return reasoning_gym


def _seed_generators(seed: int) -> None:
    """Seed the global generators, so that earlier problems have no influence."""
    random.seed(seed)
    numpy = sys.modules.get("numpy")
    if numpy is not None:
        numpy.random.seed(seed % 2**32)
