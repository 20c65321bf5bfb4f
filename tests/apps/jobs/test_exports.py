"""Tables of an evaluation as files: every row and value, for whom they may be, in constant memory."""

import csv
import io
import json
from pathlib import Path
from typing import Any

import pytest
from django.contrib.auth.models import AnonymousUser
from django.test import Client, RequestFactory
from pyarrow import parquet

from apps import downloads
from apps.accounts.models import User
from apps.episodes.models import Batch, Episode, Turn
from apps.jobs.controls import operations as controls
from apps.jobs.exports import reading, responses
from apps.jobs.exports.offers import offers
from apps.jobs.exports.tables import TABLES, Format, TableName
from apps.jobs.exports.writing import streamed
from apps.jobs.models import Job
from gem.agents.agent import Decision
from tests.apps.jobs.test_honest_results import EASY, HARD, MATH, play, submit
from tests.docs.blocks import blocks
from tests.html import whole_of


class Talker:
    """An agent whose answers have everything in them that a file might confuse."""

    name = "talker"

    def act(self, requests: Any) -> list[Decision]:
        extra = {"tokens_in": 12, "tokens_out": 3, "seconds": 0.25, "note": 'so "5",\nperhaps'}
        return [Decision('"a", =1+1\n\\boxed{5}\tü', extra=extra) for _ in requests]


@pytest.fixture
def played(ada: User) -> Job:
    return play(submit(ada, EASY, HARD, episodes_per_env=3), agent=Talker())


def file_of(job: Job, table: TableName, form: Format, viewer: Any = None) -> bytes:
    return b"".join(streamed(job, table, form, viewer or AnonymousUser()))


def test_all_formats_have_the_same_rows(played: Job, tmp_path: Path) -> None:
    turns = list(Turn.objects.filter(episode__batch=played.batch_id).order_by("episode__slot", "number"))
    path = tmp_path / "turns.parquet"
    path.write_bytes(file_of(played, "turns", "parquet"))
    table = parquet.read_table(path)
    rows = table.to_pylist()
    assert [row["action"] for row in rows] == [turn.action for turn in turns]
    assert [row["observation"] for row in rows] == [turn.observation for turn in turns]
    assert [row["reward"] for row in rows] == [turn.reward for turn in turns]
    assert [json.loads(row["info"]) for row in rows] == [turn.info for turn in turns]
    assert {(row["tokens_in"], row["tokens_out"], row["seconds"]) for row in rows} == {(12, 3, 0.25)}
    assert rows[0]["note"] == 'so "5",\nperhaps'

    lines = [json.loads(line) for line in file_of(played, "turns", "jsonl").splitlines()]
    assert lines == [{**row, "info": json.loads(row["info"])} for row in rows]
    by_name = list(csv.DictReader(io.StringIO(file_of(played, "turns", "csv").decode())))
    assert [row["action"] for row in by_name] == [turn.action for turn in turns]


def test_pandas_reads_episodes_and_scores(played: Job, tmp_path: Path) -> None:
    import pandas as pd  # by the one process that runs this test

    path = tmp_path / "episodes.parquet"
    path.write_bytes(file_of(played, "episodes", "parquet"))
    frame = pd.read_parquet(path)
    stored = list(Episode.objects.filter(batch=played.batch_id).order_by("slot"))
    assert list(frame["episode"]) == [episode.pk for episode in stored]
    assert list(frame["success"]) == [episode.success for episode in stored]
    assert list(frame["turns"]) == [episode.turn_count for episode in stored]
    assert list(frame["tokens_in"]) == [12 * episode.turn_count for episode in stored]
    assert set(frame["answer_seconds"]) == {0.25}
    scores = pd.read_csv(io.BytesIO(file_of(played, "scores", "csv")))
    assert len(scores) == 6
    assert scores["counted"].sum() == 6
    means = frame.groupby(["env_id", "seed"])["return"].mean()
    assert scores.set_index(["env_id", "seed"])["mean_return"].to_dict() == pytest.approx(means.to_dict())


def test_datasets_reads_every_table(played: Job, tmp_path: Path) -> None:
    datasets = pytest.importorskip("datasets")
    for table, number in (("episodes", 6), ("turns", played.turns_done), ("scores", 6)):
        for form in ("parquet", "csv"):
            path = tmp_path / f"{table}.{form}"
            path.write_bytes(file_of(played, table, form))  # type: ignore[arg-type]
            found = datasets.load_dataset(form, data_files=str(path), cache_dir=str(tmp_path / "cache"), split="train")
            assert (found.num_rows, found.column_names) == (number, [column.name for column in TABLES[table]])  # type: ignore[index]


def test_a_parquet_file_says_what_it_is(ada: User, tmp_path: Path) -> None:
    job = play(submit(ada, MATH, episodes_per_env=4), most=2)
    path = tmp_path / "x.parquet"
    path.write_bytes(file_of(job, "episodes", "parquet", ada))
    schema = parquet.read_schema(path)
    assert schema.field("return").metadata == {b"description": b"The sum of the agent's rewards."}
    about = json.loads(schema.metadata[b"gemweb"])
    (data,) = about["data"]
    of_money = ("money_budget", "max_episode_money")  # they tell of an agent's prices
    known = {name: value for name, value in job.spec.items() if name not in of_money}
    assert (about["job"], about["spec"], about["partial"]) == (job.pk, known, True)
    assert data["hash"] == Episode.objects.filter(batch=job.batch_id).first().data_hash  # type: ignore[union-attr]
    assert data["stands_in_for"]
    assert all(column.description.endswith(".") for columns in TABLES.values() for column in columns)


def test_the_document_says_how_to_read_a_file(played: Job, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("datasets")
    monkeypatch.chdir(tmp_path)
    (block,) = [found for found in blocks("python") if found.page == "docs/evaluations.md"]
    (tmp_path / f"job-{played.pk}-turns.parquet").write_bytes(file_of(played, "turns", "parquet"))
    names: dict[str, Any] = {}
    exec(compile(block.text.replace("job-ID", f"job-{played.pk}"), block.name, "exec"), names)
    assert (names["turns"].num_rows, names["about"]["job"]) == (played.turns_done, played.pk)


def test_a_long_table_is_read_in_parts(played: Job, monkeypatch: pytest.MonkeyPatch) -> None:
    whole = file_of(played, "turns", "jsonl")
    monkeypatch.setattr(reading, "FIRST_PART", 2)
    monkeypatch.setattr(reading, "LARGEST_PART", 3)
    pieces = list(reading.parts(played, "turns", AnonymousUser()))
    assert len(pieces) > 3
    assert file_of(played, "turns", "jsonl") == whole
    assert len(parquet.read_table(io.BytesIO(file_of(played, "turns", "parquet")))) == played.turns_done


def test_hidden_episodes_are_exported_for_their_owner_only(played: Job, ada: User) -> None:
    hidden = Episode.objects.filter(batch=played.batch_id).order_by("slot")[1]
    Episode.objects.filter(pk=hidden.pk).update(hidden_reason="It shows a secret.")
    for table in ("episodes", "turns"):
        for form in ("csv", "jsonl"):
            assert hidden.pk.encode() not in file_of(played, table, form)  # type: ignore[arg-type]
            assert hidden.pk.encode() in file_of(played, table, form, ada)  # type: ignore[arg-type]


@pytest.mark.django_db(transaction=True)  # rows are read in threads of their own
def test_downloads_say_that_they_are_partial(ada: User, client: Client) -> None:
    job = play(submit(ada, EASY, episodes_per_env=4), most=2)
    for address in (f"{job.get_absolute_url()}export/turns.csv", f"/api/v1/jobs/{job.pk}/export/turns.csv"):
        response = client.get(address)
        assert response["Content-Disposition"] == f'attachment; filename="job-{job.pk}-turns-partial.csv"'
        heading, *turns = whole_of(response).splitlines()
        assert heading.startswith(b"episode,slot,env_id")
        assert turns
    assert client.get(f"{job.get_absolute_url()}export/people.csv").status_code == 404
    assert client.get(f"/api/v1/jobs/{job.pk}/export/turns.xlsx").status_code == 422


@pytest.mark.django_db(transaction=True)  # rows are read in threads of their own
def test_a_private_job_is_exported_for_its_owner_only(ada: User, client: Client) -> None:
    job = play(submit(ada, EASY, episodes_per_env=1))
    job.batch.visibility = "private"
    job.batch.save()
    address = f"{job.get_absolute_url()}export/turns.parquet"
    assert client.get(address).status_code == 404
    client.force_login(ada)
    assert parquet.read_table(io.BytesIO(whole_of(client.get(address)))).num_rows


@pytest.mark.parametrize("form", ["csv", "jsonl", "parquet"])
def test_a_download_breaks_off_if_its_job_becomes_private_meanwhile(
    played: Job, form: Format, monkeypatch: pytest.MonkeyPatch, rf: RequestFactory
) -> None:
    monkeypatch.setattr(reading, "FIRST_PART", 2)
    monkeypatch.setattr(reading, "LARGEST_PART", 3)
    monkeypatch.setattr(downloads, "download", lambda _, pieces, *__: pieces)
    request = rf.get("/")
    request.user = AnonymousUser()
    pieces = responses.download(request, played, "turns", form)
    assert next(iter(pieces))
    Batch.objects.filter(pk=played.batch_id).update(visibility="private")
    with pytest.raises(downloads.CutShort):
        list(pieces)


def test_a_job_without_episodes_has_empty_tables(ada: User) -> None:
    job = submit(ada, EASY, episodes_per_env=1)
    assert file_of(job, "turns", "jsonl") == b""
    assert parquet.read_table(io.BytesIO(file_of(job, "scores", "parquet"))).num_rows == 0


def test_the_page_offers_as_many_rows_as_a_file_has(ada: User) -> None:
    job = play(submit(ada, HARD, episodes_per_env=12), broken=12, by="agent")
    assert job.state == Job.State.FAILED
    play(controls.retry_failed(job.pk, ada), broken=3)
    job = Job.objects.get(pk=job.pk)
    assert Episode.objects.filter(batch=job.batch_id, slot=None).count() == 12
    for offer in offers(job):
        rows = file_of(job, offer.table, "jsonl").splitlines()
        assert offer.rows == len(rows) > 0, offer.table
