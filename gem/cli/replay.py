"""`gemweb replay`: execute recorded episodes again."""

from __future__ import annotations

import argparse
from collections import Counter
from pathlib import Path

from gem.cli.words import count
from gem.errors import UnknownEnvironment, UsageError
from gem.validation.dependencies import MODULE_HINT

STDIN = Path("/dev/stdin")
"""What the file name `-` stands for."""


def arguments(parser: argparse.ArgumentParser) -> None:
    """What it takes."""
    parser.add_argument("file", type=Path, metavar="FILE", help="- reads standard input")


def run(file: Path) -> int:
    """Re-execute every episode of the file; 1 if one is not as recorded or cannot be re-executed."""
    from gem.records import episode_files  # noqa: PLC0415
    from gem.replay import verify_stored  # noqa: PLC0415

    same = turns = 0
    bad = 0
    unknown: Counter[str] = Counter()
    for stored in episode_files.read(STDIN if str(file) == "-" else file):
        identity = stored.record.identity
        name = f"{stored.name}, {identity.env_id}, seed {identity.seed}"
        try:
            difference = verify_stored(stored)
        except UnknownEnvironment as error:
            bad += 1
            if identity.env_id not in unknown:
                print(f"{name}: cannot be re-executed. {error}{MODULE_HINT}")
            unknown[identity.env_id] += 1
            continue
        except UsageError as error:
            bad += 1
            print(f"{name}: cannot be re-executed. {error}")
            continue
        except Exception as error:  # noqa: BLE001 (an environment that breaks now and did not then)
            bad += 1
            print(f"{name}: the environment broke. {type(error).__name__}: {error}")
            continue
        if difference is not None:
            bad += 1
            print(f"{name}: {difference.sentence}")
            continue
        same, turns = same + 1, turns + stored.record.turn_count
    for env_id, number in unknown.items():
        if number > 1:
            print(f"The same holds for {count(number - 1, 'other episode')} of {env_id}.")
    total = same + bad
    print(f"{same:,} of {count(total, 'episode')} identical ({count(turns, 'turn')}).")
    return 1 if bad else 0
