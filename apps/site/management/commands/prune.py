"""Delete old episodes that nobody with an account has played: the part of the database that grows by itself."""

from __future__ import annotations

from argparse import ArgumentParser
from datetime import timedelta
from typing import Any

from django.core.management.base import BaseCommand, CommandError
from django.db import transaction
from django.db.models import Exists, OuterRef, Q, QuerySet
from django.db.models.functions import Now

from apps.episodes.models import Episode, Seat
from apps.play.models import Show, Showcase

CHUNK = 500
"""Episodes deleted in one transaction: nobody waits long for a row that is being deleted."""


def unclaimed(age: timedelta) -> QuerySet[Episode]:
    """Episodes older than `age` that nobody with an account plays or shows, in no batch, with no branch."""
    this = OuterRef("pk")
    claims = (
        Seat.objects.filter(episode=this, user__isnull=False),
        Show.objects.filter(episode=this, started_by__isnull=False),
        Showcase.objects.filter(episode=this),
        Episode.objects.filter(Q(parent=this) | Q(goes_on_in=this)),
    )
    return Episode.objects.filter(*(~Exists(claim) for claim in claims), batch=None, created__lt=Now() - age)


class Command(BaseCommand):
    """`python manage.py prune --days 90 --dry-run`"""

    help = (
        "Delete episodes of visitors and of agents that only played to be watched, if they are older than so many days "
        "and no other episode branches from them. Those of people with an account, of jobs, duels and examples stay."
    )

    def add_arguments(self, parser: ArgumentParser) -> None:
        """How old, and whether only to count."""
        parser.add_argument("--days", type=int, required=True, help="how many days after their beginning they stay")
        parser.add_argument("--dry-run", action="store_true", help="only say how many there are")

    def handle(self, *args: Any, **options: Any) -> None:
        """Delete or count them."""
        if options["days"] < 1:
            raise CommandError("Give a whole number of days, 1 or more.")
        old = unclaimed(timedelta(days=options["days"]))
        if options["dry_run"]:
            self.stdout.write(f"{old.count():,} episodes would be deleted.")
            return
        deleted = 0
        while chunk := list(old.values_list("pk", flat=True)[:CHUNK]):
            with transaction.atomic():
                Episode.objects.filter(pk__in=chunk).delete()
            deleted += len(chunk)
        self.stdout.write(f"{deleted:,} episodes were deleted.")
