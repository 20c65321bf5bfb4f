"""Sealed keys: what the file is like, and what rotation does."""

from __future__ import annotations

import stat
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from io import StringIO

import pytest
from django.core.management import CommandError, call_command
from django.db import connection
from pydantic import SecretStr
from pytest_django.fixtures import Settings

from apps.agents import players, seal
from apps.agents.models import Agent, Endpoint
from gem.errors import AgentStopped

MakeAgent = Callable[..., Agent]


def rotate(*arguments: str) -> str:
    out = StringIO()
    call_command("rotate_endpoint_keys", *arguments, stdout=out)
    return out.getvalue()


def test_the_file_is_made_once_and_is_its_owner_s_alone(settings: Settings) -> None:
    with ThreadPoolExecutor(8) as threads:
        made = list(threads.map(seal.seal, [SecretStr("k")] * 8))
    assert {seal.unseal(one).get_secret_value() for one in made} == {"k"}  # type: ignore[union-attr]
    assert stat.S_IMODE(settings.ENDPOINT_KEYS_FILE.stat().st_mode) == 0o600
    assert len(settings.ENDPOINT_KEYS_FILE.read_text().split()) == 1


def test_what_is_stored_does_not_have_the_key_in_it(agent_of: MakeAgent) -> None:
    agent_of(key="sk-plain-text")
    with connection.cursor() as cursor:
        cursor.execute("SELECT row_to_json(e)::text FROM agents_endpoint e")
        (row,) = cursor.fetchall()
    assert "sk-plain-text" not in row[0]


def test_rotation_seals_every_key_anew_and_old_ones_can_be_forgotten(agent_of: MakeAgent, settings: Settings) -> None:
    agents = [agent_of(key=f"sk-{number}") for number in range(3)]
    agent_of()
    before = {endpoint.pk: endpoint.sealed_key for endpoint in Endpoint.objects.all()}
    old = settings.ENDPOINT_KEYS_FILE.read_text()
    assert "3 endpoint keys are sealed" in rotate("--forget-old")
    assert len(settings.ENDPOINT_KEYS_FILE.read_text().split()) == 1
    for number, agent in enumerate(agents):
        sealed = Endpoint.objects.get(agent=agent).sealed_key
        assert sealed != before[agent.pk]
        assert seal.unseal(sealed).get_secret_value() == f"sk-{number}"  # type: ignore[union-attr]
    settings.ENDPOINT_KEYS_FILE.write_text(old)
    with pytest.raises(seal.CannotUnseal):
        seal.unseal(Endpoint.objects.get(agent=agents[0]).sealed_key)


def test_without_forgetting_the_old_keys_stay_in_the_file(agent_of: MakeAgent, settings: Settings) -> None:
    agent_of(key="sk-1")
    before = Endpoint.objects.get().sealed_key
    rotate()
    assert len(settings.ENDPOINT_KEYS_FILE.read_text().split()) == 2
    assert seal.unseal(before).get_secret_value() == "sk-1"  # type: ignore[union-attr]


def test_a_lost_file_is_said_and_forgets_nothing(agent_of: MakeAgent, settings: Settings) -> None:
    agent = agent_of(key="sk-1")
    settings.ENDPOINT_KEYS_FILE.unlink()
    with pytest.raises(AgentStopped, match="Enter it again"):
        players.player(agent)
    with pytest.raises(CommandError, match="1 keys were sealed with a key that is not in the file"):
        rotate("--forget-old")
    assert len(settings.ENDPOINT_KEYS_FILE.read_text().split()) == 2
