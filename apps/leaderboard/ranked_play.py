"""Ranked episodes of people: each on a hidden seed of their own, played once."""

from __future__ import annotations

from functools import partial

from django.db import transaction
from django.db.models import Count

from apps.accounts.models import Viewer
from apps.admission.counting import one_at_a_time
from apps.admission.models import name_of
from apps.episodes.errors import TurnTaken
from apps.episodes.models import Batch, Episode
from apps.episodes.visibility import seats_of
from apps.leaderboard import human_tries
from apps.play import operations as playing
from apps.seasons.models import Season
from apps.seasons.operations import current, enter
from gem import benchmarks
from gem.benchmarks import Benchmark


def begin(benchmark: Benchmark, user: Viewer, visitor: str, *, env_id: str = "", form: str = "") -> Episode:
    """Begin a ranked episode of a person, on a seed that they have not played.

    Where the benchmark has hidden seeds, these are seeds of their own, and only they see the episode until the season
    is over.

    Args:
        env_id: the environment; empty for the one of which the person has played fewest.
        form: the digest of the form, which begins one (`once.begin`).

    Raises:
        NoSeedLeft: they have played all of them.
        Refusal: the environment cannot begin now.
    """
    if not benchmarks.has_hidden_seeds(benchmark.name):
        name, seed = human_tries.require_seed(benchmark, user, visitor, env_id=env_id)
        return playing.begin(name, seed=seed, user=user, visitor=visitor, form=form)
    return _begin_on_hidden_seed(benchmark, user, visitor, env_id, form)


def _begin_on_hidden_seed(benchmark: Benchmark, user: Viewer, visitor: str, env_id: str, form: str) -> Episode:
    batch = _batch(benchmark, user, visitor)
    try:
        return _begin_in(batch, benchmark, user, visitor, env_id, form)
    finally:  # a batch that was made for an episode which was refused, or which the same form began elsewhere
        Batch.objects.filter(pk=batch.pk, episodes=None).delete()


def _begin_in(batch: Batch, benchmark: Benchmark, user: Viewer, visitor: str, env_id: str, form: str) -> Episode:
    assert batch.season is not None  # every batch of this kind has one
    name, place = _next(batch, batch.season, env_id)
    return playing.begin_in_batch(
        batch,
        _slot(batch.season, name, place),
        name,
        seed=batch.season.seeds(name, batch.submission)[place],
        shown_seed=batch.season.numbers(name, batch.submission)[place],
        user=user,
        visitor=visitor,
        wrappers=benchmark.wrappers,
        check=partial(_check_only, batch, user, visitor),
        form=form,
    )


@transaction.atomic
def _batch(benchmark: Benchmark, user: Viewer, visitor: str) -> Batch:
    """What the person plays in the season that is under way; the first episode enters it."""
    season = current(benchmark)
    found = _theirs(season, user, visitor)
    if found is not None:
        return found
    season, submission = enter(benchmark, shares_seeds=False)
    return Batch.objects.create(kind=Batch.Kind.RANKED, closed=True, season=season, submission=submission)


def _theirs(season: Season, user: Viewer, visitor: str) -> Batch | None:
    """What the person plays in a season; None if they have not begun."""
    theirs = Batch.objects.filter(kind=Batch.Kind.RANKED, season=season, episodes__seats__in=seats_of(user, visitor))
    return theirs.select_related("season").order_by("submission").first()


def _check_only(batch: Batch, user: Viewer, visitor: str) -> None:
    """Check that the person has begun nothing else in the season, in the transaction that stores their first episode.

    Raises:
        TurnTaken: two of their requests began at the same moment, and this is the second one.
    """
    one_at_a_time("ranked episodes", name_of(user.pk, visitor))
    assert batch.season is not None  # every batch of this kind has one
    if _theirs(batch.season, user, visitor) not in (None, batch):
        raise TurnTaken("You began a ranked episode in another window. It is in the list of your episodes.")


def _next(batch: Batch, season: Season, env_id: str) -> tuple[str, int]:
    """The environment of which fewest were played, and the place of its next seed in the order of play."""
    offered = [name for name in season.hidden if env_id in ("", name) and human_tries.is_for_one_person(name)]
    played = dict(batch.episodes.order_by().values_list("env_id").annotate(n=Count("pk")))
    free = [name for name in offered if played.get(name, 0) < season.hidden[name]]
    if not free:
        raise human_tries.NoSeedLeft(
            f"You have played every seed that this season has for you in {env_id or season.benchmark}. Choose another "
            "environment, or practise on a seed that is not ranked."
        )
    name = min(free, key=lambda name: played.get(name, 0))
    return name, played.get(name, 0)


def _slot(season: Season, env_id: str, place: int) -> int:
    """The place of an episode in its batch, which has each once: one environment comes after the other."""
    names = list(season.hidden)
    return sum(season.hidden[name] for name in names[: names.index(env_id)]) + place
