"""Beginning seasons, counting their submissions, and reading the seeds behind hidden numbers."""

from __future__ import annotations

from datetime import timedelta

from django.conf import settings
from django.db import transaction
from django.db.models import F, Max
from django.utils import timezone
from pydantic import SecretStr

from apps.agents.seal import seal
from apps.seasons import numbers
from apps.seasons.models import COMMON, Season
from gem.benchmarks import Benchmark, seeds


def current(benchmark: Benchmark) -> Season:
    """The season of a benchmark in which jobs begin now. The first call after the end of one begins the next."""
    found = Season.objects.of(benchmark.name, benchmark.version).under_way().first()
    return found or _begin(benchmark)


def _begin(benchmark: Benchmark) -> Season:
    """Begin the next season. If another process is faster, it is that one's."""
    earlier = Season.objects.of(benchmark.name, benchmark.version).aggregate(last=Max("number"))["last"]
    key, now = seeds.new_key(), timezone.now()
    season, _ = Season.objects.get_or_create(
        benchmark=benchmark.name,
        version=benchmark.version,
        number=(earlier or 0) + 1,
        defaults={
            "sealed_key": seal(SecretStr(key.hex())),
            "commitment": seeds.commitment(key),
            "hidden": {entry.env_id: entry.hidden_seeds for entry in benchmark.entries if entry.hidden_seeds},
            "begins": now,
            "ends": now + timedelta(days=settings.SEASON_DAYS),
        },
    )
    return season


def enter(benchmark: Benchmark, *, shares_seeds: bool) -> tuple[Season, int]:
    """Count a submission in the season that is under way. Returns the season and the number of the submission.

    Call it in a transaction: it locks the season, so that its key is not published before the caller has stored what
    it enters with.

    Args:
        shares_seeds: whether it plays the seeds of all rows that share them; its number is then `COMMON`.
    """
    season = Season.objects.select_for_update().get(pk=current(benchmark).pk)
    if season.is_over:  # it ended in the meantime
        season = Season.objects.select_for_update().get(pk=current(benchmark).pk)
    if shares_seeds:
        return season, COMMON
    Season.objects.filter(pk=season.pk).update(submissions=F("submissions") + 1)
    return season, season.submissions + 1


def seed_of(number: int, env_id: str) -> int:
    """The seed behind a number, for those who play or check its episode. Other numbers are seeds themselves."""
    if not numbers.is_hidden(number):
        return number
    season_id, submission, place = numbers.read(number)
    return Season.objects.get(pk=season_id).seeds(env_id, submission)[place]


def seeds_by_number(season: Season, env_id: str, submission: int) -> dict[int, int]:
    """All seeds of a submission in an environment, by the numbers that stand for them."""
    return dict(zip(season.numbers(env_id, submission), season.seeds(env_id, submission), strict=True))


@transaction.atomic
def publish_key(season: Season) -> None:
    """Publish the key of a season whose episodes are open. A second call changes nothing."""
    unrevealed = Season.objects.filter(pk=season.pk, revealed_at=None)
    unrevealed.update(revealed_at=timezone.now(), published_key=season.key.hex())
