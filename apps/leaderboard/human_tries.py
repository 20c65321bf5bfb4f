"""A person's episodes on ranked seeds, the ranked agents' episodes on the same seeds, and the next seed to play."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Sequence
from functools import reduce
from operator import or_
from typing import NamedTuple

from django.db.models import Count, Exists, F, OuterRef, Q, QuerySet
from django.db.models.functions import Coalesce, Now

from apps.accounts.models import Viewer
from apps.episodes.errors import Refusal
from apps.episodes.models import Episode, EpisodeQuerySet, Seat
from apps.episodes.visibility import seats_of
from apps.leaderboard.models import Score
from apps.leaderboard.versus import Try, Verdict
from apps.play.models import Show
from gem import registry
from gem.benchmarks import Benchmark, BenchmarkEntry

DEFERRED_FIELDS = ("episode__state", "episode__first_observation", "episode__first_info")
"""Large columns of an episode that are not needed here."""


class EpisodeStart(NamedTuple):
    """The start of an episode. Episodes with equal starts, and without arguments and tools, can be compared."""

    env_id: str
    env_version: int
    data_hash: str
    seed: int


def start_of(episode: Episode) -> EpisodeStart:
    """The start of an episode."""
    return EpisodeStart(episode.env_id, episode.env_version, episode.data_hash, episode.seed)


def verdict(benchmark: Benchmark, scores: Sequence[Score], user: Viewer, visitor: str, *, env_id: str = "") -> Verdict:
    """The comparison of a person with the agents of `scores`, on the benchmark or on one of its environments.

    `scores` is a ranking without tools. Takes two queries, or none for a visitor without a key.
    """
    seats = list(first_seats(_ranked_seeds(_entries(benchmark, env_id)), user, visitor))
    agent_returns = _returns(scores, [seat.episode for seat in seats]) if seats else {}
    tries = [Try(seat, agent_returns.get(start_of(seat.episode), {})) for seat in seats]
    return Verdict(sorted(tries, key=lambda person_try: person_try.episode.created, reverse=True), scores)


def first_try(episode: Episode, user: Viewer, visitor: str) -> Seat | None:
    """The seat of the person's first episode on this seed, from `first_seats`; None if they have not played it."""
    here = Q(episode__env_id=episode.env_id, episode__env_version=episode.env_version, episode__seed=episode.seed)
    return first_seats(here, user, visitor).first()


def first_seats(where: Q, user: Viewer, visitor: str) -> QuerySet[Seat]:
    """The person's seat in their first episode of each environment and seed.

    Annotated with `watched`, whether they watched an agent on the seed before the end of that episode, and `repeated`,
    whether they started another episode on it before that.
    """
    seats = seats_of(user, visitor).filter(episode__taken_over=False)
    before_its_end = Q(
        episode__env_id=OuterRef("episode__env_id"),
        episode__seed=OuterRef("episode__seed"),
        episode__created__lt=Coalesce(OuterRef("episode__ended"), Now()),
    )
    return (
        seats.filter(where)
        .annotate(
            watched=Exists(_shows_of(user, visitor).filter(before_its_end)),
            repeated=Exists(seats.filter(before_its_end, episode__created__gt=OuterRef("episode__created"))),
        )
        .select_related("episode")
        .defer(*DEFERRED_FIELDS)
        .order_by("episode__env_id", "episode__seed", "episode__created", "episode_id")
        .distinct("episode__env_id", "episode__seed")
    )


def rivals(benchmark: Benchmark, episode: Episode) -> EpisodeQuerySet:
    """The ranked agents' episodes with the same start as this one."""
    scores = Score.objects.of(benchmark).with_tools(False).newest(episode.env_id)
    return (
        Episode.objects.ended()
        .filter(Episode.objects.is_shown(), **start_of(episode)._asdict(), batch__in=scores.values("job__batch"))
        .exclude(pk=episode.pk)
    )


class NoSeedLeft(Refusal):
    """The person knows every ranked seed."""

    status = 409
    title = "No ranked seed is left that is new to you"


def require_seed(benchmark: Benchmark, user: Viewer, visitor: str, *, env_id: str = "") -> tuple[str, int]:
    """The environment and the ranked seed that this person plays next.

    Raises:
        NoSeedLeft: they know all of them.
    """
    found = next_seed(benchmark, user, visitor, env_id=env_id)
    if found is None:
        raise NoSeedLeft(
            f"You have played or watched every ranked seed of {env_id or benchmark.title}. Choose another "
            "environment, or play a seed that is not ranked."
        )
    return found


def next_seed(benchmark: Benchmark, user: Viewer, visitor: str, *, env_id: str = "") -> tuple[str, int] | None:
    """The environment and seed to play next; None if the person knows all of them.

    Environments with ranked agents come first, then the one of which the person knows the fewest seeds. Of its seeds,
    the one that most agents have played is chosen. Seeds that the person has played or watched are left out.
    """
    entries = _entries(benchmark, env_id)
    known_seeds = _known_seeds(_ranked_seeds(entries), user, visitor)
    free_seeds = {
        entry: seeds
        for entry in entries
        if (seeds := [seed for seed in entry.seeds if (entry.env_id, seed) not in known_seeds])
        and is_for_one_person(entry.env_id)
    }
    if not free_seeds:
        return None
    scores = Score.objects.of(benchmark).with_tools(False)
    ranked = set(scores.values_list("env_id", flat=True).distinct())
    entry = min(free_seeds, key=lambda entry: (entry.env_id not in ranked, entry.episodes - len(free_seeds[entry])))
    batches = scores.newest(entry.env_id).values("job__batch")
    episodes = Episode.objects.ended().filter(env_id=entry.env_id, batch__in=batches)
    counts = dict(episodes.values_list("seed").annotate(n=Count("pk")))
    return entry.env_id, max(free_seeds[entry], key=lambda seed: (counts.get(seed, 0), -seed))


def _entries(benchmark: Benchmark, env_id: str) -> list[BenchmarkEntry]:
    return [entry for entry in benchmark.entries if env_id in ("", entry.env_id)]


def is_for_one_person(env_id: str) -> bool:
    """Whether this site can create the environment, and one person alone can play it."""
    if registry.unregistered([env_id]):
        return False
    spec = registry.spec(env_id)
    return spec.seats == 1 and not spec.missing_packages() and not spec.unavailable_reason()


def _ranked_seeds(entries: Sequence[BenchmarkEntry]) -> Q:
    """A filter for the ranked seeds of these environments in their present versions."""
    spans = (
        Q(
            episode__env_id=entry.env_id,
            episode__env_version=registry.spec(entry.env_id).version,
            episode__seed__range=(entry.seeds[0], entry.seeds[-1]),
        )
        for entry in entries
        if not registry.unregistered([entry.env_id])
    )
    return reduce(or_, spans, Q(pk__in=[]))


def _shows_of(user: Viewer, visitor: str) -> QuerySet[Show]:
    """The shows that this person started, before and after they had an account."""
    if user.is_authenticated:
        started = Q(started_by=user) | Q(visitor=visitor) if visitor else Q(started_by=user)
        return Show.objects.filter(started)
    return Show.objects.filter(visitor=visitor) if visitor else Show.objects.none()


def _known_seeds(where: Q, user: Viewer, visitor: str) -> set[tuple[str, int]]:
    """The environments and seeds that the person played, or watched an agent play."""
    columns = "episode__env_id", "episode__seed"
    played, watched = seats_of(user, visitor).filter(where), _shows_of(user, visitor).filter(where)
    return {*played.values_list(*columns), *watched.values_list(*columns)}


def _returns(scores: Iterable[Score], episodes: Iterable[Episode]) -> dict[EpisodeStart, dict[int, float]]:
    """The returns of the agents of `scores` from the starts of these episodes, by start and agent."""
    seeds: dict[str, list[int]] = defaultdict(list)
    for episode in episodes:
        seeds[episode.env_id].append(episode.seed)
    agents = {score.job.batch_id: score.agent_id for score in scores}
    rows = Seat.objects.filter(
        reduce(or_, (Q(episode__env_id=env_id, episode__seed__in=found) for env_id, found in seeds.items())),
        number=F("episode__scored_seat"),
        episode__batch__in=agents,
        episode__status=Episode.Status.ENDED,
    ).values_list(
        "episode__batch", "total_reward", *(f"episode__{name}" for name in EpisodeStart._fields)
    )  # fmt: skip
    found: dict[EpisodeStart, dict[int, float]] = defaultdict(dict)
    for batch, value, *start in rows:
        found[EpisodeStart(*start)][agents[batch]] = value
    return found
