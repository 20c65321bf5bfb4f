"""Downloads of what is deleted or hidden meanwhile break off, so that a part is not taken for the whole."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any, cast

import pytest
from django.http import StreamingHttpResponse
from django.test import Client

from apps import downloads
from apps.accounts import personal_data
from apps.accounts.models import User
from apps.api.routers import episodes as episode_router
from apps.episodes import branches, operations
from apps.episodes.models import Episode
from apps.episodes.operations import Occupant
from apps.episodes.replays import downloads as records
from apps.episodes.restore import restore
from apps.jobs import operations as jobs
from apps.jobs.changes import change
from apps.jobs.controls import logs
from apps.jobs.models import Job, JobEvent
from gem.evaluation.spec import EvaluationSpec
from tests.apps.agents import built_in

pytestmark = pytest.mark.django_db
EASY = "game:GuessTheNumber-v0-easy"


@pytest.fixture(autouse=True)
def _small_pieces(monkeypatch: pytest.MonkeyPatch) -> None:
    """Each line is a piece, which is read when the test takes it."""
    monkeypatch.setattr(downloads, "_send", lambda pieces, _share: pieces)
    for module, name in (
        (downloads, "LINES_AT_A_TIME"),
        (episode_router, "TURNS_AT_A_TIME"),
        (records, "CHUNK"),
        (logs, "LINES_AT_A_TIME"),
    ):
        monkeypatch.setattr(module, name, 1)


def breaks_off(address: str, client: Client, meanwhile: Callable[[], Any]) -> bool:
    """Whether a download breaks off if something happens after its first piece."""
    response = client.get(address)
    assert response.status_code == 200, response
    pieces = cast("Iterator[bytes]", cast("StreamingHttpResponse", response).streaming_content)
    assert next(pieces)
    meanwhile()
    try:
        list(pieces)
    except downloads.CutShort:
        return True
    return False


def played(parent: Episode | None = None) -> Episode:
    """An episode that was solved with its second guess, or a branch of one."""
    seats = [Occupant(built_in("random"))]
    if parent is None:
        episode = operations.begin(EASY, seed=3, seats=seats)
    else:
        episode = branches.store_branch(branches.draft_fork(parent, 0), seats=seats)
    env = restore(episode)
    for guess in (4, 3):
        operations.record_turn(episode, env, f"\\boxed{{{guess}}}")
    return episode


@pytest.mark.parametrize("file", ["turns", "record"])
def test_an_episode(file: str, client: Client) -> None:
    episode = played()
    address = f"/api/v1/episodes/{episode.pk}/{file}.jsonl"
    assert not breaks_off(address, client, lambda: None)
    assert breaks_off(address, client, lambda: Episode.objects.filter(pk=episode.pk).update(visibility="private"))
    Episode.objects.filter(pk=episode.pk).update(visibility="public")
    assert breaks_off(address, client, Episode.objects.filter(pk=episode.pk).delete)


def test_the_branches_of_a_tree(client: Client) -> None:
    episode = played()
    branch = played(episode)
    address = f"/episodes/{episode.pk}/forks/export/?as=episodes"
    assert not breaks_off(address, client, lambda: None)
    assert breaks_off(address, client, Episode.objects.filter(pk=max(episode.pk, branch.pk)).delete)


def test_the_log_of_a_job(client: Client) -> None:
    spec = EvaluationSpec(agent=built_in("random").slug, env_ids=(EASY,), episodes_per_env=1)
    job = jobs.submit(User.objects.create_user("ada"), spec)
    for text in ("it began", "it waits"):
        change(job.pk, JobEvent.Kind.REQUEUED, text)
    address = f"/api/v1/jobs/{job.pk}/log.txt"
    assert not breaks_off(address, client, lambda: None)
    assert breaks_off(address, client, Job.objects.filter(pk=job.pk).delete)


def test_the_archive_of_an_account(client: Client) -> None:
    ada = User.objects.create_user("ada")
    client.force_login(ada)
    assert not breaks_off("/account/export/", client, lambda: None)
    assert breaks_off("/account/export/", client, lambda: personal_data.close(ada))
