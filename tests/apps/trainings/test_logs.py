"""The log of a training's process: its end on the page, all of it to download, for its owner."""

from __future__ import annotations

from pathlib import Path

import pytest
from django.test import Client
from pytest_django.fixtures import Settings

from apps.accounts.models import User
from apps.jobs import operations as jobs
from apps.jobs.models import Job
from apps.trainings import operations, records
from apps.trainings.logs import TAIL_BYTES
from tests.apps.trainings.trainings import small


@pytest.fixture
def job(db: None, settings: Settings, tmp_path: Path) -> Job:
    settings.RUNS_DIR = tmp_path
    return operations.submit(User.objects.create_user("ada"), small())


@pytest.fixture
def as_ada(client: Client, job: Job) -> Client:
    assert job.owner is not None
    client.force_login(job.owner)
    return client


def say(job: Job, text: str) -> None:
    place = records.folder_of(job.pk)
    place.mkdir(exist_ok=True)
    with (place / "log.txt").open("a") as file:
        file.write(text)


def test_its_end_is_on_the_page_and_asked_for_while_it_runs(as_ada: Client, job: Job) -> None:
    address = job.get_absolute_url()
    page = as_ada.get(address).content.decode()
    assert "Nothing yet. The log begins when" in page
    assert f'hx-get="{address}log/"' in page
    say(job, "2026-11-21 12:00:00 update 1 <b>\n")
    assert "update 1 &lt;b&gt;" in as_ada.get(address).content.decode()
    answer = as_ada.get(f"{address}log/")
    assert (answer.status_code, "update 1" in answer.content.decode()) == (200, True)


def test_a_page_stops_asking_when_the_training_is_over(as_ada: Client, job: Job) -> None:
    say(job, "the last line\n")
    assert job.owner is not None
    jobs.cancel(job.pk, job.owner)
    answer = as_ada.get(f"{job.get_absolute_url()}log/")
    assert (answer.status_code, "the last line" in answer.content.decode()) == (286, True)
    assert "log/" not in as_ada.get(job.get_absolute_url()).content.decode()


def test_a_long_log_is_shown_from_a_whole_line_and_downloaded_whole(as_ada: Client, job: Job) -> None:
    lines = [f"line {number} é" for number in range(5000)]
    say(job, "\n".join(lines) + "\n")
    shown = as_ada.get(f"{job.get_absolute_url()}log/").content.decode()
    assert "line 4999" in shown
    assert len(shown.encode()) < TAIL_BYTES + 200
    first = shown.partition(">")[2].splitlines()[0]
    assert first in lines
    answer = as_ada.get(f"{job.get_absolute_url()}log.txt")
    with pytest.warns(Warning, match="asynchronous iterators"):  # the test client is no ASGI server
        content = b"".join(iter(answer))  # type: ignore[call-overload]
    assert content.decode() == "\n".join(lines) + "\n"
    assert answer["Content-Type"].startswith("text/plain")


def test_nobody_else_reads_it(client: Client, job: Job) -> None:
    say(job, "/a/path/of/the/machine\n")
    client.force_login(User.objects.create_user("eve"))
    assert "/a/path/of" not in client.get(job.get_absolute_url()).content.decode()
    assert [client.get(f"{job.get_absolute_url()}{end}").status_code for end in ("log/", "log.txt")] == [403, 403]
