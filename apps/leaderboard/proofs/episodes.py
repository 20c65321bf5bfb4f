"""The episodes of a ranked job as the engine reads them, and what each of them had to be."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterator, Mapping
from functools import cache
from typing import Literal, TypeAlias, cast

from apps.episodes.models import Episode, EpisodeQuerySet, Turn
from apps.jobs.models import Job
from apps.seasons.numbers import is_hidden, read
from apps.seasons.operations import seeds_by_number
from gem.evaluation.spec import EvaluationPart, read_stored
from gem.records import EpisodeRecord, Identity, StoredEpisode, TurnRecord
from gem.verification.reexecution import Plan, Planned

FailedBy: TypeAlias = Literal["", "environment", "agent", "budget"]
Cut: TypeAlias = Literal["", "tokens"]
CHUNK, MAX_TURNS = 200, 2_000
"""Episodes, and turns, that are read at a time, unless one episode has more turns."""


def stored_episodes(job: Job, after: int = -1) -> Iterator[StoredEpisode]:
    """The finished episodes of a job by their slots, from the one after `after` on, with the seeds that were played.

    While their season runs, these seeds must not leave the server. Few episodes are in memory at a time.
    """
    seeds = _Seeds(job)
    episodes = Episode.objects.filter(batch=job.batch_id, slot__isnull=False)
    episodes = episodes.filter(status__in=[Episode.Status.ENDED, Episode.Status.FAILED])
    while keys := _next_keys(episodes, after):
        for episode in Episode.objects.filter(pk__in=keys).prefetch_related("turns").order_by("slot"):
            assert episode.slot is not None  # of the filter
            yield StoredEpisode(
                f"episode {episode.pk}", job.agent.slug, _record(episode, seeds), engine_version=episode.engine_version
            )
            after = episode.slot


def plan_of(job: Job) -> Plan:
    """What the request of a job says of the episode in each slot."""
    shards = list(job.shards.order_by("first_slot"))
    starts = [shard.first_slot for shard in shards]
    wrappers = read_stored(job.spec).all_wrappers
    seeds = _Seeds(job)

    def planned(index: int) -> Planned | None:
        shard = shards[bisect_right(starts, index) - 1]
        if not 0 <= index - shard.first_slot < shard.count:
            return None
        part = EvaluationPart(shard.env_id, shard.first_seed, shard.count)
        number, seat = part.seed_and_seat(index - shard.first_slot)
        return Planned(shard.env_id, seeds.of(number, shard.env_id), seat, {}, wrappers)

    return planned


class _Seeds:
    """The seeds behind the numbers of a job, which are derived once for each environment."""

    def __init__(self, job: Job) -> None:
        self._season = job.batch.season
        self._by_number = cache(self._derive)

    def of(self, number: int, env_id: str) -> int:
        """The seed behind a number; other numbers are seeds themselves."""
        return self._by_number(env_id, read(number)[1])[number] if is_hidden(number) else number

    def _derive(self, env_id: str, submission: int) -> Mapping[int, int]:
        assert self._season is not None  # only jobs of a season have hidden seeds
        return seeds_by_number(self._season, env_id, submission)


def _next_keys(episodes: EpisodeQuerySet, after: int) -> list[str]:
    keys: list[str] = []
    turns = 0
    rows = episodes.filter(slot__gt=after).order_by("slot").values_list("pk", "turn_count")[:CHUNK]
    for key, turn_count in rows:
        if keys and turns + turn_count > MAX_TURNS:
            break
        keys.append(key)
        turns += turn_count
    return keys


def _record(episode: Episode, seeds: _Seeds) -> EpisodeRecord:
    """The record of an episode whose turns were fetched."""
    identity = {**episode.open_identity(), "seed": seeds.of(episode.seed, episode.env_id)}
    return EpisodeRecord(
        index=episode.slot or 0,
        identity=Identity(**identity),
        first_observation=episode.first_observation,
        first_info=episode.first_info,
        turns=[_turn(turn) for turn in sorted(episode.turns.all(), key=lambda turn: turn.number)],
        terminated=episode.terminated,
        truncated=episode.truncated,
        success=episode.success,
        failure=episode.failure,
        failed_by=cast("FailedBy", episode.failed_by or ("environment" if episode.failure else "")),
        cut=cast("Cut", episode.cut),
        max_turns=episode.max_turns,
        seat=episode.scored_seat,
    )


def _turn(turn: Turn) -> TurnRecord:
    return TurnRecord(turn.action, turn.observation, turn.reward, turn.info, turn.seat)
