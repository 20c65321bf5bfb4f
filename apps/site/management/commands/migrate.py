"""`migrate` of Django, with a sentence for databases that are too old for the squashed migrations."""

from __future__ import annotations

from typing import Any

from django.core.management.base import CommandError
from django.core.management.commands import migrate

from apps.squashed import half_applied, too_old


class Command(migrate.Command):
    """Migrate the database, unless it is between two of the migrations that a squashed one replaces."""

    def handle(self, *args: Any, **options: Any) -> None:
        between = half_applied(options["database"])
        if between:
            raise CommandError(f"{too_old(between)} Nothing was changed.")
        super().handle(*args, **options)
