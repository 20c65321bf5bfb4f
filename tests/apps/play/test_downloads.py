"""An episode that was played through the web and downloaded verifies on the command line."""

import subprocess
import sys

import pytest

from apps.episodes.restore import restore
from tests import warm
from tests.apps.play.people import Person
from tests.services import ROOT

pytestmark = pytest.mark.django_db


def piped(content: bytes) -> subprocess.CompletedProcess[str]:
    """`... | gemweb replay -`."""
    return warm.run("web", [sys.executable, "-m", "gem.cli", "replay", "-"], said=content.decode(), cwd=ROOT)


@pytest.mark.parametrize(
    ("env_id", "file"),
    [
        ("game:Minesweeper-v0-easy", "episode.json"),
        ("game:Wordle-v0", "episode.jsonl"),
        ("game:TowerofHanoi-v0-easy", "episode.jsonl"),
    ],
)
def test_a_download_verifies_and_a_changed_one_does_not(env_id: str, file: str) -> None:
    person = Person()
    episode = person.begin(env_id, 11)
    for _ in range(5):
        episode.refresh_from_db()
        if not episode.over:
            person.send(episode, restore(episode).sample_random_action(), as_written="1")
    episode.refresh_from_db()
    assert episode.turn_count > 1
    content = person.client.get(f"{episode.get_absolute_url()}{file}").content
    found = piped(content)
    assert (found.returncode, found.stderr) == (0, "")
    assert found.stdout == f"1 of 1 episode identical ({episode.turn_count} turns).\n"
    first = episode.turns.get(number=1)
    changed = content.replace(f'"reward": {first.reward}'.encode(), b'"reward": 77.5', 1)
    assert changed != content
    found = piped(changed)
    assert found.returncode == 1
    assert "0 of 1 episode identical" in found.stdout
