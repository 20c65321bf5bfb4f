"""The promises about reproducibility: the same seed and actions give the same episode, in any process and state."""

from __future__ import annotations

import json
import os
import random
import subprocess
import sys

from gem import registry
from gem.check.promise import SEEDS, BrokenPromise, Promise, Subject, Turn, episodes_digest, expect_same, play, play_on


def repeats_a_seed(subject: Subject) -> None:
    first, second = subject.make(), subject.make()
    play(second, SEEDS[-1] + 1)  # earlier episodes must have no effect
    for seed in SEEDS:
        before = random.getstate()
        turns = play(first, seed)
        if random.getstate() != before:
            raise BrokenPromise(
                "It draws from Python's global generator, which every other environment draws from too."
            )
        expect_same(turns, play(second, seed), f"Seed {seed} played twice")


def is_undisturbed_by_others(subject: Subject) -> None:
    env, other = subject.make(), subject.make()
    expected = play(env, 0)
    observation, info = env.reset(seed=0)
    played: list[Turn] = [(None, observation, 0.0, False, False, info)]
    for seed, (action, *_) in enumerate(expected[1:], start=1):
        other.reset(seed=seed)
        assert action is not None
        played.append((action, *env.step(action)))
    expect_same(expected, played, "Seed 0 beside another environment of the same kind")


def repeats_in_other_processes(subject: Subject) -> None:
    module = getattr(registry.spec(subject.env_id).load(), "__module__", "__main__")
    if module == "__main__":
        return
    command = [sys.executable, "-m", "gem.check", subject.env_id, *subject.modules, module]
    path = os.pathsep.join(entry or os.curdir for entry in sys.path)
    hash_seed = "2" if os.environ.get("PYTHONHASHSEED") == "1" else "1"  # gives sets another order
    environment = {**os.environ, "PYTHONHASHSEED": hash_seed, "PYTHONPATH": path}
    process = subprocess.run(command, env=environment, capture_output=True, text=True, check=False)  # noqa: S603
    if process.returncode:
        raise BrokenPromise(f"In another process: {(process.stderr.strip().splitlines() or ['it failed'])[-1]}")
    if process.stdout != episodes_digest(subject.env_id):
        raise BrokenPromise("Another process plays the same seeds differently.")


def goes_on_from_its_state(subject: Subject) -> None:
    env, other = subject.make(), subject.make()
    for seed in SEEDS:
        turns = play(env, seed)
        env.reset(seed=seed)
        for number, turn in enumerate(turns[1:], start=1):
            place = f"Seed {seed}, before turn {number}"
            state = env.get_state()
            text = json.dumps(state)
            state_copy = json.loads(text)
            other.set_state(state_copy)
            if any(other.view(seat) != env.view(seat) for seat in range(env.seats)):
                raise BrokenPromise(f"{place}: the environment that took the state shows another picture.")
            action = other.sample_random_action()
            other_turn: Turn = (action, *other.step(action))
            assert turn[0] is not None
            expect_same([turn], [other_turn], f"{place}, from its state (counted from there)")
            expect_same([turn], [(turn[0], *env.step(turn[0]))], f"{place}, after get_state() (counted from there)")
            if {json.dumps(state), json.dumps(state_copy)} != {text}:
                raise BrokenPromise(f"{place}: the state changed when an environment went on from it.")


def spawns(subject: Subject) -> None:
    env = subject.make()
    expected = play(env, 2)
    other = env.spawn()
    if other is env:
        raise BrokenPromise("spawn() returned the environment itself.")
    expect_same(expected, play(other, 2), "Seed 2 in a spawned environment")
    env.reset(seed=2)
    other = env.spawn(same_state=True)
    expect_same(expected[1:], list(play_on(other)), "spawn(same_state=True) (counted from there)")
    expect_same(expected[1:], list(play_on(env)), "Seed 2 after spawn(same_state=True) (counted from there)")


def is_asked_without_effect(subject: Subject) -> None:
    env = subject.make()
    expected = play(env, 1)
    observation, info = env.reset(seed=1)
    played: list[Turn] = [(None, observation, 0.0, False, False, info)]
    for action, *_ in expected[1:]:
        for _ in range(3):
            env.sample_random_action()
            env.view()
            env.get_state()
        assert action is not None
        played.append((action, *env.step(action)))
    expect_same(expected, played, "Seed 1, asked for random actions, views and states in between")


STATE_ADVICE = (
    "get_state() must hold everything the future depends on as plain JSON (the generator too: gem.rng."
    "pack_generator), and set_state() must copy it back: never hand out or keep the lists themselves."
)
PROMISES: tuple[Promise, ...] = (
    Promise(
        "The same seed and actions give the same episode.",
        repeats_a_seed,
        "Draw only from self.rng, through gem.rng; set everything that an episode uses anew in each reset.",
        exact=True,
    ),
    Promise(
        "Other environments beside it change nothing.",
        is_undisturbed_by_others,
        "Keep what changes in self, never in the module or the class.",
        exact=True,
    ),
    Promise(
        "Other processes play the same episodes.",
        repeats_in_other_processes,
        "Do not depend on the order of a set, on hash(), on the time or on the process; sort sets before drawing.",
        exact=True,
    ),
    Promise("It goes on from its state at every turn.", goes_on_from_its_state, STATE_ADVICE, exact=True),
    Promise(
        "spawn() makes another one like it.",
        spawns,
        "spawn(same_state=False, **overrides) makes a new one with the same arguments; with same_state=True it calls "
        "set_state(self.get_state()) on it. A Game does it for you.",
        exact=True,
    ),
    Promise(
        "Asking for actions, pictures and states changes nothing.",
        is_asked_without_effect,
        "Draw a random action from gem.rng.SplitMix64(self.seed, turn, count), not from self.rng; do not write to "
        "self in view() or get_state().",
        exact=True,
    ),
)
