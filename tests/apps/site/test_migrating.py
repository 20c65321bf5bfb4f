"""Databases of every age: those that have all replaced migrations go on, those between two of them are refused."""

from __future__ import annotations

import pytest
from django.core.management import CommandError, call_command
from django.db import connection, migrations, models
from django.db.migrations.recorder import MigrationRecorder
from django.db.migrations.state import ProjectState

from apps.agents.models import Agent
from apps.site.health import check_migrations
from apps.squashed import CreateModels

pytestmark = pytest.mark.django_db


def forget(app: str, *names: str) -> None:
    """Make it as if the database had none of these migrations."""
    MigrationRecorder(connection).migration_qs.filter(app=app, name__in=names).delete()


def test_a_database_with_every_replaced_migration_has_nothing_to_do(capsys: pytest.CaptureFixture[str]) -> None:
    forget("jobs", "0001_squashed")
    call_command("migrate")
    assert "No migrations to apply" in capsys.readouterr().out
    assert check_migrations().state == "ok"


def test_a_database_between_two_of_them_is_told_what_to_do() -> None:
    forget("jobs", "0001_squashed", "0014_books")
    with pytest.raises(CommandError, match=r"older version of gemweb, in jobs\. Check out \w{8}, migrate there once"):
        call_command("migrate", verbosity=0)
    assert check_migrations().state == "fail"
    assert "Check out" in check_migrations().remedy
    assert MigrationRecorder(connection).migration_qs.filter(app="jobs", name="0001_initial").exists()


def test_a_database_of_a_newer_version_is_left_alone() -> None:
    MigrationRecorder(connection).record_applied("jobs", "0999_of_next_year")
    with pytest.raises(CommandError, match=r"newer version of gemweb.* It has jobs\.0999_of_next_year\. Nothing was"):
        call_command("migrate", verbosity=0)
    assert check_migrations().word == "newer"


def test_migrations_of_an_app_that_is_no_longer_installed_do_no_harm(capsys: pytest.CaptureFixture[str]) -> None:
    MigrationRecorder(connection).record_applied("an_app_of_last_year", "0001_initial")
    call_command("migrate")
    assert "No migrations to apply" in capsys.readouterr().out


def test_a_new_database_has_the_agents_that_everybody_has() -> None:
    built_in = Agent.objects.filter(owner=None).values_list("slug", "visibility")
    assert set(built_in) >= {(slug, "public") for slug in ("random", "expert", "human")}


def test_tables_are_created_and_dropped_together() -> None:
    key = ("id", models.BigAutoField(primary_key=True))
    shelf = migrations.CreateModel("Shelf", [key])
    book = migrations.CreateModel("Book", [key, ("shelf", models.ForeignKey("trial.shelf", models.CASCADE))])
    empty, full, operation = ProjectState(), ProjectState(), CreateModels([shelf, book])
    operation.state_forwards("trial", full)
    made = {"trial_shelf", "trial_book"}
    with connection.schema_editor() as editor:
        operation.database_forwards("trial", editor, empty, full)
    assert made <= set(connection.introspection.table_names())
    with connection.schema_editor() as editor:
        operation.database_backwards("trial", editor, full, empty)
    assert not made & set(connection.introspection.table_names())
