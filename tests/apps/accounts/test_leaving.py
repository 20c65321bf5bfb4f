"""What belongs to an account: its export, and what goes and what stays when it is deleted."""

from __future__ import annotations

import io
import json
import zipfile
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest
from django.contrib.auth.models import AnonymousUser
from django.core.management import call_command
from django.test import Client
from django.utils import timezone
from pydantic import SecretStr
from pytest_django import Settings

from apps.accounts import personal_data
from apps.accounts.models import User
from apps.agents import operations as agents
from apps.agents.models import Agent, Endpoint, Upload, Weights
from apps.agents.players import player
from apps.episodes.models import Batch, Episode, Turn
from apps.jobs import leases
from apps.jobs import operations as jobs
from apps.jobs.models import Checkpoint, Job, JobEvent, Point, Shard
from apps.leaderboard.models import Score
from apps.moderation.models import Report
from apps.play import operations as play
from apps.play.shows import operations as shows
from apps.trainings import operations as trainings
from apps.visibility import Visibility
from gem.agents import make_agent
from gem.agents.endpoint import EndpointSpec
from gem.errors import AgentStopped
from gem.evaluation.spec import EvaluationSpec
from gem.rollout import rollout
from gem.training.run_folder import RunFolder
from gem.training.spec import read_spec

pytestmark = pytest.mark.django_db

ENV_ID = "game:GuessTheNumber-v0-easy"
FOR_TWO = "duel:TicTacToe-v0"
PASSWORD = "correct horse battery"
NOBODY = AnonymousUser()


@pytest.fixture
def runs(settings: Settings, tmp_path: Path) -> Path:
    settings.RUNS_DIR = settings.STATE_DIR = tmp_path
    settings.ENDPOINT_KEYS_FILE = tmp_path / "keys"
    return tmp_path


@pytest.fixture
def anna(runs: Path) -> User:
    return User.objects.create_user("anna", password=PASSWORD)


@pytest.fixture
def her_browser(anna: User) -> Client:
    client = Client()
    client.force_login(anna)
    return client


def played(user: User) -> Episode:
    episode = play.begin(ENV_ID, seed=1, visibility="public", user=user, visitor="")
    return play.take_turn(episode.pk, r"\boxed{5}", expected_seq=0, user=user, visitor="")


def played_with(user: User, other: User) -> Episode:
    """A running episode of two people."""
    episode = play.begin_against(FOR_TWO, None, seat=0, user=user, visitor="")
    return play.join(episode.pk, 1, user=other, visitor="")


def evaluated(user: User, agent: str = "random", *, is_ranked: bool = False) -> Job:
    """A finished evaluation, with a row of the leaderboard if it is ranked."""
    job = jobs.submit(user, EvaluationSpec(agent=agent, env_ids=(ENV_ID,), episodes_per_env=2), name="of anna")
    claim = leases.claim()
    assert claim is not None
    assert claim.job_id == job.pk
    leases.record_episodes(claim, list(rollout(make_agent("random"), claim.slots(), num_envs=2)))
    if is_ranked:
        values = {"mean": 0.5, "low": 0.4, "high": 0.6, "mean_return": 1.0, "success_rate": 0.5, "n": 2}
        Score.objects.create(job=job, agent=job.agent, benchmark="games", benchmark_version=1, **values)
    return job


def uploaded(user: User, runs: Path) -> Agent:
    agent = Agent.objects.create(slug="hers", name="hers", kind=Agent.Kind.CHECKPOINT, owner=user, colour=1)
    Weights.objects.create(agent=agent, folder="uploads/hers", uploaded=True, size=4)
    (runs / "uploads" / "hers").mkdir(parents=True)
    (runs / "uploads" / "hers" / "model.safetensors").write_bytes(b"1234")
    return agent


def saved(training: Job, runs: Path) -> None:
    """A checkpoint of a training after its third update, and a log."""
    folder = runs / training.pk / "checkpoints" / "3"
    folder.mkdir(parents=True)
    (folder / "model.safetensors").write_bytes(b"5678")
    (folder / "trainer.safetensors").write_bytes(b"0")
    (runs / training.pk / "log.txt").write_text("a line\n")
    agent = Agent.objects.create(slug="third", name="third", kind="checkpoint", owner=training.owner, colour=1)
    Weights.objects.create(agent=agent, folder=str(folder.relative_to(runs)))
    Checkpoint.objects.create(job=training, update=3, agent=agent)


def archive(user: User) -> dict[str, bytes]:
    with zipfile.ZipFile(io.BytesIO(b"".join(personal_data.archive_of(user)))) as packed:
        assert packed.testzip() is None
        return {name: packed.read(name) for name in packed.namelist()}


def lines(content: bytes) -> list[Any]:
    return [json.loads(line) for line in content.decode().splitlines()]


def left_by(user: User) -> None:
    """Close the account and let the scheduler delete it."""
    personal_data.close(user)
    personal_data.erase_closed()


def test_the_export_has_everything_of_the_person_and_nothing_of_others(anna: User, runs: Path) -> None:
    episode, job = played(anna), evaluated(anna)
    show = shows.start(ENV_ID, Agent.objects.get(slug="random"), user=anna)
    training = trainings.submit(anna, read_spec({"env_id": ENV_ID}))
    Point.objects.create(job=training, update=1, data={"update": 1, "success": 0.5})
    agents.create(anna, "mine", EndpointSpec(url="http://127.0.0.1:1/v1", model="m"), SecretStr("sk-very-secret"))
    uploaded(anna, runs)
    saved(training, runs)
    bert = User.objects.create_user("bert")
    for reporter, key in ((anna, "x"), (bert, "y")):
        Report.objects.create(kind="episode", key=key, reason="no", reporter=reporter)
    played(bert)
    evaluated(bert)
    files = archive(anna)
    exported = lines(files["episodes.jsonl"])
    assert {each["id"] for each in exported} == {episode.pk, show.pk}
    turns = next(each["turns"] for each in exported if each["id"] == episode.pk)
    assert [turn["action"] for turn in turns] == [r"\boxed{5}"]
    assert {each["id"] for each in lines(files["jobs.jsonl"])} == {job.pk, training.pk}
    assert len(lines(files[f"jobs/{job.pk}/episodes.jsonl"])) == 2
    assert lines(files[f"trainings/{training.pk}/metrics.jsonl"]) == [{"update": 1, "success": 0.5}]
    assert json.loads(files[f"trainings/{training.pk}/spec.json"])["env_id"] == ENV_ID
    assert files["uploads/hers/model.safetensors"] == b"1234"
    assert files[f"trainings/{training.pk}/log.txt"] == b"a line\n"
    assert files[f"trainings/{training.pk}/checkpoints/3/model.safetensors"] == b"5678"
    assert [(each["key"], each["reason"]) for each in lines(files["reports.jsonl"])] == [("x", "no")]
    assert json.loads(files["profile.json"])["name"] == "anna"
    everything = b"".join(files.values())
    assert b"sk-very-secret" not in everything
    assert anna.password.encode() not in everything


def test_the_export_shows_no_more_of_a_sealed_episode_than_its_page(anna: User) -> None:
    episode = played_with(anna, User.objects.create_user("bert"))
    exported = lines(archive(anna)["episodes.jsonl"])
    assert exported[0]["id"] == episode.pk
    assert exported[0]["seed"] is None


def test_a_wrong_password_deletes_nothing(anna: User, her_browser: Client) -> None:
    page = her_browser.get("/account/delete/").content.decode().replace("&#x27;", "'")
    for part in personal_data.parts():
        assert all(what[1:] in page for what in (*part.goes, *part.stays))
    refused = her_browser.post("/account/delete/", {"password": "something else"})
    assert refused.status_code == 422
    assert "Nothing was deleted" in refused.content.decode()
    anna.refresh_from_db()
    assert anna.closed is None


def test_too_many_passwords_are_refused_in_a_sentence_that_fits_the_page(
    her_browser: Client, settings: Settings
) -> None:
    settings.PASSWORD_CHANGES_PER_HOUR = 0.5
    refused = her_browser.post("/account/delete/", {"password": PASSWORD})
    assert refused.status_code == 429
    assert "Nothing was changed" in refused.content.decode()
    assert "change your password" not in refused.content.decode()


def test_after_the_confirmation_nobody_can_log_in_and_the_name_is_free(anna: User, her_browser: Client) -> None:
    other = Client()
    other.force_login(anna)
    assert her_browser.post("/account/delete/", {"password": PASSWORD}).status_code == 302
    assert other.get("/account/").status_code == 302
    assert not Client().login(username="anna", password=PASSWORD)
    assert not User.objects.filter(username__iexact="anna").exists()
    personal_data.erase_closed()
    assert not User.objects.filter(pk=anna.pk).exists()


def test_somebody_without_a_password_needs_a_fresh_login(her_browser: Client, anna: User) -> None:
    anna.set_unusable_password()
    anna.save()
    her_browser.force_login(anna)
    User.objects.update(last_login=timezone.now() - timedelta(minutes=16))
    assert her_browser.post("/account/delete/", {"sure": "on"}).status_code == 422
    User.objects.update(last_login=timezone.now())
    assert her_browser.post("/account/delete/", {"sure": "on"}).status_code == 302


def test_everything_that_runs_stops_when_the_account_is_closed(anna: User, runs: Path) -> None:
    spec = EndpointSpec(url="http://127.0.0.1:1/v1", model="m")
    mine = agents.create(anna, "mine", spec, SecretStr("sk-very-secret"), visibility="public")
    bert = User.objects.create_user("bert")
    assert mine in Agent.objects.selectable_by(bert)
    alone, against = played(anna), play.begin_against(FOR_TWO, Agent.objects.get(slug="random"), user=anna, visitor="")
    shared, show = played_with(anna, bert), shows.start(ENV_ID, Agent.objects.get(slug="random"), user=anna)
    of_bert = shows.start(ENV_ID, Agent.objects.get(slug="random"), user=bert)
    Upload.objects.create(slug="waiting", owner=anna)
    personal_data.close(anna)
    assert set(Episode.objects.running()) == {of_bert}
    assert set(Episode.objects.filter(status="abandoned")) == {alone, against, shared, show}
    assert mine not in Agent.objects.selectable_by(bert)
    assert not Endpoint.objects.exists()
    assert not Upload.objects.exists()
    with pytest.raises(AgentStopped, match="was deleted by its owner"):
        player(mine)


def test_an_account_that_cannot_be_deleted_keeps_no_other_waiting(
    anna: User, runs: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    training = trainings.submit(anna, read_spec({"env_id": ENV_ID}))
    (runs / training.pk).mkdir()
    personal_data.close(anna)
    personal_data.close(User.objects.create_user("bert"))
    closed = User.objects.latest("closed").closed
    assert closed is not None

    def refuse(_: Path) -> None:
        raise PermissionError("not yours")

    with monkeypatch.context() as patch:
        patch.setattr("shutil.rmtree", refuse)
        personal_data.erase_closed()
    assert list(User.objects.exclude(closed=None)) == [anna]
    assert User.objects.filter(pk=anna.pk, closed__gt=closed).exists()  # the others come first from now on
    personal_data.erase_closed()
    assert not User.objects.exclude(closed=None).exists()


def test_private_data_goes_with_its_files(anna: User, runs: Path) -> None:
    played(anna)
    shows.start(ENV_ID, Agent.objects.get(slug="random"), user=anna)
    evaluated(anna)
    uploaded(anna, runs)
    Upload.objects.create(slug="waiting", owner=anna)
    (runs / "uploads" / ".waiting.sent").write_bytes(b"0")
    agents.create(anna, "mine", EndpointSpec(url="http://127.0.0.1:1/v1", model="m"))
    training = trainings.submit(anna, read_spec({"env_id": ENV_ID}))
    (runs / training.pk / "checkpoints").mkdir(parents=True)
    Report.objects.create(kind="episode", key="x", reason="no", reporter=anna)
    left_by(anna)
    for model in (Episode, Turn, Job, Shard, JobEvent, Upload, Weights, Score):
        assert not model.objects.exists(), model
    assert not Batch.objects.filter(kind=Batch.Kind.JOB).exists()
    assert not Agent.objects.exclude(owner=None).exists()
    assert [path.name for path in runs.rglob("*") if path.is_file() and path.name != "keys"] == []
    assert Report.objects.get().reporter is None


def test_what_was_shared_with_others_stays_without_the_name(anna: User) -> None:
    bert = User.objects.create_user("bert")
    episode = played_with(anna, bert)
    branch = play.fork(played(anna), 1, user=bert, visitor="")
    left_by(anna)
    episode.refresh_from_db()
    assert episode.status == Episode.Status.ABANDONED
    seats = list(episode.seats.order_by("number"))
    assert [seat.user for seat in seats] == [None, bert]
    assert not any(seat.is_free for seat in seats)
    page = Client().get(episode.get_absolute_url()).content.decode()
    assert "anna" not in page
    branch.refresh_from_db()
    assert (branch.parent, branch.turns.count()) == (None, 1)


def test_ranked_rows_stay_without_a_name_and_prune_never_takes_what_they_rest_on(anna: User) -> None:
    mine = agents.create(anna, "agent of anna", EndpointSpec(url="http://127.0.0.1:1/v1", model="m"))
    job = evaluated(anna, mine.slug, is_ranked=True)
    resting = set(Episode.objects.filter(batch__job=job).values_list("pk", flat=True))
    evaluated(anna)
    Job.objects.filter(pk=job.pk).update(state=Job.State.DONE)
    left_by(anna)
    Episode.objects.update(created=timezone.now() - timedelta(days=4000))
    call_command("prune", "--days", "1", stdout=io.StringIO())
    assert set(Episode.objects.values_list("pk", flat=True)) == resting
    assert Turn.objects.filter(episode__in=resting).exists()
    score = Score.objects.select_related("job__owner", "agent").get()
    assert score.job == job
    assert (score.job.name, score.job.owner, score.agent.name) == ("", personal_data.tombstone(), "deleted agent")
    visitor = Client()
    for address in (job.get_absolute_url(), f"/jobs/{job.pk}/spec.json", f"/leaderboard/row/{score.pk}/"):
        answer = visitor.get(address)
        assert answer.status_code == 200, address
        assert "anna" not in answer.content.decode(), address


def test_the_set_up_of_somebody_elses_private_agent_is_neither_exported_nor_kept(anna: User) -> None:
    bert = User.objects.create_user("bert")
    spec = EndpointSpec(url="http://127.0.0.1:1/v1", model="m", system="a secret prompt")
    agent = agents.create(bert, "of bert", spec, visibility="public")
    for_two = EvaluationSpec(agent="random", opponent=agent.slug, env_ids=(FOR_TWO,), episodes_per_env=1)
    against = jobs.submit(anna, for_two)
    job = jobs.submit(anna, EvaluationSpec(agent=agent.slug, env_ids=(ENV_ID,), episodes_per_env=1))
    show = shows.start(ENV_ID, agent, user=anna)
    assert "a secret prompt" in archive(anna)["jobs.jsonl"].decode()
    agents.set_visibility(agent, Visibility.PRIVATE)
    assert "a secret prompt" not in archive(anna)["jobs.jsonl"].decode()
    assert "a secret prompt" in archive(bert)["agents.jsonl"].decode()
    left_by(bert)
    agent.refresh_from_db()
    assert agent.name == "deleted agent"
    assert list(Job.objects.exclude(set_up=None)) == []
    assert show.seats.get().set_up is None
    for row in (job, against):
        row.refresh_from_db()
        page = Client().get(row.get_absolute_url()).content.decode()
        assert "of-bert" not in page + row.title + json.dumps(row.spec), row.title
    assert against.spec["opponent"] == agent.slug


def test_a_training_whose_process_still_writes_is_deleted_when_it_has_ended(anna: User, runs: Path) -> None:
    training = trainings.submit(anna, read_spec({"env_id": ENV_ID}))
    folder = runs / training.pk
    folder.mkdir()
    personal_data.close(anna)
    training.refresh_from_db()
    assert training.state == Job.State.CANCELLED
    with RunFolder(folder).lock():
        personal_data.erase_closed()
        assert folder.is_dir()
        assert User.objects.filter(pk=anna.pk).exists()
    personal_data.erase_closed()
    assert not folder.exists()
    assert not User.objects.filter(pk=anna.pk).exists()


def test_a_large_account_is_deleted_in_steps(anna: User, monkeypatch: pytest.MonkeyPatch) -> None:
    for _ in range(3):
        played(anna)
    monkeypatch.setattr("apps.play.personal_data.CHUNK", 1)
    monkeypatch.setattr(personal_data, "ERASE_SECONDS", -1.0)  # no time beyond the first step of each call
    personal_data.close(anna)
    calls = 0
    while User.objects.filter(pk=anna.pk).exists() and calls < 50:
        personal_data.erase_closed()
        calls += 1
    assert calls >= 3
    assert not User.objects.filter(pk=anna.pk).exists()
