"""Tries promises one after the other, and writes a line of JSON for everything that happens.

The request is the only argument, as JSON: `kind`, `name` (`all` for a package for GEM and all its environments,
`package` for it alone), `modules`, `seconds` of processor time for each promise, `only`, the ids that are tried of a
package, each with the promises that are tried besides the basic ones (everything if it is empty), and for a process
that continues the work of another one `done`, the promises that were tried, and `dropped`, the environments of which no
more are tried.
"""

from __future__ import annotations

import contextlib
import importlib
import json
import os
import platform
import sys
import traceback
import warnings
from collections.abc import Collection, Iterator
from typing import Any, TextIO

from . import episodes, games, making, packages, problems, reproducibility, rubrics
from .promise import CPU_SECONDS, BrokenPromise, NotApplicable, Promise, TooLong, time_limit
from .subjects import PackageSubject, Subject, all_ids, make_subject, version_of

ALL, PACKAGE = "all", "package"
CANNOT = 2
"""The exit code if nothing can be checked."""
AGAIN = 3
"""The exit code if another process has to continue: what was tried last may still be running in this one."""
OF_PACKAGES = (*packages.PROMISES, *problems.PROMISES)
PROMISES = (
    *making.FIRST, *making.PROMISES, *episodes.PROMISES, *reproducibility.PROMISES, *making.LARGE, *rubrics.PROMISES,
    *games.PROMISES,
)  # fmt: skip
"""All promises of environments, in the order in which they are tried."""


class Report:
    """The lines for whoever started this process; nothing else is written there."""

    def __init__(self, out: TextIO) -> None:
        self._out = out

    def say(self, event: str, **content: Any) -> None:
        """Write a line."""
        self._out.write(json.dumps({"event": event, **content}) + "\n")
        self._out.flush()

    def begin(self, subject: Subject, promise: Promise) -> None:
        """Say what is tried now, for the case that this process does not survive it."""
        self.say("begin", env_id=subject.name, key=promise.key, title=promise.title, advice=promise.advice)

    def found(self, subject: Subject, promise: Promise, status: str, detail: str, *, is_last: bool) -> None:
        """Say what came of a promise, and whether it is the last one that is tried of its environment."""
        advice = promise.advice if status == "wrong" else ""
        about = {"env_id": subject.name, "key": promise.key, "title": promise.title, "is_last": is_last}
        self.say("finding", **about, status=status, detail=detail, advice=advice)


def attempt(promise: Promise, subject: Subject, seconds: float = CPU_SECONDS) -> tuple[str, str]:
    """Try a promise and return its status and detail.

    Raises:
        TooLong: if it does not come back in time.
    """
    try:
        with time_limit(seconds), warnings.catch_warnings():
            warnings.simplefilter("ignore")
            promise.attempt(subject)
    except NotApplicable as error:
        return "left out", str(error)
    except BrokenPromise as error:
        return "wrong", str(error)
    except (Exception, SystemExit) as error:  # noqa: BLE001 (whatever the environment raises is the finding)
        return "wrong", _raised(error)
    return "ok", ""


def _raised(error: BaseException) -> str:
    """A sentence about an exception, with the line of code that it came from."""
    stack = traceback.extract_tb(error.__traceback__)
    own = os.path.dirname(__file__)
    frame = ([frame for frame in stack if not frame.filename.startswith(own)] or stack)[-1]
    place = f"{os.path.basename(frame.filename)}, line {frame.lineno}"
    cause = error.__cause__
    because = "" if cause is None or str(cause) in str(error) else f" Its cause is {_in_words(cause)}."
    return f"It raised {_in_words(error)} ({place}).{because}"


def _in_words(error: BaseException) -> str:
    message = " ".join(str(error).split())[:300]
    return f"{type(error).__name__}: {message}" if message else type(error).__name__


def plan(kind: str, name: str, only: Collection[str] = ()) -> Iterator[tuple[Subject, tuple[Promise, ...]]]:
    """Everything that is tried: subjects with their promises; of a package only these ids, if any are given."""
    if kind != "gem" or name not in (ALL, PACKAGE):
        subject = make_subject(kind, name)
        yield subject, tuple(promise for promise in PROMISES if promise.applies_to(kind, subject.family))
        return
    if not only or PACKAGE in only:
        yield PackageSubject(), OF_PACKAGES
    if name == PACKAGE:
        return
    seen: set[str] = set()
    for env_id in [each for each in only if each != PACKAGE] if only else all_ids()[0]:
        subject = make_subject(kind, env_id)
        is_first = bool(only) or subject.class_name not in seen
        seen.add(subject.class_name)
        promises = (promise for promise in PROMISES if promise.applies_to(kind, subject.family))
        yield subject, tuple(promise for promise in promises if is_first or not promise.once)


def work(request: dict[str, Any], report: Report) -> None:
    """Try what is asked for, and end this process if something does not come back."""
    done = {(env_id, key) for env_id, key in request["done"]}
    dropped, only = set(request["dropped"]), request["only"]
    for module in request["modules"]:
        importlib.import_module(module)
    planned = plan(request["kind"], request["name"], only)
    first = next(planned)
    left_out = all_ids()[1] if (request["kind"], request["name"]) == ("gem", ALL) else []
    package, python = version_of(request["kind"]), f"Python {platform.python_version()} ({sys.executable})"
    report.say("ready", package=package, python=python, left_out=left_out)
    for subject, promises in _chained(first, planned):
        subject.modules = request["modules"]
        for promise in promises:
            if subject.name in dropped:
                break
            is_asked_for = not only or promise.basic or promise.key in only[subject.name]
            if (subject.name, promise.key) in done or not is_asked_for:
                continue
            report.begin(subject, promise)
            try:
                status, detail = attempt(promise, subject, request["seconds"])
            except TooLong:
                detail = f"It did not come back within {request['seconds']:g} seconds of processor time."
                report.found(subject, promise, "wrong", detail, is_last=True)
                os._exit(AGAIN)
            is_last = promise.basic and status != "ok"
            report.found(subject, promise, status, detail, is_last=is_last)
            if is_last:
                break


def _chained(first: Any, rest: Iterator[Any]) -> Iterator[Any]:
    yield first
    yield from rest


def main() -> None:
    """Answer the request on what was the standard output; what the environments print goes to the standard error."""
    out = os.fdopen(os.dup(1), "w", encoding="utf-8")
    os.dup2(2, 1)
    report = Report(out)
    request = json.loads(sys.argv[1])
    try:
        with contextlib.redirect_stdout(sys.stderr):
            work(request, report)
    except ImportError as error:
        report.say("refusal", detail=f"{' '.join(str(error).split())} ({sys.executable})")
        os._exit(CANNOT)
    except LookupError as error:
        report.say("refusal", detail=str(error.args[0]))
        os._exit(CANNOT)
    report.say("end")
    os._exit(0)  # threads of the environments may go on for ever
