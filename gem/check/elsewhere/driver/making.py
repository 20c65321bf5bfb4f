"""Promises about how an environment is made, and what its arguments are."""

from __future__ import annotations

import time
from typing import Any

from .playing import begin
from .promise import BrokenPromise, NotApplicable, Promise, TooLong, time_limit
from .subjects import Subject

HANGS_AFTER = 3
"""Seconds of processor time after which an environment with a large argument counts as hanging."""
LARGER = 10
NETWORK_ERRORS = ("ConnectionError", "ConnectTimeout", "gaierror", "URLError", "HTTPError", "MaxRetryError", "Offline")


def is_made(subject: Subject) -> None:
    try:
        subject.make()
    except Exception as error:
        if needs_network(error):
            raise NotApplicable(f"It needs the network: {type(error).__name__}.") from error
        raise


def needs_network(error: BaseException | None) -> bool:
    """Whether an error says that something could not be downloaded."""
    seen: set[int] = set()
    while error is not None and id(error) not in seen:
        seen.add(id(error))
        if any(word in base.__name__ for base in type(error).__mro__ for word in NETWORK_ERRORS):
            return True
        error = error.__cause__ or error.__context__
    return False


def its_arguments_are_known(subject: Subject) -> None:
    named, registered = subject.arguments()
    if not subject.takes_any_argument:
        return  # an unknown one would have been refused, unless whoever makes it takes it
    unknown = [name for name in registered if name not in named]
    if unknown:
        raise BrokenPromise(f"It is registered with {unknown[0]}=, which its class does not have and ignores.")


def large_arguments_come_back(subject: Subject) -> None:
    named, registered = subject.arguments()
    for name, default in named.items():
        value = registered.get(name, default)
        if isinstance(value, int) and not isinstance(value, bool) and value > 0 and name != "seed":
            _try_argument(subject, name, LARGER * value + 7)


def _try_argument(subject: Subject, name: str, value: int) -> None:
    began = time.process_time()
    try:
        with time_limit(HANGS_AFTER):
            env = subject.make(**{name: value})
            begin(subject, env, 0)
            env.step(subject.random_action(env))
    except TooLong:
        said = f"With {name}={value} it does not come back within {HANGS_AFTER} seconds."
        raise BrokenPromise(said) from None
    except Exception:  # noqa: BLE001 (whatever is raised refuses the value)
        return
    if (seconds := time.process_time() - began) > HANGS_AFTER:  # in code that no signal interrupts
        raise BrokenPromise(f"With {name}={value} it takes {seconds:.0f} seconds.")


def begins(subject: Subject) -> None:
    result: Any = begin(subject, subject.make(), 0)
    if not isinstance(result, tuple) or len(result) != 2 or not isinstance(result[1], dict):
        raise BrokenPromise(
            f"reset(seed=0) returned {result!r:.80}, which is no pair of an observation and a dictionary."
        )


def has_random_actions(subject: Subject) -> None:
    env = subject.make()
    begin(subject, env, 0)
    try:
        env.sample_random_action()
    except NotImplementedError:
        raise BrokenPromise("sample_random_action() raises NotImplementedError.") from None


def can_be_copied(subject: Subject) -> None:
    env = subject.make()
    begin(subject, env, 0)
    for name in ("spawn", "get_state"):
        try:
            getattr(env, name)()
        except (NotImplementedError, AttributeError) as error:
            raise BrokenPromise(f"{name}() raises {type(error).__name__}.") from None


FIRST = (
    Promise(
        "The arguments that it is registered with are known.",
        its_arguments_are_known,
        "Name the arguments of the class instead of taking **kwargs, so that a misspelt one is refused.",
        ("gem",),
    ),
    Promise(
        "It can be made.",
        is_made,
        "Make every id that is registered in a test, and check arguments where they are given.",
        ("gem", "gymnasium", "verifiers"),
        basic=True,
    ),
    Promise(
        "reset(seed=...) begins an episode.",
        begins,
        "reset(seed=None) returns the first observation and a dictionary.",
        basic=True,
    ),
)
PROMISES = (
    Promise("It has random actions.", has_random_actions, "Define sample_random_action().", ("gem",)),
    Promise(
        "It can be copied.",
        can_be_copied,
        "Define get_state(), set_state() and spawn(same_state=False); forks and searches need them.",
        ("gem",),
        once=True,
    ),
)
LARGE = (
    Promise(
        "Large arguments are refused, or work.",
        large_arguments_come_back,
        "Check the arguments when it is made, and bound every loop that draws until something fits.",
        ("gem",),
        once=True,
    ),
)
"""Tried after all others: what does not come back with its own arguments has nothing to do with larger ones."""
