"""`gemweb replay`: re-execute recorded episodes."""

from __future__ import annotations

import argparse
from collections import Counter
from pathlib import Path

from gem.cli.output.tables import count
from gem.errors import UnknownEnvironment, UsageError
from gem.validation.dependencies import MODULE_HINT

STDIN = Path("/dev/stdin")
"""The file that the argument `-` stands for."""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the arguments of the command."""
    parser.add_argument("file", type=Path, metavar="FILE", help="- reads standard input")


def run(file: Path) -> int:
    """Re-execute every episode of the file; the exit code is 1 if one differs or cannot be re-executed."""
    from gem.records import episode_files  # noqa: PLC0415
    from gem.replay import verify_stored  # noqa: PLC0415

    identical_count = turn_count = failed_count = 0
    unknown_ids: Counter[str] = Counter()
    for stored in episode_files.read(STDIN if str(file) == "-" else file):
        identity = stored.record.identity
        name = f"{stored.name}, {identity.env_id}, seed {identity.seed}"
        try:
            difference = verify_stored(stored)
            problem = "" if difference is None else difference.sentence
        except UnknownEnvironment as error:
            unknown_ids[identity.env_id] += 1
            if unknown_ids[identity.env_id] > 1:  # counted below, so that the message appears once
                failed_count += 1
                continue
            problem = f"cannot be re-executed. {error}{MODULE_HINT}"
        except UsageError as error:
            problem = f"cannot be re-executed. {error}"
        except Exception as error:  # noqa: BLE001 (an environment that fails now and did not when it was recorded)
            problem = f"the environment failed. {type(error).__name__}: {error}"
        if problem:
            failed_count += 1
            print(f"{name}: {problem}")
        else:
            identical_count += 1
            turn_count += stored.record.turn_count
    for env_id, number in unknown_ids.items():
        if number > 1:
            print(f"The same holds for {count(number - 1, 'other episode')} of {env_id}.")
    total = identical_count + failed_count
    print(f"{identical_count:,} of {count(total, 'episode')} identical ({count(turn_count, 'turn')}).")
    return 1 if failed_count else 0
