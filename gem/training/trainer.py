"""The training loop: collect, credit, learn, write down, and again.

    train(spec, Path("runs/guess"))

The same command on the same folder goes on from its last checkpoint, and on a CPU the weights become what they would
have become without the break, bit for bit: episodes and responses follow from the seed and the update's number.
"""

from __future__ import annotations

import logging
import math
import os
import signal
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import asdict, dataclass, field
from enum import IntEnum
from pathlib import Path
from types import FrameType
from typing import Any

import torch

from gem import credit
from gem.credit import ALGORITHMS
from gem.errors import GemError, InvalidArgument
from gem.training.checkpoints import checkpoint
from gem.training.collector import Batch, Collector
from gem.training.failures import explain
from gem.training.learner import Learner, NotFinite, UpdateStats, autocast, examples
from gem.training.policy.policies import AutoPolicy, Policy, load_policy
from gem.training.policy.sampler import AutocastSampler, Sampler, make_sampler
from gem.training.policy.server_sampler import ServerFailed, ServerSampler
from gem.training.policy.tokenizing_agent import CUT_OFF
from gem.training.processes import Processes
from gem.training.run_folder import FAILED_BATCH, RunFolder, State
from gem.training.spec import Stage, TrainingSpec
from gem.version import __version__

logger = logging.getLogger(__name__)

PAUSE_SECONDS = 0.5
"""How often a paused training looks whether it may go on."""
Metrics = dict[str, float]


class Control(IntEnum):
    """What somebody asks of a training by a file in its folder; a number, so that one process can tell the others."""

    GO_ON = 0
    PAUSE = 1
    CANCEL = 2


class TrainingFailed(GemError):
    """The training cannot go on; the message is its reason, which `state.json` has as well."""


@dataclass(slots=True)
class Progress:
    """How far a training is: all that a checkpoint remembers besides tensors."""

    update: int = 0
    """Updates made."""
    seconds: float = 0.0
    cpu_seconds: float = 0.0
    episodes: int = 0
    turns: int = 0
    stage: int = 0
    """Of the curriculum."""
    recent: list[float] = field(default_factory=list)
    """Success of the stage's last updates."""
    staged: int = 0
    """Updates made in the stage."""
    last: Metrics = field(default_factory=dict)
    """The last update's metrics."""


def train(spec: TrainingSpec, path: Path, on_update: Callable[[Metrics], None] | None = None) -> State:
    """Train until the last update, or until somebody stops it; how it ended.

    Args:
        path: the run's folder (see `gem.training.run_folder`), made if it is not there.
        on_update: called with the metrics of each update, in the first process.

    Raises:
        UsageError: if the folder holds another training, or the policy cannot be loaded.
        TrainingFailed: if it cannot go on; the last checkpoint is whole.
    """
    torch.set_num_threads(spec.threads)
    device = _device(spec)
    processes = Processes(device)
    folder = RunFolder(path)
    try:
        if not processes.is_first:
            return _Training(spec, folder, processes, device, on_update).run()
        folder.begin(spec)
        with folder.alone():
            return _Training(spec, folder, processes, device, on_update).run()
    finally:
        processes.close()


class _Training:
    """One process's part of a training."""

    def __init__(
        self,
        spec: TrainingSpec,
        folder: RunFolder,
        processes: Processes,
        device: str,
        on_update: Callable[[Metrics], None] | None,
    ) -> None:
        self.spec, self.folder, self.processes, self.on_update = spec, folder, processes, on_update
        torch.manual_seed(spec.seed)
        critic = ALGORITHMS[spec.algorithm].has_critic
        self.policy = load_policy(
            spec.model,
            lora_rank=spec.lora_rank,
            critic=critic,
            device=device,
            gradient_checkpointing=spec.gradient_checkpointing,
        )
        longest = self.policy.longest
        if longest and spec.max_length > longest:
            raise InvalidArgument(
                f"max_length is {spec.max_length}: lower it, for {spec.model} reads {longest} tokens at most."
            )
        self.learner = Learner(spec, self.policy, processes, self._reference(device))
        share = processes.share(spec.episodes, spec.group)
        self.collector = Collector(spec, self.policy, self._sampler(len(share)), share)
        self.progress = Progress()
        self._saved = 0.0
        self._terminated = False

    def run(self) -> State:
        """Go on from the last checkpoint, to the end or until stopped."""
        self._go_on()
        self._set_state("running")
        try:
            with _on_sigterm(self._terminate):
                ended = self._loop()
            if self.processes.is_first:
                self._save()
        except (OSError, RuntimeError, MemoryError, NotFinite, ServerFailed) as error:
            reason = explain(error, self.folder.path)
            if reason is None:
                raise
            raise self._failed(reason) from error
        self._set_state(ended)
        logger.info("%s after update %d", ended, self.progress.update)
        return ended

    def _loop(self) -> State:
        while self.progress.update < self.spec.updates:
            stopped = self._obey()
            if stopped is not None:
                return stopped
            began, began_cpu = time.perf_counter(), time.process_time()
            batch = self.collector.collect(self.progress.update, self._stage())
            self._check(batch)
            learned, learner_seconds = self._learn(batch)
            self.progress.update += 1
            self.progress.seconds += time.perf_counter() - began
            self.progress.cpu_seconds += time.process_time() - began_cpu
            metrics = self._metrics(batch, learned, learner_seconds, time.perf_counter() - began)
            metrics |= self._held_out()
            self._advance(metrics["success"])
            self._report(batch, metrics)
        return "finished"

    def _learn(self, batch: Batch) -> tuple[UpdateStats, float]:
        spec, episodes, began = self.spec, batch.episodes, time.perf_counter()
        earned = credit.compute_advantages(
            spec.algorithm,
            [episode.rewards for episode in episodes],
            discount=spec.discount,
            gae_lambda=spec.gae_lambda,
            values=[episode.values for episode in episodes] if ALGORITHMS[spec.algorithm].has_critic else (),
            groups=[episode.group for episode in episodes],
            scale_groups=spec.scale_groups,
            gather=self.processes.gather,
        )
        try:
            learned = self.learner.learn(examples(episodes, earned), self.progress.update)
        except NotFinite:
            if self.processes.is_first:
                self.folder.write_episodes(self.progress.update + 1, episodes, self._name, FAILED_BATCH)
            raise
        return learned, time.perf_counter() - began

    def _metrics(self, batch: Batch, learned: UpdateStats, learner_seconds: float, seconds: float) -> Metrics:
        """The point of an update, over the episodes of all processes."""
        together = self.processes.gather
        records = [episode.record for episode in batch.episodes]
        turns = [turn for record in records for turn in record.turns]
        sequences = [sequence for episode in batch.episodes for sequence in episode.sequences]
        written = [one for sequence in sequences for one in sequence.responses]
        shortened = [float(sequence.shortened) for sequence in sequences for _ in sequence.responses]
        errors = [turn.info.get("error") for turn in turns]
        lengths = together([float(one.length) for one in written])
        returns = together([record.total_reward for record in records])
        failed = self.processes.total([float(len(batch.failures))])[0]
        progress = self.progress
        progress.turns += len(lengths)
        progress.episodes += len(returns)
        return {
            "update": progress.update,
            "seconds": progress.seconds,
            "cpu_seconds": progress.cpu_seconds,
            "turns": progress.turns,
            "episodes": progress.episodes,
            "return": _mean(returns),
            "success": _mean(together([float(bool(record.success)) for record in records])),
            "invalid": _mean(together([float(error == "format") for error in errors])),
            "against_rules": _mean(together([float(error == "rule") for error in errors])),
            "cut_off": _mean(together([float(turn.action == CUT_OFF) for turn in turns])),
            "shortened": _mean(together(shortened)),
            "turns_per_episode": len(lengths) / max(len(returns), 1),
            "length": _mean(lengths),
            **asdict(learned),
            "stage": progress.stage,
            "broken": failed,
            "turns_per_second": len(lengths) / max(seconds, 1e-9),
            "seconds_generation": batch.generation_seconds,
            "seconds_environment": batch.environment_seconds,
            "seconds_learner": learner_seconds,
        }

    def _held_out(self) -> Metrics:
        """How the policy does on held-out seeds of the last stage, where that is to be measured after this update."""
        every, update = self.spec.held_out_every, self.progress.update
        if not every or (update % every and update != self.spec.updates):
            return {}
        places = range(self.processes.rank, self.spec.held_out_episodes, self.processes.count)
        played = self.collector.held_out(self.spec.stages[-1], places)
        records = [episode.record for episode in played if not episode.record.failure]
        return {
            "held_out_success": _mean(self.processes.gather([float(bool(record.success)) for record in records])),
            "held_out_return": _mean(self.processes.gather([record.total_reward for record in records])),
        }

    def _report(self, batch: Batch, metrics: Metrics) -> None:
        """Write down what the update was; all of it belongs to the first process."""
        self.progress.last = metrics
        if not self.processes.is_first:
            return
        update = self.progress.update
        due = update == 1 or update % self.spec.sample_every == 0 or update == self.spec.updates
        if due and self.spec.sample_episodes:
            self.folder.write_episodes(update, batch.episodes[: self.spec.sample_episodes], self._name)
        self.folder.add_metrics(metrics)
        if time.monotonic() - self._saved >= self.spec.checkpoint_seconds:
            self._save()
        if self.on_update is not None:
            self.on_update(metrics)

    def _obey(self) -> State | None:
        """Wait while paused; how the training ends now, if it does. The first process decides for all."""
        while True:
            control = self._control()
            if self.processes.total([float(self._terminated)])[0]:
                return "interrupted"
            if control is Control.CANCEL:
                return "cancelled"
            if control is Control.GO_ON:
                self._set_state("running")
                return None
            if self.folder.state().get("state") != "paused" and self.processes.is_first:
                self._save()
                self._set_state("paused")
            time.sleep(PAUSE_SECONDS)

    def _control(self) -> Control:
        """What somebody asks of the training now, the same in every process."""
        control = Control.GO_ON
        if self.processes.is_first and self.folder.asks("pause"):
            control = Control.PAUSE
        if self.processes.is_first and self.folder.asks("cancel"):
            control = Control.CANCEL
        return Control(int(self.processes.from_first(control)))

    def _check(self, batch: Batch) -> None:
        playable, broken = self.processes.total([float(len(batch.episodes)), float(len(batch.failures))])
        if not playable:
            reason = batch.failures[0].failure if batch.failures else "see the other processes"
            raise self._failed(f"All {broken:.0f} episodes of the batch broke. The first one: {reason}")

    def _stage(self) -> Stage:
        return self.spec.stages[self.progress.stage]

    def _advance(self, success: float) -> None:
        """Go on to the curriculum's next stage once this one is solved often enough, or has had its updates."""
        progress, stage = self.progress, self._stage()
        progress.staged += 1
        progress.recent = [*progress.recent, success][-stage.window :]
        solved = len(progress.recent) == stage.window and _mean(progress.recent) >= stage.until_success
        if (solved or progress.staged == stage.updates) and progress.stage < len(self.spec.stages) - 1:
            progress.stage += 1
            progress.recent, progress.staged = [], 0
            logger.info("stage %d of the curriculum", progress.stage + 1)

    def _go_on(self) -> None:
        found = checkpoint.checkpoints(self.folder.checkpoints)
        if found:
            self.progress = Progress(**checkpoint.restore(found[-1], self.learner))
            self.progress.stage = min(self.progress.stage, len(self.spec.stages) - 1)  # a fork may have fewer
            logger.info("going on after update %d", self.progress.update)
        if self.processes.is_first:
            self.folder.cut_after(self.progress.update)
        self._saved = time.monotonic()

    def _save(self) -> None:
        update = self.progress.update
        if not (self.folder.checkpoints / f"{update:06d}" / checkpoint.TRAINER).exists():
            card, progress = self._card(), asdict(self.progress)
            if self.spec.exam_episodes:
                exam = self.collector.exam(self.spec.stages[-1], self.spec.exam_episodes)
                self.folder.write_episodes(update, exam, self._name, folder="exams")
            checkpoint.save(self.folder.checkpoints, update, self.learner, card, progress, self.spec.keep_checkpoints)
            logger.info("checkpoint after update %d", update)
        self._saved = time.monotonic()

    def _card(self) -> dict[str, Any]:
        """What the checkpoint is, for people and for `gem.agents.policy`."""
        spec, last = self.spec, self.progress.last
        return {
            "format": 1,
            "engine_version": __version__,
            "base": Path(spec.model).name if Path(spec.model).is_dir() else spec.model,
            "recipe": spec.recipe,
            "env_id": spec.env_id,
            "env_kwargs": spec.env_kwargs,
            "algorithm": spec.algorithm,
            "update": self.progress.update,
            "turns": self.progress.turns,
            "episodes": self.progress.episodes,
            "success": last.get("success"),
            "return": last.get("return"),
            "input_mode": spec.input_mode,
            "max_tokens": spec.max_tokens,
            "max_length": spec.max_length,
            "temperature": spec.temperature,
        }

    def _sampler(self, capacity: int) -> Sampler:
        if self.spec.sampler == "server":
            assert isinstance(self.policy, AutoPolicy)
            if self.processes.count > 1:
                raise InvalidArgument("A server writes the responses of one process: start it without torchrun.")
            return ServerSampler(self.policy, self.spec.server_url, self.folder.path / "adapters", self.spec.max_tokens)
        sampler = make_sampler(
            self.policy, capacity, self.spec.max_tokens, self.spec.microbatch_tokens, self.spec.generation_tokens
        )
        if self.spec.precision == "float32":
            return sampler
        return AutocastSampler(sampler, lambda: autocast(self.spec, self.learner.device))

    def _reference(self, device: str) -> Policy | None:
        if not self.spec.kl_coefficient or self.spec.lora_rank:
            return None
        return load_policy(self.spec.model, device=device).requires_grad_(requires_grad=False)

    def _set_state(self, state: State, reason: str = "") -> None:
        if self.processes.is_first and (state != "running" or self.folder.state().get("state") != "running"):
            self.folder.set_state(state, self.progress.update, reason)

    def _failed(self, reason: str) -> TrainingFailed:
        try:
            self._set_state("failed", reason)
        except OSError as error:  # the disk may be full: the reason still reaches whoever started this
            logger.warning("state.json could not be written: %s", error)
        return TrainingFailed(reason)

    def _terminate(self, _number: int, _frame: FrameType | None) -> None:
        self._terminated = True

    @property
    def _name(self) -> str:
        return f"{self.spec.recipe or self.spec.algorithm} {self.progress.update}"


@contextmanager
def _on_sigterm(handler: Callable[[int, FrameType | None], None]) -> Iterator[None]:
    """Within, SIGTERM calls `handler`. Only the main thread can take signals; elsewhere nothing changes."""
    try:
        before = signal.signal(signal.SIGTERM, handler)
    except ValueError:
        yield
        return
    try:
        yield
    finally:
        signal.signal(signal.SIGTERM, before)


def _device(spec: TrainingSpec) -> str:
    """Where this process computes: under torchrun each one of a node has a GPU of its own."""
    found = torch.cuda.is_available()
    if spec.device == "cuda" and not found:
        raise TrainingFailed("There is no CUDA device here: set device=auto or device=cpu.")
    if not found or spec.device == "cpu":
        return "cpu"
    here, devices = int(os.environ.get("LOCAL_RANK", "0")), torch.cuda.device_count()
    if here >= devices:
        raise TrainingFailed(f"There are {devices} GPUs here: start no more than {devices} processes, or device=cpu.")
    torch.cuda.set_device(here)
    return f"cuda:{here}"


def _mean(numbers: list[float]) -> float:
    return math.fsum(numbers) / len(numbers) if numbers else 0.0
