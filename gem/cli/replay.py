"""`gemweb replay`: re-execute recorded episodes."""

from __future__ import annotations

import argparse
from collections import Counter
from pathlib import Path
from typing import TYPE_CHECKING

from gem.errors import UnknownEnvironment, UsageError
from gem.validation.dependencies import MODULE_HINT
from gem.validation.messages import count

if TYPE_CHECKING:
    from gem.records import StoredEpisode

STDIN = Path("/dev/stdin")
"""The file that the argument `-` stands for."""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the arguments of the command."""
    parser.add_argument("file", type=Path, metavar="FILE", help="- reads standard input")


def run(file: Path) -> int:
    """Re-execute every episode of the file.

    The exit code is 1 if one differs or cannot be re-executed, or if none could be checked.
    """
    from gem.records import episode_files  # noqa: PLC0415 (the other commands start faster without it)

    counts: Counter[str] = Counter()
    turn_count = 0
    unknown_ids: Counter[str] = Counter()
    for stored in episode_files.read(STDIN if str(file) == "-" else file):
        problem = _problem_of(stored, unknown_ids)
        if problem is None:
            kind = "unchecked" if stored.record.failed_by == "environment" else "identical"
        else:
            kind = "differing"
        counts[kind] += 1
        turn_count += stored.record.turn_count if kind == "identical" else 0
        if problem:
            identity = stored.record.identity
            print(f"{stored.name}, {identity.env_id}, seed {identity.seed}: {problem}")
    for env_id, number in unknown_ids.items():
        if number > 1:
            print(f"The same holds for {count(number - 1, 'other episode')} of {env_id}.")
    print(f"{counts['identical']:,} of {count(counts.total(), 'episode')} identical ({count(turn_count, 'turn')}).")
    if counts["unchecked"]:
        print(f"{count(counts['unchecked'], 'episode')} not checked: the environment failed when they were recorded.")
    return 1 if counts["differing"] or not counts["identical"] else 0


def _problem_of(stored: StoredEpisode, unknown_ids: Counter[str]) -> str | None:
    """Re-execute an episode; return what is wrong with it, or None if nothing is.

    Args:
        unknown_ids: counts the episodes of environments that are not registered. The text is empty from the second on.
    """
    from gem.replay import verify_stored  # noqa: PLC0415 (the other commands start faster without it)

    try:
        difference = verify_stored(stored)
    except UnknownEnvironment as error:
        env_id = stored.record.identity.env_id
        unknown_ids[env_id] += 1
        return f"cannot be re-executed. {error}{MODULE_HINT}" if unknown_ids[env_id] == 1 else ""
    except UsageError as error:
        return f"cannot be re-executed. {error}"
    except Exception as error:  # noqa: BLE001 (an environment that fails now and did not when it was recorded)
        return f"the environment failed. {type(error).__name__}: {error}"
    return None if difference is None else difference.sentence
