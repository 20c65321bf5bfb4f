"""Commands that do not repeat: they read the clock, draw random numbers, or were stopped by the speed of the machine.

A record is verified by running every command again. If a command then gives something else than the record says, its
output is taken from the record only where it may honestly differ: where the two differ in nothing but times and dates,
where a second run differs from the first in more than these, or where the command was ended by a limit. Whatever is
taken, paths, modes and exit codes have to be those of the command that was run here, so a record cannot bring files of
its own.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Mapping
from typing import Any

Result = dict[str, Any]
"""What `info["shell"]` has of a command."""

_TIMES = re.compile(
    r"\b(?:(?:Mon|Tue|Wed|Thu|Fri|Sat|Sun),? +)?(?:Jan|Feb|Mar|Apr|May|Jun|Jul|Aug|Sep|Oct|Nov|Dec) +\d{1,2}"
    r"(?: +\d{4}\b| +\d{1,2}:\d\d(?::\d\d)?(?: UTC \d{4})?)?"
    r"|\b\d{4}-\d\d-\d\d\b|\b\d{1,2}:\d\d(?::\d\d(?:\.\d+)?)?\b|\b1[6-9]\d{8}(?:\.\d+)?\b"
)
"""Times and dates as `ls`, `date` and `stat` write them, and seconds since 1970."""
_STOPPED = re.compile(r"(?:^|\n)\[ended[: ][^\n]*\]$")


def settle(recorded: object, first: Result, run_again: Callable[[], Result]) -> Result | None:
    """Return the recorded result of a command if it may honestly be another one than `first`; None if it may not.

    Args:
        recorded: what the record says; anybody's data.
        first: what the command gave when it was run here.
        run_again: runs it once more.
    """
    if not isinstance(recorded, dict) or not _has_same_places(recorded, first):
        return None
    if _masked(recorded) == _masked(first) or any(_STOPPED.search(each["output"]) for each in (recorded, first)):
        return recorded
    return recorded if _masked(run_again()) != _masked(first) else None


def _has_same_places(recorded: Mapping[str, Any], first: Result) -> bool:
    """Whether the two results differ in texts only: in the output, the variables and the content of files."""
    if recorded.keys() != first.keys() or any(recorded[name] != first[name] for name in ("code", "gone")):
        return False
    changed = recorded["changed"]
    texts = [recorded["output"], recorded["shell"]]
    if not isinstance(changed, dict) or changed.keys() != first["changed"].keys():
        return False
    for path, own in first["changed"].items():
        entry = changed[path]
        if not isinstance(entry, list) or len(entry) != len(own) or [*entry[:2], *entry[3:]] != [*own[:2], *own[3:]]:
            return False
        if own[0] != "file" and entry != own:
            return False
        texts.append(entry[2])
    return all(isinstance(text, str) for text in texts)


def _masked(result: Mapping[str, Any]) -> str:
    return _TIMES.sub("…", json.dumps(result, sort_keys=True))
