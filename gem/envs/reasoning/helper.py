"""The process that holds ReasoningGym: one request on each line of its input, one answer on each line of its output.

It runs under hash seed 0 and draws every problem from freshly seeded generators, because some datasets walk through
sets or use the global generators: so a problem depends on nothing but its name. It ends with its input.
"""

from __future__ import annotations

import json
import os
import random
import signal
import sys
import warnings
from collections.abc import Mapping
from functools import lru_cache
from typing import IO, Any

from gem.envs.reasoning.answers import harmless

SIZED = frozenset({"acre", "composite", "gsm_symbolic", "list_functions", "word_ladder"})
"""Datasets whose items end at `size`; the others have one for every index."""
INDICES = 2**31
"""Seeds that differ by a multiple of it name the same problem; NumPy takes no larger ones."""
TRIES = 20
"""A few problems of a few datasets cannot be made, whoever asks; the next one that can is taken."""
STRIDE = 1_000_003
CPU_SECONDS = {"describe": 60.0, "problem": 60.0, "score": 10.0}
"""Computing time of an answer; a request that needs more ends this process."""

Request = Mapping[str, Any]


def serve() -> None:
    """Answer until the input ends."""
    answers = os.fdopen(os.dup(1), "w", encoding="utf-8")
    os.dup2(os.open(os.devnull, os.O_WRONLY), 1)  # what the datasets print is for nobody
    warnings.simplefilter("ignore")
    import reasoning_gym  # noqa: F401, PLC0415 (takes seconds; only this process pays them)

    for line in sys.stdin:
        request = json.loads(line)
        _limit(CPU_SECONDS[request["do"]])
        answer = _answer(request)
        _limit(0)
        _write(answers, answer)


def _limit(seconds: float) -> None:
    """End this process after so much computing; 0 takes the limit back."""
    if hasattr(signal, "setitimer"):
        signal.setitimer(signal.ITIMER_VIRTUAL, seconds)


def _write(answers: IO[str], answer: dict[str, Any]) -> None:
    answers.write(json.dumps(answer) + "\n")
    answers.flush()


def _answer(request: Request) -> dict[str, Any]:
    try:
        return VERBS[request["do"]](request)
    except Exception as error:  # noqa: BLE001 (the datasets raise anything; whoever asked says what it means)
        return {"error": f"{type(error).__name__}: {error}"}


def describe(request: Request) -> dict[str, Any]:
    """Make the dataset, to see whether its arguments are right."""
    _dataset(request["dataset"], request["size"], request["dataset_seed"], json.dumps(request["config"]))
    return {}


def problem(request: Request) -> dict[str, Any]:
    """The question, and the answer where there is one only."""
    _, entry = _entry(*_key(request))
    answer = entry["answer"]
    return {"question": str(entry["question"]), "answer": None if answer is None else str(answer)}


def score(request: Request) -> dict[str, Any]:
    """What an answer is worth: what the dataset says, and 0 where its scorer breaks on the answer."""
    dataset, entry = _entry(*_key(request))
    answer = request["answer"]
    name = entry["metadata"].get("source_dataset", request["dataset"])
    if answer is not None and not harmless(name, answer, entry):
        answer = None
    _seed_generators(0)
    try:
        return {"score": float(dataset.score_answer(answer=answer, entry=entry))}
    except Exception:  # noqa: BLE001 (scorers break on answers of another form than they expect)
        return {"score": 0.0}


VERBS = {"describe": describe, "problem": problem, "score": score}


def _key(request: Request) -> tuple[str, int, int, str, int]:
    config = json.dumps(request["config"], sort_keys=True)
    return request["dataset"], request["size"], request["dataset_seed"], config, request["seed"] % INDICES


@lru_cache(maxsize=256)
def _entry(name: str, size: int, dataset_seed: int, config: str, index: int) -> tuple[Any, dict[str, Any]]:
    """The dataset and its item at `index`, or the next one that can be made."""
    for attempt in range(TRIES):
        place = (index + attempt * STRIDE) % INDICES
        first = place // size * size if name in SIZED else 0
        dataset = _dataset(name, size, (dataset_seed + first) % INDICES, config)
        _seed_generators(place)
        try:
            return dataset, dataset[place - first]
        except Exception:  # the datasets raise anything; after the last attempt it goes on to whoever asked
            if attempt == TRIES - 1:
                raise
    raise AssertionError("the last attempt returns or raises")


@lru_cache(maxsize=64)
def _dataset(name: str, size: int, seed: int, config: str) -> Any:
    import reasoning_gym  # noqa: PLC0415 (see serve)
    from reasoning_gym.composite import DatasetSpec  # noqa: PLC0415

    arguments = json.loads(config)
    if name == "composite":
        arguments["datasets"] = [DatasetSpec(**{"config": {}, **given}) for given in arguments["datasets"]]
    _seed_generators(seed)
    return reasoning_gym.create_dataset(name, size=size, seed=seed, **arguments)


def _seed_generators(seed: int) -> None:
    """Give the global generators a start that depends on nothing before."""
    random.seed(seed)
    numpy = sys.modules.get("numpy")
    if numpy is not None:
        numpy.random.seed(seed % 2**32)
