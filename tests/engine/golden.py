"""What the environments gave when their version was set, so that a change cannot go unseen.

python -m tests.engine.golden             # write golden.json and playthroughs/ anew
python -m tests.engine.golden --print     # print digests of two episodes each, for the tests
"""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Collection
from pathlib import Path

import gem
from gem.agents import has_expert
from tests.engine import ids
from tests.engine.episodes import digest, transcript

FILE = Path(__file__).parent / "golden.json"
PLAYTHROUGHS = Path(__file__).parent / "playthroughs"
SEEDS = range(20)
FEW_SEEDS = range(2)
FEWER = {"rg": range(3)}
"""Categories with hundreds of environments that share one class."""


def digests(seeds: range, env_ids: Collection[str] | None = None) -> dict[str, dict[str, int | str]]:
    """Version and digest of every registered environment, or of `env_ids`, by id."""
    return {
        spec.id: {"version": spec.version, "digest": digest(spec.id, seeds_of(spec.category, seeds))}
        for spec in gem.registry.specs()
        if spec.replay == "exact" and (env_ids is None or spec.id in env_ids)
    }


def seeds_of(category: str, seeds: range = SEEDS) -> range:
    """The seeds that are digested: all of `seeds` where that is quick."""
    return seeds[: len(FEWER.get(category, seeds))]


def playthroughs() -> dict[str, str]:
    """File name to text: the expert's episode in the default difficulty of each environment with one, seed 0."""
    return {
        f"{spec.family}.txt": transcript(spec.id, "expert", 0)
        for spec in gem.registry.specs()
        if not spec.difficulty and spec.replay == "exact" and has_expert(spec.id)
    }


def main() -> None:
    """Write the files, unless a digest changed under the same version."""
    os.environ["GEM_DATA_FROM"] = "sample"  # as in the tests
    if "--print" in sys.argv:
        print(json.dumps(digests(FEW_SEEDS, ids.kinds())))
        return
    before = json.loads(FILE.read_text()) if FILE.exists() else {}
    now = digests(SEEDS)
    for env_id, entry in now.items():
        old = before.get(env_id)
        if old and old["version"] == entry["version"] and old["digest"] != entry["digest"]:
            sys.exit(f"{env_id} gives other turns than before: raise `version` in its register() call first.")
    FILE.write_text(json.dumps(now, indent=2) + "\n")
    PLAYTHROUGHS.mkdir(exist_ok=True)
    for name, text in playthroughs().items():
        (PLAYTHROUGHS / name).write_text(text)


if __name__ == "__main__":
    main()
