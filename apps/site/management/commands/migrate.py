"""`migrate` of Django, with a sentence for databases that are too old or too new for this version."""

from __future__ import annotations

from typing import Any

from django.core.management.base import CommandError
from django.core.management.commands import migrate

from apps.squashed import half_applied, of_newer_version, too_old

TOO_NEW = "The database is of a newer version of gemweb. Install that version again, or restore a backup of this one."


class Command(migrate.Command):
    """Migrate the database, unless a newer version did, or it is between two migrations that one squashed replaces."""

    def handle(self, *args: Any, **options: Any) -> None:
        between = half_applied(options["database"])
        if between:
            raise CommandError(f"{too_old(between)} Nothing was changed.")
        newer = of_newer_version(options["database"])
        if newer:
            raise CommandError(f"{TOO_NEW} It has {', '.join(newer)}. Nothing was changed.")
        super().handle(*args, **options)
