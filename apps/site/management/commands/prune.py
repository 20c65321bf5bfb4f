"""Delete old episodes of nobody with an account, so that the database does not grow without limit."""

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
"""Episodes deleted in one transaction. Small transactions hold their locks for a short time only."""


def unclaimed(age: timedelta) -> QuerySet[Episode]:
    """Episodes older than `age` that no account plays or shows, that are in no batch, and that have no branch."""
    this = OuterRef("pk")
    claims = (
        Seat.objects.filter(episode=this, user__isnull=False),
        Show.objects.filter(episode=this, started_by__isnull=False),
        Showcase.objects.filter(episode=this),
        Episode.objects.filter(Q(parent=this) | Q(goes_on_in=this)),
    )
    return Episode.objects.filter(*(~Exists(claim) for claim in claims), batch=None, created__lt=Now() - age)


class Command(BaseCommand):
    """Run `python manage.py prune --days 90 --dry-run`."""

    help = (
        "Delete old episodes and shows that belong to nobody with an account, unless another one branches from them. "
        "Episodes of people with an account, of jobs, of duels and of the catalog stay."
    )

    def add_arguments(self, parser: ArgumentParser) -> None:
        """Add the options."""
        parser.add_argument("--days", type=int, required=True, help="minimum age of an episode in days")
        parser.add_argument("--dry-run", action="store_true", help="only print how many episodes would be deleted")

    def handle(self, *args: Any, **options: Any) -> None:
        """Delete the episodes, or count them."""
        if options["days"] < 1:
            raise CommandError("--days must be 1 or more.")
        old = unclaimed(timedelta(days=options["days"]))
        if options["dry_run"]:
            self.stdout.write(f"Episodes that would be deleted: {old.count():,}.")
            return
        deleted = 0
        while chunk := list(old.values_list("pk", flat=True)[:CHUNK]):
            with transaction.atomic():
                Episode.objects.filter(pk__in=chunk).delete()
            deleted += len(chunk)
        self.stdout.write(f"Episodes deleted: {deleted:,}.")
