"""Checkpoints from elsewhere: uploaded, played with, trained further, deleted; and who may do what."""

from __future__ import annotations

import html
import io
import json
import os
from importlib.util import find_spec
from pathlib import Path

import psutil
import pytest
from django.conf import settings
from django.core.management import call_command
from django.core.management.base import CommandError
from django.test import Client
from django.urls import reverse
from pytest_django.fixtures import Settings

from apps.accounts.models import CpuUse, User
from apps.accounts.quotas import record_cpu
from apps.agents import uploads
from apps.agents.models import Agent, Upload
from apps.agents.operations import TooManyAgents
from apps.agents.players import player
from apps.jobs.models import Job
from apps.play.shows import operations as shows
from apps.trainings import operations as trainings
from gem.agents.isolated_agent import IsolatedAgent
from gem.rollout import EpisodeRequest, rollout
from gem.sandbox import process_confinement
from gem.training.spec import read_spec
from tests.apps.checkpoints.archives import BASE, ENV_ID, archive, kept, refused, sent, uploaded, with_file
from workers.uploads import check as check_uploads

pytestmark = pytest.mark.skipif(find_spec("torch") is None, reason="policies need torch, which `make test` installs")


def test_an_upload_plays_its_first_turn_and_becomes_an_agent(as_ada: Client, ada: User, tmp_path: Path) -> None:
    answer = as_ada.post(reverse("agents:upload"), {"file": sent(archive(env_id=ENV_ID)), "name": "Mine"}, follow=True)
    accepted = Upload.objects.get(owner=ada)
    assert answer.redirect_chain == [(accepted.get_absolute_url(), 302)]
    assert "Your checkpoint is being checked" in answer.content.decode()
    assert "being checked" in as_ada.get(reverse("agents:list")).content.decode()
    assert not Agent.objects.filter(owner=ada).exists()

    assert uploads.try_next()
    agent = Agent.objects.get(owner=ada)
    answer = as_ada.get(accepted.get_absolute_url(), follow=True)
    page = answer.content.decode()
    assert answer.redirect_chain == [(agent.get_absolute_url(), 302)]
    assert "Mine has played its first turn" in page
    assert (agent.kind, agent.visibility, agent.weights.uploaded) == ("checkpoint", "private", True)
    card = agent.weights.card
    assert (card["env_id"], card["parameters"], card["tried"]["env_id"]) == (ENV_ID, 229_824, ENV_ID)
    assert card["tried"]["action"] in html.unescape(page)
    assert kept(tmp_path) == [agent.slug]
    assert (agent.weights.path / "model.safetensors").read_bytes() == (BASE / "model.safetensors").read_bytes()


def test_the_page_follows_the_upload_and_its_owner_pays_for_the_check(
    as_ada: Client, ada: User, settings: Settings
) -> None:
    accepted = uploads.accept(ada, "mine", archive())
    asked = {"HTTP_HX_REQUEST": "true"}
    waiting = as_ada.get(accepted.get_absolute_url(), **asked).content.decode()
    assert "1st in the queue" in waiting
    assert "<html" not in waiting
    settings.CPU_SECONDS_PER_DAY = 1
    record_cpu(CpuUse.Use.JOBS, {ada.pk: 1.0})
    check_uploads(accepted.slug)
    assert Upload.objects.get().attempt == 0
    assert "continues after midnight" in as_ada.get(accepted.get_absolute_url(), **asked).content.decode()
    settings.CPU_SECONDS_PER_DAY = None
    check_uploads(accepted.slug)
    assert CpuUse.objects.get(user=ada, use=CpuUse.Use.CHECKS).seconds > 0
    answer = as_ada.get(accepted.get_absolute_url(), **asked)
    assert answer.headers["HX-Redirect"] == Agent.objects.get(owner=ada).get_absolute_url()


def test_a_download_can_be_uploaded_again(as_ada: Client, ada: User) -> None:
    first = uploaded(ada, "first", archive())
    with pytest.warns(Warning, match="asynchronous iterators"):  # the test client is no ASGI server
        content = b"".join(iter(as_ada.get(reverse("agents:weights", args=[first.slug]))))  # type: ignore[call-overload]
    second = uploaded(ada, "second", io.BytesIO(content))
    assert second.weights.sha256 == first.weights.sha256


def test_nobody_has_more_than_one_person_may_nor_too_large_ones(ada: User, settings: Settings, tmp_path: Path) -> None:
    settings.UPLOAD_MEGABYTES = 1
    assert "more than the 1 MB" in refused(ada, with_file("README.md", b"x" * 500_000))
    settings.UPLOADS_PER_USER = 1
    uploads.accept(ada, "waits", archive())
    with pytest.raises(TooManyAgents, match="You have uploaded 1 checkpoints"):
        uploads.accept(ada, "one too many", archive())
    assert len(list((tmp_path / "uploads").glob(".*.sent"))) == 1


def test_a_worker_that_lost_its_lease_writes_nothing(ada: User, settings: Settings) -> None:
    uploads.accept(ada, "mine", archive())
    lease, settings.LEASE_SECONDS = settings.LEASE_SECONDS, 0.0
    late = uploads._claim()
    settings.LEASE_SECONDS = lease
    assert late is not None
    assert uploads.try_next()
    agent = Agent.objects.get(owner=ada)
    uploads._check(late, lambda: False)
    assert list(Agent.objects.filter(owner=ada)) == [agent]
    assert agent.weights.path.is_dir()


def test_a_worker_that_is_to_end_leaves_it_to_another_one(ada: User, tmp_path: Path) -> None:
    accepted = uploads.accept(ada, "mine", archive())
    assert uploads.try_next(stopping=lambda: True)
    given_back = Upload.objects.get(pk=accepted.pk)
    assert (given_back.attempt, given_back.lease_token, given_back.problem) == (0, None, "")
    assert kept(tmp_path) == []
    assert uploads.try_next()
    assert Agent.objects.filter(owner=ada).exists()


def test_two_processes_try_one_after_the_other(ada: User) -> None:
    uploads.accept(ada, "mine", archive())
    with uploads._exclusive_lock() as first:
        assert first
        assert not uploads.try_next()
    assert uploads.try_next()


def test_it_is_private_until_it_is_shared(client: Client, ada: User) -> None:
    agent = uploaded(ada, "mine", archive())
    eve = User.objects.create_user("eve")
    pages = [agent.get_absolute_url(), reverse("agents:weights", args=[agent.slug])]
    client.force_login(eve)
    assert [client.get(page).status_code for page in pages] == [404, 404]
    assert agent.slug not in client.get(reverse("agents:list")).content.decode()
    with pytest.raises(trainings.Unfit, match="no checkpoint with that name"):
        trainings.submit(eve, read_spec({"env_id": ENV_ID, "model": f"agent:{agent.slug}"}))
    Agent.objects.filter(pk=agent.pk).update(visibility="public")
    assert [client.get(page).status_code for page in pages] == [200, 200]
    assert client.post(reverse("agents:delete", args=[agent.slug])).status_code == 404
    client.logout()
    assert client.get(reverse("agents:upload")).status_code == 302


def test_it_plays_in_a_process_without_network_or_files_in_rollouts_and_live(ada: User) -> None:
    agent = uploaded(ada, "mine", archive())
    somebody = player(agent)
    assert isinstance(somebody, IsolatedAgent)
    somebody.load()
    obstacle = process_confinement.obstacle()
    if not obstacle:
        assert_confined()
    (record,) = rollout(somebody, [EpisodeRequest(0, ENV_ID, 3)], num_envs=1)
    assert record.turn_count >= 1
    assert not record.failure
    assert shows.start(ENV_ID, agent, seed=1, user=ada).seats.filter(agent=agent).exists()
    if obstacle:
        pytest.skip(obstacle)


def assert_confined() -> None:
    """The process of this test's policy has neither our network nor our files."""
    runs = str(settings.RUNS_DIR).lstrip("/")
    (process,) = [
        process
        for process in psutil.Process().children(recursive=True)
        if process.status() != psutil.STATUS_ZOMBIE
        and process.cmdline()[-2:] == ["gem.agents.isolated_agent", "guarded"]
        and not process.children()
        if Path(f"/proc/{process.pid}/root", runs).is_dir()  # other tests have other folders
    ]
    for kind in ("net", "mnt", "pid"):
        assert os.readlink(f"/proc/{process.pid}/ns/{kind}") != os.readlink(f"/proc/self/ns/{kind}")
    root = Path(f"/proc/{process.pid}/root")
    assert [path.name for path in (root / runs).iterdir()] == ["uploads"]
    assert not (root / "etc" / "shadow").exists()


def test_a_training_begins_with_its_weights(as_ada: Client, ada: User) -> None:
    agent = uploaded(ada, "mine", archive(env_id=ENV_ID, max_tokens=9))
    address = reverse("trainings:train")
    form = as_ada.get(address, {"agent": agent.slug}).content.decode()
    assert "Train mine further" in form
    assert f"agent:{agent.slug}" in form
    more = json.dumps({"model": f"agent:{agent.slug}"})
    as_ada.post(address, {"agent": agent.slug, "env_id": ENV_ID, "updates": "3", "more": more})
    assert Job.objects.get(owner=ada).spec["model"] == f"agent:{agent.slug}"
    assert as_ada.get(address, {"agent": "nobody"}).status_code == 404


def test_deleting_it_deletes_its_weights_and_keeps_its_name_where_it_played(as_ada: Client, ada: User) -> None:
    played, idle = (uploaded(ada, name, archive()) for name in ("played", "idle"))
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
    call_command("upload_checkpoint", str(file), owner="ada", name="by hand", visibility="public")
    agent = Agent.objects.get(owner=ada)
    assert (agent.name, agent.visibility) == ("by hand", "public")
    file.write_bytes(b"nothing")
    with pytest.raises(CommandError, match="neither a zip nor a tar"):
        call_command("upload_checkpoint", str(file), owner="ada")
    with pytest.raises(CommandError, match="nobody called eve"):
        call_command("upload_checkpoint", str(file), owner="eve")
