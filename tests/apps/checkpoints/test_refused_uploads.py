"""Uploads that become nothing: what is refused and why, and what is swept up."""

from __future__ import annotations

import html
import io
import os
import shutil
import tarfile
import time
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import pytest
from django.test import Client
from django.urls import reverse
from pytest_django.fixtures import Settings

from apps.accounts.models import User
from apps.agents import uploads
from apps.agents.models import Agent, Upload
from gem.agents.isolated_agent import IsolatedAgent
from gem.errors import EnvironmentFailure
from gem.sandbox import process_confinement
from gem.sandbox.inside.confinement import landlock
from tests.apps.checkpoints.archives import BASE, archive, kept, sent, with_file

pytestmark = pytest.mark.skipif(find_spec("torch") is None, reason="policies need torch, which `make test` installs")


def test_the_request_unpacks_and_tries_nothing(as_ada: Client, tmp_path: Path) -> None:
    as_ada.post(reverse("agents:upload"), {"file": sent(with_file("pytorch_model.bin"))})
    assert kept(tmp_path) == []
    assert Upload.objects.get().problem == ""


def test_a_large_file_is_moved_and_not_copied(as_ada: Client, settings: Settings, tmp_path: Path) -> None:
    settings.FILE_UPLOAD_MAX_MEMORY_SIZE = 0
    file = archive()
    as_ada.post(reverse("agents:upload"), {"file": sent(file)})
    (place,) = (tmp_path / "uploads").glob(".*.sent")
    assert place.read_bytes() == file.getvalue()


@pytest.mark.parametrize(
    ("file", "said"),
    [
        (with_file("pytorch_model.bin"), "pytorch_model.bin is refused: files of this kind can hold programs"),
        (with_file("merges.txt", b"\x80\x04\x95 a pickle"), "merges.txt is a pickle by its content"),
        (with_file("../../evil.json"), "leads out of the archive"),
        (with_file("config.json.index.json"), "one of several parts"),
        (io.BytesIO(b"nothing"), "neither a zip nor a tar archive"),
        (io.BytesIO(b""), "neither a zip nor a tar archive"),
        (archive(input_mode="telepathy"), "card.json: input_mode"),
        (archive(env_id="x" * 500), "card.json: env_id"),
    ],
)
def test_a_refusal_is_a_sentence_and_nothing_stays(
    as_ada: Client, ada: User, tmp_path: Path, file: io.BytesIO, said: str
) -> None:
    address = reverse("agents:upload")
    answer = as_ada.post(address, {"file": sent(file), "name": "kept"})
    assert uploads.try_next()
    page = as_ada.get(answer["Location"]).content.decode()
    assert said in html.unescape(page)
    assert f"{address}?name=kept" in page
    assert 'value="kept"' in as_ada.get(f"{address}?name=kept").content.decode()
    assert said in html.unescape(as_ada.get(reverse("agents:list")).content.decode())
    assert not Agent.objects.filter(owner=ada).exists()
    assert kept(tmp_path) == []
    assert not uploads.try_next()


def test_no_file_is_a_refusal_too(as_ada: Client) -> None:
    answer = as_ada.post(reverse("agents:upload"), {"name": "kept"})
    assert (answer.status_code, "Choose a zip or tar file" in answer.content.decode()) == (422, True)


def test_one_whose_worker_died_is_tried_again_and_then_refused(ada: User, settings: Settings, tmp_path: Path) -> None:
    accepted = uploads.accept(ada, "heavy", archive())
    settings.LEASE_SECONDS = 0.0
    for _ in range(settings.MAX_ATTEMPTS):
        assert uploads._claim() is not None
    assert not uploads.try_next()
    assert "killed 3 times" in Upload.objects.get(pk=accepted.pk).problem
    assert kept(tmp_path) == []


def test_the_reaper_wakes_a_worker_and_sweeps(
    ada: User, tmp_path: Path, django_capture_on_commit_callbacks: Any
) -> None:
    accepted = uploads.accept(ada, "mine", archive())
    old = tmp_path / "uploads"
    for name, age in ((".old.new", 7200), (".young.new", 60)):
        (old / name).mkdir(parents=True)
        os.utime(old / name, (time.time() - age,) * 2)
    (old / ".unknown.sent").write_text("x")
    for place in old.glob(".*.sent"):
        os.utime(place, (time.time() - 7200,) * 2)
    with django_capture_on_commit_callbacks() as messages:
        uploads.reap()
    assert len(messages) == 1
    assert sorted(path.name for path in old.iterdir()) == sorted([".young.new", f".{accepted.pk}.sent"])
    Upload.objects.update(problem="refused", created="2020-01-01T00:00:00Z")
    uploads.reap()
    assert not Upload.objects.exists()


def test_the_reaper_passes_over_what_a_worker_has_removed_meanwhile(ada: User, tmp_path: Path) -> None:
    folder = tmp_path / "uploads"
    folder.mkdir()
    (folder / ".gone.new").symlink_to(folder / "nothing")  # listed, and not there
    (folder / ".old.new").mkdir()
    os.utime(folder / ".old.new", (time.time() - 7200,) * 2)
    uploads.reap()
    assert [path.name for path in folder.iterdir()] == [".gone.new"]


def test_nobody_sees_what_somebody_else_sent(client: Client, ada: User) -> None:
    accepted = uploads.accept(ada, "secret name", archive())
    client.force_login(User.objects.create_user("eve"))
    assert client.get(accepted.get_absolute_url()).status_code == 404
    assert "secret name" not in client.get(reverse("agents:list")).content.decode()


def test_a_name_that_no_database_stores_is_refused_in_a_sentence(ada: User) -> None:
    file = io.BytesIO()
    with tarfile.open(fileobj=file, mode="w") as bundle:
        bundle.addfile(tarfile.TarInfo("policy/\udcff\udcfe.json"))
    uploads.accept(ada, "x", file)
    assert uploads.try_next()
    assert "is no file of a policy" in Upload.objects.get().problem


def test_nothing_uploaded_runs_on_a_machine_that_cannot_confine_it(
    ada: User, monkeypatch: pytest.MonkeyPatch, tmp_path: Path, tries_itself: None
) -> None:
    monkeypatch.setattr(process_confinement, "_obstacle", "There are no namespaces.")
    monkeypatch.setattr(landlock, "abi", lambda: 0)
    uploads.accept(ada, "later", archive())
    assert uploads.try_next()
    assert "cannot confine the policies that people upload" in Upload.objects.get().problem
    stranger = IsolatedAgent(str(shutil.copytree(BASE, tmp_path / "b")), "b", guarded=True)
    with pytest.raises(EnvironmentFailure, match="b cannot play: This machine cannot confine"):
        stranger.load()
