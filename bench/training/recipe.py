"""Train a recipe with several seeds, and compare what it reaches with what it promises.

    python -m bench.training --recipe guess-easy [--seeds 3] [--record]
    python -m bench.training --recipe search-pages --held-out '{"dataset": "sample:wiki-names-eval"}'

Held-out success is measured before and after each training, on `EPISODES` seeds that no training meets. The result is
as promised if each seed's share has a 95 % interval that is not below that of the worst recorded seed (another
processor rounds otherwise, and the same seed gives another training), and that is above the one before and that of the
commonest action alone. Recipes with self-play are measured by `bench.training.self_play_recipe`.
With `--held-out`, the same trainings are measured on other problems, which the record says nothing about.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import gem
from bench.training import self_play_recipe
from bench.training.finished import trained
from gem import registry
from gem.cli.output.tables import table
from gem.factory import make_wrapped
from gem.records import EpisodeRecord
from gem.training import recipes, results
from gem.training.results import RecipeResult, SeedResult, SelfPlayResult
from gem.training.spec import TrainingSpec, read_spec
from gem.training.study.evaluation import FIRST_SEED

EPISODES = 500


def measure(
    name: str, seeds: int, folder: Path | None = None, held_out_kwargs: Mapping[str, Any] | None = None
) -> RecipeResult:
    """Train the recipe with the seeds from 0, and play held-out episodes before and after.

    Args:
        held_out_kwargs: arguments of the environment for the held-out episodes, instead of those of the recipe.
    """
    changes = {} if held_out_kwargs is None else {"held_out_kwargs": dict(held_out_kwargs)}
    with _place(folder) as place:
        rows = tuple(_trained(name, seed, place / f"{name}-{seed}", changes) for seed in range(seeds))
    problems = count_problems(read_spec({**recipes.data(name), **changes}))
    return RecipeResult(recipe=name, commit=_commit(), episodes=EPISODES, problems=problems, seeds=rows)


def count_problems(spec: TrainingSpec) -> int | None:
    """How many different questions the episodes of an evaluation ask; None where an episode is not one question."""
    stage = spec.measured_stage
    if registry.spec(stage.env_id).turns != "single":
        return None
    env = gem.make(stage.env_id, **stage.env_kwargs)
    questions = {env.reset(seed=FIRST_SEED + place)[0] for place in range(EPISODES)}
    env.close()
    return len(questions)


def check(
    name: str,
    seeds: int,
    *,
    record: bool,
    folder: Path | None = None,
    held_out_kwargs: Mapping[str, Any] | None = None,
) -> int:
    """Measure, print, and return the exit code: 0 if the result is as promised.

    With `record` or `held_out_kwargs`, which no record promises anything about, it is 0 if every seed rises clearly.
    """
    is_self_play = bool(recipes.data(name).get("self_play"))
    if held_out_kwargs is not None and (record or is_self_play):
        print("--held-out goes neither with --record nor with a recipe of self-play.", file=sys.stderr)
        return 2
    if (results.self_play_result_of if is_self_play else results.result_of)(name) is None and not record:
        print(f"Nothing is recorded for {name}. Record what it reaches with --record.", file=sys.stderr)
        return 2
    if is_self_play:
        return _check_self_play(name, seeds, record=record, folder=folder)
    promised = None if record or held_out_kwargs is not None else results.result_of(name)
    found = measure(name, seeds, folder, held_out_kwargs)
    verdicts = [_verdict(found, place, promised) for place in range(len(found.seeds))]
    rows = [
        [
            f"{one.seed}",
            f"{one.before / found.episodes:.1%}",
            f"{one.after / found.episodes:.1%}",
            f"{one.greedy / found.episodes:.1%}",
            f"{one.cpu_seconds:.0f}",
            verdict or "pass",
        ]
        for one, verdict in zip(found.seeds, verdicts, strict=True)
    ]
    table([f"{name}, seed", "before", "after", "greedy", "CPU s", ""], rows)
    if record and not any(verdicts):
        _write(found, results.FOLDER)
    return 1 if any(verdicts) else 0


def _check_self_play(name: str, seeds: int, *, record: bool, folder: Path | None) -> int:
    with _place(folder) as place:
        found = self_play_recipe.measure(name, seeds, place, _commit())
    is_as_promised = self_play_recipe.show(found, None if record else results.self_play_result_of(name))
    if record and is_as_promised:
        _write(found, results.SELF_PLAY_FOLDER)
    return 0 if is_as_promised else 1


def _write(found: RecipeResult | SelfPlayResult, folder: Path) -> None:
    folder.mkdir(exist_ok=True)
    text = json.dumps(found.model_dump(mode="json"), indent=1)
    (folder / f"{found.recipe}.json").write_text(text + "\n", encoding="utf-8")


def _trained(name: str, seed: int, place: Path, changes: Mapping[str, Any]) -> SeedResult:
    spec, last, metrics = trained(name, seed, place)
    spec = read_spec({**spec.model_dump(), **changes})
    after = _played(last, spec)
    row = SeedResult(
        seed=seed,
        before=_solved(_played(spec.model, spec)),
        after=_solved(after),
        greedy=_solved(_played(last, spec, 0.0)),
        constant=_of_constant(after, spec),
        cpu_seconds=round(metrics[-1]["cpu_seconds"], 1),
        curve=results.condensed([float(metric["success"]) for metric in metrics]),
    )
    print(f"{name}, seed {seed}: {row.before} to {row.after} of {EPISODES}", file=sys.stderr, flush=True)
    return row


def _played(path: str | Path, spec: TrainingSpec, temperature: float | None = None) -> list[EpisodeRecord]:
    from gem.training.study.evaluation import play

    return list(play(path, spec, episodes=EPISODES, temperature=temperature))


def _solved(records: Sequence[EpisodeRecord]) -> int:
    return sum(bool(record.success) for record in records)


def _of_constant(records: Sequence[EpisodeRecord], spec: TrainingSpec) -> int:
    """How many of the episodes the policy's commonest action solves if it is taken in every turn."""
    (action, _), *_rest = Counter(turn.action for record in records for turn in record.turns).most_common(1)
    stage = spec.measured_stage
    env = make_wrapped(stage.env_id, stage.env_kwargs, spec.wrappers)
    solved = 0
    for record in records:
        env.reset(seed=record.identity.seed)
        is_over = False
        info: dict[str, Any] = {}
        while not is_over:
            _, _, terminated, truncated, info = env.step(action)
            is_over = terminated or truncated
        solved += bool(info.get("success"))
    env.close()
    return solved


def _verdict(found: RecipeResult, place: int, promised: RecipeResult | None) -> str:
    """What is not as promised; empty if nothing."""
    one = found.seeds[place]
    after = found.interval(one.after)
    if after.low <= found.interval(one.before).high:
        return "does not rise clearly"
    if one.constant is not None and after.low <= found.interval(one.constant).high:
        return f"no better than one action: {one.constant / found.episodes:.1%}"
    if promised is not None:
        lowest = min(seed.after for seed in promised.seeds)
        if after.high < promised.interval(lowest).low:
            return f"recorded: {lowest / promised.episodes:.1%} at least"
    return ""


@contextmanager
def _place(folder: Path | None) -> Iterator[Path]:
    if folder is not None:
        yield folder
        return
    with tempfile.TemporaryDirectory() as temporary:
        yield Path(temporary)


def _commit() -> str:
    here = Path(__file__).parent
    found = subprocess.run(
        ["git", "rev-parse", "--short=12", "HEAD"], cwd=here, capture_output=True, text=True, check=False
    )
    return found.stdout.strip() or os.environ.get("COMMIT", "unknown")
