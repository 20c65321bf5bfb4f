"""Everything that is worth keeping, as one file: `make backup FILE=...` writes it, `make restore FILE=...` unpacks it.

The file is a tar archive: `backup.json` (what wrote it), `database.dump` (what `pg_dump` makes of the database),
`secret_key` and `endpoint_keys`, and `runs/` (checkpoints, curves, uploads). Valkey holds nothing worth keeping. The
database is read first: what a row names is in the folder by then.
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
from pathlib import Path

from psycopg.conninfo import conninfo_to_dict

from gem import __version__
from gemweb.local.config import StackConfig
from gemweb.local.errors import StackError, explain
from gemweb.local.postgres import find_binaries, home_of
from gemweb.local.reach import database
from gemweb.local.state import StateFolder, make_folder

ABOUT, DUMP = "backup.json", "database.dump"


def write(config: StackConfig, target: Path) -> None:
    """Write a backup to `target`, while a stack runs on the state folder or not.

    Raises:
        StackError: if it cannot be written; nothing is left then.
    """
    if target.exists():
        raise StackError(f"{target} exists already: name another file, like FILE=/srv/gemweb-monday.tar.")
    if not config.database_url and not (home_of(config.state_dir) / "data").exists():
        raise StackError(f"There is no database in {config.state_dir} to back up: name its folder with STATE_DIR=...")
    about = {"gemweb": __version__, "made": time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime())}
    draft = target.with_name(f".{target.name}.new")
    draft.touch(0o600)  # it holds the secret key and password hashes
    try:
        with tempfile.TemporaryDirectory(prefix=".backup-", dir=target.parent) as folder:
            dump = Path(folder) / DUMP
            with database(config) as url:
                _run(url, "pg_dump", "--format=custom", "--no-owner", f"--file={dump}")
            (Path(folder) / ABOUT).write_text(json.dumps(about) + "\n")
            with tarfile.open(draft, "w") as tar:
                for path in (Path(folder) / ABOUT, dump):
                    tar.add(path, path.name)
                for name, path in _files(config).items():
                    if path.exists():
                        tar.add(path, name, filter=_finished)
        draft.replace(target)
    finally:
        draft.unlink(missing_ok=True)


def restore(config: StackConfig, source: Path) -> None:
    """Make a state folder of a backup; `make up` brings its tables up to date.

    Raises:
        StackError: if the file is no backup, or the state folder is in use.
    """
    try:
        with tarfile.open(source) as tar:
            if not {ABOUT, DUMP} <= set(tar.getnames()):
                raise StackError(f"{source} is no backup of gemweb: it has no {ABOUT} and {DUMP}.")
    except tarfile.TarError as error:
        raise StackError(f"{source} is no backup of gemweb: it is not a whole tar file.") from error
    taken = [path for path in (home_of(config.state_dir) / "data", *_files(config).values()) if path.exists()]
    if taken:
        raise StackError(f"{taken[0]} exists already: choose a new folder with STATE_DIR=..., or `make reset` first.")
    state = StateFolder(config.state_dir)
    state.open()
    try:
        with tempfile.TemporaryDirectory(prefix=".restore-", dir=config.state_dir) as folder:
            with tarfile.open(source) as tar:
                tar.extraction_filter = getattr(tarfile, "data_filter", None)  # Python 3.11.4 has it, Debian 12's not
                tar.extractall(folder)  # noqa: S202
            with database(config) as url:
                options = ["--no-owner", "--exit-on-error", "--single-transaction"]
                _run(url, "pg_restore", *options, f"--dbname={_name(url)}", str(Path(folder) / DUMP))
            for name, place in _files(config).items():
                if (Path(folder) / name).exists():
                    make_folder(place.parent)
                    shutil.move(Path(folder) / name, place)
    finally:
        state.close()


def _files(config: StackConfig) -> dict[str, Path]:
    """What is kept beside the database, by its name in the archive."""
    state = config.state_dir
    return {
        "secret_key": state / "secret_key",
        "endpoint_keys": Path(os.environ.get("ENDPOINT_KEYS_FILE") or state / "endpoint_keys"),
        "runs": Path(os.environ.get("RUNS_DIR") or state / "runs"),
    }


def _finished(entry: tarfile.TarInfo) -> tarfile.TarInfo | None:
    """Without what is half written at the moment."""
    return None if entry.name.endswith(".new") else entry


def _run(url: str, program: str, *options: str) -> None:
    """Run one of Postgres' own programs; the password is in its environment, for others can read a command line."""
    names = {"dbname": "DATABASE"}
    parts = {f"PG{names.get(key, key).upper()}": str(value) for key, value in conninfo_to_dict(url).items()}
    command: list[str | Path] = [find_binaries().folder / program, *options]
    done = subprocess.run(
        command, env={**os.environ, **parts, "LC_ALL": "C"}, capture_output=True, text=True, check=False
    )
    if done.returncode:
        said = [line for line in done.stderr.splitlines() if "error" in line.lower()] or ["it said nothing"]
        raise StackError(f"The database could not be copied: {said[0]}")


def _name(url: str) -> str:
    return str(conninfo_to_dict(url).get("dbname", ""))


def main() -> int:
    """0 when it is done, 1 with one sentence when not."""
    parser = argparse.ArgumentParser(prog="python -m gemweb.local.backup", description=__doc__)
    parser.add_argument("verb", choices=("write", "restore"))
    parser.add_argument("file")
    given = parser.parse_args()
    try:
        if not given.file:
            raise StackError("Name the file of the backup with FILE=..., like FILE=/srv/gemweb-monday.tar.")
        file = Path(given.file).expanduser().resolve()
        config = StackConfig.from_env()
        try:
            (write if given.verb == "write" else restore)(config, file)
        except OSError as error:
            raise explain(error, file) from error
    except StackError as error:
        sys.stderr.write(f"gemweb: {error}\n")
        return 1
    sys.stdout.write(f"gemweb: {'wrote' if given.verb == 'write' else 'restored'} {file}\n")
    return 0


if __name__ == "__main__":
    sys.exit(main())
