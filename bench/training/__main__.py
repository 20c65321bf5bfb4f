"""What training promises, measured: `python -m bench.training [--only T1 --only T7] [--seeds 3]`.

Each row is a target, what was measured here, and whether it is reached. Learning is measured in CPU seconds of one
thread, so that a busy machine gives the same numbers; what is timed by the clock says so. `--recipe NAME` trains one
recipe and compares it with what is recorded of it (`bench.training.recipe`).
"""

from __future__ import annotations

import argparse
import itertools
import json
import os
import signal
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, NamedTuple

import gem
from bench.training.recipe import check
from gem.cli.output.tables import table
from gem.training import recipes
from gem.training.run_folder import RunFolder
from gem.training.spec import TrainingSpec

EPISODES = 512
"""Of an evaluation."""
SIDE_BY_SIDE_ROUNDS = 5
"""Odd, so that the median is one of them."""


class Row(NamedTuple):
    """A target and what was measured."""

    target: str
    measured: str
    reached: bool


def _trained(recipe: str, folder: Path, **changes: Any) -> TrainingSpec:
    from gem.training.trainer import train

    spec = recipes_spec(recipe, **changes)
    train(spec, folder)
    return spec


def recipes_spec(recipe: str, **changes: Any) -> TrainingSpec:
    """A recipe's specification with some fields changed."""
    from gem.training.spec import read_spec

    quiet = {"sample_episodes": 0, "keep_checkpoints": 1, "checkpoint_seconds": 300}
    return read_spec({**recipes.data(recipe), **quiet, **changes})


def _last(folder: Path) -> Path:
    from gem.training.checkpoints.checkpoint import list_checkpoints

    return list_checkpoints(folder / "checkpoints")[-1]


def _success(path: str | Path, spec: TrainingSpec, temperature: float = 1.0) -> float:
    from gem.training.study.evaluation import evaluate

    summary = evaluate(path, spec, episodes=EPISODES, temperature=temperature)
    assert summary.success is not None
    return summary.success.mean


def _learning(recipe: str, at_most: float, at_least: float, cpu_seconds: float) -> Callable[[Path, int], Row]:
    def measure(folder: Path, seeds: int) -> Row:
        found = []
        for seed in range(seeds):
            place = folder / f"{recipe}-{seed}"
            spec = _trained(recipe, place, seed=seed)
            before = _success(spec.model, spec)
            after, greedy = _success(_last(place), spec), _success(_last(place), spec, 0.0)
            spent = RunFolder(place).metrics()[-1]["cpu_seconds"]
            found.append((before, after, greedy, spent))
            print(
                f"{recipe}, seed {seed}: {before:.0%} to {after:.0%} (greedy {greedy:.0%}) in {spent:.0f} CPU s",
                flush=True,
            )
        means = [statistics.fmean(column) for column in zip(*found, strict=True)]
        reached = means[0] <= at_most and means[1] >= at_least and max(row[3] for row in found) <= cpu_seconds
        each = ", ".join(f"{row[1]:.0%}" for row in found)
        return Row(
            f"{recipe}: from at most {at_most:.0%} to at least {at_least:.0%} in {cpu_seconds:.0f} CPU s",
            f"{means[0]:.0%} to {means[1]:.0%} (each: {each}; greedy {means[2]:.0%}) in {means[3]:.0f} CPU s",
            reached,
        )

    return measure


def _algorithms(folder: Path, seeds: int) -> Row:
    from gem.studies.report import report
    from gem.studies.results import FolderResults
    from gem.studies.running import make_missing
    from gem.studies.study import find

    whole = find("algorithms")
    name = "fifteen-easy"
    study = whole.model_copy(
        update={
            "seeds": max(seeds, 2),
            "tuning": {},
            "environments": {name: {"recipe": name, "updates": 20}},
            "variants": {key: whole.variants[key] for key in ("rebn", "ppo")},
        }
    )
    results = FolderResults(study, folder / "results")
    make_missing(results, folder / "work")
    shares = {row.title: row.cells[0].shares for row in report(results).rows}
    each = "; ".join(f"{title} {', '.join(f'{share:.0%}' for share in own)}" for title, own in shares.items())
    return Row(
        "fifteen-easy, 20 updates: ReBN and PPO at least 90% with every seed",
        each,
        all(share >= 0.9 for own in shares.values() for share in own),
    )


def _speed(folder: Path, _seeds: int) -> Row:
    _trained("guess-easy", folder / "speed", updates=12)
    rows = RunFolder(folder / "speed").metrics()[2:]
    turns = rows[-1]["turns"] - rows[0]["turns"]
    per_second = turns / (rows[-1]["cpu_seconds"] - rows[0]["cpu_seconds"])
    return Row("guess-easy: at least 800 turns a CPU second", f"{per_second:,.0f}", per_second >= 800)


def _side_by_side(folder: Path, _seeds: int) -> Row:
    """One run and two at once, in turn, so that what else the machine does falls on both."""
    ratios = []
    for turn in range(SIDE_BY_SIDE_ROUNDS):
        alone = _clock([folder / f"alone-{turn}"])
        both = _clock([folder / f"left-{turn}", folder / f"right-{turn}"])
        ratios.append(2 * alone / both)
    middle = statistics.median(ratios)
    return Row(
        "two runs side by side at least 1.8 times one (by the clock)",
        f"{middle:.2f} times (median of {', '.join(f'{ratio:.2f}' for ratio in ratios)})",
        middle >= 1.8,
    )


def _clock(places: list[Path]) -> float:
    """Seconds until all these runs have made 20 updates, starts not counted."""
    processes = [_start(place, updates=21, episodes=256) for place in places]
    for process in processes:
        process.wait()
    spans = []
    for place in places:
        rows = RunFolder(place).metrics()
        spans.append(rows[-1]["seconds"] - rows[0]["seconds"])
    return float(max(spans))


def _start(folder: Path, **changes: Any) -> subprocess.Popen[bytes]:
    spec = folder.with_suffix(".json")
    spec.parent.mkdir(parents=True, exist_ok=True)
    spec.write_text(recipes_spec("guess-easy", **changes).model_dump_json())
    command = [sys.executable, "-m", "gem.training", "--quiet", "--spec", str(spec), "--folder", str(folder)]
    return subprocess.Popen(command, stdout=subprocess.DEVNULL)


def _points(folder: Path, _seeds: int) -> Row:
    began = time.monotonic()
    process = _start(folder / "points", updates=8)
    rows: list[dict[str, Any]] = []
    while not rows and process.poll() is None:
        time.sleep(0.02)
        rows = RunFolder(folder / "points").metrics()
    first = time.monotonic() - began
    process.wait()
    rows = RunFolder(folder / "points").metrics()
    gaps = [later["seconds"] - earlier["seconds"] for earlier, later in itertools.pairwise(rows)]
    return Row(
        "the first point within 10 s of the start, then one at least every 5 s (by the clock)",
        f"{first:.1f} s, then {max(gaps):.1f} s at most",
        first <= 10 and max(gaps) <= 5,
    )


def _resumed(folder: Path, _seeds: int) -> Row:
    from safetensors.torch import load_file
    from torch import equal

    changes = {"updates": 12, "episodes": 64, "checkpoint_seconds": 0.0}
    whole, broken = folder / "whole", folder / "broken"
    _trained("guess-easy", whole, **changes, keep_checkpoints=1)
    process = _start(broken, **changes)
    while not RunFolder(broken).metrics() or len(RunFolder(broken).metrics()) < 4:
        time.sleep(0.01)
    process.send_signal(signal.SIGKILL)
    process.wait()
    _start(broken, **changes).wait()
    same = all(
        equal(tensor, load_file(_last(broken) / name)[key])
        for name in ("model.safetensors", "trainer.safetensors")
        for key, tensor in load_file(_last(whole) / name).items()
    )
    rows = [row["update"] for row in RunFolder(broken).metrics()]
    good = same and rows == list(range(1, 13))
    return Row("a run after kill -9 ends with the same bits", "equal" if good else "different", good)


def _latency(folder: Path, _seeds: int) -> Row:
    from gem.agents import Request, make_agent

    spec = _trained("guess-easy", folder / "small", updates=2)
    agent = make_agent("policy", path=str(_last(folder / "small")))
    env = gem.make(spec.env_id)
    clock, cpu = [], []
    for seed in range(100):
        observation, info = env.reset(seed=seed)
        over, turn = False, 1
        while not over:
            began, began_cpu = time.perf_counter(), time.process_time()
            (decision,) = agent.act([Request(env, observation, info, turn)])
            clock.append(time.perf_counter() - began)
            cpu.append(time.process_time() - began_cpu)
            observation, _, terminated, truncated, info = env.step(decision.action)
            over, turn = terminated or truncated, turn + 1
    p95, p95_cpu = (1000 * sorted(times)[int(0.95 * len(times))] for times in (clock, cpu))
    size = sum(path.stat().st_size for path in _last(folder / "small").iterdir()) / 1e6
    return Row(
        "a turn of a trained agent in p95 below 50 ms, its checkpoint below 5 MB",
        f"{p95:.0f} ms by the clock, {p95_cpu:.0f} ms of CPU; {size:.1f} MB",
        p95_cpu < 50 and size < 5,
    )


def _logits(_folder: Path, _seeds: int) -> Row:
    import torch
    from transformers import AutoModelForCausalLM

    from gem.training.built_in_policies import policy_location
    from gem.training.policy.policies import load_policy

    theirs: Any = AutoModelForCausalLM.from_pretrained(policy_location("nano-base"))
    ours = load_policy("nano-base")
    ids = torch.randint(3, 2000, (4, 200), generator=torch.Generator().manual_seed(0))
    with torch.inference_mode():
        difference = float((ours.logits(ours.hidden(ids)) - theirs(ids).logits).abs().max())
    return Row("nano's logits equal AutoModelForCausalLM's within 1e-5", f"{difference:.1e}", difference <= 1e-5)


MEASURES: Mapping[str, Callable[[Path, int], Row]] = {
    "T1": _learning("guess-easy", 0.40, 0.85, 300),
    "T2": _learning("fifteen-easy", 0.50, 0.95, 120),
    "T3": _learning("guess-hard", 0.15, 0.60, 600),
    "T4": _algorithms,
    "T5": _speed,
    "T5b": _side_by_side,
    "T6": _points,
    "T7": _resumed,
    "T8": _latency,
    "T9": _logits,
    "T10": _learning("hanoi-easy", 0.05, 0.90, 150),
    "T11": _learning("tictactoe", 0.25, 0.65, 150),
    "T12": _learning("arithmetic", 0.10, 0.30, 150),
}
CURVES = {"solved": "success", "entropy": "entropy", "format faults": "invalid", "against rules": "against_rules"}
"""What is drawn of a learning: the name of a curve and its entry in the metrics."""


def draw_curves(folder: Path, out: Path) -> None:
    """Write a figure for each recipe that was trained here, over its seeds."""
    from bench.training.curves import read
    from gem.training.study.curves import draw

    for recipe in sorted({path.name.rpartition("-")[0] for path in folder.glob("*-0")}):
        curves = [read(f"{name}={folder / recipe}-[0-9]", entry) for name, entry in CURVES.items()]
        seeds = len(curves[0].runs)
        title = f"{recipe}, by update; {seeds} seed{'s' * (seeds > 1)}"
        (out / f"{recipe}.svg").write_text(draw(curves, title, 1.0), encoding="utf-8")


def main() -> int:
    """Measure and print; 1 if a target is not reached."""
    parser = argparse.ArgumentParser(prog="python -m bench.training", description=__doc__)
    parser.add_argument("--only", action="append", choices=list(MEASURES), help="this row; may be given several times")
    parser.add_argument("--seeds", type=int, default=3, help="of each learning (3)")
    parser.add_argument("--folder", type=Path, help="where the runs are written, and gone on from (a temporary one)")
    parser.add_argument("--figures", type=Path, help="the folder to draw the curves of each recipe into")
    parser.add_argument("--out", type=Path, help="write the rows into this file as JSON as well")
    parser.add_argument("--recipe", metavar="NAME", help="train this recipe, and compare with what it promises")
    parser.add_argument("--record", action="store_true", help="with --recipe: write down what it reaches")
    parser.add_argument(
        "--held-out",
        metavar="JSON",
        type=json.loads,
        help="with --recipe: play the held-out episodes with these arguments of the environment",
    )
    arguments = parser.parse_args()
    os.environ.setdefault("OMP_NUM_THREADS", "1")
    if arguments.recipe:
        return check(
            arguments.recipe,
            arguments.seeds,
            record=arguments.record,
            folder=arguments.folder,
            held_out_kwargs=arguments.held_out,
        )
    rows = {}
    with tempfile.TemporaryDirectory() as temporary:
        folder = arguments.folder or Path(temporary)
        for name in arguments.only or MEASURES:
            rows[name] = MEASURES[name](folder / name, arguments.seeds)
            print(f"{name}: {rows[name].measured}", file=sys.stderr)
            if arguments.figures:
                draw_curves(folder / name, arguments.figures)
    table(
        ["", "target", "measured", ""],
        [[name, row.target, row.measured, "pass" if row.reached else "falls short"] for name, row in rows.items()],
    )
    if arguments.out:
        arguments.out.write_text(json.dumps({name: row._asdict() for name, row in rows.items()}, indent=2) + "\n")
    return 0 if all(row.reached for row in rows.values()) else 1


if __name__ == "__main__":
    sys.exit(main())
