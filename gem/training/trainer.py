"""The training loop: collect a batch of episodes, compute advantages, learn from them, and write down the metrics.

    train(spec, Path("runs/guess"))

The same command on the same folder resumes from the last checkpoint. On a CPU the weights are then bit for bit those of
a training that was never interrupted, because episodes and responses follow from the seed and the update's number.
"""

from __future__ import annotations

import logging
import signal
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import asdict
from enum import IntEnum
from functools import partial
from pathlib import Path
from types import FrameType

import torch

from gem import credit
from gem.credit import ALGORITHMS
from gem.errors import GemError, InvalidArgument
from gem.training.allocator import keep_freed_memory
from gem.training.checkpoints import checkpoint
from gem.training.collecting.batch import RolloutBatch, mean
from gem.training.collecting.collector import Collector, capacity_of
from gem.training.collecting.forks import forked_states
from gem.training.collecting.pool import Pool
from gem.training.collecting.retries import follow_outcomes, outcomes_of
from gem.training.collecting.self_play import distinct, learned_weights, pool_metrics
from gem.training.failures import TrainingFailed, explain
from gem.training.learner import Learner, NonFiniteGradient, UpdateStats, autocast, training_examples
from gem.training.policy.policies import AutoPolicy, load_policy
from gem.training.policy.sampler import AutocastSampler, Sampler, make_sampler
from gem.training.policy.server_sampler import ServerSampler
from gem.training.processes import Processes
from gem.training.progress import Metrics, Progress
from gem.training.run_folder import FAILED_BATCH, RunFolder, State
from gem.training.spec import TrainingSpec
from gem.training.starting import choose_device, load_reference, load_trained_policy
from gem.training.study.alarms import Watch, changed_alarms, stop_reason
from gem.training.study.exploitability import exploitability

logger = logging.getLogger(__name__)

PAUSE_POLL_SECONDS = 0.5
"""Interval at which a paused training looks whether it may resume."""


class Control(IntEnum):
    """A request by a file in the run's folder; a number, so that one process can send it to the others."""

    GO_ON = 0
    PAUSE = 1
    CANCEL = 2


def train(spec: TrainingSpec, path: Path | str, on_update: Callable[[Metrics], None] | None = None) -> State:
    """Train until the last update, or until somebody stops the training, and return how it ended.

    Args:
        path: the run's folder (see `gem.training.run_folder`), made if it does not exist.
        on_update: called with the metrics of each update, in the first process.

    Raises:
        UsageError: if `spec` is not one, the folder holds another training, or the policy cannot be loaded.
        TrainingFailed: if the training cannot continue; the last checkpoint is complete.
    """
    if not isinstance(spec, TrainingSpec):
        raise InvalidArgument(f"train takes a TrainingSpec, such as read_spec({{...}}) makes, not {spec!r:.80}.")
    torch.set_num_threads(spec.threads)
    keep_freed_memory()
    device = choose_device(spec)
    processes = Processes(device)
    folder = RunFolder(path)
    try:
        if not processes.is_first:
            return _Training(spec, folder, processes, device, on_update).run()
        folder.begin(spec)
        with folder.lock():
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
        self.policy = load_trained_policy(spec, device)
        self.learner = Learner(spec, self.policy, processes, load_reference(spec, device))
        share = processes.share(spec.episodes, spec.group)
        self.pool = Pool(spec.pool_size, spec.pool_agents) if spec.self_play else None
        self.collector = Collector(
            spec,
            self.policy,
            self._make_sampler(capacity_of(spec, len(share))),
            share,
            self.pool,
            partial(load_policy, spec.model, lora_rank=spec.lora_rank, device=device),
        )
        self.progress = Progress()
        self._watch = Watch()
        self._saved_at = 0.0
        self._is_terminated = False

    def run(self) -> State:
        """Resume from the last checkpoint, if there is one, and train to the end or until stopped."""
        self._resume()
        self._set_state("running")
        try:
            with _on_sigterm(self._terminate):
                self._play_exam()
                state = self._loop()
            if self.processes.is_first:
                self._save_checkpoint()
        except TrainingFailed:
            raise
        except KeyboardInterrupt:  # in the middle of an update, so the last checkpoint stays the newest
            self._set_state("interrupted")
            raise
        except Exception as error:
            reason = explain(error, self.folder.path)
            if reason is None:
                self._fail(str(error) if isinstance(error, GemError) else f"{type(error).__name__}: {error}")
                raise
            raise self._fail(reason) from error
        self._set_state(state, self._stop_reason() if state == "stopped" else "")
        logger.info("%s after update %d", state, self.progress.update)
        return state

    def _loop(self) -> State:
        while not self._is_to_stop():
            if self.progress.update >= self.spec.updates:
                return "finished"
            end = self._obey_requests()
            if end is not None:
                return end
            began, cpu_began = time.perf_counter(), time.process_time()
            stage_of = partial(self.progress.stage_of, self.spec)
            batch = self.collector.collect(self.progress.update, stage_of, self.progress.unsolved)
            self._require_episodes(batch)
            stats, learner_seconds = self._learn(batch)
            self.progress.update += 1
            self.progress.seconds += time.perf_counter() - began
            self.progress.cpu_seconds += time.process_time() - cpu_began
            metrics = self._measure(batch, stats, learner_seconds, time.perf_counter() - began)
            metrics |= self._measure_pool(batch)
            metrics |= self._measure_held_out()
            self._remember_unsolved(batch)
            self.progress.follow_success(self.spec, metrics["success"])
            self._report(batch, metrics)
        return "stopped"

    def _learn(self, batch: RolloutBatch) -> tuple[UpdateStats, float]:
        """Compute all advantages and make the optimizer steps; return the statistics and the seconds it took."""
        spec, episodes, began = self.spec, batch.learned, time.perf_counter()
        unit, has_critic = spec.credit_unit, ALGORITHMS[spec.algorithm].has_critic
        batch_credit = self._credit(batch)
        examples = training_examples(episodes, batch_credit, unit, has_critic=has_critic)
        try:
            stats = self.learner.learn(examples, self.progress.update)
        except NonFiniteGradient:
            if self.processes.is_first:
                self.folder.write_episodes(self.progress.update + 1, episodes, self._agent_name, FAILED_BATCH)
            raise
        return stats, time.perf_counter() - began

    def _credit(self, batch: RolloutBatch) -> credit.Credit:
        """The advantage of everything that is learned from."""
        spec, episodes = self.spec, batch.learned
        rewards = [episode.rewards for episode in episodes]
        if spec.fork_turns:
            states = forked_states(episodes, batch.forks)
            return credit.forked_advantages(rewards, states, discount=spec.discount, gather=self.processes.gather)
        has_critic = ALGORITHMS[spec.algorithm].has_critic
        return credit.compute_advantages(
            spec.algorithm,
            rewards,
            discount=spec.discount,
            gae_lambda=spec.gae_lambda,
            values=[episode.values_of(spec.credit_unit) for episode in episodes] if has_critic else (),
            groups=[episode.group for episode in episodes],
            scale_groups=spec.scale_groups,
            gather=self.processes.gather,
            unit=spec.credit_unit,
            lengths=[episode.lengths for episode in episodes],
        )

    def _measure(self, batch: RolloutBatch, stats: UpdateStats, learner_seconds: float, seconds: float) -> Metrics:
        """The metrics of an update, over the episodes of all processes."""
        turns, episodes, failures = self.processes.total(
            [float(batch.turn_count), float(batch.episode_count), float(len(batch.failures))]
        )
        progress = self.progress
        progress.turns += int(turns)
        progress.episodes += int(episodes)
        return {
            "update": progress.update,
            "seconds": progress.seconds,
            "cpu_seconds": progress.cpu_seconds,
            "turns": progress.turns,
            "episodes": progress.episodes,
            **batch.metrics(self.processes.gather, self.spec.discount),
            **asdict(stats),
            "stage": progress.stage,
            **({"level": progress.level} if self.spec.target_success else {}),
            "broken": failures,
            "turns_per_second": turns / max(seconds, 1e-9),
            "seconds_generation": batch.generation_seconds,
            "seconds_environment": batch.environment_seconds,
            "seconds_learner": learner_seconds,
        }

    def _measure_pool(self, batch: RolloutBatch) -> Metrics:
        """Count the games against the pool, and let the policy enter it when it is time."""
        if self.pool is None:
            return {}
        counts, possible = distinct(batch.games), self.pool.possible()
        totals = self.processes.total([float(counts.get(game, 0)) for game in possible])
        games = [(game, int(times)) for game, times in zip(possible, totals, strict=True)]
        self.pool.record(games)
        metrics = pool_metrics(self.pool, games)
        if self.progress.update % self.spec.pool_every == 0:
            self.pool.enter(self.progress.update, learned_weights(self.learner.parameters))
        return metrics

    def _remember_unsolved(self, batch: RolloutBatch) -> None:
        """Note which seeds are to be tried again, of the batches of all processes."""
        if self.spec.retry_unsolved:
            outcomes = self.processes.gather(outcomes_of(batch))
            self.progress.unsolved = follow_outcomes(self.spec, self.progress.unsolved, outcomes)

    def _measure_held_out(self) -> Metrics:
        """Results on held-out seeds of the last stage, if they are to be measured after this update."""
        interval, update = self.spec.held_out_every, self.progress.update
        if not interval or (update % interval and update != self.spec.updates):
            return {}
        indices = range(self.processes.rank, self.spec.held_out_episodes, self.processes.count)
        episodes = self.collector.play_held_out(self.spec.measured_stage, indices)
        records = [episode.record for episode in episodes if not episode.record.failure]
        found = exploitability(self.policy, self.spec) if self.pool is not None and self.processes.is_first else None
        return {
            **({} if found is None else {"exploitability": found}),
            "held_out_success": mean(self.processes.gather([float(bool(record.success)) for record in records])),
            "held_out_return": mean(self.processes.gather([record.total_reward for record in records])),
        }

    def _report(self, batch: RolloutBatch, metrics: Metrics) -> None:
        """Write the metrics and, when they are due, episodes and a checkpoint; only the first process writes."""
        self.progress.last = metrics
        if not self.processes.is_first:
            return
        update = self.progress.update
        samples_are_due = update == 1 or update % self.spec.sample_every == 0 or update == self.spec.updates
        if samples_are_due and self.spec.sample_episodes:
            kept = batch.distinct_episodes[: self.spec.sample_episodes]
            self.folder.write_episodes(update, kept, self._agent_name)
        self.folder.add_metrics(metrics)
        self._look_for_alarms(metrics)
        if time.monotonic() - self._saved_at >= self.spec.checkpoint_seconds:
            self._save_checkpoint()
        if self.on_update is not None:
            self.on_update(metrics)

    def _save_checkpoint(self) -> None:
        """Play the exam and write a checkpoint, unless the update has one already."""
        update = self.progress.update
        if not checkpoint.exists(self.folder.checkpoints, update):
            self._play_exam()
            checkpoint.save(self.folder.checkpoints, self.learner, self.spec, self.progress, self.pool)
            logger.info("checkpoint after update %d", update)
        self._saved_at = time.monotonic()

    def _play_exam(self) -> None:
        """Play the exam, unless these weights have played it; the first one shows the policy before it was trained."""
        update = self.progress.update
        if self.processes.is_first and self.spec.exam_episodes and not self.folder.has_exam(update):
            exam = self.collector.play_exam(self.spec.measured_stage, self.spec.exam_episodes)
            self.folder.write_episodes(update, exam, self._agent_name, folder="exams")

    def _resume(self) -> None:
        """Restore the last checkpoint, if there is one, and remove what was written about updates after it."""
        checkpoints = checkpoint.list_checkpoints(self.folder.checkpoints)
        if checkpoints:
            self.progress = checkpoint.restore(checkpoints[-1], self.learner)
            self.progress.enter(self.spec)
            logger.info("going on after update %d", self.progress.update)
        if self.pool is not None and not (checkpoints and self.pool.restore(checkpoints[-1], str(self.learner.device))):
            self.pool.enter(self.progress.update, learned_weights(self.learner.parameters))
        if self.processes.is_first:
            self.folder.discard_after(self.progress.update)
            for row in self.folder.metrics():
                self._watch.add(row)
        self._saved_at = time.monotonic()

    def _look_for_alarms(self, metrics: Metrics) -> None:
        """Log the alarms that the metrics of the update raise, and those that are over."""
        known = self._watch.alarms
        self._watch.add(metrics)
        for alarm in changed_alarms(known, self._watch.alarms):
            logger.warning("%s%s", alarm.line, f" {alarm.advice}" if alarm.holds else "")

    def _stop_reason(self) -> str:
        return stop_reason(self._watch.alarms, self.spec.stop_on, self.progress.update)

    def _is_to_stop(self) -> bool:
        """Whether the training stops by itself now; the first process decides for all."""
        return bool(self.spec.stop_on) and bool(int(self.processes.from_first(int(bool(self._stop_reason())))))

    def _obey_requests(self) -> State | None:
        """Wait while paused; the state in which the training ends now, or None if it continues.

        The first process reads the requests and decides for all.
        """
        while True:
            control = self._read_control()
            if self.processes.total([float(self._is_terminated)])[0]:
                return "interrupted"
            if control is Control.CANCEL:
                return "cancelled"
            if control is Control.GO_ON:
                self._set_state("running")
                return None
            if self.folder.state().get("state") != "paused" and self.processes.is_first:
                self._save_checkpoint()
                self._set_state("paused")
            time.sleep(PAUSE_POLL_SECONDS)

    def _read_control(self) -> Control:
        """The present request to the training, the same in every process."""
        control = Control.GO_ON
        if self.processes.is_first and self.folder.has_request("pause"):
            control = Control.PAUSE
        if self.processes.is_first and self.folder.has_request("cancel"):
            control = Control.CANCEL
        return Control(int(self.processes.from_first(control)))

    def _require_episodes(self, batch: RolloutBatch) -> None:
        """Fail if the environment raised in every episode of the batch."""
        playable, broken = self.processes.total([float(len(batch.episodes)), float(len(batch.failures))])
        if not playable:
            reason = batch.failures[0].failure if batch.failures else "see the other processes"
            raise self._fail(f"All {broken:.0f} episodes of the batch broke. The first one: {reason}")

    def _set_state(self, state: State, reason: str = "") -> None:
        if self.processes.is_first and (state != "running" or self.folder.state().get("state") != "running"):
            self.folder.set_state(state, self.progress.update, reason)

    def _fail(self, reason: str) -> TrainingFailed:
        """Write the reason to `state.json` and return the error to raise."""
        try:
            self._set_state("failed", reason)
        except OSError as error:  # the disk may be full; whoever started the training still gets the reason
            logger.warning("state.json could not be written: %s", error)
        return TrainingFailed(reason)

    def _terminate(self, _signal: int, _frame: FrameType | None) -> None:
        self._is_terminated = True

    def _make_sampler(self, capacity: int) -> Sampler:
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

    @property
    def _agent_name(self) -> str:
        return f"{self.spec.recipe or self.spec.algorithm} {self.progress.update}"


@contextmanager
def _on_sigterm(handler: Callable[[int, FrameType | None], None]) -> Iterator[None]:
    """Call `handler` on SIGTERM within the context. Only the main thread can install it; elsewhere nothing changes."""
    try:
        previous = signal.signal(signal.SIGTERM, handler)
    except ValueError:
        yield
        return
    try:
        yield
    finally:
        signal.signal(signal.SIGTERM, previous)
