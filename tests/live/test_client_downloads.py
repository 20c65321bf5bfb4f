"""What the client fetches from a web process is whole: checkpoints of trainings, kept episodes, weights of agents."""

from __future__ import annotations

import zipfile
from pathlib import Path

import pytest

from apps.accounts.models import User
from apps.agents.models import Agent
from apps.api import operations as tokens
from apps.trainings import operations
from gem.cli import main
from gem.client import Client
from gem.client.errors import NotFound
from gem.records import episode_files
from tests.apps.trainings.trainings import small, trained
from tests.live.processes import Fleet


def test_a_checkpoint_and_kept_episodes_are_fetched(
    fleet: Fleet,
    agents: dict[str, Agent],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    owner = User.objects.create_user("grace")
    job = operations.submit(owner, small(), visibility="private")
    trained(job, 4)
    secret = tokens.make_token(owner, "of a test", [])[1]
    url = f"http://127.0.0.1:{fleet.web().port}"
    monkeypatch.chdir(tmp_path)
    for name, value in {"GEMWEB_URL": url, "GEMWEB_TOKEN": secret, "XDG_CONFIG_HOME": str(tmp_path)}.items():
        monkeypatch.setenv(name, value)

    assert main(["pull", job.pk]) == 0
    packed = Path(f"training-{job.pk}-000004.zip")
    with zipfile.ZipFile(packed) as archive:
        assert archive.testzip() is None
        assert any(name.endswith("model.safetensors") for name in archive.namelist())
    assert f"{packed.stat().st_size:,} bytes" in capsys.readouterr().out

    assert main(["pull", job.pk, "--episodes", "--out", "kept.jsonl"]) == 0
    assert len(list(episode_files.read(Path("kept.jsonl")))) == 7
    assert main(["pull", job.pk, "--update", "3"]) == 2
    assert "it has those after 4" in capsys.readouterr().err

    with Client(url, secret) as client:
        [checkpoint] = client.trainings.checkpoints(job.pk)
        progress: list[tuple[int, int | None]] = []
        parts = client.agents.weights(checkpoint.agent, progress=lambda done, total: progress.append((done, total)))
        size = sum(map(len, parts))
    assert progress[-1] == (size, size)
    with Client(url, "") as guest, pytest.raises(NotFound):
        list(guest.trainings.checkpoint(job.pk, 4))
