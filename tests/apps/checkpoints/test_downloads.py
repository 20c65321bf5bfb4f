"""A checkpoint is packed while it is sent: nothing is written, and its length is known before."""

from __future__ import annotations

import io
import tempfile
import zipfile
from pathlib import Path
from typing import NoReturn

import pytest
from asgiref.sync import async_to_sync
from django.test import AsyncClient
from django.urls import reverse
from pytest_django import Settings

from apps.accounts.models import User
from apps.agents.models import Agent, Weights
from apps.zips import ExportedFile, content_of, stored_size, streamed

CONTENT = {"config.json": b"{}", "model.safetensors": bytes(range(256)) * 5000}


@pytest.fixture
def agent(settings: Settings, tmp_path: Path) -> Agent:
    """A public checkpoint with small files."""
    settings.RUNS_DIR = tmp_path
    owner = User.objects.create_user("ada")
    agent = Agent.objects.create(
        slug="mine", name="Mine", kind="checkpoint", visibility="public", owner=owner, colour=1
    )
    weights = Weights.objects.create(agent=agent, folder="mine")
    weights.path.mkdir(parents=True)
    for name, content in CONTENT.items():
        (weights.path / name).write_bytes(content)
    return agent


@pytest.mark.django_db
def test_a_download_writes_nothing_and_tells_its_length(agent: Agent, monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*_: object, **__: object) -> NoReturn:
        raise AssertionError("a download was written to the temporary folder")

    monkeypatch.setattr(tempfile, "_get_default_tempdir", refuse)
    monkeypatch.setattr(tempfile, "_mkstemp_inner", refuse)
    monkeypatch.setattr(tempfile, "TemporaryFile", refuse)

    async def download() -> tuple[bytes, int]:
        answer = await AsyncClient().get(reverse("agents:weights", args=[agent.slug]))
        return b"".join([piece async for piece in answer]), int(answer["Content-Length"])

    content, length = async_to_sync(download)()
    assert len(content) == length
    with zipfile.ZipFile(io.BytesIO(content)) as archive:
        assert archive.testzip() is None
        assert {name: archive.read(name) for name in archive.namelist()} == {
            f"mine/{name}": content for name, content in CONTENT.items()
        }


@pytest.mark.parametrize("limit", [10, 1000, 10_000, 10**9])
def test_the_length_is_right_for_large_files_too(limit: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(zipfile, "ZIP64_LIMIT", limit)  # in truth 2 GiB: larger files and archives have other headers
    sizes = {"a/empty": 0, "a/small": 999, "a/ä": 5000, "a/large": 200_000, "a/last": 1}
    files = [ExportedFile(path, [b"x" * size], compressed=False) for path, size in sizes.items()]
    pieces = list(streamed(files))
    assert sum(map(len, pieces)) == stored_size(sizes)
    assert len(pieces) > 1


def test_a_file_that_was_deleted_is_empty(tmp_path: Path) -> None:
    assert list(content_of(tmp_path / "gone")) == []
