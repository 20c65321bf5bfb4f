"""Measures the credit of every algorithm during a training, beside the true advantages of the same turns.

PPO trains, so that there is a critic. At some of its updates a batch is played in groups, every algorithm computes the
advantages of the same turns, and the truth of some of these turns is found: computed from the policy's probabilities
where everything that can happen can be enumerated (`gem.analysis.exact`), and otherwise by forking
(`gem.analysis.true_advantage`).
"""

from __future__ import annotations

import tempfile
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Literal, NamedTuple

from gem import registry
from gem.analysis.exact.dynamics import FAMILIES, Dynamics
from gem.analysis.exact.values import ExactValues
from gem.analysis.true_advantage import fork, true_advantage, turns
from gem.credit import ALGORITHMS, Algorithm, compute_advantages
from gem.errors import InvalidArgument
from gem.records import EpisodeRecord
from gem.rollout import Start
from gem.studies.credit import CreditPoint, CreditStudy, Judged, ceiling, compare
from gem.studies.running import train_to_its_end
from gem.training import recipes
from gem.training.run_folder import RunFolder, update_name
from gem.training.spec import Stage, TrainingSpec, read_spec

if TYPE_CHECKING:
    from gem.training.collecting.batch import RolloutBatch
    from gem.training.policy.policies import Policy

GROUP_SIZE = 8
POINTS = 6
"""Number of updates at which credit is measured; the first is before the training."""
EPISODES = 24
"""Episodes of each batch whose turns are judged, each of another seed."""
CONTINUATIONS = 48
"""Of each kind, after the action that was taken and choosing anew."""
MOST_SITUATIONS = 60_000
"""With more, forks are used."""

Truth = Literal["forks", "exact"]


class TrueTurn(NamedTuple):
    """The true advantage of a turn."""

    place: int
    """Index of the episode in its batch."""
    turn: int
    mean: float
    error: float
    """Standard error of a measured one; for an exact one half of how far it may be off at most."""


def measure(
    recipe: str,
    *,
    seed: int = 0,
    updates: int | None = None,
    truth: Truth | None = None,
    on_point: Callable[[CreditPoint], None] = lambda _point: None,
) -> CreditStudy:
    """Train with a recipe's settings and PPO, and measure credit at `POINTS` updates.

    Args:
        updates: of the training; those of the recipe by default.
        truth: `exact` where that is possible, by default.

    Raises:
        InvalidArgument: if the recipe is unknown, if its episodes have one turn (all credit is the same then), or if
            exact truth was asked for where it cannot be had.
        MissingMethod: if the environment has no state that can be saved.
    """
    data = recipes.data(recipe) | {"algorithm": "ppo", "seed": seed, "fork_turns": 0}
    data |= {"sample_episodes": 0, "exam_episodes": 0, "checkpoint_seconds": 0.0, "keep_checkpoints": 1000}
    spec = read_spec(data if updates is None else {**data, "updates": updates})
    if spec.self_play:
        raise InvalidArgument(f"{recipe} plays against itself; credit is measured where one seat is played.")
    if registry.spec(spec.env_id).turns == "single":
        raise InvalidArgument(f"Episodes of {spec.env_id} have one turn, so there is no credit to divide among turns.")
    with tempfile.TemporaryDirectory() as place:
        folder = RunFolder(Path(place))
        train_to_its_end(spec, folder.path)
        judge = _Judge(spec, folder, truth)
        points = []
        for update in _updates(spec.updates):
            points.append(judge.point(update))
            on_point(points[-1])
    return CreditStudy(
        recipe=recipe, env_id=spec.env_id, discount=spec.discount, seed=seed, truth=judge.truth, points=points
    )


def _updates(count: int) -> list[int]:
    """The updates after which credit is measured, from none to all of them."""
    return sorted({round(count * place / (POINTS - 1)) for place in range(POINTS)})


class _Judge:
    """Judges the credit of batches of one training."""

    def __init__(self, spec: TrainingSpec, folder: RunFolder, truth: Truth | None) -> None:
        self.spec, self.folder = spec, folder
        family = registry.spec(spec.env_id).family
        if truth == "exact" and family not in FAMILIES:
            raise InvalidArgument(f"Exact advantages are computed in {', '.join(sorted(FAMILIES))}, not in {family}.")
        self.truth: Truth = truth or ("exact" if family in FAMILIES else "forks")
        self._is_asked_for = truth is not None
        self._dynamics: dict[int, Dynamics] = {}
        """What can happen, by stage; it is the same for every policy."""

    def point(self, update: int) -> CreditPoint:
        """Judge the credit of a batch that the policy plays after an update."""
        policy, stage_number, path = self._restore(update)
        stage = self.spec.stages[stage_number]
        batch = self._collect(policy, update, stage)
        advantages = _advantages(self.spec, batch)
        truths = self._truths(policy, path, stage_number, [episode.record for episode in batch.episodes])
        judged = [
            Judged(one.mean, one.error, {name: own[one.place][one.turn] for name, own in advantages.items()})
            for one in truths
        ]
        records = [episode.record for episode in batch.episodes]
        return CreditPoint(
            update=update,
            success=round(sum(bool(record.success) for record in records) / len(records), 4),
            mean_return=round(sum(record.total_reward for record in records) / len(records), 4),
            turns=len(judged),
            ceiling=ceiling(judged),
            stage=stage_number,
            error=round(max((2 * one.error for one in truths), default=0.0), 4) if self.truth == "exact" else 0.0,
            algorithms={name: compare(judged, name) for name in ALGORITHMS},
        )

    def _restore(self, update: int) -> tuple[Policy, int, Path | str]:
        """The policy after an update, the stage that it plays next, and where it is."""
        from gem.training.checkpoints import checkpoint  # noqa: PLC0415 (as above)
        from gem.training.learner import Learner  # noqa: PLC0415
        from gem.training.policy.policies import load_policy  # noqa: PLC0415
        from gem.training.processes import Processes  # noqa: PLC0415

        policy = load_policy(self.spec.model, critic=True)
        path = self.folder.checkpoints / update_name(update)
        if not update:
            return policy, 0, self.spec.model
        return policy, checkpoint.restore(path, Learner(self.spec, policy, Processes())).stage, path

    def _collect(self, policy: Policy, update: int, stage: Stage) -> RolloutBatch:
        from gem.training.collecting.collector import Collector  # noqa: PLC0415 (as above)
        from gem.training.policy.sampler import make_sampler  # noqa: PLC0415

        spec = self.spec
        grouped = read_spec({**spec.model_dump(mode="json"), "algorithm": "grpo", "group_size": GROUP_SIZE})
        sampler = make_sampler(policy, spec.episodes, spec.max_tokens, spec.microbatch_tokens, spec.generation_tokens)
        return Collector(grouped, policy, sampler, range(spec.episodes)).collect(
            spec.updates + update, lambda _group: stage
        )

    def _truths(self, policy: Policy, path: Path | str, stage: int, records: Sequence[EpisodeRecord]) -> list[TrueTurn]:
        """The true advantages of the turns of some episodes, each of another seed."""
        places = list(range(0, len(records), max(1, len(records) // EPISODES)))[:EPISODES]
        if self.truth == "exact":
            try:
                return list(self._exact_truths(policy, stage, records, places))
            except InvalidArgument:  # of the opponent, or because there are too many situations
                if self._is_asked_for:
                    raise
                self.truth = "forks"
        return list(_forked_truths(self.spec, path, records, places))

    def _exact_truths(
        self, policy: Policy, stage: int, records: Sequence[EpisodeRecord], places: Sequence[int]
    ) -> Iterator[TrueTurn]:
        from gem.training.policy.contexts import ContextWriter  # noqa: PLC0415 (as above)
        from gem.training.policy.distribution import PolicyChooser  # noqa: PLC0415

        spec = self.spec
        if stage not in self._dynamics:
            own = spec.stages[stage]
            self._dynamics[stage] = Dynamics(
                own.env_id, own.env_kwargs, spec.wrappers, reads_past=spec.input_mode == "transcript"
            )
        writer = ContextWriter(
            policy.prompt_format, input_mode=spec.input_mode, max_tokens=spec.max_tokens, max_length=spec.max_length
        )
        chooser = PolicyChooser(policy, writer, spec.temperature)
        values = ExactValues(self._dynamics[stage], chooser, discount=spec.discount, limit=MOST_SITUATIONS)
        taken = [(place, *one) for place in places for one in _turns(records[place])]
        values.prepare([(start, action) for _, start, action in taken])
        for place, start, action in taken:
            found = values.advantage(start, action)
            yield TrueTurn(place, start.turn, found.mean, found.error / 2)


def _forked_truths(
    spec: TrainingSpec, path: Path | str, records: Sequence[EpisodeRecord], places: Sequence[int]
) -> Iterator[TrueTurn]:
    from gem.training.policy.policy_agent import PolicyAgent  # noqa: PLC0415 (as above)

    agent = PolicyAgent(path, temperature=spec.temperature, input_mode=spec.input_mode, max_tokens=spec.max_tokens)
    for place in places:
        for start, action in _turns(records[place]):
            found = fork(agent, records[place].identity, start, action, count=CONTINUATIONS, key=1 + place)
            if found is not None and not found.failed:
                truth = true_advantage(found, spec.discount)
                yield TrueTurn(place, start.turn, truth.mean, (truth.half_width or 0.0) / 1.96)


def _turns(record: EpisodeRecord) -> Iterator[tuple[Start, str]]:
    return turns(record.identity, [turn.action for turn in record.turns])


def _advantages(spec: TrainingSpec, batch: RolloutBatch) -> Mapping[Algorithm, list[list[float]]]:
    """What each algorithm says of every turn of a batch."""
    return {
        algorithm: compute_advantages(
            algorithm,
            [episode.rewards for episode in batch.episodes],
            discount=spec.discount,
            gae_lambda=spec.gae_lambda,
            values=[episode.values for episode in batch.episodes],
            groups=[episode.group for episode in batch.episodes],
        ).advantages
        for algorithm in ALGORITHMS
    }
