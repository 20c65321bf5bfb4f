"""A process that measures one library: python worker.py SIDE, questions and answers as lines of JSON.

A question is [verb, arguments]; the answer is what the side's method of that name returns. Two libraries here are
called `gem`: a peer's interpreter finds its own, because this repository comes last on its path.
"""

from __future__ import annotations

import gc
import importlib
import json
import os
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]


def main() -> None:
    """Answer until the questions end."""
    side_name = sys.argv[1]
    if side_name == "ours":
        sys.path.insert(0, str(ROOT))
    else:
        sys.path.append(str(ROOT))
    answers = os.fdopen(os.dup(1), "w")
    os.dup2(2, 1)  # what a library prints is no answer
    side = importlib.import_module(f"bench.engine.sides.{side_name}").Side()
    for line in sys.stdin:
        verb, arguments = json.loads(line)
        try:
            answer = {"ok": getattr(side, verb)(**arguments)}
        except Exception as error:  # noqa: BLE001 (the table says what a peer cannot do)
            answer = {"error": f"{type(error).__name__}: {error}"}
        print(json.dumps(answer), file=answers, flush=True)
        gc.collect()


if __name__ == "__main__":
    main()
