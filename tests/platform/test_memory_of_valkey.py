"""What visitors make the site keep in Valkey cannot use up the memory of the machine."""

from __future__ import annotations

from typing import cast

import redis
import yaml
from django.conf import settings

from tests.services import ROOT

POLICY = "volatile-lru"
"""What expires makes room. Messages to workers never expire, so none is lost."""


def test_the_valkey_of_one_machine_has_a_limit() -> None:
    valkey = redis.Redis.from_url(settings.VALKEY_URL)
    kept = cast("dict[str, str]", valkey.config_get("maxmemory*"))
    assert int(kept["maxmemory"]) > 0
    assert kept["maxmemory-policy"] == POLICY


def test_the_valkey_of_the_containers_has_a_limit() -> None:
    compose = yaml.safe_load((ROOT / "docker" / "compose.yml").read_text())
    command = compose["services"]["valkey"]["command"][-1].split()
    assert command[command.index("--maxmemory") + 1] == "256mb"
    assert command[command.index("--maxmemory-policy") + 1] == POLICY
