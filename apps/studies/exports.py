"""The results of a study as an archive, in the form in which the repository keeps them."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator, Iterable, Iterator

from django.http import HttpResponseBase, StreamingHttpResponse

from apps.studies.models import Study
from apps.studies.operations import OWN_NAME
from apps.zips import ExportedFile, streamed
from gem.studies.results import Results, RunResult, file_text
from gem.studies.study import Run
from gem.studies.study import Study as Plan


def name_of(study: Study, plan: Plan) -> str:
    """The name of the archive of a study that somebody has started."""
    return plan.name if plan.name != OWN_NAME else f"study-{study.pk}"


def archive(name: str, plan: Plan, results: Results) -> HttpResponseBase:
    """A response that downloads `NAME.json`, the plan, and `NAME.results/`, a file for each run that was made.

    `gemweb study report NAME.json` reads them where they were unpacked, and `gemweb study run NAME.json` goes on.
    """
    made = [(run, result) for run in results.planned() if (result := results.of(run)) is not None]
    response = StreamingHttpResponse(_stream(streamed(_files(name, plan, made))), content_type="application/zip")
    response["Content-Disposition"] = f'attachment; filename="{name}.zip"'
    return response


def _files(name: str, plan: Plan, made: Iterable[tuple[Run, RunResult]]) -> Iterator[ExportedFile]:
    data = {key: value for key, value in plan.model_dump(mode="json", exclude_defaults=True).items() if key != "name"}
    yield ExportedFile(f"{name}.json", [(json.dumps(data, indent=2, ensure_ascii=False) + "\n").encode()])
    for run, result in made:
        yield ExportedFile(f"{name}.results/{run.file}", [file_text(result).encode()])


async def _stream(pieces: Iterator[bytes]) -> AsyncIterator[bytes]:
    while (piece := await asyncio.to_thread(next, pieces, None)) is not None:
        yield piece
