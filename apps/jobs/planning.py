"""How a job is cut into shards, and in which order they are played.

Shards are numbered in the order in which workers claim them: next is always the environment of which the fewest seeds
come before. So the episodes of a job that is stopped early are the first seeds of every environment, and not all seeds
of a few. For this the first shards of an environment are small, and each is twice as large as the one before. Slots,
and with them the seeds and the identities of episodes, do not depend on the order: they go through one environment
after the other.

A job that stops as soon as a comparison is decided is looked at after every complete seed of the plan. Its shards grow
more slowly, so that a look can be taken soon after each step, and all tries of a seed come before the next seeds.
"""

from __future__ import annotations

import json
import math
from collections.abc import Iterator, Mapping
from typing import NamedTuple

from django.db import connection

from apps.agents.models import Agent
from apps.jobs import estimates
from gem.evaluation.spec import EvaluationPart, EvaluationSpec

SHARD_SECONDS = 2.0
"""The time that one worker should need for a shard."""
SHARD_EPISODES = 250
"""The size of a shard if this agent has not played the environment in its newest jobs."""
MAX_SHARD_EPISODES = 5000
SHARD_ROUNDS = (4, 16)
"""The least and the most rounds of parallel episodes in a shard of an endpoint agent."""
FIRST_EPISODES = 4
"""Episodes in the first shard of each environment, where there are several environments."""
STEP = 4
"""In a job that stops by a comparison: a shard has this share, one fourth, of the seeds before it, or few episodes."""


class Piece(NamedTuple):
    """Consecutive slots of one part of a specification: a shard to be."""

    part: EvaluationPart
    first_slot: int
    start: int
    """The index of its first episode in the part."""
    episodes: int


def pieces(spec: EvaluationSpec, sizes: Mapping[str, int]) -> list[Piece]:
    """The pieces of a job in the order in which they are played. All tries before the last one come before it.

    Args:
        sizes: the size of a shard by environment, from `shard_sizes`.
    """
    cut = []
    slot = 0
    several = len(spec.env_ids) > 1
    for place, part in enumerate(spec.parts):
        size = sizes[part.env_id]
        first = FIRST_EPISODES if several else size
        cuts = _cut_in_steps(part, size, min(first, spec.num_envs)) if spec.stop_against else _cut(part, size, first)
        for start, count in cuts:
            seed = start // part.seats
            order = (seed, part.repeat, place) if spec.stop_against else (part.repeat, seed, place)
            cut.append((order, Piece(part, slot + start, start, count)))
        slot += part.episodes
    return [piece for _, piece in sorted(cut, key=lambda pair: pair[0])]


def _cut(part: EvaluationPart, size: int, first: int) -> Iterator[tuple[int, int]]:
    """The pieces of one part as starts and counts, with all seats of a seed in one piece. Each is twice the last one.

    Args:
        size: the most episodes of a piece.
        first: the episodes of the first piece.
    """
    start, count = 0, first
    while start < part.episodes:
        whole = min(count, size) + -min(count, size) % part.seats
        yield start, min(whole, part.episodes - start)
        start, count = start + whole, 2 * count


def _cut_in_steps(part: EvaluationPart, size: int, least: int) -> Iterator[tuple[int, int]]:
    """The pieces of one part as `_cut` makes them, but each is a share of what comes before it.

    Args:
        size: the most episodes of a piece.
        least: the episodes of a piece whose share is smaller.
    """
    start = 0
    while start < part.episodes:
        count = min(max(least, start // STEP), size)
        whole = count + -count % part.seats
        yield start, min(whole, part.episodes - start)
        start += whole


def shard_sizes(agent: Agent, spec: EvaluationSpec) -> dict[str, int]:
    """Episodes per shard by environment, for about `SHARD_SECONDS`; never fewer than run in parallel."""
    seconds_by_env = _seconds_of_episodes(agent, spec)
    sizes = {}
    for env_id in spec.env_ids:
        seconds = seconds_by_env.get(env_id, 0.0)
        size = round(SHARD_SECONDS / seconds) if seconds > 0 else SHARD_EPISODES
        sizes[env_id] = min(max(size, spec.num_envs, 10), MAX_SHARD_EPISODES)
    if agent.is_asked:
        # At the end of a shard, fewer and fewer of its places are busy, so shards are as large as the workers allow.
        # Others need not wait for the end of a shard: a worker gives it back between episodes.
        least, most = (rounds * spec.num_envs for rounds in SHARD_ROUNDS)
        workers = estimates.worker_count()
        for part in spec.parts:
            sizes[part.env_id] = max(10, least, min(math.ceil(part.episodes / workers), most))
    return sizes


def _seconds_of_episodes(agent: Agent, spec: EvaluationSpec) -> dict[str, float]:
    """The mean seconds of a worker for an episode by environment, in the newest jobs of this agent with these tools."""
    tools = json.dumps(list(spec.tools))
    with connection.cursor() as cursor:
        cursor.execute(_SECONDS, [agent.pk, tools, not spec.tools, list(spec.env_ids)])
        return dict(cursor.fetchall())


_SECONDS = """
SELECT shard.env_id, sum(shard.seconds) / sum(shard.done - shard.errors)
FROM (
    SELECT id FROM jobs_job
    WHERE agent_id = %s AND kind = 'evaluation' AND started IS NOT NULL
      AND (spec -> 'tools' = %s::jsonb OR (%s AND NOT spec ? 'tools'))
    ORDER BY created DESC LIMIT 50
) job
JOIN jobs_shard shard ON shard.job_id = job.id
WHERE shard.env_id = ANY(%s) AND shard.done > shard.errors
GROUP BY shard.env_id
"""
