"""Promises about reproducibility: the same seed and actions give the same episode, whatever happens beside it."""

from __future__ import annotations

import importlib
import json
import os
import random
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from itertools import zip_longest
from pathlib import Path
from typing import Any

from .playing import SEEDS, begin, canonical, difference, play, replay, some_seeds
from .promise import PATHS, BrokenPromise, NotApplicable, Promise
from .subjects import Subject, make_subject

REPLAYED_TURNS = 250
MANY_RESETS, MANY_SECONDS = 600, 15
"""So many episodes, in at most so many seconds of processor time."""
THREADS, MOST_THREAD_SEEDS, LEAST_THREAD_SEEDS, THREAD_TURNS = 4, 12, 3, 20
ALONE_SECONDS = 3
"""The seeds that threads play are those that one thread plays in so many seconds of processor time."""
PROCESS_SEEDS, PROCESS_TURNS, PROCESS_SECONDS = range(2), 30, 120
START = (
    f"{PATHS}sys.path.insert(0, sys.argv[1]); from driver import reproducibility; del sys.path[0]; "
    "reproducibility.print_episodes(*sys.argv[2:])"
)
"""Starts this package in another process, from the folder that it is in."""


def repeats_a_seed(subject: Subject) -> None:
    first, second = subject.make(), subject.make()
    play(subject, second, SEEDS[-1] + 1, turns=REPLAYED_TURNS)  # earlier episodes must have no effect
    for seed in some_seeds():
        actions = play(subject, first, seed, turns=REPLAYED_TURNS).actions
        if said := difference(replay(first, seed, actions), replay(second, seed, actions)):
            raise BrokenPromise(f"Seed {seed} with the same actions: {said}.")


def is_asked_without_effect(subject: Subject) -> None:
    env = subject.make()
    for seed in some_seeds():
        actions = play(subject, env, seed, turns=REPLAYED_TURNS).actions
        expected = replay(env, seed, actions)
        found = [env.reset(seed=seed)]
        for action in actions[: len(expected) - 1]:
            for _ in range(3):
                subject.random_action(env)
            found.append(env.step(action))
        if said := difference(expected, found):
            raise BrokenPromise(f"Seed {seed}, asked for random actions in between: {said}.")


def leaves_the_generators_alone(subject: Subject) -> None:
    env = subject.make()
    begin(subject, env, 12345)
    action = subject.random_action(env)
    for name, state in _generators():
        before = state()
        env.reset(seed=7)
        if state() != before:
            raise BrokenPromise(f"reset(seed=7) changes the generator of {name}, which the whole program draws from.")
        env.step(action)
        if state() != before:
            raise BrokenPromise(f"step() draws from the generator of {name}, which the whole program draws from.")


def _generators() -> Iterator[tuple[str, Callable[[], object]]]:
    yield "the module random", random.getstate
    if "numpy" in sys.modules:
        numpy_random = sys.modules["numpy"].random
        yield "numpy.random", lambda: str(numpy_random.get_state())


def is_undisturbed_by_others(subject: Subject) -> None:
    env, other = subject.make(), subject.make()
    for seed in some_seeds():
        actions = play(subject, env, seed, turns=REPLAYED_TURNS).actions
        expected = replay(env, seed, actions)
        found = [env.reset(seed=seed)]
        for number, action in enumerate(actions[: len(expected) - 1]):
            other.reset(seed=1000 + number)
            found.append(env.step(action))
        if said := difference(expected, found):
            raise BrokenPromise(f"Seed {seed}, while another environment of its kind is reset beside it: {said}.")


def repeats_after_many_episodes(subject: Subject) -> None:
    env = subject.make()
    first = begin(subject, env, 1)
    until = time.process_time() + MANY_SECONDS
    for number in range(MANY_RESETS):
        env.reset(seed=number)
        if time.process_time() > until:
            raise NotApplicable(f"{number} episodes took {MANY_SECONDS} seconds: too few to say.")
    if said := difference([first], [begin(subject, env, 1)]):
        raise BrokenPromise(f"Seed 1, before and after {MANY_RESETS} other episodes: {said}.")


def plays_the_same_in_threads(subject: Subject) -> None:
    alone, expected, actions = subject.make(), {}, {}
    began = time.process_time()
    for seed in range(MOST_THREAD_SEEDS):
        actions[seed] = play(subject, alone, seed, turns=THREAD_TURNS).actions
        expected[seed] = replay(alone, seed, actions[seed])
        if time.process_time() > began + ALONE_SECONDS and len(expected) >= LEAST_THREAD_SEEDS:
            break
    wrong: list[str] = []

    def replay_all(env: Any) -> None:
        for seed, results in expected.items():
            try:
                said = difference(results, replay(env, seed, actions[seed]))
            except Exception as error:  # noqa: BLE001 (whatever is raised in a thread is the finding)
                said = f"it raised {type(error).__name__}: {error}"
            if said:
                wrong.append(f"seed {seed}: {said}")

    interval = sys.getswitchinterval()
    sys.setswitchinterval(1e-5)
    try:
        threads = [threading.Thread(target=replay_all, args=(subject.make(),), daemon=True) for _ in range(THREADS)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
    finally:
        sys.setswitchinterval(interval)
    if wrong:
        played = THREADS * len(expected)
        raise BrokenPromise(f"In {THREADS} threads, {len(wrong)} of {played} episodes differ, such as {wrong[0]}.")


def repeats_in_other_processes(subject: Subject) -> None:
    hash_seed = "2" if os.environ.get("PYTHONHASHSEED") == "1" else "1"  # gives sets another order
    environment = {**os.environ, "PYTHONHASHSEED": hash_seed, "PYTHONPATH": os.pathsep.join(filter(None, sys.path))}
    folder = str(Path(__file__).parents[1])
    command = [sys.executable, "-W", "ignore", "-c", START, folder, subject.kind, subject.name, *subject.modules]
    try:
        done = subprocess.run(
            command, env=environment, capture_output=True, text=True, timeout=PROCESS_SECONDS, check=False
        )
    except subprocess.TimeoutExpired:
        raise NotApplicable(f"Another process did not play it within {PROCESS_SECONDS} seconds.") from None
    lines = [line for line in done.stdout.splitlines() if line.startswith("[[")]
    if done.returncode or not lines:
        raise BrokenPromise(f"In another process: {(done.stderr.strip().splitlines() or ['it failed'])[-1]}")
    for seed, (one, other) in enumerate(zip(episodes(subject), json.loads(lines[-1]), strict=True)):
        differing = [number for number, (turn, another) in enumerate(zip_longest(one, other)) if turn != another]
        if differing:
            raise BrokenPromise(f"Another process plays seed {seed} differently, from turn {differing[0]} on.")


def episodes(subject: Subject) -> list[list[str]]:
    """The turns of some episodes in a form that is the same in every process."""
    env = subject.make()
    return [
        [canonical(turn) for turn in zip([None, *played.actions], played.results, strict=True)]
        for played in (play(subject, env, seed, turns=PROCESS_TURNS) for seed in PROCESS_SEEDS)
    ]


def print_episodes(kind: str, name: str, *modules: str) -> None:
    """What `repeats_in_other_processes` runs in another process."""
    for module in modules:
        importlib.import_module(module)
    sys.stdout.write("\n" + json.dumps(episodes(make_subject(kind, name))) + "\n")


OWN = "Draw from a generator of the environment's own, which reset(seed) seeds, and never from a global one."
PROMISES = (
    Promise("The same seed and actions give the same episode.", repeats_a_seed, OWN),
    Promise("Asking for random actions changes nothing.", is_asked_without_effect, OWN, ("gem",)),
    Promise("It leaves the generators of the program alone.", leaves_the_generators_alone, OWN, once=True),
    Promise("Other environments beside it change nothing.", is_undisturbed_by_others, OWN),
    Promise(
        "A seed begins the same after many episodes.",
        repeats_after_many_episodes,
        "Let an episode depend on its seed alone, and not on how many were played before it.",
        once=True,
    ),
    Promise(
        "Threads change nothing.",
        plays_the_same_in_threads,
        "Keep what changes in self, never in the module or the class, and draw from a generator of its own.",
        once=True,
    ),
    Promise(
        "Other processes play the same episodes.",
        repeats_in_other_processes,
        "Do not depend on the order of a set, on hash(), on the time or on the process; sort sets before drawing.",
        once=True,
    ),
)
