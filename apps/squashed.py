"""Squashed migrations: an operation that creates all tables of an app at once, and databases that are too old."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from django.db import connections
from django.db.backends.base.schema import BaseDatabaseSchemaEditor
from django.db.migrations.loader import MigrationLoader
from django.db.migrations.operations.base import Operation, OperationCategory
from django.db.migrations.operations.models import CreateModel
from django.db.migrations.recorder import MigrationRecorder
from django.db.migrations.state import ProjectState

LAST_WITH_ALL = "eb12a88f"
"""A commit that has every migration that the squashed ones replace."""


def replaced() -> set[tuple[str, str]]:
    """The migrations that squashed ones replace, as pairs of app and name."""
    return {name for migration in MigrationLoader(None).replacements.values() for name in migration.replaces}


def half_applied(database: str) -> list[str]:
    """The apps with a squashed migration of whose replaced ones the database has some, but not all."""
    applied = MigrationRecorder(connections[database]).applied_migrations().keys()
    squashed = {key[0]: set(migration.replaces) for key, migration in MigrationLoader(None).replacements.items()}
    return sorted(app for app, names in squashed.items() if names & applied and names - applied)


def of_newer_version(database: str) -> list[str]:
    """The migrations of our apps that the database has and this version does not know."""
    loader = MigrationLoader(connections[database])
    unknown = set(loader.applied_migrations) - set(loader.disk_migrations) - replaced()
    return sorted(f"{app}.{name}" for app, name in unknown if app in loader.migrated_apps)


def too_old(apps: list[str]) -> str:
    """What to do with a database that is between two of the replaced migrations in these apps."""
    return (
        f"The database is of an older version of gemweb, in {', '.join(apps)}. Check out {LAST_WITH_ALL}, migrate there"
        " once, and come back."
    )


class CreateModels(Operation):
    """`CreateModel` for several models, each of which may refer to those before it.

    After each `CreateModel` Django makes the classes of all related models anew, which is most of the time that a new
    database takes. Here it does so once.
    """

    category = OperationCategory.ADDITION

    def __init__(self, models: Sequence[CreateModel]) -> None:
        self.models = models

    def deconstruct(self) -> tuple[str, list[Any], dict[str, Any]]:
        return type(self).__name__, [self.models], {}

    def state_forwards(self, app_label: str, state: ProjectState) -> None:
        state.__dict__.pop("apps", None)  # made anew for all models when they are asked for
        for model in self.models:
            model.state_forwards(app_label, state)

    def database_forwards(
        self, app_label: str, schema_editor: BaseDatabaseSchemaEditor, from_state: ProjectState, to_state: ProjectState
    ) -> None:
        for model in self.models:
            model.database_forwards(app_label, schema_editor, from_state, to_state)

    def database_backwards(
        self, app_label: str, schema_editor: BaseDatabaseSchemaEditor, from_state: ProjectState, to_state: ProjectState
    ) -> None:
        for model in reversed(self.models):
            model.database_backwards(app_label, schema_editor, from_state, to_state)

    def references_model(self, name: str, app_label: str) -> bool:
        return any(model.references_model(name, app_label) for model in self.models)

    def describe(self) -> str:
        return f"Create models {', '.join(model.name for model in self.models)}"
