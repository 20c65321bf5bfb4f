"""Promises about an episode: how it goes on and ends, and which calls raise an error."""

from __future__ import annotations

import importlib
import math
import sys
import time
import warnings
from typing import Any

from .playing import MOST_TURNS, begin, canonical, ended, play, shorten, some_seeds
from .promise import BrokenPromise, NotApplicable, Promise
from .subjects import Subject

MANY_STARTS, MANY_SECONDS = 200, 10
FEW = 3
"""Fewer starts than this look like variety, and a policy learns them by heart. One is a puzzle that is always the same,
or hides what is drawn; three may be the sizes of such a puzzle."""


def plays_to_its_end(subject: Subject) -> None:
    env = subject.make()
    limit = subject.turn_limit(env)
    for seed in some_seeds():
        played = play(subject, env, seed)
        for number, result in enumerate(played.results[1:], start=1):
            _expect_turn(f"Turn {number} of seed {seed}", result)
        if not played.is_over and limit is not None:
            raise BrokenPromise(f"The limit is {limit} turns, and after {limit} turns of seed {seed} it still goes on.")
        if not played.is_over:
            raise NotApplicable(f"It has no turn limit, and {MOST_TURNS:,} random turns did not end an episode.")


def _expect_turn(place: str, result: Any) -> None:
    if not isinstance(result, tuple) or len(result) != 5:
        raise BrokenPromise(f"{place}: step() returned {shorten(result)}, which is not what it has to: five values.")
    _, reward, terminated, truncated, info = result
    if isinstance(reward, bool | str) or not _is_finite(reward):
        raise BrokenPromise(f"{place} has the reward {shorten(reward)}, which is no finite number.")
    for name, value in (("terminated", terminated), ("truncated", truncated)):
        if not isinstance(value, bool) and "bool" not in type(value).__name__:  # NumPy has one of its own
            raise BrokenPromise(f"{place} has {name}={shorten(value)}, which is neither True nor False.")
    if not isinstance(info, dict):
        raise BrokenPromise(f"{place} has the info {shorten(info)}, which is no dictionary.")


def _is_finite(reward: Any) -> bool:
    try:
        return math.isfinite(float(reward))
    except (TypeError, ValueError):
        return False


def observations_are_in_their_space(subject: Subject) -> None:
    env = subject.make()
    for seed in some_seeds():
        for number, result in enumerate(play(subject, env, seed).results):
            if not env.observation_space.contains(result[0]):
                raise BrokenPromise(
                    f"Turn {number} of seed {seed}: {shorten(result[0])} is not in {env.observation_space}."
                )


def passes_the_checker_of_its_package(subject: Subject) -> None:
    checker = importlib.import_module("gymnasium.utils.env_checker")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            checker.check_env(subject.make().unwrapped, skip_render_check=True)
        except (AssertionError, ValueError, TypeError) as error:
            raise BrokenPromise(f"gymnasium.utils.env_checker.check_env says: {error}") from error


def random_actions_are_understood(subject: Subject) -> None:
    """An action that nothing can be made of ends the episode at once with a penalty, whatever the seed."""
    env, refused, action = subject.make(), [], None
    if subject.turn_limit(env) in (None, 1):
        raise NotApplicable("It may have one turn, so that any wrong answer ends it.")
    for seed in some_seeds():
        begin(subject, env, seed)
        try:
            action = env.sample_random_action()
        except NotImplementedError:
            raise NotApplicable("It has no random actions.") from None
        result = env.step(action)
        refused.append(ended(result) and result[1] < 0)
    if all(refused):
        raise BrokenPromise(f"Its own random action {shorten(action)} ends the episode with a penalty, at every seed.")


def ends_in_one_way(subject: Subject) -> None:
    env = subject.make()
    for seed in some_seeds():
        for number, result in enumerate(play(subject, env, seed).results[1:], start=1):
            if result[2] and result[3]:
                raise BrokenPromise(f"Turn {number} of seed {seed} is terminated and truncated at the same time.")


def refuses_turns_before_the_first_reset(subject: Subject) -> None:
    action = _any_action(subject)
    env = subject.make()
    try:
        env.step(action)
    except (AttributeError, KeyError, IndexError, TypeError) as error:
        raise BrokenPromise(f"step() before reset() fails inside: {type(error).__name__}: {error}.") from error
    except Exception:  # noqa: BLE001 (whatever is raised refuses the turn)
        return
    raise NotApplicable("It begins an episode when it is made, so there is nothing to refuse.")


def refuses_turns_after_the_end(subject: Subject) -> None:
    env = subject.make()
    for seed in some_seeds():
        played = play(subject, env, seed)
        if not played.is_over:
            continue
        try:
            result = env.step(played.actions[-1])
        except Exception:  # noqa: BLE001 (whatever is raised refuses the turn)
            return
        raise BrokenPromise(f"A turn after the end is accepted: {shorten(result[0])}, reward {result[1]}.")
    raise NotApplicable("Random actions did not end an episode.")


def says_the_same_kinds_of_things(subject: Subject) -> None:
    """A prompt that consists of the suffix would otherwise be empty in the first turn."""
    env = subject.make()
    played = play(subject, env, 0, turns=1)
    first, second = played.results
    for name in ("prefix", "suffix"):
        if name in second[-1] and name not in first[-1]:
            raise BrokenPromise(f"step() gives an info with {name}, and reset() does not.")


def has_several_starts(subject: Subject) -> None:
    env = subject.make()
    if subject.turn_limit(env) in (None, 1) and play(subject, env, 0, turns=1).is_over:
        raise NotApplicable("It has one turn.")
    if getattr(env, "seats", 1) > 1 or getattr(env, "opponent", None) is not None:
        raise NotApplicable("Other players act in it.")
    starts, until = set(), time.process_time() + MANY_SECONDS
    for seed in range(MANY_STARTS):
        starts.add(canonical(env.reset(seed=seed)))
        if time.process_time() > until:
            raise NotApplicable(f"{seed + 1} seeds took {MANY_SECONDS} seconds: too few to say.")
    if 1 < len(starts) < FEW:
        raise BrokenPromise(f"{MANY_STARTS} seeds begin in {len(starts)} ways only: a policy learns them by heart.")


class _OpenedFiles:
    """The files that are opened while somebody listens. A hook cannot be taken away again, so there is one."""

    def __init__(self) -> None:
        self.names: list[str] | None = None
        self.is_installed = False

    def listen(self) -> None:
        """Begin anew."""
        if not self.is_installed:
            sys.addaudithook(self._note)
            self.is_installed = True
        self.names = []

    def stop(self) -> list[str]:
        """Stop, and return the names of data files that were opened."""
        names, self.names = self.names or [], None
        return [name for name in names if _is_data(name)]

    def _note(self, event: str, arguments: Any) -> None:
        if event == "open" and self.names is not None and isinstance(arguments[0], str):
            self.names.append(arguments[0])


_opened_files = _OpenedFiles()


def _is_data(name: str) -> bool:
    return not name.endswith((".py", ".pyc", ".so")) and not name.startswith(("/dev/", "/proc/", "/sys/"))


def resets_without_reading_files(subject: Subject) -> None:
    env = subject.make()
    begin(subject, env, 0)
    env.reset(seed=1)
    _opened_files.listen()
    try:
        env.reset(seed=2)
    finally:
        files = _opened_files.stop()
    if files:
        raise BrokenPromise(f"Every reset() reads {files[0].rsplit('/', 1)[-1]} from the disk anew.")


def _any_action(subject: Subject) -> Any:
    env = subject.make()
    begin(subject, env, 0)
    return subject.random_action(env)


PROMISES = (
    Promise(
        "Random actions play it to its end.",
        plays_to_its_end,
        "step() returns an observation, a finite number, two booleans and a dictionary, and the turn limit ends it.",
    ),
    Promise(
        "Observations are in their space.",
        observations_are_in_their_space,
        "Give observation_space the bounds, the shape and the type of what reset() and step() return.",
        ("gymnasium",),
    ),
    Promise(
        "Gymnasium's own checker finds nothing.",
        passes_the_checker_of_its_package,
        "Call gymnasium.utils.env_checker.check_env in a test.",
        ("gymnasium",),
    ),
    Promise(
        "Its random actions are understood.",
        random_actions_are_understood,
        "sample_random_action() returns an action in the format that the instructions ask for.",
        ("gem",),
    ),
    Promise(
        "An episode ends in one way.",
        ends_in_one_way,
        "truncated is the turn limit, terminated any other end: a value may be bootstrapped after the first only.",
        ("gem",),
    ),
    Promise(
        "Turns before the first reset are refused.",
        refuses_turns_before_the_first_reset,
        "Raise an error that says to call reset() first.",
        once=True,
    ),
    Promise(
        "Turns after the end are refused.",
        refuses_turns_after_the_end,
        "Raise an error until reset() is called.",
        ("gem",),
        once=True,
    ),
    Promise(
        "reset() says what step() says.",
        says_the_same_kinds_of_things,
        "Give the prefix or suffix in the info of reset() as well.",
        ("gem",),
    ),
    Promise(
        "Its seeds begin in many ways.",
        has_several_starts,
        "Draw the start from more positions, or say that there is one.",
        ("gem",),
    ),
    Promise(
        "reset() reads no files.",
        resets_without_reading_files,
        "Read the data once, when the module is imported or the first environment is made, and share them.",
    ),
)
