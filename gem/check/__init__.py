"""Does an environment keep the contract? `check(env_id)` tries every promise of `gem.core` and says so in words.

for finding in check("game:Sokoban-v0-easy"):
    print(finding.status, finding.title, finding.what, finding.advice)

Every promise is a function in the module of its topic; it raises `Broken` with a sentence when the environment does
not keep it. An environment that declares its replay as `taped` or `none` is excused from those that only `exact` ones
can keep.
"""

from __future__ import annotations

import traceback
from collections.abc import Iterator, Sequence
from pathlib import Path

from gem import registry
from gem.check import course, pictures, sameness, several_seats
from gem.check.promise import Broken, Finding, Promise, Subject
from gem.errors import MissingMethod

__all__ = ["PROMISES", "Finding", "check"]

PROMISES: tuple[Promise, ...] = (*course.PROMISES, *sameness.PROMISES, *pictures.PROMISES, *several_seats.PROMISES)
"""In the order in which they are tried; the basic ones come first."""


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
    except MissingMethod as missing:
        return Finding(promise.title, "wrong", str(missing))
    except Exception as error:  # noqa: BLE001 (whatever the environment raises is the finding)
        return Finding(promise.title, "wrong", _raised(error), promise.advice)
    return Finding(promise.title, "ok")


def _raised(error: Exception) -> str:
    """The error in a sentence, with the line of the environment that it came from."""
    ours = str(Path(__file__).parents[1])
    stack = traceback.extract_tb(error.__traceback__)
    theirs = [frame for frame in stack if not frame.filename.startswith(ours)]
    frame = (theirs or stack)[-1]
    said = f": {error}" if str(error) else ""
    return f"It raised {type(error).__name__}{said} ({Path(frame.filename).name}, line {frame.lineno})."
