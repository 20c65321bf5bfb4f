"""Who serves which queue, on one machine and in the containers."""

import shlex
from pathlib import Path

import pytest
import yaml

from gemweb.local import services

ROOT = Path(__file__).parents[2]


def of_one_machine() -> list[list[str]]:
    env = {"STATE_DIR": "/state"}
    return [[str(word) for word in service.command] for service in services.workers(env)]


def of_the_containers() -> list[list[str]]:
    compose = yaml.safe_load((ROOT / "docker" / "compose.yml").read_text())
    commands = [service.get("command", []) for service in compose["services"].values()]
    return [command if isinstance(command, list) else shlex.split(command) for command in commands]


@pytest.mark.parametrize("commands", [of_one_machine(), of_the_containers()], ids=["make up", "compose"])
def test_the_reaper_shares_its_process_with_nobody_who_plays(commands: list[list[str]]) -> None:
    served = [set(words[words.index("-Q") + 1].split(",")) for words in commands if "-Q" in words]
    assert {"reap"} in served
    assert [queues for queues in served if "reap" in queues] == [{"reap"}]
    assert any("evaluate" in queues for queues in served)
