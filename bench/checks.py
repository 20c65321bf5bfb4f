"""Check every registered environment as `gemweb check` does and write `gem/benchmarks/checks.json`.

python -m bench.checks            # all environments; an hour and a half of one core for 200 of them
python -m bench.checks Sokoban    # only ids that contain the word; the other rows stay

The catalog shows a badge only for what this found in the present version of an environment.
"""

from __future__ import annotations

import json
import os
import sys
import time
from pathlib import Path
from typing import Any

import gem
from gem.benchmarks import CHECKS
from gem.check import PROMISES, check
from gem.registry import EnvSpec

FILE = Path(gem.__file__).parent / "benchmarks" / CHECKS


def main(word: str = "") -> None:
    """Check and write, environment by environment: what is done stays when it is interrupted."""
    rows = {row["env_id"]: row for row in json.loads(FILE.read_text("utf-8"))["checks"]} if FILE.exists() else {}
    specs = gem.registry.specs()
    for spec in specs:
        if word in spec.id and not spec.missing_packages():
            rows[spec.id] = examine(spec)
            wrong = [key for key, status in rows[spec.id]["findings"].items() if status == "wrong"]
            print(f"{spec.id:40} {'wrong: ' + ', '.join(wrong) if wrong else 'ok'}", flush=True)
            write([rows[each.id] for each in specs if each.id in rows])


def examine(spec: EnvSpec) -> dict[str, Any]:
    """What came of every promise, as a row of the file."""
    return {
        "env_id": spec.id,
        "env_version": spec.version,
        "engine_version": gem.__version__,
        "checked": time.strftime("%Y-%m-%d", time.gmtime()),
        "findings": {promise.key: found.status for promise, found in zip(PROMISES, check(spec.id), strict=False)},
    }


def write(rows: list[dict[str, Any]]) -> None:
    """The file, a line for each environment."""
    text = ",\n".join(f"    {json.dumps(row)}" for row in rows)
    FILE.write_text(f'{{\n  "checks": [\n{text}\n  ]\n}}\n', "utf-8")


if __name__ == "__main__":
    os.environ["GEM_DATA_FROM"] = "sample"  # what everybody has, and no network
    main(sys.argv[1] if sys.argv[1:] else "")
