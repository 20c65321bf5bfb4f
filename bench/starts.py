"""Count how many different starts an environment has, and write `gem/benchmarks/starts.json`.

python -m bench.starts            # every environment of a benchmark that has not been counted, over 2,000 seeds
python -m bench.starts Sokoban    # only ids that contain the word
python -m bench.starts rg: 300    # over fewer seeds, where a reset is slow
python -m bench.starts --again    # also what has been counted

A start is the first observation together with what is hidden from the agent: the state without seeds and random
generators. Of a few starts, such as the one of TowerofHanoi, hidden seeds hide nothing.
"""

from __future__ import annotations

import hashlib
import json
import os
import sys
from pathlib import Path
from typing import Any

import gem
from gem import benchmarks
from gem.benchmarks import STARTS
from gem.errors import MissingMethod
from gem.registry import EnvSpec

FILE = Path(gem.__file__).parent / "benchmarks" / STARTS
SEEDS = 2000
FIRST_SEED = 1 << 40
"""Far from practice seeds, so that nothing that is counted depends on them."""
NOT_A_START = frozenset({"seed", "rng", "_next_seed"})
"""Parts of a state that differ between equal starts."""


def main(word: str = "", seeds: int = SEEDS, *, again: bool = False) -> None:
    """Count and write, environment by environment: what is done stays when it is interrupted."""
    for spec in wanted(word):
        row = read().get(spec.id, {})
        row = row if row.get("env_version") == spec.version else {"env_id": spec.id, "env_version": spec.version}
        if "starts" in row and not again:
            continue
        starts, observations = count(spec.id, seeds)
        row |= {"seeds": seeds, "starts": starts, "observations": observations}
        write(read() | {spec.id: row})
        print(f"{spec.id:36} {starts:6,} starts and {observations:6,} first observations of {seeds:,}", flush=True)


def wanted(word: str = "") -> list[EnvSpec]:
    """The environments of all benchmarks whose seeds select no row of a dataset, in the order of the registry."""
    entries = [entry for name in benchmarks.names() for entry in benchmarks.load(name).entries]
    ids = {entry.env_id for entry in entries} - {entry.env_id for entry in entries if entry.is_fixed}
    return [spec for spec in gem.registry.specs() if spec.id in ids and word in spec.id and not spec.missing_packages()]


def count(env_id: str, seeds: int) -> tuple[int, int]:
    """How many different starts and first observations `seeds` seeds give."""
    env = gem.make(env_id)
    starts, observations = set(), set()
    for seed in range(FIRST_SEED, FIRST_SEED + seeds):
        observation, info = env.reset(seed=seed)
        observation += str(info.get("suffix", ""))  # which often has the board
        observations.add(digest(observation))
        starts.add(digest([observation, without_chance(state_of(env))]))
    env.close()
    return len(starts), len(observations)


def state_of(env: gem.Env) -> Any:
    """The state; None of an environment that has none."""
    try:
        return env.get_state()
    except MissingMethod:
        return None


def without_chance(state: Any) -> Any:
    """The state without seeds and random generators, at any depth."""
    if isinstance(state, dict):
        return {name: without_chance(value) for name, value in state.items() if name not in NOT_A_START}
    return [without_chance(value) for value in state] if isinstance(state, list) else state


def digest(value: Any) -> bytes:
    """A short digest of plain JSON."""
    return hashlib.sha256(json.dumps(value, sort_keys=True).encode()).digest()[:16]


def read() -> dict[str, dict[str, Any]]:
    """The rows of the file, by environment."""
    return {row["env_id"]: row for row in json.loads(FILE.read_text("utf-8"))["starts"]} if FILE.exists() else {}


def write(rows: dict[str, dict[str, Any]]) -> None:
    """The file, a line for each environment, in the order of the registry."""
    lines = [f"    {json.dumps(rows[spec.id])}" for spec in gem.registry.specs() if spec.id in rows]
    FILE.write_text('{\n  "starts": [\n' + ",\n".join(lines) + "\n  ]\n}\n", "utf-8")


if __name__ == "__main__":
    os.environ["GEM_DATA_FROM"] = "sample"  # what everybody has, and no network
    words = [word for word in sys.argv[1:] if word != "--again"]
    main(words[0] if words else "", int(words[1]) if words[1:] else SEEDS, again="--again" in sys.argv)
