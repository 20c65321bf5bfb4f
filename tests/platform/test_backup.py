"""`make backup` and `make restore`: what is brought back is what was there, and goes on."""

import json
import os
import subprocess
import sys
import tarfile
import threading
from collections.abc import Iterator
from contextlib import AbstractContextManager
from dataclasses import replace
from pathlib import Path

import psycopg
import pytest

from gem.verification.keys import SiteKeys
from gemweb.local.backup import add
from gemweb.local.config import StackConfig
from gemweb.local.servers.reach import database
from tests.platform.conftest import TURNS, BroughtBack, backup
from tests.services import ROOT, Stack, forget_state, running_stack


@pytest.fixture
def new_state(tmp_path: Path) -> Iterator[Path]:
    yield tmp_path / "new state"
    forget_state(tmp_path / "new state")


def sentence(done: subprocess.CompletedProcess[str]) -> str:
    assert done.returncode == 1, done.stdout
    (line,) = done.stderr.splitlines()
    return line


def test_a_running_site_is_brought_back_somewhere_else(stack: Stack, brought_back: BroughtBack) -> None:
    state = brought_back.state
    assert brought_back.file.stat().st_mode & 0o777 == 0o600  # it holds secrets
    assert (state / "endpoint_keys").read_text() == brought_back.endpoint_keys
    assert (state / "secret_key").read_text() == (stack.state_dir / "secret_key").read_text()
    assert (state / "runs" / brought_back.weights).read_bytes() == b"weights"
    assert not (state / "runs" / "half.new").exists()
    with database_of(state) as url, psycopg.connect(url) as connection:
        assert connection.execute("SELECT word FROM kept").fetchone() == ("still here",)
        assert brought_back.rows <= set(connection.execute(TURNS))  # workers may have played on before the backup
        sealed = dict(connection.execute("SELECT key_id, sealed_key FROM leaderboard_sitekey").fetchall())
    published = SiteKeys.read(brought_back.site_keys).keys
    assert sealed.keys() == {key.id for key in published}
    assert sealed[published[0].id]
    assert brought_back.rows


UNDERWAY = """
INSERT INTO episodes_batch (id, kind, seq, created) VALUES ('batchtopause', 'job', 0, now()) ON CONFLICT DO NOTHING;
INSERT INTO jobs_job (id, kind, name, spec, agent_id, batch_id, state, reason, idempotency_key, seq, episodes_total,
                      episodes_done, turns_done, seconds_busy, seconds_agent, seconds_storing, latest, created,
                      parent_update)
SELECT 'jobtopause00', 'evaluation', 'a job that was under way',
       '{"agent": "random", "env_ids": ["game:GuessTheNumber-v0-easy"], "episodes_per_env": 5}', id, 'batchtopause',
       'queued', '', '', 0, 5, 0, 0, 0, 0, 0, '{}', now(), 0
FROM agents_agent WHERE slug = 'random' ON CONFLICT DO NOTHING;
INSERT INTO jobs_shard (job_id, number, env_id, first_slot, first_seed, count, done, won, limited, errors, turns,
                        return_sum, return_squares, seconds, state, reason, attempt)
SELECT 'jobtopause00', 1, 'game:GuessTheNumber-v0-easy', 0, 0, 5, 0, 0, 0, 0, 0, 0, 0, 0, 'queued', '', 0
WHERE NOT EXISTS (SELECT FROM jobs_shard WHERE job_id = 'jobtopause00');
UPDATE jobs_job SET state = 'running', ended = NULL;
UPDATE jobs_shard SET state = 'running', lease_token = gen_random_uuid(), lease_until = now() + interval '1 hour';
INSERT INTO accounts_user (password, is_superuser, username, first_name, last_name, email, is_staff, is_active,
                           date_joined, default_visibility, agent_visibility, is_named)
VALUES ('', false, 'owner-of-work', '', '', '', false, true, now(), 'public', 'public', true);
INSERT INTO studies_study (id, owner_id, title, plan_data, visibility, state, reason, hidden_reason, keeps_policies,
                           reuses_results, idempotency_key, seq, total, done, reused, cpu_seconds, created)
SELECT 'studytopause', id, 'a study that was under way', '{}', 'private', 'running', '', '', false, true, '', 0, 1,
       0, 0, 0, now() FROM accounts_user WHERE username = 'owner-of-work';
INSERT INTO studies_studyrun (id, study_id, number, environment, variant, seed, state, sentence, is_reused, cpu_seconds,
                              update, updates, curve, lease_token, lease_until, attempt)
VALUES ('runtopause00', 'studytopause', 0, 'game', 'rebn', 0, 'waiting', '', false, 0, 3, 9, '[]', gen_random_uuid(),
        now() + interval '1 hour', 1);
INSERT INTO webhooks_webhook (owner_id, url, events, sealed_secret, failures, why_disabled, created)
SELECT id, 'https://example.com/hook', '{job.done}', '', 0, '', now() FROM accounts_user
WHERE username = 'owner-of-work';
"""
PAUSED = """
SELECT (SELECT count(*) FROM jobs_job)
       + (SELECT count(*) FROM play_show JOIN episodes_episode ON id = episode_id
          WHERE status = 'running' AND NOT paused)
       + (SELECT count(*) FROM studies_study WHERE state = 'running')
       + (SELECT count(*) FROM webhooks_webhook WHERE disabled IS NULL)
"""


def database_of(state: Path) -> AbstractContextManager[str]:
    """The address of the embedded database of a state folder, running while the block lasts."""
    return database(replace(StackConfig.from_env(), state_dir=state, database_url=""))


def test_the_work_of_a_restored_site_is_paused(prepared: Path, tmp_path: Path, new_state: Path) -> None:
    with database_of(prepared) as url, psycopg.connect(url) as connection:
        connection.execute(UNDERWAY)
        paused = connection.execute(PAUSED).fetchone()
        assert paused is not None
        assert paused[0] > 0
    try:
        assert backup("write", prepared, tmp_path / "b.tar").returncode == 0
    finally:
        with database_of(prepared) as url, psycopg.connect(url) as connection:
            connection.execute("UPDATE jobs_shard SET state = 'cancelled'; UPDATE jobs_job SET state = 'cancelled'")
            connection.execute("DELETE FROM studies_studyrun; DELETE FROM studies_study; DELETE FROM webhooks_webhook")
            connection.execute("DELETE FROM accounts_user WHERE username = 'owner-of-work'")
    done = backup("restore", new_state, tmp_path / "b.tar")
    assert done.returncode == 0, done.stderr
    assert f"webhooks are paused ({paused[0]})" in done.stdout
    with database_of(new_state) as url, psycopg.connect(url) as connection:
        assert connection.execute("SELECT DISTINCT state FROM jobs_job").fetchall() == [("paused",)]
        assert connection.execute("SELECT DISTINCT state, lease_until FROM jobs_shard").fetchall() == [("paused", None)]
        last = "SELECT DISTINCT text FROM jobs_jobevent e JOIN jobs_job j ON j.id = e.job_id AND j.seq = e.seq"
        assert connection.execute(last).fetchall() == [("paused: the site was restored from a backup",)]
        assert connection.execute("SELECT DISTINCT state FROM studies_study").fetchall() == [("paused",)]
        run = connection.execute("SELECT update, lease_until, attempt FROM studies_studyrun").fetchone()
        assert run == (3, None, 0)
        (off,) = connection.execute("SELECT why_disabled FROM webhooks_webhook WHERE disabled IS NOT NULL").fetchall()
        assert "Turn the webhook on if the earlier site no longer sends" in off[0]


@pytest.mark.long
def test_a_site_that_does_not_run_is_backed_up_too_and_starts_somewhere_else(
    prepared: Path, tmp_path: Path, new_state: Path
) -> None:
    assert backup("write", prepared, tmp_path / "b.tar").returncode == 0
    with tarfile.open(tmp_path / "b.tar") as tar:
        about = json.load(tar.extractfile("backup.json"))  # type: ignore[arg-type]
        assert {"backup.json", "database.dump", "secret_key"} <= set(tar.getnames())
    assert set(about) == {"gemweb", "made"}
    assert backup("restore", new_state, tmp_path / "b.tar").returncode == 0
    assert sorted(path.name for path in new_state.iterdir() if path.name.startswith(".")) == []
    with running_stack({"STATE_DIR": str(new_state)}) as second:
        assert second.get("/")[0] == 200


def test_it_overwrites_nothing(prepared: Path, tmp_path: Path) -> None:
    (tmp_path / "b.tar").write_text("something else")
    assert "exists already" in sentence(backup("write", prepared, tmp_path / "b.tar"))
    (tmp_path / "b.tar").unlink()
    assert backup("write", prepared, tmp_path / "b.tar").returncode == 0
    assert "exists already: choose a new folder" in sentence(backup("restore", prepared, tmp_path / "b.tar"))


def test_what_is_no_backup_is_refused_and_leaves_nothing(tmp_path: Path, new_state: Path) -> None:
    (tmp_path / "words.tar").write_text("words")
    assert "is not a whole tar file" in sentence(backup("restore", new_state, tmp_path / "words.tar"))
    with tarfile.open(tmp_path / "other.tar", "w") as tar:
        tar.add(tmp_path / "words.tar", "words")
    assert "it has no backup.json" in sentence(backup("restore", new_state, tmp_path / "other.tar"))
    assert "FILE=" in sentence(backup("restore", new_state, ""))
    assert "There is no database" in sentence(backup("write", new_state, tmp_path / "b.tar"))
    assert not new_state.exists()
    assert {path.name for path in tmp_path.iterdir()} == {"words.tar", "other.tar"}


@pytest.mark.parametrize("running", [pytest.param(True, marks=pytest.mark.long), False])
def test_commands_of_django_find_the_database_of_a_stack(stack: Stack, prepared: Path, running: bool) -> None:
    state = stack.state_dir if running else prepared
    who = f"boss{running}"
    own = {"STATE_DIR": str(state), "DATABASE_URL": "", "VALKEY_URL": "", "SECRET_KEY": "", "LOCAL_MODE": ""}
    command = [sys.executable, "-m", "gemweb.local.manage", "createsuperuser", "--noinput", "--username", who]
    env = {**os.environ, **own, "DJANGO_SUPERUSER_PASSWORD": "correct horse"}
    done = subprocess.run([*command, "--email", ""], cwd=ROOT, env=env, capture_output=True, text=True, check=False)
    assert "Superuser created successfully" in done.stdout, done.stderr
    with database_of(state) as url, psycopg.connect(url) as connection:
        found = connection.execute("SELECT is_superuser FROM accounts_user WHERE username = %s", [who]).fetchall()
    assert found == [(True,)]


def test_a_command_without_a_database_says_so(new_state: Path) -> None:
    command = [sys.executable, "-m", "gemweb.local.manage", "check"]
    env = {**os.environ, "STATE_DIR": str(new_state), "DATABASE_URL": ""}
    done = subprocess.run(command, cwd=ROOT, env=env, capture_output=True, text=True, check=False)
    assert "There is no database" in sentence(done)


def test_files_that_are_replaced_meanwhile_are_in_the_backup(tmp_path: Path) -> None:
    """Every file is written and renamed again and again, as trainings do with their checkpoints and curves."""
    runs, file, over = tmp_path / "runs", tmp_path / "packed.tar", threading.Event()
    runs.mkdir()
    places = [runs / f"{number}.safetensors" for number in range(200)]

    def replace_all() -> None:
        for place in places:
            draft = place.with_name(f"{place.name}.new")
            draft.write_bytes(b"weights")
            draft.replace(place)

    def keep_replacing() -> None:
        while not over.is_set():
            replace_all()

    replace_all()
    trainer = threading.Thread(target=keep_replacing)
    trainer.start()
    try:
        for _ in range(20):
            with tarfile.open(file, "w") as tar:
                add(tar, runs, "runs")
            with tarfile.open(file) as tar:
                sizes = {entry.name: entry.size for entry in tar if entry.isfile()}
            assert sizes == {f"runs/{place.name}": len(b"weights") for place in places}
    finally:
        over.set()
        trainer.join()
