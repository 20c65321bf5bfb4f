"""The page of a row, its certificate, and the digests and episodes that `gemweb verify` reads."""

from __future__ import annotations

import json
from collections.abc import Iterator
from itertools import islice
from typing import Any

from django.http import HttpRequest, HttpResponse, StreamingHttpResponse
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_safe

from apps import downloads
from apps.jobs.models import Job
from apps.leaderboard.proofs import keys, reading

LINES_AT_A_TIME = 20


@never_cache
@require_safe
def well_known(request: HttpRequest) -> HttpResponse:
    """The public keys of this site, which `gemweb verify --key` asks for."""
    return _json(keys.published().model_dump(mode="json"))


@never_cache
@require_safe
def certificate(request: HttpRequest, score_id: int) -> HttpResponse:
    """The signed certificate of a verified row."""
    row = reading.find_verified(request.user, score_id)
    assert row.certificate is not None  # verified rows have one
    response = _json(row.certificate)
    response["Content-Disposition"] = f'attachment; filename="certificate-{score_id}.json"'
    return response


@never_cache
@require_safe
def digests(request: HttpRequest, score_id: int) -> HttpResponse:
    """The digests of all episodes of a verified row, each with the proof that the row has it."""
    return _json(reading.digests(reading.find_verified(request.user, score_id)))


@never_cache
@require_safe
def row_episodes(request: HttpRequest, score_id: int) -> StreamingHttpResponse:
    """The episodes of a verified row whose season is over, as JSON Lines."""
    return download_episodes(request, score_id)


def download_episodes(request: HttpRequest, score_id: int) -> StreamingHttpResponse:
    """The episodes of a verified row as a file, which is sent while it is read.

    Raises:
        Http404: see `reading.episode_lines`.
    """
    row = reading.find_verified(request.user, score_id)
    jobs = Job.objects.visible_to(request.user).filter(pk=row.job_id)
    pieces = downloads.whole(_in_pieces(reading.episode_lines(row)), jobs)
    return downloads.download(request, pieces, f"row-{score_id}.jsonl", downloads.JSON_LINES)


def _json(data: dict[str, Any]) -> HttpResponse:
    return HttpResponse(json.dumps(data, indent=2, ensure_ascii=False) + "\n", content_type="application/json")


def _in_pieces(lines: Iterator[str]) -> Iterator[bytes]:
    while piece := "".join(islice(lines, LINES_AT_A_TIME)):
        yield piece.encode()
