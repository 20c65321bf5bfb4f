"""Makes the runs of a study that have no result yet. Any number of processes may do so at once, also later."""

from __future__ import annotations

import os
import shutil
import subprocess
import time
from collections.abc import Callable, Sequence
from pathlib import Path

from gem.errors import UsageError
from gem.records import EpisodeRecord
from gem.rollout import EpisodeRequest, rollout
from gem.studies.results import Results, RunResult
from gem.studies.study import Run, Study, digest
from gem.training.results import condensed
from gem.training.run_folder import RunFolder
from gem.training.spec import TrainingSpec


class Busy(UsageError):
    """Another process makes this run now."""


def make_missing(
    results: Results,
    work: Path,
    *,
    seeds: int | None = None,
    environments: Sequence[str] = (),
    cpu_seconds: float = float("inf"),
    on_run: Callable[[Run, RunResult], None] = lambda _run, _result: None,
) -> int:
    """Make every run that has no result; return how many were made.

    Args:
        work: the folder of trainings that are under way; what was interrupted goes on there.
        seeds: only so many of the study's seeds; all by default.
        environments: only these; all by default.
        cpu_seconds: begin no run after this process has used so much processor time.

    Raises:
        TrainingFailed: if a training cannot go on.
        KeyboardInterrupt: if somebody stopped the training.
    """
    made, began = 0, time.process_time()
    tried: set[Run] = set()
    while time.process_time() - began < cpu_seconds:
        run = next(
            (
                run
                for run in results.planned()
                if run not in tried
                and (run.is_trial or seeds is None or run.seed < seeds)
                and (not environments or run.environment in environments)
                and results.of(run) is None
            ),
            None,
        )
        if run is None:
            break
        tried.add(run)
        try:
            result = make(results.study, run, work)
        except Busy:
            continue
        results.write(run, result)
        on_run(run, result)
        made += 1
    return made


def make(study: Study, run: Run, work: Path) -> RunResult:
    """Train, or finish a training that was interrupted, and measure the last policy on held-out seeds.

    Raises:
        Busy: if another process makes this run.
    """
    spec = study.spec_of(run.environment, run.variant, run.seed, run.tuned)
    own_digest = digest(spec, study.episodes)
    path = work / study.name / Path(run.file).with_suffix(f".{own_digest}")
    path.mkdir(parents=True, exist_ok=True)
    metrics = _train(spec, path)
    records = [] if run.is_trial else _measure(path, spec, study.episodes)
    solved = [record for record in records if record.success]
    elsewhere = {} if run.is_trial else _measure_elsewhere(study, path)
    count = max(1, len(records))
    result = RunResult(
        digest=own_digest,
        tuned=run.tuned,
        episodes=study.episodes,
        solved=len(solved),
        mean_return=round(sum(record.total_reward for record in records) / count, 4),
        turns=round(sum(record.turn_count for record in records) / count, 3),
        turns_when_solved=round(sum(one.turn_count for one in solved) / len(solved), 3) if solved else None,
        cpu_seconds=round(metrics[-1]["cpu_seconds"], 1),
        curve=condensed([float(row["success"]) for row in metrics]),
        elsewhere=elsewhere,
        commit=_commit(),
    )
    shutil.rmtree(path, ignore_errors=True)
    return result


def _train(spec: TrainingSpec, path: Path) -> list[dict[str, float]]:
    from gem.training.trainer import train  # noqa: PLC0415 (takes seconds; planning and reporting do not need it)

    folder = RunFolder(path)
    folder.begin(spec)
    if folder.state().get("state") != "finished":
        try:
            with folder.lock():
                pass
        except UsageError as error:
            raise Busy(str(error)) from error
        state = train(spec, path)
        if state == "interrupted":
            raise KeyboardInterrupt
        if state != "finished":
            raise UsageError(f"The training in {path} was {state}. Remove that folder to repeat it.")
    return folder.metrics()


def _measure(path: Path, spec: TrainingSpec, episodes: int) -> list[EpisodeRecord]:
    from gem.training.checkpoints.checkpoint import list_checkpoints  # noqa: PLC0415 (as above)
    from gem.training.study.evaluation import play  # noqa: PLC0415

    return list(play(list_checkpoints(path / "checkpoints")[-1], spec, episodes=episodes))


def _measure_elsewhere(study: Study, path: Path) -> dict[str, int]:
    """Solved held-out episodes in the study's other environments, played as each of them is trained."""
    from gem.training.checkpoints.checkpoint import list_checkpoints  # noqa: PLC0415 (as above)
    from gem.training.policy.policy_agent import PolicyAgent  # noqa: PLC0415

    solved = {}
    for name in study.measured_in:
        other = study.measured_spec(name)
        agent = PolicyAgent(
            list_checkpoints(path / "checkpoints")[-1],
            temperature=other.temperature,
            input_mode=other.input_mode,
            max_tokens=other.max_tokens,
        )
        requests = [
            EpisodeRequest(index, other.env_id, index, other.env_kwargs, other.wrappers)
            for index in range(study.episodes)
        ]
        solved[name] = sum(bool(record.success) for record in rollout(agent, requests, num_envs=128))
    return solved


def _commit() -> str:
    """The commit of the checkout, shortened; COMMIT of the environment where there is none."""
    command = ["git", "rev-parse", "--short=12", "HEAD"]
    try:
        found = subprocess.run(  # noqa: S603 (a fixed command)
            command, cwd=Path(__file__).parent, capture_output=True, text=True, check=False
        )
    except OSError:
        return os.environ.get("COMMIT", "")
    return found.stdout.strip() or os.environ.get("COMMIT", "")
