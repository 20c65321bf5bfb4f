"""`gemweb pull`: fetch the episodes of a job, one episode, a checkpoint, or the results of a study."""

from __future__ import annotations

import argparse
import os
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import TYPE_CHECKING, BinaryIO, NamedTuple

from gem.cli.server.connection import connect
from gem.cli.server.progress import ProgressBar
from gem.errors import UsageError
from gem.validation.messages import count

if TYPE_CHECKING:
    from gem.client import Client
    from gem.client.effects import Progress
    from gem.client.schemas.job_results import Table, TableFormat

STDOUT = "-"


class Found(NamedTuple):
    """What an id names."""

    what: str
    """In words."""
    filename: str
    parts: Callable[[Progress], Iterator[bytes]]
    """Fetches the file, and reports how far it is."""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the arguments of the command."""
    parser.add_argument(
        "key", metavar="ID", help="a job, an episode, a training, a study, or the short name of a checkpoint"
    )
    parser.add_argument("--out", metavar="FILE", help="(its id, with .jsonl or .zip); - writes to standard output")
    parser.add_argument(
        "--update", type=int, metavar="N", help="of a training: the checkpoint after this update (newest)"
    )
    parser.add_argument("--episodes", action="store_true", help="of a training: the kept episodes, not a checkpoint")
    parser.add_argument(
        "--format",
        choices=("csv", "jsonl", "parquet"),
        help="of an evaluation: a table in this format; without it, whole records as JSON Lines",
    )
    parser.add_argument(
        "--table", choices=("episodes", "turns", "scores"), help="of an evaluation: which table (episodes)"
    )
    parser.add_argument("--url", help="the server (GEMWEB_URL, else that of the last gemweb login)")


def run(
    key: str,
    out: str | None,
    update: int | None,
    episodes: bool,
    format: TableFormat | None,  # noqa: A002 (the name of the option)
    table: Table | None,
    url: str | None,
) -> int:
    """Fetch it into a file, which is complete if it is there."""
    with connect(url) as client:
        found = (
            _table(client, key, table or "episodes", format or "parquet")
            if format or table
            else _find(client, key, update, episodes=episodes)
        )
        with _target(out or found.filename) as (file, name), ProgressBar(found.what) as bar:
            size = lines = 0
            for part in found.parts(bar):
                file.write(part)
                size += len(part)
                lines += part.count(b"\n")
    what = f"{found.what}, {count(lines, 'line')}" if found.filename.endswith(".jsonl") else found.what
    print(f"{what}, {count(size, 'byte')}: {name}", file=sys.stderr if out == STDOUT else sys.stdout)
    return 0


def _find(client: Client, key: str, update: int | None, *, episodes: bool) -> Found:
    """Find out what the id names.

    Raises:
        UsageError: if it names nothing that the token may see.
    """
    from gem.client.errors import NotFound  # noqa: PLC0415 (the other commands start faster without it)

    with suppress(NotFound):
        job = client.jobs.get(key)
        if job.kind == "training" and not episodes:
            return _checkpoint(client, key, update)
        what = f"Episodes of {job.kind} {job.id}"
        return Found(what, f"job-{job.id}.jsonl", lambda bar: client.jobs.export(job.id, progress=bar))
    with suppress(NotFound):
        episode = client.episodes.get(key)
        what = f"Episode {episode.id} of {episode.env_id}"
        return Found(what, f"episode-{key}.jsonl", lambda bar: client.episodes.export(key, progress=bar))
    with suppress(NotFound):
        agent = client.agents.get(key)
        if agent.kind == "checkpoint":
            return Found(f"Checkpoint {key}", f"{key}.zip", lambda bar: client.agents.weights(key, progress=bar))
    with suppress(NotFound):
        study = client.studies.get(key)
        return Found(f"Results of study {key}", f"study-{key}.zip", lambda _bar: client.studies.results(study.id))
    raise UsageError(f"There is no job, episode, training, study or checkpoint {key} on {client.url} that you may see.")


def _table(client: Client, key: str, table: Table, form: TableFormat) -> Found:
    """A table of an evaluation.

    Raises:
        UsageError: if the id names no evaluation that the token may see.
    """
    from gem.client.errors import NotFound  # noqa: PLC0415 (the other commands start faster without it)

    with suppress(NotFound):
        job = client.jobs.get(key)
        if job.kind == "evaluation":
            name = f"job-{job.id}-{table}.{form}"
            what = f"{table.capitalize()} of evaluation {job.id}"
            return Found(what, name, lambda bar: client.jobs.table(job.id, table, form, progress=bar))
    raise UsageError(f"There is no evaluation {key} on {client.url} that you may see, and only these have tables.")


def _checkpoint(client: Client, key: str, update: int | None) -> Found:
    updates = [checkpoint.update for checkpoint in client.trainings.checkpoints(key)]
    if not updates:
        raise UsageError(f"The training {key} has no checkpoint yet. --episodes fetches its kept episodes.")
    chosen = updates[-1] if update is None else update
    if chosen not in updates:
        known = ", ".join(map(str, updates))
        raise UsageError(f"The training {key} has no checkpoint after update {chosen}; it has those after {known}.")
    what = f"Checkpoint of training {key} after update {chosen}"
    name = f"training-{key}-{chosen:06d}.zip"
    return Found(what, name, lambda bar: client.trainings.checkpoint(key, chosen, progress=bar))


@contextmanager
def _target(name: str) -> Iterator[tuple[BinaryIO, str]]:
    """Yield the file to write; it gets its name when it is complete.

    Raises:
        UsageError: if it cannot be written.
    """
    if name == STDOUT:
        yield sys.stdout.buffer, "standard output"
        return
    unfinished = Path(f"{name}.part")
    try:
        with unfinished.open("wb") as file:
            yield file, name
        os.replace(unfinished, name)
    except OSError as error:
        raise UsageError(f"{name} cannot be written: {error.strerror}.") from error
    finally:
        with suppress(OSError):
            unfinished.unlink()
