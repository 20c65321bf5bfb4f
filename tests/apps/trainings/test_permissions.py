"""A training of an ordinary account reads, writes and asks nothing of the server that the site does not offer."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from django.test import Client
from pytest_django.fixtures import Settings

from apps.accounts.models import User
from apps.jobs.models import Job
from apps.trainings import operations, permissions
from gem.errors import InvalidArgument
from gem.training import recipes
from gem.training.spec import TrainingSpec, read_spec
from tests.apps.trainings.trainings import ENV_ID, small

BEYOND: dict[str, dict[str, Any]] = {
    "a folder as the policy": {"model": "/srv/models/mine"},
    "a folder beside the site": {"model": "../runs/somebody"},
    "a hidden folder": {"model": ".state/runs"},
    "a server": {"sampler": "server", "lora_rank": 8, "server_url": "http://169.254.169.254/v1"},
    "a file to write": {"wrappers": [{"name": "record", "path": "/etc/cron.d/mine"}]},
    "a tokenizer's folder": {"wrappers": [{"name": "concat_chat", "tokenizer": "/srv/models/mine"}]},
    "a search server": {
        "wrappers": [{"name": "tools", "tools": [{"name": "search", "search_url": "http://10.0.0.1"}]}]
    },
    "the same under another name": {
        "wrappers": [{"name": "search_tool", "tools": [{"name": "search", "search_url": "http://10.0.0.1"}]}]
    },
    "a file of products": {"env_kwargs": {"products": "/etc/passwd"}},
    "the same for measurements": {"held_out_kwargs": {"products": "/etc/passwd"}},
    "the same in a curriculum": {"curriculum": [{"env_id": ENV_ID, "env_kwargs": {"attributes": "/etc/passwd"}}]},
}


@pytest.fixture
def shared_site(settings: Settings) -> None:
    settings.LOCAL_MODE = False


@pytest.mark.usefixtures("shared_site")
@pytest.mark.parametrize("what", BEYOND)
def test_what_reaches_beyond_the_site_is_refused(as_ada: Client, what: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(TrainingSpec, "model_validate", _never)
    answer = as_ada.post("/jobs/train/", {"env_id": ENV_ID, "more": json.dumps(BEYOND[what])})
    assert answer.status_code == 422
    assert "administrators of this site" in answer.content.decode()
    assert not Job.objects.exists()


def _never(*_args: object, **_more: object) -> None:
    raise AssertionError("validating a request makes its environment: it must not come so far")


@pytest.mark.usefixtures("shared_site")
def test_no_other_door_leads_there(ada: User, tmp_path: Path) -> None:
    spec = small(wrappers=[{"name": "record", "path": str(tmp_path / "file")}])
    with pytest.raises(operations.Unfit, match="writes a file"):
        operations.submit(ada, spec)


@pytest.mark.usefixtures("shared_site")
def test_who_runs_the_site_may(ada: User) -> None:
    ada.is_staff = True
    assert not [what for what, asked in BEYOND.items() if permissions.refusals(ada, asked)]


def test_on_ones_own_machine_everything_may_be_named(ada: User, settings: Settings) -> None:
    settings.LOCAL_MODE = True
    assert not [what for what, asked in BEYOND.items() if permissions.refusals(ada, asked)]


@pytest.mark.usefixtures("shared_site")
def test_what_the_site_offers_is_within_reach(ada: User) -> None:
    for recipe in recipes.all_recipes():
        assert permissions.refusals(ada, recipe.training_spec.model_dump(mode="json")) == [], recipe.name
    tools = [{"name": "tools", "tools": [{"name": "python"}], "max_tool_uses": 3}, {"name": "python_tool"}]
    for asked in ({"model": "Qwen/Qwen3-0.6B"}, {"model": "agent:mine"}, {"wrappers": tools}):
        assert permissions.refusals(ada, asked) == []


@pytest.mark.usefixtures("shared_site")
@pytest.mark.parametrize("odd", [{"wrappers": "record"}, {"wrappers": ["record", 7]}, {"env_kwargs": 3}, {"model": 5}])
def test_what_cannot_be_read_is_left_to_the_specification(ada: User, odd: dict[str, Any]) -> None:
    permissions.refusals(ada, odd)
    with pytest.raises(InvalidArgument):
        read_spec({"env_id": ENV_ID, **odd})
