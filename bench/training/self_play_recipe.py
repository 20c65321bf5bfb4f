"""Train a recipe with self-play with several seeds, and compare what it reaches with what it promises.

`bench.training.recipe` calls it for such recipes. Before and after each training, the policy plays `EPISODES` games on
held-out seeds against the agent that the recipe names, and what a best opponent wins from it is computed where that can
be done. The result is as promised if every seed improves, and if neither number is clearly worse than the recorded one.
"""

from __future__ import annotations

import sys
from collections.abc import Iterable
from pathlib import Path

from bench.training.finished import trained
from gem.analysis.exact.best_response import GAMES
from gem.cli.output.tables import table
from gem.evaluation.scores import wilson
from gem.records import EpisodeRecord
from gem.registry import spec as env_spec
from gem.training import recipes
from gem.training.results import SelfPlayResult, SelfPlaySeedResult, Tally
from gem.training.spec import TrainingSpec, read_spec

EPISODES = 500
TOLERANCE = 0.05
"""What the exploitability may be above the highest recorded one, as a share of the one before the training."""


def measure(name: str, seeds: int, folder: Path, commit: str) -> SelfPlayResult:
    """Train the recipe with the seeds from 0, and measure before and after."""
    spec = read_spec(recipes.data(name))
    facts = GAMES.get(env_spec(spec.env_id).family)
    return SelfPlayResult(
        recipe=name,
        commit=commit,
        opponent=spec.measured_against,
        episodes=EPISODES,
        unit=facts.unit_name if facts else "",
        seeds=tuple(_trained(name, seed, folder / f"{name}-{seed}") for seed in range(seeds)),
    )


def show(found: SelfPlayResult, promised: SelfPlayResult | None) -> bool:
    """Print the table; returns whether every seed is as promised."""
    verdicts = [verdict(found, one, promised) for one in found.seeds]
    rows = [
        [
            f"{one.seed}",
            f"{one.before.lost} to {one.after.lost}",
            "–" if one.greedy is None else f"{one.greedy.lost}",
            f"{_written(one.exploitability_before)} to {_written(one.exploitability_after)}",
            f"{one.cpu_seconds:.0f}",
            said or "pass",
        ]
        for one, said in zip(found.seeds, verdicts, strict=True)
    ]
    table(
        [
            f"{found.recipe}, seed",
            f"lost of {found.episodes} to {found.opponent}",
            "greedy",
            "exploitability",
            "CPU s",
            "",
        ],
        rows,
    )
    return not any(verdicts)


def verdict(found: SelfPlayResult, one: SelfPlaySeedResult, promised: SelfPlayResult | None) -> str:
    """What is not as promised; empty if nothing."""
    if not found.falls(one) and not found.loses_less(one):
        return "does not improve"
    if promised is None:
        return ""
    most = max(row.after.lost for row in promised.seeds)
    if wilson(one.after.lost, found.episodes).low > wilson(most, promised.episodes).high:
        return f"recorded: {most} lost at most"
    recorded = [row.exploitability_after for row in promised.seeds if row.exploitability_after is not None]
    before, after = one.exploitability_before, one.exploitability_after
    if recorded and before is not None and after is not None and after > max(recorded) + TOLERANCE * before:
        return f"recorded: an exploitability of {max(recorded):.2f} at most"
    return ""


def _trained(name: str, seed: int, place: Path) -> SelfPlaySeedResult:
    spec, last, metrics = trained(name, seed, place, exam_episodes=0)
    points = [(int(row["update"]), round(row["exploitability"], 4)) for row in metrics if "exploitability" in row]
    result = SelfPlaySeedResult(
        seed=seed,
        before=_played(spec.model, spec),
        after=_played(last, spec),
        greedy=_played(last, spec, temperature=0.0),
        exploitability_before=_exploitability(spec.model, spec),
        exploitability_after=_exploitability(last, spec),
        cpu_seconds=round(metrics[-1]["cpu_seconds"], 1),
        curve=tuple(points),
    )
    print(f"{name}, seed {seed}: {result.before} to {result.after}", file=sys.stderr, flush=True)
    return result


def _played(path: str | Path, spec: TrainingSpec, temperature: float | None = None) -> Tally:
    from gem.training.study.evaluation import play

    return tally(play(path, spec, episodes=EPISODES, temperature=temperature))


def tally(records: Iterable[EpisodeRecord]) -> Tally:
    """Games by the reward of the policy's seat, which is above 0 if it won and 0 if nobody did."""
    rewards = [record.total_reward for record in records]
    won, lost = sum(reward > 0 for reward in rewards), sum(reward < 0 for reward in rewards)
    return Tally(won=won, tied=len(rewards) - won - lost, lost=lost)


def _exploitability(path: str | Path, spec: TrainingSpec) -> float | None:
    from gem.training.policy.policies import load_policy
    from gem.training.study.exploitability import exploitability

    found = exploitability(load_policy(str(path)).eval(), spec)
    return None if found is None else round(found, 4)


def _written(value: float | None) -> str:
    return "–" if value is None else f"{value:.2f}"
