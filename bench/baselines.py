"""Measure the random agent and the expert in every registered environment and write `gem/benchmarks/baselines.json`.

python -m bench.baselines            # what has not been measured yet, 500 seeds each; it goes on where it was stopped
python -m bench.baselines Sokoban    # only ids that contain the word, or the id itself
python -m bench.baselines 2048-v1-extreme 200    # fewer seeds where an episode is long: a thousand turns take 2.5 s
python -m bench.baselines Sokoban --again        # also what has been measured

These are the references of the benchmarks: random is 0 on their scales, and the expert 1 where there is one
(`python -m tools.benchmark_files`). Rows of earlier versions of an environment stay, because files name them.
"""

from __future__ import annotations

import json
import os
import sys
from pathlib import Path
from typing import Any

import gem
from gem.agents import has_expert, make_agent
from gem.benchmarks import BASELINES
from gem.datasets import Dataset
from gem.evaluation.scores import interval
from gem.evaluation.spec import EvaluationPart
from gem.registry import EnvSpec
from gem.rollout import EpisodeRequest, rollout

SEEDS = 500
FILE = Path(gem.__file__).parent / "benchmarks" / BASELINES
DIGITS = 4
AGENTS = ("random", "expert")


def main(word: str = "", seeds: int = SEEDS, *, again: bool = False) -> None:
    """Measure and write, environment by environment: what is done stays when it is interrupted."""
    kept = json.loads(FILE.read_text("utf-8"))["baselines"] if FILE.exists() else []
    rows = {(row["env_id"], row["env_version"], row["agent"]): row for row in kept}
    specs = gem.registry.specs()
    exactly = any(spec.id == word for spec in specs)
    for spec in specs:
        if (word != spec.id if exactly else word not in spec.id) or spec.missing_packages():
            continue
        for agent in AGENTS:
            key = spec.id, spec.version, agent
            if (again or key not in rows) and (agent == "random" or has_expert(spec.id)):
                rows[key] = measure(spec, agent, seeds)
                print(_line(rows[key]), flush=True)
                write(_sorted(rows, [each.id for each in specs]))
    print(f"{FILE.name} has {len(rows)} rows.")


def _sorted(rows: dict[tuple[str, int, str], dict[str, Any]], env_ids: list[str]) -> list[dict[str, Any]]:
    """The rows in the order of the registry; rows of environments that are gone are left out."""
    places = {env_id: place for place, env_id in enumerate(env_ids)}
    keys = [key for key in rows if key[0] in places]
    return [rows[key] for key in sorted(keys, key=lambda key: (places[key[0]], key[1], AGENTS.index(key[2])))]


def write(rows: list[dict[str, Any]]) -> None:
    """The file, a line for each row."""
    text = ",\n".join(f"    {json.dumps(row)}" for row in rows)
    FILE.write_text(f'{{\n  "baselines": [\n{text}\n  ]\n}}\n', "utf-8")


def measure(spec: EnvSpec, agent: str, seeds: int) -> dict[str, Any]:
    """One agent's baseline in one environment, as a row of the file.

    Where there are several seats to act from, it acts from each alike, and the random agent from the others.

    Raises:
        RuntimeError: if an episode failed.
    """
    returns, successes, turns = [], 0, 0
    part = EvaluationPart(spec.id, 0, seeds)
    places = [part.seed_and_seat(index) for index in range(seeds)]
    slots = [EpisodeRequest(index, spec.id, seed, seat=seat) for index, (seed, seat) in enumerate(places)]
    for record in rollout(make_agent(agent), slots, opponent=make_agent("random")):
        if record.failure:
            raise RuntimeError(f"{spec.id}, seed {record.identity.seed}: {record.failure}")
        returns.append((record.index, record.total_reward))
        successes += bool(record.success)
        turns += record.turn_count
    mean, low, high = interval([value for _, value in sorted(returns)])
    return {
        "env_id": spec.id,
        "env_version": spec.version,
        "agent": agent,
        "n": seeds,
        "mean_return": round(mean, DIGITS),
        "low": round(low, DIGITS),
        "high": round(high, DIGITS),
        "success_rate": round(successes / seeds, DIGITS),
        "mean_turns": round(turns / seeds, 2),
        **_data(spec),
    }


def _data(spec: EnvSpec) -> dict[str, str]:
    """Where the problems come from, of an environment over a dataset."""
    dataset = getattr(gem.make(spec.id).unwrapped, "dataset", None)
    return {"data": dataset.source} if isinstance(dataset, Dataset) else {}


def _line(row: dict[str, Any]) -> str:
    return (
        f"{row['env_id']:34} {row['agent']:7} return {row['mean_return']:.4f} "
        f"({row['low']:.4f} to {row['high']:.4f})  solved {row['success_rate']:6.1%}  turns {row['mean_turns']:.2f}"
    )


if __name__ == "__main__":
    os.environ["GEM_DATA_FROM"] = "sample"  # what everybody has, and no network
    words = [word for word in sys.argv[1:] if word != "--again"]
    main(words[0] if words else "", int(words[1]) if words[1:] else SEEDS, again="--again" in sys.argv)
