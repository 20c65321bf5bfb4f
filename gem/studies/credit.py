"""How good the credit of each algorithm is during a training, with the truth beside it.

PPO trains, so that there is a critic. At some of its updates a batch is played in groups, every algorithm computes the
advantages of the same turns, and the true advantage of some of these turns is measured by forking
(`gem.true_advantage`). What is compared is the credit of a batch: how an algorithm would do with more of them is
another question, which `gem.studies.study` answers.
"""

from __future__ import annotations

import math
import statistics
import tempfile
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import NamedTuple

from pydantic import BaseModel, ConfigDict

from gem.credit import ALGORITHMS, Algorithm, compute_advantages
from gem.errors import InvalidArgument
from gem.studies.results import FOLDER as RESULTS
from gem.training import recipes
from gem.training.run_folder import RunFolder, write_atomically
from gem.training.spec import TrainingSpec, read_spec
from gem.true_advantage import fork, true_advantage, turns

FOLDER = RESULTS / "credit"
GROUP_SIZE = 8
POINTS = 6
"""Number of updates at which credit is measured; the first is before the training."""
FORKED_EPISODES = 24
"""Episodes of each batch whose turns are forked, each of another seed."""
CONTINUATIONS = 48
"""Of each kind, after the action that was taken and choosing anew."""
FEWEST_TURNS = 8
LOWEST_CEILING = 0.5
"""Below it, more of what forks measure is error than truth (a reliability of a quarter), and no mean counts it."""


class AlgorithmCredit(BaseModel):
    """How the credit of one algorithm is related to the truth, over the forked turns of a batch."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    correlation: float | None
    """Pearson's; None if the credit or the truth does not vary."""
    bias: float
    """Mean credit minus mean truth, each in its own standard deviations."""


class CreditPoint(BaseModel):
    """What was measured after one update."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    update: int
    success: float
    """Of the batch that was judged."""
    mean_return: float
    turns: int
    """Number of forked turns."""
    ceiling: float
    """The correlation that perfect credit would have: forks measure the truth with an error of their own."""
    algorithms: dict[Algorithm, AlgorithmCredit]

    @property
    def has_signal(self) -> bool:
        """Whether forks can tell which turns were worth more. Where everything is solved, hardly any is."""
        return self.ceiling >= LOWEST_CEILING


class CreditStudy(BaseModel):
    """The credit of all algorithms over one training."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    recipe: str
    env_id: str
    discount: float
    seed: int
    points: list[CreditPoint]

    def mean_correlation(self, algorithm: Algorithm) -> float | None:
        """The mean over the points at which turns differ in what they are worth; None without any."""
        values = [point.algorithms[algorithm].correlation for point in self.points if point.has_signal]
        known = [value for value in values if value is not None]
        return statistics.fmean(known) if known else None


class Judged(NamedTuple):
    """A turn whose true advantage was measured."""

    truth: float
    error: float
    """Standard error of the truth."""
    credit: Mapping[Algorithm, float]


def measure(
    recipe: str,
    *,
    seed: int = 0,
    updates: int | None = None,
    on_point: Callable[[CreditPoint], None] = lambda _point: None,
) -> CreditStudy:
    """Train with a recipe's settings and PPO, and measure credit at `POINTS` updates.

    Args:
        updates: of the training; those of the recipe by default.

    Raises:
        InvalidArgument: if the recipe is unknown, or its episodes have one turn: all credit is the same then.
        MissingMethod: if the environment has no state that can be saved.
    """
    import gem  # noqa: PLC0415 (the registry)

    data = recipes.data(recipe) | {"algorithm": "ppo", "seed": seed, "curriculum": []}
    data |= {"sample_episodes": 0, "exam_episodes": 0, "checkpoint_seconds": 0.0, "keep_checkpoints": 1000}
    spec = read_spec(data if updates is None else {**data, "updates": updates})
    if gem.spec(spec.env_id).turns == "single":
        raise InvalidArgument(f"Episodes of {spec.env_id} have one turn, so there is no credit to divide among turns.")
    points = []
    with tempfile.TemporaryDirectory() as place:
        folder = RunFolder(Path(place))
        _train(spec, folder)
        for update in _updates(spec.updates):
            points.append(_measure_point(spec, folder, update))
            on_point(points[-1])
    return CreditStudy(recipe=recipe, env_id=spec.env_id, discount=spec.discount, seed=seed, points=points)


def read(recipe: str, folder: Path = FOLDER) -> list[CreditStudy]:
    """What was measured of a recipe, by seed."""
    paths = sorted((folder / recipe).glob("*.json"))
    return [CreditStudy.model_validate_json(path.read_bytes()) for path in paths]


def recorded(folder: Path = FOLDER) -> list[str]:
    """The recipes whose credit was measured."""
    return sorted(path.name for path in folder.iterdir()) if folder.is_dir() else []


def write(study: CreditStudy, folder: Path = FOLDER) -> Path:
    """Keep the result, and return the path of its file."""
    path = folder / study.recipe / f"{study.seed}.json"
    path.parent.mkdir(parents=True, exist_ok=True)
    write_atomically(path, study.model_dump_json(indent=1) + "\n")
    return path


def _updates(count: int) -> list[int]:
    """The updates after which credit is measured, from none to all of them."""
    return sorted({round(count * place / (POINTS - 1)) for place in range(POINTS)})


def _train(spec: TrainingSpec, folder: RunFolder) -> None:
    from gem.training.trainer import train  # noqa: PLC0415 (takes seconds; reading results does not need it)

    if train(spec, folder.path) == "interrupted":
        raise KeyboardInterrupt


def _measure_point(spec: TrainingSpec, folder: RunFolder, update: int) -> CreditPoint:
    from gem.training.checkpoints import checkpoint  # noqa: PLC0415 (as above)
    from gem.training.collector import Collector  # noqa: PLC0415
    from gem.training.learner import Learner  # noqa: PLC0415
    from gem.training.policy.policies import load_policy  # noqa: PLC0415
    from gem.training.policy.policy_agent import PolicyAgent  # noqa: PLC0415
    from gem.training.policy.sampler import make_sampler  # noqa: PLC0415
    from gem.training.processes import Processes  # noqa: PLC0415

    policy = load_policy(spec.model, critic=True)
    path = next((path for path in checkpoint.list_checkpoints(folder.checkpoints) if int(path.name) == update), None)
    if path is not None:
        checkpoint.restore(path, Learner(spec, policy, Processes()))
    grouped = read_spec({**spec.model_dump(mode="json"), "algorithm": "grpo", "group_size": GROUP_SIZE})
    sampler = make_sampler(policy, spec.episodes, spec.max_tokens, spec.microbatch_tokens, spec.generation_tokens)
    batch = Collector(grouped, policy, sampler, range(spec.episodes)).collect(spec.updates + update, spec.stages[-1])
    rewards = [episode.rewards for episode in batch.episodes]
    advantages = {
        algorithm: compute_advantages(
            algorithm,
            rewards,
            discount=spec.discount,
            gae_lambda=spec.gae_lambda,
            values=[episode.values for episode in batch.episodes],
            groups=[episode.group for episode in batch.episodes],
        ).advantages
        for algorithm in ALGORITHMS
    }
    agent = PolicyAgent(
        path or spec.model, temperature=spec.temperature, input_mode=spec.input_mode, max_tokens=spec.max_tokens
    )
    judged: list[Judged] = []
    places = range(0, len(batch.episodes), max(1, len(batch.episodes) // FORKED_EPISODES))
    for place in list(places)[:FORKED_EPISODES]:
        record = batch.episodes[place].record
        actions = [turn.action for turn in record.turns]
        for start, action in turns(record.identity, actions):
            found = fork(agent, record.identity, start, action, count=CONTINUATIONS, key=1 + place)
            if found is None or found.failed:
                continue
            truth = true_advantage(found, spec.discount)
            credit = {algorithm: own[place][start.turn] for algorithm, own in advantages.items()}
            judged.append(Judged(truth.mean, (truth.half_width or 0.0) / 1.96, credit))
    records = [episode.record for episode in batch.episodes]
    return CreditPoint(
        update=update,
        success=round(sum(bool(record.success) for record in records) / len(records), 4),
        mean_return=round(sum(record.total_reward for record in records) / len(records), 4),
        turns=len(judged),
        ceiling=ceiling(judged),
        algorithms={algorithm: compare(judged, algorithm) for algorithm in ALGORITHMS},
    )


def compare(judged: Sequence[Judged], algorithm: Algorithm) -> AlgorithmCredit:
    """Compare the credit of an algorithm with the truth, over turns."""
    truths = [one.truth for one in judged]
    numbers = [one.credit[algorithm] for one in judged]
    correlation = None
    if len(judged) >= FEWEST_TURNS and _varies(truths) and _varies(numbers):
        correlation = round(statistics.correlation(truths, numbers), 4)
    return AlgorithmCredit(correlation=correlation, bias=round(_standardized(numbers) - _standardized(truths), 4))


def ceiling(judged: Sequence[Judged]) -> float:
    """The correlation that perfect credit would have with truths that are measured with errors.

    It is the square root of their reliability: the variance without that of the errors, as a share of all of it.

    Source: C. Spearman, The proof and measurement of association between two things, 1904.
    """
    truths = [one.truth for one in judged]
    if len(truths) < FEWEST_TURNS or not _varies(truths):
        return 0.0
    whole = statistics.pvariance(truths)
    noise = math.fsum(one.error**2 for one in judged) / len(judged)
    return round(math.sqrt(max(0.0, whole - noise) / whole), 4)


def _standardized(values: Sequence[float]) -> float:
    """The mean in standard deviations; 0 if nothing varies."""
    return statistics.fmean(values) / statistics.pstdev(values) if len(values) > 1 and _varies(values) else 0.0


def _varies(values: Sequence[float]) -> bool:
    return max(values) - min(values) > 1e-9
