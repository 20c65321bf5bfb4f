"""All permanent data in one file: `make backup FILE=...` writes it, and `make restore FILE=...` restores it.

The file is a tar archive with `backup.json` (version and time), `database.dump` (the output of `pg_dump`),
`secret_key`, `endpoint_keys`, and `runs/` (checkpoints, curves, uploads). Valkey contains no permanent data. The
database is dumped first, so the folder contains every file that a row refers to.
"""

from __future__ import annotations

import argparse
import json
import os
import shutil
import subprocess
import sys
import tarfile
import tempfile
import time
from contextlib import suppress
from pathlib import Path

from psycopg.conninfo import conninfo_to_dict

from gem import __version__
from gemweb.local.config import StackConfig
from gemweb.local.errors import StackError, explain
from gemweb.local.servers.postgres import find_binaries, home_of
from gemweb.local.servers.reach import database
from gemweb.local.state import StateFolder, make_folder

MANIFEST, DUMP = "backup.json", "database.dump"


def write(config: StackConfig, target: Path) -> None:
    """Write a backup to `target`. The stack of the state folder may be running.

    Raises:
        StackError: if it cannot be written; then no file is left.
    """
    if target.exists():
        raise StackError(f"{target} exists already: choose another file, for example FILE=/srv/gemweb-monday.tar.")
    if not config.database_url and not (home_of(config.state_dir) / "data").exists():
        raise StackError(f"There is no database in {config.state_dir} to back up: set STATE_DIR=... to its folder.")
    manifest = {"gemweb": __version__, "made": time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime())}
    draft = target.with_name(f".{target.name}.new")
    draft.touch(0o600)  # it holds the secret key and password hashes
    try:
        with tempfile.TemporaryDirectory(prefix=".backup-", dir=target.parent) as folder:
            dump = Path(folder) / DUMP
            with database(config) as url:
                _run(url, "pg_dump", "--format=custom", "--no-owner", f"--file={dump}")
            (Path(folder) / MANIFEST).write_text(json.dumps(manifest) + "\n")
            with tarfile.open(draft, "w") as tar:
                for path in (Path(folder) / MANIFEST, dump):
                    tar.add(path, path.name)
                for name, path in _files(config).items():
                    if path.exists():
                        add(tar, path, name)
        draft.replace(target)
    finally:
        draft.unlink(missing_ok=True)


def restore(config: StackConfig, source: Path) -> int:
    """Create a state folder from a backup, with its unfinished work paused. Returns the number of what was paused.

    The next `make up` migrates its database.

    Raises:
        StackError: if the file is not a backup, or if the state folder is in use.
    """
    try:
        with tarfile.open(source) as tar:
            if not {MANIFEST, DUMP} <= set(tar.getnames()):
                raise StackError(f"{source} is not a backup of gemweb: it has no {MANIFEST} and {DUMP}.")
    except tarfile.TarError as error:
        raise StackError(f"{source} is not a backup of gemweb: it is not a whole tar file.") from error
    existing_paths = [path for path in (home_of(config.state_dir) / "data", *_files(config).values()) if path.exists()]
    if existing_paths:
        raise StackError(f"{existing_paths[0]} exists already: choose a new folder with STATE_DIR=... or `make reset`.")
    state = StateFolder(config.state_dir)
    state.open()
    try:
        with tempfile.TemporaryDirectory(prefix=".restore-", dir=config.state_dir) as folder:
            with tarfile.open(source) as tar:
                tar.extraction_filter = getattr(
                    tarfile, "data_filter", None
                )  # new in Python 3.11.4; Debian 12 has 3.11.2
                tar.extractall(folder)  # noqa: S202
            with database(config) as url:
                options = ["--no-owner", "--exit-on-error", "--single-transaction"]
                _run(url, "pg_restore", *options, f"--dbname={_name(url)}", str(Path(folder) / DUMP))
                paused = _pause_work(url)
            for name, place in _files(config).items():
                if (Path(folder) / name).exists():
                    make_folder(place.parent)
                    shutil.move(Path(folder) / name, place)
        return paused
    finally:
        state.close()


_PAUSE_JOBS = """
WITH paused AS (
    UPDATE jobs_job SET state = 'paused', seq = seq + 1, reason = %(reason)s
    WHERE state IN ('queued', 'running') RETURNING id, seq
), shards AS (
    UPDATE jobs_shard SET state = 'paused', lease_token = NULL, lease_until = NULL, attempt = 0
    WHERE state IN ('queued', 'running') AND job_id IN (SELECT id FROM paused)
)
INSERT INTO jobs_jobevent (job_id, seq, kind, tone, text, slots)
SELECT id, seq, 'paused', 'warn', 'paused: the site was restored from a backup', '{}' FROM paused
"""
_PAUSE_SHOWS = """
UPDATE play_show SET paused = true, turns_due = 0, lease_token = NULL, lease_until = NULL
WHERE NOT paused AND episode_id IN (SELECT id FROM episodes_episode WHERE status = 'running')
"""
_PAUSE_STUDIES = """
WITH paused AS (
    UPDATE studies_study SET state = 'paused', seq = seq + 1 WHERE state IN ('queued', 'running') RETURNING id
), runs AS (
    UPDATE studies_studyrun SET lease_token = NULL, lease_until = NULL, attempt = 0
    WHERE study_id IN (SELECT id FROM paused)
)
SELECT FROM paused
"""
_TURN_WEBHOOKS_OFF = """
WITH off AS (
    UPDATE webhooks_webhook SET disabled = now(), why_disabled = %(why)s WHERE disabled IS NULL RETURNING id
), deliveries AS (
    UPDATE webhooks_delivery SET lease_token = NULL, lease_until = NULL WHERE webhook_id IN (SELECT id FROM off)
)
SELECT FROM off
"""
_REASON = (
    "The site was restored from a backup while this job was not over. Resume it if the earlier site no longer runs it; "
    "otherwise its episodes would be played and paid for twice."
)
_WHY_OFF = (
    "The site was restored from a backup. Turn the webhook on if the earlier site no longer sends; otherwise its "
    "events would arrive twice."
)


def _pause_work(url: str) -> int:
    """Pause the jobs, studies and live episodes that are not over, and turn webhooks off. Returns the number of all."""
    import psycopg  # noqa: PLC0415 - the import takes a tenth of a second

    with psycopg.connect(url) as connection:
        jobs = connection.execute(_PAUSE_JOBS, {"reason": _REASON}).rowcount
        others = (_PAUSE_SHOWS, _PAUSE_STUDIES, _TURN_WEBHOOKS_OFF)
        return jobs + sum(connection.execute(query, {"why": _WHY_OFF}).rowcount for query in others)


def _files(config: StackConfig) -> dict[str, Path]:
    """The files and folders outside the database, by their names in the archive."""
    state = config.state_dir
    return {
        "secret_key": state / "secret_key",
        "endpoint_keys": Path(os.environ.get("ENDPOINT_KEYS_FILE") or state / "endpoint_keys"),
        "runs": Path(os.environ.get("RUNS_DIR") or state / "runs"),
    }


def add(tar: tarfile.TarFile, path: Path, name: str) -> None:
    """Add a file, or a folder with all that is in it.

    Trainings and uploads go on meanwhile. So files that are being written are left out, and so are those that are
    deleted before it is their turn; of a file that is replaced, one version is added as a whole.
    """
    if name.endswith(".new"):
        return
    if path.is_dir() and not path.is_symlink():
        with suppress(FileNotFoundError):
            tar.add(path, name, recursive=False)
            for member in sorted(path.iterdir()):
                add(tar, member, f"{name}/{member.name}")
    elif path.is_file():
        with suppress(FileNotFoundError), path.open("rb") as content:
            tar.addfile(tar.gettarinfo(arcname=name, fileobj=content), content)


def _run(url: str, program: str, *options: str) -> None:
    """Run a program of Postgres. The password is passed in the environment, because others can read a command line."""
    names = {"dbname": "DATABASE"}
    parts = {f"PG{names.get(key, key).upper()}": str(value) for key, value in conninfo_to_dict(url).items()}
    command: list[str | Path] = [find_binaries().folder / program, *options]
    result = subprocess.run(
        command, env={**os.environ, **parts, "LC_ALL": "C"}, capture_output=True, text=True, check=False
    )
    if result.returncode:
        errors = [line for line in result.stderr.splitlines() if "error" in line.lower()] or ["no error message"]
        raise StackError(f"The database could not be copied: {errors[0]}")


def _name(url: str) -> str:
    return str(conninfo_to_dict(url).get("dbname", ""))


def main() -> int:
    """Write or restore a backup. Returns 0, or 1 after printing one sentence."""
    parser = argparse.ArgumentParser(prog="python -m gemweb.local.backup", description=__doc__)
    parser.add_argument("verb", choices=("write", "restore"), help="what to do")
    parser.add_argument("file", help="the path of the backup")
    arguments = parser.parse_args()
    try:
        if not arguments.file:
            raise StackError("Name the file of the backup, for example FILE=/srv/gemweb-monday.tar.")
        file = Path(arguments.file).expanduser().resolve()
        config = StackConfig.from_env()
        try:
            if arguments.verb == "write":
                write(config, file)
                said = f"wrote {file}"
            else:
                said = f"restored {file}{_in_words(restore(config, file))}"
        except OSError as error:
            raise explain(error, file) from error
    except StackError as error:
        sys.stderr.write(f"gemweb: {error}\n")
        return 1
    sys.stdout.write(f"gemweb: {said}\n")
    return 0


def _in_words(paused: int) -> str:
    """What to do about the work that a restore has paused."""
    if not paused:
        return ""
    return (
        f"\ngemweb: jobs, studies, live episodes and webhooks are paused ({paused}), so that nothing is played, paid "
        "for or sent twice. Resume each on its page, if the earlier site no longer runs it."
    )


if __name__ == "__main__":
    sys.exit(main())
