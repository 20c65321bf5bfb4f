"""What one reads in results, as answers: groups, distributions, failures, seeds and tables."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any, cast

from apps.jobs.analysis.distributions import Distribution
from apps.jobs.analysis.failures import Cluster, Failures
from apps.jobs.analysis.groups import Group, Groups
from apps.jobs.analysis.replays import Replay, Replays
from apps.jobs.analysis.seeds import SeedResult
from apps.jobs.exports.tables import Column, TableName
from gem.client import schemas
from gem.evaluation.intervals import Estimate


def analysis_of(
    groups: Groups, distributions: Iterable[Distribution], failures: Failures, replays: Replays
) -> schemas.Analysis:
    """All of it in one answer."""
    return schemas.Analysis(
        categories=[_group(group) for group in groups.categories],
        difficulties=[_group(group) for group in groups.difficulties],
        distributions=[_distribution(one) for one in distributions],
        failures=[_cluster(cluster) for cluster in failures.clusters],
        more_failures=failures.more,
        worst=[_replay(one) for one in replays.worst],
        best=[_replay(one) for one in replays.best],
    )


def seed_of(row: SeedResult) -> schemas.SeedResult:
    """The outcome of a seed."""
    return schemas.SeedResult(
        env_id=row.env_id,
        seed=row.seed,
        episodes=row.episodes,
        counted=row.counted,
        solved=row.solved,
        mean_return=row.mean_return,
    )


def exports_of(about: Mapping[str, Any], tables: Mapping[TableName, tuple[Column, ...]]) -> schemas.Exports:
    """The tables and the data of an evaluation."""
    return schemas.Exports(
        partial=about["partial"],
        missing_episodes=about["missing_episodes"],
        data=[schemas.Data(**data) for data in about["data"]],
        tables={
            name: [
                schemas.ExportColumn(name=column.name, type=column.type, description=column.description)
                for column in columns
            ]
            for name, columns in tables.items()
        },
    )


def _group(group: Group) -> schemas.GroupResult:
    return schemas.GroupResult(
        name=group.name,
        env_ids=list(group.env_ids),
        episodes=group.tally.needed,
        counted=group.tally.n,
        success=_estimate(group.scores.success),
        mean_return=_estimate(group.scores.mean_return),
    )


def _estimate(found: Estimate | None) -> schemas.ResultEstimate | None:
    if found is None:
        return None
    return schemas.ResultEstimate(
        mean=found.mean, low=found.low, high=found.high, seeds=found.seeds, reason=found.reason
    )


def _distribution(found: Distribution) -> schemas.Distribution:
    return schemas.Distribution(
        metric=found.metric.name,
        episodes=found.episodes,
        low=found.low,
        high=found.high,
        median=found.median,
        ninth_decile=found.ninth_decile,
        bins=[
            schemas.DistributionBin(low=each.low, high=each.high, episodes=each.episodes, solved=each.solved)
            for each in found.bins
        ],
    )


def _cluster(cluster: Cluster) -> schemas.FailureCluster:
    return schemas.FailureCluster(
        kind=cast("Any", cluster.kind),  # one of `KINDS`
        text=cluster.text,
        episodes=cluster.count,
        env_ids=dict(cluster.env_ids.most_common()),
        examples=[example.episode_id for example in cluster.examples],
    )


def _replay(replay: Replay) -> schemas.Replay:
    return schemas.Replay(
        episode=replay.episode_id,
        env_id=replay.env_id,
        seed=replay.seed,
        total_reward=replay.reached,
        turns=replay.turns,
        outcome=replay.outcome,
    )
