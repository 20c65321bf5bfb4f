"""What was stored before there was a visibility: as open as it was, there and back."""

from __future__ import annotations

from typing import Any

import pytest
from django.db import connection
from django.db.migrations.executor import MigrationExecutor

BEFORE = [("episodes", "0009_pending_turns_wait_in_line"), ("agents", "0006_uploads")]
AFTER = [("episodes", "0010_visibility"), ("agents", "0007_visibility")]

pytestmark = [pytest.mark.django_db(transaction=True), pytest.mark.long]


def migrated(targets: list[tuple[str, str]]) -> Any:
    """The models after migrating to these."""
    executor = MigrationExecutor(connection)
    executor.migrate(targets)
    return MigrationExecutor(connection).loader.project_state(targets).apps


def test_what_was_stored_is_as_open_as_it_was() -> None:
    try:
        old = migrated(BEFORE)
        batches, episodes, agents, uploads, users = (
            old.get_model(*name.split("."))
            for name in ("episodes.Batch", "episodes.Episode", "agents.Agent", "agents.Upload", "accounts.User")
        )
        owner = users.objects.create(username="ada")
        batches.objects.bulk_create(batches(pk=pk, kind=kind) for pk, kind in (("d", "duel"), ("j", "job")))
        kept = {"env_id": "e", "env_version": 1, "seed": 1, "engine_version": "1", "python_version": "3"}
        for pk, listed, batch in (("1", True, None), ("2", False, None), ("3", False, "d"), ("4", True, "j")):
            episodes.objects.create(pk=pk, listed=listed, batch_id=batch, **kept)
        for shared in (True, False):
            agents.objects.create(slug=f"a{shared}", name="a", kind="endpoint", owner=owner, colour=1, shared=shared)
            uploads.objects.create(slug=f"u{shared}", owner=owner, shared=shared)

        new = migrated(AFTER)

        def stored(name: str, key: str) -> dict[str, str]:
            return dict(new.get_model(*name.split(".")).objects.values_list(key, "visibility"))

        assert stored("episodes.Episode", "pk") == {"1": "public", "2": "unlisted", "3": "public", "4": "public"}
        assert stored("episodes.Batch", "pk") == {"d": "unlisted", "j": "public"}
        visibilities = stored("agents.Agent", "slug")
        assert (visibilities["aTrue"], visibilities["aFalse"]) == ("public", "private")
        assert {visibilities[slug] for slug in ("random", "expert", "human")} == {"public"}
        assert stored("agents.Upload", "slug") == {"uTrue": "public", "uFalse": "private"}

        back = migrated(BEFORE)
        listed = dict(back.get_model("episodes", "Episode").objects.values_list("pk", "listed"))
        assert listed == {"1": True, "2": False, "3": False, "4": True}
    finally:
        executor = MigrationExecutor(connection)
        executor.migrate(executor.loader.graph.leaf_nodes())
