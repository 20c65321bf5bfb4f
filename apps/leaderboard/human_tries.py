"""What a person has played of the ranked seeds, what the ranked agents did on them, and which seed comes next."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Sequence
from functools import reduce
from operator import or_
from typing import NamedTuple

from django.db.models import Count, Exists, F, OuterRef, Q, QuerySet
from django.db.models.functions import Coalesce, Now

from apps.accounts.models import Viewer
from apps.episodes.models import Episode, EpisodeQuerySet, Seat
from apps.episodes.visibility import seats_of
from apps.leaderboard.models import Score
from apps.leaderboard.versus import Try, Verdict
from apps.play.models import Show
from gem import registry
from gem.benchmarks import Benchmark, BenchmarkEntry

UNREAD = ("episode__state", "episode__tape", "episode__first_observation", "episode__first_info")
"""Columns of an episode that are long, and not needed here."""


class EpisodeStart(NamedTuple):
    """What two episodes share that can be compared; neither arguments nor tools were added to either."""

    env_id: str
    env_version: int
    data_hash: str
    seed: int


def start_of(episode: Episode) -> EpisodeStart:
    """From where an episode began."""
    return EpisodeStart(episode.env_id, episode.env_version, episode.data_hash, episode.seed)


def verdict(benchmark: Benchmark, scores: Sequence[Score], user: Viewer, visitor: str, *, env_id: str = "") -> Verdict:
    """The person beside the agents of `scores`, a ranking without tools, on the benchmark or one of its environments.

    Two queries, however much was played; none for a visitor without a key.
    """
    seats = list(first_seats(_on(_entries(benchmark, env_id)), user, visitor))
    theirs = _returns(scores, [seat.episode for seat in seats]) if seats else {}
    tries = [Try(seat, theirs.get(start_of(seat.episode), {})) for seat in seats]
    return Verdict(sorted(tries, key=lambda one: one.episode.created, reverse=True), scores)


def first_try(episode: Episode, user: Viewer, visitor: str) -> Seat | None:
    """The seat of the person's first episode on this seed, as `first_seats` has it; None if they have played none."""
    here = Q(episode__env_id=episode.env_id, episode__env_version=episode.env_version, episode__seed=episode.seed)
    return first_seats(here, user, visitor).first()


def first_seats(where: Q, user: Viewer, visitor: str) -> QuerySet[Seat]:
    """The person's seat in the first episode that they began of each environment and seed.

    `watched` says whether an agent played the seed for them before the end, `repeated` whether they had begun another
    episode of it by then.
    """
    seats = seats_of(user, visitor)
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
        .defer(*UNREAD)
        .order_by("episode__env_id", "episode__seed", "episode__created", "episode_id")
        .distinct("episode__env_id", "episode__seed")
    )


def rivals(benchmark: Benchmark, episode: Episode) -> EpisodeQuerySet:
    """The ranked agents' episodes from where this one began."""
    scores = Score.objects.of(benchmark).with_tools(False).newest(episode.env_id)
    return (
        Episode.objects.ended()
        .filter(**start_of(episode)._asdict(), batch__in=scores.values("job__batch"))
        .exclude(pk=episode.pk)
    )


def next_seed(benchmark: Benchmark, user: Viewer, visitor: str, *, env_id: str = "") -> tuple[str, int] | None:
    """The environment and seed to play next; None if the person has been on all of them.

    It is of the environment that they know least, of those that agents are ranked on if there are any, and the seed
    that most agents have played. Seeds on which they played or watched in any way are left out.
    """
    entries = _entries(benchmark, env_id)
    known = _known_seeds(_on(entries), user, visitor)
    free = {
        entry: left
        for entry in entries
        if (left := [seed for seed in entry.seeds if (entry.env_id, seed) not in known])
        and _is_for_one_person(entry.env_id)
    }
    if not free:
        return None
    scores = Score.objects.of(benchmark).with_tools(False)
    ranked = set(scores.values_list("env_id", flat=True).distinct())
    entry = min(free, key=lambda one: (one.env_id not in ranked, one.episodes - len(free[one])))
    batches = scores.newest(entry.env_id).values("job__batch")
    played = Episode.objects.ended().filter(env_id=entry.env_id, batch__in=batches)
    counts = dict(played.values_list("seed").annotate(n=Count("pk")))
    return entry.env_id, max(free[entry], key=lambda seed: (counts.get(seed, 0), -seed))


def _entries(benchmark: Benchmark, env_id: str) -> list[BenchmarkEntry]:
    return [entry for entry in benchmark.entries if env_id in ("", entry.env_id)]


def _is_for_one_person(env_id: str) -> bool:
    """Whether it can be made here, and one person alone can play it."""
    spec = registry.spec(env_id)
    return spec.seats == 1 and not spec.missing_packages() and not spec.unavailable_reason()


def _on(entries: Sequence[BenchmarkEntry]) -> Q:
    """The ranked seeds of these environments, in their present version."""
    spans = (
        Q(
            episode__env_id=entry.env_id,
            episode__env_version=registry.spec(entry.env_id).version,
            episode__seed__range=(entry.seeds[0], entry.seeds[-1]),
        )
        for entry in entries
    )
    return reduce(or_, spans)


def _shows_of(user: Viewer, visitor: str) -> QuerySet[Show]:
    """What agents have played for this person, before and after they had an account."""
    if user.is_authenticated:
        theirs = Q(started_by=user) | Q(visitor=visitor) if visitor else Q(started_by=user)
        return Show.objects.filter(theirs)
    return Show.objects.filter(visitor=visitor) if visitor else Show.objects.none()


def _known_seeds(where: Q, user: Viewer, visitor: str) -> set[tuple[str, int]]:
    """Environments and seeds that they played, or watched an agent play."""
    columns = "episode__env_id", "episode__seed"
    played, watched = seats_of(user, visitor).filter(where), _shows_of(user, visitor).filter(where)
    return {*played.values_list(*columns), *watched.values_list(*columns)}


def _returns(scores: Iterable[Score], episodes: Iterable[Episode]) -> dict[EpisodeStart, dict[int, float]]:
    """What each agent of `scores` reached from where these episodes began, by start and agent."""
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
