"""Checks whether an environment keeps the contract of `gem.core`, promise by promise.

for finding in check("game:Sokoban-v0-easy"):
    print(finding.status, finding.title, finding.detail, finding.advice)

Every promise is a function in the module of its topic, which raises `BrokenPromise` with a sentence if the environment
does not keep it. Promises that only environments with exact replay can keep are left out for the others. Begin reading
in `promise`.
"""

from __future__ import annotations

import traceback
from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path

from gem import registry
from gem.check import arguments, episodes, pictures, reproducibility, several_seats
from gem.check.promise import BrokenPromise, Finding, Promise, Subject
from gem.errors import MissingMethod

__all__ = ["PROMISES", "Finding", "check"]

PROMISES: tuple[Promise, ...] = (
    *episodes.PROMISES,
    *reproducibility.PROMISES,
    *pictures.PROMISES,
    *several_seats.PROMISES,
)
"""All promises in the order in which they are checked; the basic ones come first."""


def check(env_id: str, modules: Sequence[str] = ()) -> Iterator[Finding]:
    """Check every promise and yield a finding for each; a broken basic promise is the last one that is checked.

    Hints come last, if there are any: they are about what is no promise, and the contract is kept all the same.

    Args:
        modules: modules that register the environment, if no installed package does.

    Raises:
        UnknownEnvironment: if no such id is registered.
    """
    spec = registry.spec(env_id)
    subject = Subject(env_id, modules)
    for promise in PROMISES:
        if promise.exact and spec.replay != "exact":
            reason = f"The environment is registered with replay={spec.replay!r}, so it does not promise this."
            yield Finding(promise.title, "left out", reason, key=promise.key, env_id=env_id)
            continue
        finding = replace(_try(promise, subject), key=promise.key, env_id=env_id)
        yield finding
        if promise.basic and finding.status == "wrong":
            return
    yield from arguments.hints(subject)


def _try(promise: Promise, subject: Subject) -> Finding:
    try:
        promise.attempt(subject)
    except BrokenPromise as error:
        return Finding(promise.title, "wrong", str(error), promise.advice)
    except MissingMethod as error:
        return Finding(promise.title, "wrong", str(error))
    except (Exception, SystemExit) as error:  # noqa: BLE001 (whatever the environment raises is the finding)
        return Finding(promise.title, "wrong", _raised(error), promise.advice)
    return Finding(promise.title, "ok")


def _raised(error: BaseException) -> str:
    """Return a sentence about an exception, with the line of the environment's own code that it came from."""
    engine_folder = str(Path(__file__).parents[1])
    stack = traceback.extract_tb(error.__traceback__)
    outside_frames = [frame for frame in stack if not frame.filename.startswith(engine_folder)]
    frame = (outside_frames or stack)[-1]
    message = f": {error}" if str(error) else ""
    return f"It raised {type(error).__name__}{message} ({Path(frame.filename).name}, line {frame.lineno})."
