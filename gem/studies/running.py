"""Makes the runs of a study that have no result yet. Any number of processes may do so at once, also later."""

from __future__ import annotations

import fcntl
import json
import os
import shutil
import subprocess
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from gem.errors import UsageError
from gem.records import EpisodeRecord
from gem.rollout import EpisodeRequest, rollout
from gem.studies.digests import digest, measured_digests
from gem.studies.results import FolderResults, RunResult
from gem.studies.study import Run, Study
from gem.training.results import condensed
from gem.training.run_folder import RunFolder, write_atomically
from gem.training.spec import TrainingSpec

FEWEST_TOKENS, FEWEST_LENGTH = 24, 1024
"""Tokens of a response and of a sequence that every policy has in environments that it was not trained in."""


MEASURED = "measured.json"
"""The file of a run's folder with what its policy was measured in so far."""


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
        folder = folder_of(results.study, run, work)
        try:
            with _alone(folder):
                if results.of(run) is not None:  # another process has made it meanwhile
                    continue
                result = make(results.study, run, folder, results.earlier(run))
                results.write(run, result)
                if not results.study.measured_in:  # a policy is kept, to be measured in environments that come later
                    shutil.rmtree(folder, ignore_errors=True)
        except Busy:
            continue
        on_run(run, result)
        made += 1
    return made


@contextmanager
def _alone(folder: Path) -> Iterator[None]:
    """Keep other processes from a run within the context, by a file beside its folder.

    Raises:
        Busy: if another process makes it.
    """
    folder.parent.mkdir(parents=True, exist_ok=True)
    with folder.with_name(f"{folder.name}.lock").open("w") as file:
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError as error:
            raise Busy(f"Another process makes the run in {folder}.") from error
        yield


def folder_of(study: Study, run: Run, work: Path) -> Path:
    """The folder of a run under way, below that of all trainings under way."""
    return work / study.name / Path(run.file).with_suffix(f".{digest(study, run)}")


def make(study: Study, run: Run, path: Path, earlier: RunResult | None = None) -> RunResult:
    """Train, or finish a training that was interrupted, and measure the last policy on held-out seeds.

    Args:
        path: the folder of the run, which keeps its last checkpoint and its measurements. What is finished there is not
            repeated.
        earlier: the result of an equal training; what it was measured in is not measured again.

    Raises:
        UsageError: if another process trains there, or the training there has ended early.
        TrainingFailed: if the training cannot go on.
        KeyboardInterrupt: if somebody stopped the training.
    """
    path.mkdir(parents=True, exist_ok=True)
    measurements = _Measurements(path / MEASURED, earlier)
    if run.is_untrained:
        return _make_untrained(study, run, measurements)
    spec = study.spec_of(run.environment, run.variant, run.seed, run.tuned)
    metrics = _train(spec, path)
    policy = last_checkpoint(path)
    digests = {} if run.is_trial else measured_digests(study)
    return RunResult(
        digest=digest(study, run),
        tuned=run.tuned,
        episodes=study.episodes,
        **_summary([] if run.is_trial else _play(policy, spec, study.episodes)),
        cpu_seconds=round(metrics[-1]["cpu_seconds"], 1),
        curve=condensed([float(row["success"]) for row in metrics]),
        elsewhere=_measure_elsewhere(study, policy, digests, measurements),
        measured=digests,
        commit=_commit(),
    )


def _summary(records: Sequence[EpisodeRecord]) -> dict[str, Any]:
    """The fields of a result that are about the episodes of an evaluation."""
    solved = [record for record in records if record.success]
    count = max(1, len(records))
    return {
        "solved": len(solved),
        "mean_return": round(sum(record.total_reward for record in records) / count, 4),
        "turns": round(sum(record.turn_count for record in records) / count, 3),
        "turns_when_solved": round(sum(one.turn_count for one in solved) / len(solved), 3) if solved else None,
        "tool_calls": round(sum(map(_tool_calls, records)) / count, 3),
    }


def last_checkpoint(path: Path) -> Path:
    """The folder of the newest checkpoint of a run."""
    from gem.training.checkpoints.checkpoint import list_checkpoints  # noqa: PLC0415 (as above)

    return list_checkpoints(path / "checkpoints")[-1]


class _Measurements:
    """Solved held-out episodes by environment, each kept as soon as it is there, with what it depends on.

    Args:
        file: where those of a run under way are kept.
        earlier: the result of an equal policy, whose measurements are taken as they are.
    """

    def __init__(self, file: Path, earlier: RunResult | None) -> None:
        self._file = file
        self._kept: dict[str, tuple[str, int]] = {}
        if earlier is not None:
            self._kept |= {name: (own, earlier.elsewhere[name]) for name, own in earlier.measured.items()}
        if file.exists():
            self._kept |= {name: (own, solved) for name, (own, solved) in json.loads(file.read_text()).items()}

    def find(self, name: str, own_digest: str) -> int | None:
        """What was measured in an environment as it is now; None if nothing was."""
        kept_digest, solved = self._kept.get(name, ("", 0))
        return solved if kept_digest == own_digest else None

    def keep(self, name: str, own_digest: str, solved: int) -> None:
        """Keep a measurement for a process that goes on."""
        self._kept[name] = (own_digest, solved)
        write_atomically(self._file, json.dumps(self._kept) + "\n")


def _make_untrained(study: Study, run: Run, measurements: _Measurements) -> RunResult:
    """Measure a policy in the study's other environments before any training."""
    began, digests = time.process_time(), measured_digests(study)
    elsewhere = _measure_elsewhere(study, run.variant, digests, measurements)
    return RunResult(
        digest=digest(study, run),
        episodes=study.episodes,
        **_summary([]),
        cpu_seconds=round(time.process_time() - began, 1),
        curve=(),
        elsewhere=elsewhere,
        measured=digests,
        commit=_commit(),
    )


def _train(spec: TrainingSpec, path: Path) -> list[dict[str, float]]:
    folder = RunFolder(path)
    folder.begin(spec)
    if folder.state().get("state") != "finished":
        train_to_its_end(spec, path)
    return folder.metrics()


def train_to_its_end(spec: TrainingSpec, path: Path) -> None:
    """Train in a folder, from its last checkpoint if it has one.

    Raises:
        UsageError: if the training has ended early, or another process trains there.
        KeyboardInterrupt: if somebody stopped it.
    """
    from gem.training.trainer import train  # noqa: PLC0415 (takes seconds; planning and reporting do not need it)

    state = train(spec, path)
    if state == "interrupted":
        raise KeyboardInterrupt
    if state != "finished":
        raise UsageError(f"The training in {path} was {state}. Remove that folder to repeat it.")


def _play(policy: Path, spec: TrainingSpec, episodes: int) -> list[EpisodeRecord]:
    from gem.training.study.evaluation import play  # noqa: PLC0415 (as above)

    return list(play(policy, spec, episodes=episodes))


def _tool_calls(record: EpisodeRecord) -> int:
    return sum(len(turn.info.get("tool_calls", ())) for turn in record.turns)


def _measure_elsewhere(
    study: Study, policy: str | Path, digests: Mapping[str, str], measurements: _Measurements
) -> dict[str, int]:
    """Solved held-out episodes in the study's other environments, each read as it is read in its own training.

    A policy reads and writes with its own tokenizer, in which a text may have more tokens than in that of another. So
    each may read and write `FEWEST_LENGTH` and `FEWEST_TOKENS` everywhere.

    Args:
        digests: of the environments to measure in (`measured_digests`).
        measurements: those that are not repeated, to which each new one is added.
    """
    from gem.training.policy.policy_agent import PolicyAgent  # noqa: PLC0415 (as above)

    solved = {}
    for name, own_digest in digests.items():
        known = measurements.find(name, own_digest)
        if known is not None:
            solved[name] = known
            continue
        other = study.measured_spec(name)
        agent = PolicyAgent(
            policy,
            temperature=other.temperature,
            input_mode=other.input_mode,
            max_tokens=max(other.max_tokens, FEWEST_TOKENS),
            max_length=max(other.max_length, FEWEST_LENGTH),
        )
        stage = other.measured_stage
        requests = [
            EpisodeRequest(index, stage.env_id, index, stage.env_kwargs, other.wrappers)
            for index in range(study.episodes)
        ]
        solved[name] = sum(bool(record.success) for record in rollout(agent, requests, num_envs=128))
        measurements.keep(name, own_digest, solved[name])
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
