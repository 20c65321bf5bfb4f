"""Makes the runs of a study that have no result yet. Any number of processes may do so at once, also later."""

from __future__ import annotations

import os
import shutil
import subprocess
import time
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

from gem.errors import UsageError
from gem.records import EpisodeRecord
from gem.rollout import EpisodeRequest, rollout
from gem.studies.results import FolderResults, RunResult
from gem.studies.study import Run, Study, digest, measured_digests
from gem.training.results import condensed
from gem.training.run_folder import RunFolder
from gem.training.spec import TrainingSpec

FEWEST_TOKENS, FEWEST_LENGTH = 24, 1024
"""Tokens of a response and of a sequence that every policy has in environments that it was not trained in."""


class Busy(UsageError):
    """Another process makes this run now."""


def make_missing(
    results: FolderResults,
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
                and (run.is_untrained or not environments or run.environment in environments)
                and results.of(run) is None
            ),
            None,
        )
        if run is None:
            break
        tried.add(run)
        try:
            result = make(results.study, run, folder_of(results.study, run, work), results.earlier(run))
        except Busy:
            continue
        results.write(run, result)
        if not results.study.measured_in:  # a policy is kept, to be measured in environments that come later
            shutil.rmtree(folder_of(results.study, run, work), ignore_errors=True)
        on_run(run, result)
        made += 1
    return made


def folder_of(study: Study, run: Run, work: Path) -> Path:
    """The folder of a run under way, below that of all trainings under way."""
    return work / study.name / Path(run.file).with_suffix(f".{digest(study, run)}")


def make(study: Study, run: Run, path: Path, earlier: RunResult | None = None) -> RunResult:
    """Train, or finish a training that was interrupted, and measure the last policy on held-out seeds.

    Args:
        path: the folder of the run, which keeps its last checkpoint. A training that is finished there is not repeated.
        earlier: the result of an equal training; what it was measured in is not measured again.

    Raises:
        Busy: if another process makes this run.
        TrainingFailed: if the training cannot go on.
        KeyboardInterrupt: if somebody stopped the training.
    """
    if run.is_untrained:
        return _make_untrained(study, run, earlier)
    spec = study.spec_of(run.environment, run.variant, run.seed, run.tuned)
    path.mkdir(parents=True, exist_ok=True)
    metrics = _train(spec, path)
    policy = last_checkpoint(path)
    records = [] if run.is_trial else _play(policy, spec, study.episodes)
    digests = {} if run.is_trial else measured_digests(study)
    solved = [record for record in records if record.success]
    count = max(1, len(records))
    return RunResult(
        digest=digest(study, run),
        tuned=run.tuned,
        episodes=study.episodes,
        solved=len(solved),
        mean_return=round(sum(record.total_reward for record in records) / count, 4),
        turns=round(sum(record.turn_count for record in records) / count, 3),
        turns_when_solved=round(sum(one.turn_count for one in solved) / len(solved), 3) if solved else None,
        tool_calls=round(sum(map(_tool_calls, records)) / count, 3),
        cpu_seconds=round(metrics[-1]["cpu_seconds"], 1),
        curve=condensed([float(row["success"]) for row in metrics]),
        elsewhere=_measure_elsewhere(study, policy, digests, earlier),
        measured=digests,
        commit=_commit(),
    )


def last_checkpoint(path: Path) -> Path:
    """The folder of the newest checkpoint of a run."""
    from gem.training.checkpoints.checkpoint import list_checkpoints  # noqa: PLC0415 (as above)

    return list_checkpoints(path / "checkpoints")[-1]


def _make_untrained(study: Study, run: Run, earlier: RunResult | None) -> RunResult:
    """Measure a policy in the study's other environments before any training."""
    began, digests = time.process_time(), measured_digests(study)
    elsewhere = _measure_elsewhere(study, run.variant, digests, earlier)
    return RunResult(
        digest=digest(study, run),
        episodes=study.episodes,
        solved=0,
        mean_return=0.0,
        turns=0.0,
        turns_when_solved=None,
        cpu_seconds=round(time.process_time() - began, 1),
        curve=(),
        elsewhere=elsewhere,
        measured=digests,
        commit=_commit(),
    )


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


def _play(policy: Path, spec: TrainingSpec, episodes: int) -> list[EpisodeRecord]:
    from gem.training.study.evaluation import play  # noqa: PLC0415 (as above)

    return list(play(policy, spec, episodes=episodes))


def _tool_calls(record: EpisodeRecord) -> int:
    return sum(len(turn.info.get("tool_calls", ())) for turn in record.turns)


def _measure_elsewhere(
    study: Study, policy: str | Path, digests: Mapping[str, str], earlier: RunResult | None
) -> dict[str, int]:
    """Solved held-out episodes in the study's other environments, each read as it is read in its own training.

    A policy reads and writes with its own tokenizer, in which a text may have more tokens than in that of another. So
    each may read and write `FEWEST_LENGTH` and `FEWEST_TOKENS` everywhere.

    Args:
        digests: of the environments to measure in (`measured_digests`).
        earlier: a result of an equal policy, whose measurements are taken as they are.
    """
    from gem.training.policy.policy_agent import PolicyAgent  # noqa: PLC0415 (as above)

    solved = {}
    for name, own_digest in digests.items():
        if earlier is not None and earlier.measured.get(name) == own_digest:
            solved[name] = earlier.elsewhere[name]
            continue
        other = study.measured_spec(name)
        agent = PolicyAgent(
            policy,
            temperature=other.temperature,
            input_mode=other.input_mode,
            max_tokens=max(other.max_tokens, FEWEST_TOKENS),
            max_length=max(other.max_length, FEWEST_LENGTH),
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
