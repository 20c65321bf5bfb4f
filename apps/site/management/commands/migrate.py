"""`migrate` of Django, with a sentence for databases that are too old for the squashed migrations."""

from __future__ import annotations

from typing import Any

from django.core.management.base import CommandError
from django.core.management.commands import migrate
from django.db import connections
from django.db.migrations.loader import MigrationLoader
from django.db.migrations.recorder import MigrationRecorder

LAST_WITH_ALL = "0939e429"
"""The last commit that has every migration that the squashed ones replace."""


class Command(migrate.Command):
    """Migrate the database, unless it is between two of the migrations that a squashed one replaces."""

    def handle(self, *args: Any, **options: Any) -> None:
        too_old = half_applied(options["database"])
        if too_old:
            raise CommandError(
                f"The database is of an older version of gemweb, in {', '.join(too_old)}. Check out {LAST_WITH_ALL}, "
                "migrate there once, and come back. Nothing was changed."
            )
        super().handle(*args, **options)


def half_applied(database: str) -> list[str]:
    """The apps with a squashed migration of whose replaced ones the database has some, but not all."""
    applied = MigrationRecorder(connections[database]).applied_migrations()
    squashed = MigrationLoader(None).replacements.values()
    return sorted(
        migration.app_label
        for migration in squashed
        if any(name in applied for name in migration.replaces)
        and not all(name in applied for name in migration.replaces)
    )
