"""Checkpoints from elsewhere: uploaded, refused, played with, trained further, deleted; and who may do what."""

from __future__ import annotations

import html
import io
import json
import os
import time
import zipfile
from pathlib import Path
from typing import Any

import pytest
from django.core.files.uploadedfile import SimpleUploadedFile
from django.core.management import call_command
from django.core.management.base import CommandError
from django.test import Client
from django.urls import reverse
from pytest_django.fixtures import Settings

from apps.accounts.models import User
from apps.agents import operations
from apps.agents.models import Agent
from apps.agents.operations import TooManyAgents, Unusable
from apps.agents.players import player
from apps.jobs.models import Job
from apps.jobs.training import operations as trainings
from apps.play import shows
from gem.agents.apart import ApartAgent
from gem.rollout import Slot, rollout
from gem.training.archive import pack
from gem.training.prompts import folder_of
from gem.training.spec import read_spec

pytest.importorskip("torch", reason="policies need torch, which `make test` installs")
ENV_ID = "game:GuessTheNumber-v0-easy"
BASE = Path(folder_of("nano-base"))


@pytest.fixture
def ada(db: None, settings: Settings, tmp_path: Path) -> User:
    settings.RUNS_DIR = tmp_path
    return User.objects.create_user("ada")


@pytest.fixture
def as_ada(ada: User, client: Client) -> Client:
    client.force_login(ada)
    return client


def archive(**card: Any) -> io.BytesIO:
    """A checkpoint as a download gives it."""
    file = io.BytesIO()
    pack(BASE, file, "checkpoint")
    if card:
        plain = io.BytesIO()
        with zipfile.ZipFile(file) as read, zipfile.ZipFile(plain, "w") as bundle:
            for name in read.namelist():
                content = read.read(name)
                if name.endswith("card.json"):
                    content = json.dumps({**json.loads(content), **card}).encode()
                bundle.writestr(name, content)
        return plain
    return file


def sent(file: io.BytesIO, name: str = "checkpoint.zip") -> SimpleUploadedFile:
    return SimpleUploadedFile(name, file.getvalue())


def with_file(name: str, content: bytes = b"x") -> io.BytesIO:
    file = archive()
    with zipfile.ZipFile(file, "a") as bundle:
        bundle.writestr(f"checkpoint/{name}", content)
    return file


def kept(root: Path) -> list[str]:
    return sorted(path.name for path in (root / "uploads").iterdir() if path.is_dir())


def test_an_upload_plays_its_first_turn_and_becomes_an_agent(as_ada: Client, ada: User, tmp_path: Path) -> None:
    answer = as_ada.post(reverse("agents:upload"), {"file": sent(archive(env_id=ENV_ID)), "name": "Mine"}, follow=True)
    page = answer.content.decode()
    agent = Agent.objects.get(owner=ada)
    assert answer.redirect_chain == [(agent.get_absolute_url(), 302)]
    assert "Mine has played its first turn" in page
    assert (agent.kind, agent.shared, agent.weights.uploaded) == ("checkpoint", False, True)
    card = agent.weights.card
    assert (card["env_id"], card["parameters"], card["tried"]["env_id"]) == (ENV_ID, 229_824, ENV_ID)
    assert card["tried"]["action"] in html.unescape(page)
    assert kept(tmp_path) == [agent.slug]
    assert (agent.weights.path / "model.safetensors").read_bytes() == (BASE / "model.safetensors").read_bytes()


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
    answer = as_ada.post(reverse("agents:upload"), {"file": sent(file), "name": "kept"})
    page = answer.content.decode()
    assert answer.status_code == 422
    assert said in page
    assert 'value="kept"' in page
    assert not Agent.objects.filter(owner=ada).exists()
    assert kept(tmp_path) == []


def test_no_file_is_a_refusal_too(as_ada: Client) -> None:
    answer = as_ada.post(reverse("agents:upload"), {"name": "kept"})
    assert (answer.status_code, "Choose a zip or tar file" in answer.content.decode()) == (422, True)


def test_a_download_can_be_uploaded_again(as_ada: Client, ada: User) -> None:
    first = operations.upload(ada, "first", archive())
    with pytest.warns(Warning, match="asynchronous iterators"):  # the test client is no ASGI server
        content = b"".join(iter(as_ada.get(reverse("agents:weights", args=[first.slug]))))  # type: ignore[call-overload]
    second = operations.upload(ada, "second", io.BytesIO(content))
    assert second.weights.sha256 == first.weights.sha256


def test_nobody_has_more_than_one_person_may_nor_too_large_ones(ada: User, settings: Settings, tmp_path: Path) -> None:
    settings.UPLOAD_MEGABYTES = 1
    with pytest.raises(Unusable, match="more than the 1 MB"):
        operations.upload(ada, "large", with_file("README.md", b"x" * 500_000))
    settings.UPLOADS_PER_USER = 0
    with pytest.raises(TooManyAgents, match="You have uploaded 0 checkpoints"):
        operations.upload(ada, "one too many", archive())
    assert kept(tmp_path) == []


def test_what_a_killed_upload_left_is_gone_with_the_next(ada: User, tmp_path: Path) -> None:
    for name, age in ((".old.new", 7200), (".young.new", 60)):
        (tmp_path / "uploads" / name).mkdir(parents=True)
        os.utime(tmp_path / "uploads" / name, (time.time() - age,) * 2)
    with pytest.raises(Unusable):
        operations.upload(ada, "", io.BytesIO(b"nothing"))
    assert kept(tmp_path) == [".young.new"]


def test_it_is_private_until_it_is_shared(client: Client, ada: User) -> None:
    agent = operations.upload(ada, "mine", archive())
    eve = User.objects.create_user("eve")
    pages = [agent.get_absolute_url(), reverse("agents:weights", args=[agent.slug])]
    client.force_login(eve)
    assert [client.get(page).status_code for page in pages] == [404, 404]
    assert agent.slug not in client.get(reverse("agents:list")).content.decode()
    with pytest.raises(trainings.Unfit, match="no checkpoint of that name"):
        trainings.submit(eve, read_spec({"env_id": ENV_ID, "model": f"agent:{agent.slug}"}))
    Agent.objects.filter(pk=agent.pk).update(shared=True)
    assert [client.get(page).status_code for page in pages] == [200, 200]
    assert client.post(reverse("agents:delete", args=[agent.slug])).status_code == 404
    client.logout()
    assert client.get(reverse("agents:upload")).status_code == 302


def test_it_plays_apart_in_rollouts_and_live(ada: User) -> None:
    agent = operations.upload(ada, "mine", archive())
    somebody = player(agent)
    assert isinstance(somebody, ApartAgent)
    (record,) = rollout(somebody, [Slot(0, ENV_ID, 3)], num_envs=1)
    assert record.turn_count >= 1
    assert not record.failure
    assert shows.start(ENV_ID, agent, seed=1, user=ada).seats.filter(agent=agent).exists()


def test_a_training_begins_with_its_weights(as_ada: Client, ada: User) -> None:
    agent = operations.upload(ada, "mine", archive(env_id=ENV_ID, max_tokens=9))
    address = reverse("jobs:train")
    form = as_ada.get(address, {"agent": agent.slug}).content.decode()
    assert "Train mine further" in form
    assert f"agent:{agent.slug}" in form
    more = json.dumps({"model": f"agent:{agent.slug}"})
    as_ada.post(address, {"agent": agent.slug, "env_id": ENV_ID, "updates": "3", "more": more})
    assert Job.objects.get(owner=ada).spec["model"] == f"agent:{agent.slug}"
    assert as_ada.get(address, {"agent": "nobody"}).status_code == 404


def test_deleting_it_deletes_its_weights_and_keeps_its_name_where_it_played(as_ada: Client, ada: User) -> None:
    played, idle = (operations.upload(ada, name, archive()) for name in ("played", "idle"))
    shows.start(ENV_ID, played, seed=1, user=ada)
    for agent in (played, idle):
        place = agent.weights.path
        assert as_ada.post(reverse("agents:delete", args=[agent.slug])).status_code == 302
        assert not place.exists()
        assert as_ada.get(agent.get_absolute_url()).status_code == 404
    assert not Agent.objects.filter(pk=idle.pk).exists()
    assert Agent.objects.get(pk=played.pk).retired


def test_the_command_uploads_for_somebody(ada: User, tmp_path: Path) -> None:
    file = tmp_path / "policy.zip"
    file.write_bytes(archive().getvalue())
    call_command("upload_checkpoint", str(file), owner="ada", name="by hand", shared=True)
    agent = Agent.objects.get(owner=ada)
    assert (agent.name, agent.shared) == ("by hand", True)
    file.write_bytes(b"nothing")
    with pytest.raises(CommandError, match="neither a zip nor a tar"):
        call_command("upload_checkpoint", str(file), owner="ada")
    with pytest.raises(CommandError, match="nobody called eve"):
        call_command("upload_checkpoint", str(file), owner="eve")
