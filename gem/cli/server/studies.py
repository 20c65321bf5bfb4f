"""Studies on a server: `gemweb submit --study` starts one and follows it."""

from __future__ import annotations

import json
import sys
import time
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from gem.cli.server.connection import connect, print_json
from gem.errors import UsageError
from gem.validation.messages import count

if TYPE_CHECKING:
    from gem.client import Client
    from gem.client.schemas import Study

POLL_SECONDS = 5.0
OVER = {"done", "cancelled", "failed"}


def content_of(study: str, seeds: int | None, only: Sequence[str], *, keeps_policies: bool) -> dict[str, Any]:
    """What is sent: the name of a study, or the plan in a file.

    Raises:
        UsageError: if the file cannot be read as JSON.
    """
    content: dict[str, Any] = {"seeds": seeds, "environments": [*only], "keeps_policies": keeps_policies}
    content = {name: value for name, value in content.items() if value}
    if not study.endswith(".json"):
        return {"study": study, **content}
    try:
        return {"plan": json.loads(Path(study).read_text(encoding="utf-8")), **content}
    except (OSError, ValueError) as error:
        raise UsageError(f"{study} cannot be read as JSON: {error}.") from error


def submit(
    url: str | None, content: dict[str, Any], *, key: str | None, follow: bool, prints: bool, as_json: bool
) -> int:
    """Start a study, and with `follow` print how far it is; then the exit code is 1 if it failed."""
    if prints:
        print(json.dumps(content, indent=2))
        return 0
    with connect(url) as client:
        study = client.studies.start(**content, idempotency_key=key)
        print(f"Started study {study.id}: {study.url}", file=sys.stderr if as_json else sys.stdout)
        if follow:
            study = _follow(client, study)
        if as_json:
            print_json(study)
        else:
            _print(study)
        return int(follow and study.state == "failed")


def _follow(client: Client, study: Study) -> Study:
    """Print a line whenever more of a study is done, until it ends."""
    done = -1
    while True:
        if study.done != done:
            done = study.done
            print(f"{done:,} of {count(study.total, 'run')} done", file=sys.stderr, flush=True)
        if study.state in OVER:
            return study
        time.sleep(POLL_SECONDS)
        study = client.studies.get(study.id)


def _print(study: Study) -> None:
    for sentence in study.sentences:
        print(sentence)
    if study.state == "failed":
        print(study.reason)
    print(f"gemweb pull {study.id} fetches its results as JSON files.")
