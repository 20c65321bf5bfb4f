"""The results of a study as an archive, in the form in which the repository keeps them."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator

from django.http import HttpRequest, StreamingHttpResponse

from apps.downloads import download
from apps.studies.models import Study
from apps.studies.operations import OWN_NAME
from apps.zips import ExportedFile, streamed
from gem.studies.results import Results, RunResult, file_text
from gem.studies.study import Run
from gem.studies.study import Study as Plan


def name_of(study: Study, plan: Plan) -> str:
    """The name of the archive of a study that somebody has started."""
    return plan.name if plan.name != OWN_NAME else f"study-{study.pk}"


def archive(request: HttpRequest, name: str, plan: Plan, results: Results) -> StreamingHttpResponse:
    """A response that downloads `NAME.json`, the plan, and `NAME.results/`, a file for each run that was made.

    `gemweb study report NAME.json` reads them where they were unpacked, and `gemweb study run NAME.json` goes on.
    """
    made = [(run, result) for run in results.planned() if (result := results.of(run)) is not None]
    return download(request, streamed(_files(name, plan, made)), f"{name}.zip", "application/zip")


def _files(name: str, plan: Plan, made: Iterable[tuple[Run, RunResult]]) -> Iterator[ExportedFile]:
    data = {key: value for key, value in plan.model_dump(mode="json", exclude_defaults=True).items() if key != "name"}
    yield ExportedFile(f"{name}.json", [(json.dumps(data, indent=2, ensure_ascii=False) + "\n").encode()])
    for run, result in made:
        yield ExportedFile(f"{name}.results/{run.file}", [file_text(result).encode()])
