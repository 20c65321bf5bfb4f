"""The promises about an episode: how it begins, goes on and ends, and which calls raise an error."""

from __future__ import annotations

import json
import math
from typing import Any

from gem.check.promise import MAX_RANDOM_TURNS, SEEDS, BrokenPromise, Promise, Subject, play, play_on, shorten
from gem.core import Env
from gem.errors import EpisodeOver, InvalidArgument
from gem.factory import make


def is_made(subject: Subject) -> None:
    env = subject.make()
    if not isinstance(env, Env):
        raise BrokenPromise(f"gem.make gave a {type(env).__name__}, which is no gem.Env.")
    env.close()


def begins(subject: Subject) -> None:
    env = subject.make()
    result: Any = env.reset(seed=0)
    if not isinstance(result, tuple) or len(result) != 2:
        raise BrokenPromise(f"reset() returned {shorten(result)}.")
    observation, info = result
    _expect_text("The observation of reset()", observation)
    _expect_info("reset()", info)
    if env.seed != 0:
        raise BrokenPromise(f"After reset(seed=0) the attribute `seed` is {env.seed!r}.")


def plays_to_its_end(subject: Subject) -> None:
    env = subject.make()
    for seed in SEEDS:
        env.reset(seed=seed)
        is_over = False
        for number in range(1, (env.max_turns or MAX_RANDOM_TURNS) + 1):
            result: Any = env.step(env.sample_random_action())
            if not isinstance(result, tuple) or len(result) != 5:
                raise BrokenPromise(f"step() returned {shorten(result)}.")
            observation, reward, terminated, truncated, info = result
            place = f"Turn {number} of seed {seed}"
            _expect_text(f"The observation of turn {number}", observation)
            _expect_info(place, info)
            if isinstance(reward, bool) or not isinstance(reward, int | float) or not math.isfinite(reward):
                raise BrokenPromise(f"{place} has the reward {reward!r}, which is not a finite number.")
            for name, value in (("terminated", terminated), ("truncated", truncated)):
                if not isinstance(value, bool):
                    raise BrokenPromise(f"{place} has {name}={value!r}, which is neither True nor False.")
            is_over = terminated or truncated
            if is_over:
                break
        if not is_over:
            limit = f"max_turns is {env.max_turns}" if env.max_turns else "There is no turn limit"
            raise BrokenPromise(f"{limit}, and after {number:,} random turns the episode of seed {seed} still went on.")


def ends_in_one_way(subject: Subject) -> None:
    env = subject.make()
    for seed in SEEDS:
        turns = play(env, seed)
        for number, (*_, terminated, truncated, info) in enumerate(turns):
            place = f"Turn {number} of seed {seed}"
            if terminated and truncated:
                raise BrokenPromise(f"{place} is terminated and truncated at the same time.")
            is_over = terminated or truncated
            if is_over and not isinstance(info.get("success"), bool):
                raise BrokenPromise(f'{place} ends the episode, and info["success"] is {info.get("success")!r}.')
            if not is_over and "success" in info:
                raise BrokenPromise(f'{place} has info["success"], and the episode goes on.')


def keeps_the_turn_limit(subject: Subject) -> None:
    env = subject.make()
    for seed in SEEDS:
        turns = play(env, seed)[1:]
        unused = turns[-1][5].get("tool_uses_left", 0)  # tools have turns of their own
        if turns[-1][4] and env.max_turns and len(turns) + unused != env.max_turns:
            raise BrokenPromise(f"Seed {seed} was truncated at turn {len(turns)}, and max_turns is {env.max_turns}.")
        if turns[-1][4] and turns[-1][5]["success"]:
            raise BrokenPromise(f"Seed {seed} was truncated, and yet it counts as solved.")


def refuses_turns_outside_an_episode(subject: Subject) -> None:
    env = subject.make()
    action = _any_action(subject)
    _expect_over(env, action, "before the first reset()")
    play(env, 0)
    _expect_over(env, action, "after the end of the episode")
    env.reset(seed=1)
    next(play_on(env))


def refuses_bad_arguments(subject: Subject) -> None:
    for name, attempt in (
        ("the unknown argument 'no_such_argument'", lambda: make(subject.env_id, no_such_argument=1)),
        ("the seed -1", lambda: subject.make().reset(seed=-1)),
    ):
        try:
            attempt()
        except InvalidArgument:
            continue
        raise BrokenPromise(f"It accepted {name}.")


def samples_valid_actions(subject: Subject) -> None:
    env = subject.make()
    for seed in SEEDS:
        for number, (action, *_, info) in enumerate(play(env, seed)):
            if info.get("error") == "format":
                raise BrokenPromise(
                    f"Turn {number} of seed {seed}: its own random action {shorten(action)} was not understood."
                )
            if number and not isinstance(action, str):
                raise BrokenPromise(f"sample_random_action() returned {shorten(action)}, which is not a string.")


def _any_action(subject: Subject) -> str:
    env = subject.make()
    env.reset(seed=0)
    return env.sample_random_action()


def _expect_over(env: Env, action: str, when: str) -> None:
    try:
        result = env.step(action)
    except EpisodeOver:
        return
    except Exception as error:
        raise BrokenPromise(
            f"step() {when} raised {type(error).__name__} instead of gem.errors.EpisodeOver."
        ) from error
    raise BrokenPromise(f"step() {when} was accepted and returned {shorten(result[0])}.")


def _expect_text(label: str, value: object) -> None:
    if not isinstance(value, str):
        raise BrokenPromise(f"{label} is {shorten(value)}, which is not a string.")
    try:
        value.encode()
    except UnicodeEncodeError as error:
        raise BrokenPromise(
            f"{label} has the character {value[error.start]!a}, half of a surrogate pair, which UTF-8 has not."
        ) from error


def _expect_info(label: str, info: object) -> None:
    if not isinstance(info, dict):
        raise BrokenPromise(f"{label} has the info {shorten(info)}, which is not a dictionary.")
    try:
        json.dumps(info, allow_nan=False, ensure_ascii=False).encode()
    except (TypeError, ValueError) as error:
        raise BrokenPromise(f"{label} has an info that cannot be written as JSON: {error}.") from error


PROMISES: tuple[Promise, ...] = (
    Promise(
        "It can be made.",
        is_made,
        "Make sure that the registered arguments are those of the class, and that it derives from gem.Env.",
        basic=True,
    ),
    Promise(
        "reset(seed=...) begins an episode.",
        begins,
        "Define reset(self, seed=None), which calls super().reset(seed) first, or _start() (in a gem.envs.game.Game, "
        "_draw() and _instructions()), which Env.reset() calls: the first observation, a text, and the info, a "
        "dictionary of plain JSON, are returned.",
        basic=True,
    ),
    Promise(
        "Random actions play it to its end.",
        plays_to_its_end,
        "step() returns (observation, reward, terminated, truncated, info): a text, a number, two booleans and a "
        "dictionary of plain JSON; set max_turns, and truncate the episode at that turn.",
        basic=True,
    ),
    Promise(
        "An episode ends in one way, and says whether it was solved.",
        ends_in_one_way,
        'terminated is the problem\'s own end, truncated the turn limit. Put info["success"] (True or False) into the '
        "last turn and into no other.",
        basic=True,
    ),
    Promise(
        "The turn limit, and nothing else, truncates an episode.",
        keeps_the_turn_limit,
        "Set truncated exactly at turn max_turns, if the problem has not ended by then; that is no success.",
    ),
    Promise(
        "Turns before the first reset and after the end are refused.",
        refuses_turns_outside_an_episode,
        "Begin step() with: if there is no episode under way, raise gem.errors.EpisodeOver. A Game does it for you, "
        "and so does gem.make for a class that defines reset() instead of _start().",
    ),
    Promise(
        "Misspelt arguments and impossible seeds are refused.",
        refuses_bad_arguments,
        "Name the arguments instead of taking **kwargs, and leave the seed to Env.reset().",
    ),
    Promise(
        "Its random actions are understood.",
        samples_valid_actions,
        "sample_random_action() returns an action in the very format that the instructions ask for.",
    ),
)
