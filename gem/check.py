"""Does an environment keep the contract? `check(env_id)` tries every promise of `gem.core` and says so in words.

for finding in check("game:Sokoban-v0-easy"):
    print(finding.status, finding.title, finding.what, finding.advice)

Every promise is one function below; it raises `Broken` with a sentence when the environment does not keep it. An
environment that declares its replay as `taped` or `none` is excused from those that only `exact` ones can keep.
"""

from __future__ import annotations

import hashlib
import importlib
import json
import math
import os
import random
import subprocess
import sys
import traceback
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

from gem import registry
from gem.check_pictures import Broken, expect_drawable, offers
from gem.core import Env, Info
from gem.errors import EpisodeOver, InvalidArgument

SEEDS = range(5)
"""Episodes that each promise is tried on."""
ENDLESS = 10_000
"""An episode without a turn limit has to end by itself within so many random turns."""
OFFERS = 200
"""Actions of one picture that are tried."""

Status = Literal["ok", "wrong", "left out"]
Turn = tuple[str | None, str, float, bool, bool, Info]
"""Action, observation, reward, terminated, truncated, info; the reset has no action."""


@dataclass(frozen=True, slots=True)
class Finding:
    """What came of one promise."""

    title: str
    status: Status
    what: str = ""
    """What happened, or why the promise was left out; empty if it is kept."""
    advice: str = ""
    """What to do about it; empty unless it is broken."""


@dataclass(frozen=True, slots=True)
class Subject:
    """The environment to be checked."""

    env_id: str
    modules: Sequence[str] = ()
    """What has to be imported so that the id is registered."""

    def make(self) -> Env:
        """A new environment."""
        return registry.make(self.env_id)


@dataclass(frozen=True, slots=True)
class Promise:
    """One promise, how it is tried, and what helps when it is broken."""

    title: str
    attempt: Callable[[Subject], None]
    advice: str
    basic: bool = False
    """If it is broken, nothing else can be tried."""
    exact: bool = False
    """Only environments with exact replay make it."""

    @property
    def key(self) -> str:
        """Its short name, such as `repeats_a_seed`."""
        return self.attempt.__name__


def check(env_id: str, modules: Sequence[str] = ()) -> Iterator[Finding]:
    """Try every promise; the findings come as they are made, and end at a broken one that all others rest on.

    Args:
        modules: modules outside any installed package that register the environment.

    Raises:
        UnknownEnvironment: if no such id is registered.
    """
    spec = registry.spec(env_id)
    subject = Subject(env_id, modules)
    for promise in PROMISES:
        if promise.exact and spec.replay != "exact":
            reason = f"The environment is registered with replay={spec.replay!r}, so it does not promise this."
            yield Finding(promise.title, "left out", reason)
            continue
        finding = _try(promise, subject)
        yield finding
        if promise.basic and finding.status == "wrong":
            return


def _try(promise: Promise, subject: Subject) -> Finding:
    try:
        promise.attempt(subject)
    except Broken as broken:
        return Finding(promise.title, "wrong", str(broken), promise.advice)
    except Exception as error:  # noqa: BLE001 (whatever the environment raises is the finding)
        return Finding(promise.title, "wrong", _raised(error), promise.advice)
    return Finding(promise.title, "ok")


def _raised(error: Exception) -> str:
    """The error in a sentence, with the line of the environment that it came from."""
    ours = str(Path(__file__).parent)
    stack = traceback.extract_tb(error.__traceback__)
    theirs = [frame for frame in stack if not frame.filename.startswith(ours)]
    frame = (theirs or stack)[-1]
    said = f": {error}" if str(error) else ""
    return f"It raised {type(error).__name__}{said} ({Path(frame.filename).name}, line {frame.lineno})."


# ------------------------------------------------------------------ playing


def play(env: Env, seed: int) -> list[Turn]:
    """A whole episode with random actions, the reset first.

    Raises:
        Broken: if it does not end when it should.
    """
    observation, info = env.reset(seed=seed)
    return [(None, observation, 0.0, False, False, info), *play_on(env)]


def play_on(env: Env) -> Iterator[Turn]:
    """From the present to the end with random actions.

    Raises:
        Broken: if the end does not come when it should.
    """
    limit = env.max_turns or ENDLESS
    for _ in range(limit):
        action = env.sample_random_action()
        observation, reward, terminated, truncated, info = env.step(action)
        yield action, observation, reward, terminated, truncated, info
        if terminated or truncated:
            return
    if env.max_turns:
        raise Broken(f"max_turns is {limit}, and after {limit} turns the episode still went on.")
    raise Broken(f"There is no turn limit, and {limit:,} random turns did not end the episode.")


def digest(env_id: str, seeds: Sequence[int] = SEEDS) -> str:
    """A fingerprint of every turn of some random episodes, the same in every process."""
    env = registry.make(env_id)
    text = json.dumps([play(env, seed) for seed in seeds], sort_keys=True)
    return hashlib.sha256(text.encode()).hexdigest()


FIELDS = ("action", "observation", "reward", "terminated", "truncated", "info")


def expect_same(first: Sequence[Turn], second: Sequence[Turn], where: str) -> None:
    """Raise `Broken` with the first place where two plays part."""
    for number, (one, other) in enumerate(zip(first, second, strict=False)):
        for name, value, different in zip(FIELDS, one, other, strict=True):
            if value != different:
                raise Broken(f"{where}: turn {number} has the {name} {short(value)} and then {short(different)}.")
    if len(first) != len(second):
        raise Broken(f"{where}: one play has {len(first) - 1} turns and the other {len(second) - 1}.")


def short(value: object) -> str:
    """A value in at most 80 characters."""
    text = repr(value)
    return text if len(text) <= 80 else f"{text[:77]}..."


# ------------------------------------------------------------------ the promises


def is_made(subject: Subject) -> None:
    env = subject.make()
    if not isinstance(env, Env):
        raise Broken(f"gem.make gave a {type(env).__name__}, which is no gem.Env.")
    env.close()


def begins(subject: Subject) -> None:
    env = subject.make()
    begun: Any = env.reset(seed=0)
    if not isinstance(begun, tuple) or len(begun) != 2:
        raise Broken(f"reset() returned {short(begun)}.")
    observation, info = begun
    _expect_text("The observation of reset()", observation)
    _expect_info("reset()", info)
    if env.seed != 0:
        raise Broken(f"After reset(seed=0) the attribute `seed` is {env.seed!r}.")


def plays_to_its_end(subject: Subject) -> None:
    env = subject.make()
    for seed in SEEDS:
        env.reset(seed=seed)
        over = False
        for number in range(1, (env.max_turns or ENDLESS) + 1):
            answer: Any = env.step(env.sample_random_action())
            if not isinstance(answer, tuple) or len(answer) != 5:
                raise Broken(f"step() returned {short(answer)}.")
            observation, reward, terminated, truncated, info = answer
            where = f"Turn {number} of seed {seed}"
            _expect_text(f"The observation of turn {number}", observation)
            _expect_info(where, info)
            if isinstance(reward, bool) or not isinstance(reward, int | float) or not math.isfinite(reward):
                raise Broken(f"{where} has the reward {reward!r}, which is no finite number.")
            for name, value in (("terminated", terminated), ("truncated", truncated)):
                if not isinstance(value, bool):
                    raise Broken(f"{where} has {name}={value!r}, which is neither True nor False.")
            over = terminated or truncated
            if over:
                break
        if not over:
            limit = f"max_turns is {env.max_turns}" if env.max_turns else "There is no turn limit"
            raise Broken(f"{limit}, and after {number:,} random turns the episode of seed {seed} still went on.")


def ends_in_one_way(subject: Subject) -> None:
    env = subject.make()
    for seed in SEEDS:
        turns = play(env, seed)
        for number, (*_, terminated, truncated, info) in enumerate(turns):
            where = f"Turn {number} of seed {seed}"
            if terminated and truncated:
                raise Broken(f"{where} is terminated and truncated at the same time.")
            ended = terminated or truncated
            if ended and not isinstance(info.get("success"), bool):
                raise Broken(f'{where} ends the episode, and info["success"] is {info.get("success")!r}.')
            if not ended and "success" in info:
                raise Broken(f'{where} has info["success"], and the episode goes on.')


def keeps_the_turn_limit(subject: Subject) -> None:
    env = subject.make()
    for seed in SEEDS:
        turns = play(env, seed)[1:]
        if turns[-1][4] and env.max_turns and len(turns) != env.max_turns:
            raise Broken(f"Seed {seed} was truncated at turn {len(turns)}, and max_turns is {env.max_turns}.")
        if turns[-1][4] and turns[-1][5]["success"]:
            raise Broken(f"Seed {seed} was truncated, and yet it counts as solved.")


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
        ("the unknown argument 'no_such_argument'", lambda: registry.make(subject.env_id, no_such_argument=1)),
        ("the seed -1", lambda: subject.make().reset(seed=-1)),
    ):
        try:
            attempt()
        except InvalidArgument:
            continue
        raise Broken(f"It accepted {name}.")


def repeats_a_seed(subject: Subject) -> None:
    first, second = subject.make(), subject.make()
    play(second, SEEDS[-1] + 1)  # what was played before must not matter
    for seed in SEEDS:
        before = random.getstate()
        once = play(first, seed)
        if random.getstate() != before:
            raise Broken("It draws from Python's global generator, which every other environment draws from too.")
        expect_same(once, play(second, seed), f"Seed {seed} played twice")


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
    path = os.pathsep.join(part or os.curdir for part in sys.path)
    hash_seed = "2" if os.environ.get("PYTHONHASHSEED") == "1" else "1"  # sets are in another order there
    environment = {**os.environ, "PYTHONHASHSEED": hash_seed, "PYTHONPATH": path}
    done = subprocess.run(command, env=environment, capture_output=True, text=True, check=False)  # noqa: S603
    if done.returncode:
        raise Broken(f"In another process: {(done.stderr.strip().splitlines() or ['it failed'])[-1]}")
    if done.stdout != digest(subject.env_id):
        raise Broken("Another process plays the same seeds differently.")


def goes_on_from_its_state(subject: Subject) -> None:
    env, other = subject.make(), subject.make()
    for seed in SEEDS:
        turns = play(env, seed)
        env.reset(seed=seed)
        for number, turn in enumerate(turns[1:], start=1):
            where = f"Seed {seed}, before turn {number}"
            state = env.get_state()
            text = json.dumps(state)
            given = json.loads(text)
            other.set_state(given)
            if other.view() != env.view():
                raise Broken(f"{where}: the environment that took the state shows another picture.")
            action = other.sample_random_action()
            taken: Turn = (action, *other.step(action))
            assert turn[0] is not None
            expect_same([turn], [taken], f"{where}, from its state (counted from there)")
            expect_same([turn], [(turn[0], *env.step(turn[0]))], f"{where}, after get_state() (counted from there)")
            if {json.dumps(state), json.dumps(given)} != {text}:
                raise Broken(f"{where}: the state changed when an environment went on from it.")


def spawns(subject: Subject) -> None:
    env = subject.make()
    expected = play(env, 2)
    other = env.spawn()
    if other is env:
        raise Broken("spawn() returned the environment itself.")
    expect_same(expected, play(other, 2), "Seed 2 in a spawned environment")
    env.reset(seed=2)
    other = env.spawn(same_state=True)
    expect_same(expected[1:], list(play_on(other)), "spawn(same_state=True) (counted from there)")
    expect_same(expected[1:], list(play_on(env)), "Seed 2 after spawn(same_state=True) (counted from there)")


def samples_valid_actions(subject: Subject) -> None:
    env = subject.make()
    for seed in SEEDS:
        for number, (action, *_, info) in enumerate(play(env, seed)):
            if info.get("error") == "format":
                raise Broken(f"Turn {number} of seed {seed}: its own random action {short(action)} was not understood.")
            if number and not isinstance(action, str):
                raise Broken(f"sample_random_action() returned {short(action)}, which is no text.")


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


def is_drawable(subject: Subject) -> None:
    env = subject.make()
    for seed in SEEDS:
        env.reset(seed=seed)
        expect_drawable(env.view())
        for (*_,) in play_on(env):
            expect_drawable(env.view())


def offers_valid_actions(subject: Subject) -> None:
    env, other = subject.make(), subject.make()
    for seed in SEEDS[:2]:
        env.reset(seed=seed)
        state = env.get_state()
        for action in sorted(offers(env.view()))[:OFFERS]:
            other.set_state(state)
            *_, info = other.step(action)
            if info.get("error") == "format":
                raise Broken(f"The picture offers {short(action)}, which the environment does not understand.")


def _any_action(subject: Subject) -> str:
    env = subject.make()
    env.reset(seed=0)
    return env.sample_random_action()


def _expect_over(env: Env, action: str, when: str) -> None:
    try:
        answer = env.step(action)
    except EpisodeOver:
        return
    except Exception as error:  # any other one is the finding
        raise Broken(f"step() {when} raised {type(error).__name__} instead of gem.errors.EpisodeOver.") from error
    raise Broken(f"step() {when} was accepted and returned {short(answer[0])}.")


def _expect_text(what: str, value: object) -> None:
    if not isinstance(value, str):
        raise Broken(f"{what} is {short(value)}, which is no text.")


def _expect_info(where: str, info: object) -> None:
    if not isinstance(info, dict):
        raise Broken(f"{where} has the info {short(info)}, which is no dictionary.")
    try:
        json.dumps(info, allow_nan=False)
    except (TypeError, ValueError) as error:
        raise Broken(f"{where} has an info that cannot be written as JSON: {error}.") from error


STATE_ADVICE = (
    "get_state() must hold everything the future depends on as plain JSON (the generator too: gem.draw."
    "pack_generator), and set_state() must copy it back: never hand out or keep the lists themselves."
)
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
        "Define _start() (or, in a gem.envs.game.Game, _draw() and _instructions()) and let Env.reset() call it: it "
        "returns the first observation, a text, and the info, a dictionary of plain JSON.",
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
        "Begin step() with: if there is no episode under way, raise gem.errors.EpisodeOver. A Game does it for you.",
    ),
    Promise(
        "Misspelt arguments and impossible seeds are refused.",
        refuses_bad_arguments,
        "Name the arguments instead of taking **kwargs, and leave the seed to Env.reset().",
    ),
    Promise(
        "The same seed and actions give the same episode.",
        repeats_a_seed,
        "Draw only from self.rng, through gem.draw; set everything that an episode uses anew in each reset.",
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
        "Its random actions are understood.",
        samples_valid_actions,
        "sample_random_action() returns an action in the very format that the instructions ask for.",
    ),
    Promise(
        "Asking for actions, pictures and states changes nothing.",
        is_asked_without_effect,
        "Draw a random action from gem.draw.Mixer(self.seed, turn, count), not from self.rng; do not write to self in "
        "view() or get_state().",
        exact=True,
    ),
    Promise(
        "Its picture can be drawn at every turn.",
        is_drawable,
        "view() returns one of the kinds in gem.views, with a name and, in a grid, a tone and a label for each cell.",
    ),
    Promise(
        "Clicks and keys send actions that are understood.",
        offers_valid_actions,
        "`act`, `alt` and `keys` of the view hold whole actions, exactly as an agent would write them.",
        exact=True,
    ),
)
"""In the order in which they are tried; the basic ones come first."""


def _print_digest(env_id: str, *modules: str) -> None:
    """What `repeats_in_other_processes` asks another process for."""
    for module in modules:
        importlib.import_module(module)
    sys.stdout.write(digest(env_id))


if __name__ == "__main__":
    _print_digest(*sys.argv[1:])
