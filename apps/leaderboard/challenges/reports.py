"""Rows that somebody reports: numbers from elsewhere, which nothing proves and which are ranked apart."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any

from django.db import transaction

from apps.accounts import quotas
from apps.accounts.models import User, default_visibility
from apps.accounts.quotas import Quota
from apps.benchmarks.reading import as_closed_as
from apps.jobs.models import Shard
from apps.leaderboard.challenges.drawing import ChallengeRefused, benchmark_of
from apps.leaderboard.models import Challenge, ReportedRow
from gem.benchmarks import Benchmark
from gem.evaluation.spec import read_stored

REPORTED = "reported-rows"
MAX_EPISODES = 10**6
MAX_RETURN = 1e12


def _rows_of(user: User) -> int:
    return ReportedRow.objects.filter(owner=user).count()


QUOTA = Quota(
    REPORTED,
    "Reported rows",
    "REPORTED_ROWS_PER_USER",
    _rows_of,
    at_limit="You can report another one when you delete one.",
    refusal="You have {used} reported rows, the most that one person may have. Delete one first. Nothing was stored.",
)


def report(
    owner: User,
    benchmark: Benchmark,
    numbers: Sequence[Mapping[str, Any]],
    *,
    agent: str,
    kind: str,
    tools: str = "",
    link: str = "",
    notes: str = "",
    visibility: str = "",
) -> ReportedRow:
    """Store what somebody says that an agent has reached.

    Args:
        numbers: of each environment of the benchmark: `env_id`, `mean_return`, `episodes`, and `success_rate` from 0
            to 1.
        kind: one of `Agent.Nature`: what the agent is, as its owner says.

    Raises:
        ChallengeRefused: with all that is wrong. Nothing is stored then.
    """
    if found := problems(benchmark, numbers):
        raise ChallengeRefused(" ".join(found))
    with transaction.atomic():
        User.objects.select_for_update(no_key=True).get(pk=owner.pk)  # so that concurrent calls count each other
        if problem := quotas.refusal(owner, REPORTED):
            raise ChallengeRefused(problem, status=429)
        return _create(
            ReportedRow(
                owner=owner,
                agent_name=agent,
                declared=kind,
                tools=tools,
                link=link,
                notes=notes,
                visibility=as_closed_as(benchmark.name, visibility or default_visibility(owner)),
            ),
            benchmark,
            {str(each["env_id"]): each for each in numbers},
        )


def problems(benchmark: Benchmark, numbers: Sequence[Mapping[str, Any]]) -> list[str]:
    """Everything that is wrong with reported numbers, as sentences."""
    found = []
    named = [str(each.get("env_id", "")) for each in numbers]
    missing = [env_id for env_id in benchmark.env_ids if env_id not in named]
    if missing:
        more = f" and {len(missing) - 1} more" if len(missing) > 1 else ""
        found.append(f"There are no numbers for {missing[0]}{more}: a row has all environments of {benchmark.name}.")
    for env_id, each in zip(named, numbers, strict=True):
        if env_id not in benchmark.env_ids:
            found.append(f"{env_id[:120] or 'An environment without a name'} is not in the benchmark {benchmark.name}.")
        elif named.count(env_id) > 1:
            found.append(f"{env_id} appears twice.")
        if not _is_number(each.get("mean_return"), -MAX_RETURN, MAX_RETURN):
            found.append(f"{env_id[:120]}: the mean return has to be a number.")
        if not (type(each.get("episodes")) is int and 1 <= each["episodes"] <= MAX_EPISODES):
            found.append(f"{env_id[:120]}: the number of episodes has to be a whole number of at least 1.")
        if not _is_number(each.get("success_rate"), 0, 1):
            found.append(f"{env_id[:120]}: the share of solved episodes has to be from 0 to 1.")
    return list(dict.fromkeys(found))


def of_challenge(challenge: Challenge, shards: Sequence[Shard]) -> ReportedRow:
    """The row of a challenge whose episodes agree but for outputs that nobody can compute again."""
    benchmark = benchmark_of(challenge.season)
    numbers = {}
    for shard in shards:
        counted = shard.done - shard.errors
        if not counted:
            raise ChallengeRefused(f"No episode of {shard.env_id} has a result.")
        numbers[shard.env_id] = {
            "mean_return": shard.return_sum / counted,
            "episodes": counted,
            "success_rate": shard.won / counted,
        }
    row = ReportedRow(
        owner=challenge.owner,
        agent_name=challenge.agent_name,
        declared=challenge.declared,
        tools=read_stored(challenge.spec).tools_in_words,
        source=ReportedRow.Source.CHALLENGE,
        challenge=challenge,
        notes=" ".join(challenge.notes),
        visibility=challenge.visibility,
    )
    return _create(row, benchmark, numbers)


def delete(row: ReportedRow) -> None:
    """Delete a reported row."""
    ReportedRow.objects.filter(pk=row.pk).delete()


def _create(row: ReportedRow, benchmark: Benchmark, numbers: Mapping[str, Mapping[str, Any]]) -> ReportedRow:
    """Complete a row with its numbers and its score, and store it."""
    kept: list[dict[str, Any]] = [
        {
            "env_id": entry.env_id,
            "mean_return": float(numbers[entry.env_id]["mean_return"]),
            "episodes": int(numbers[entry.env_id]["episodes"]),
            "success_rate": float(numbers[entry.env_id]["success_rate"]),
            "score": entry.score(float(numbers[entry.env_id]["mean_return"])),
        }
        for entry in benchmark.entries
    ]
    row.benchmark, row.benchmark_version, row.numbers = benchmark.name, benchmark.version, kept
    row.score = math.fsum(each["score"] for each in kept) / len(kept)
    row.episodes = sum(each["episodes"] for each in kept)
    row.save(force_insert=True)
    return row


def _is_number(value: Any, low: float, high: float) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool) and low <= value <= high
