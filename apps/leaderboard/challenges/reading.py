"""What pages and the API say of challenges and of reported rows."""

from __future__ import annotations

from django.db.models import Count, IntegerField, OuterRef, QuerySet, Subquery
from django.db.models.functions import Coalesce
from django.http import Http404, HttpResponse

from apps.accounts.models import User, Viewer
from apps.benchmarks.reading import visibility_of
from apps.leaderboard.challenges.drawing import ChallengeRefused, document_of
from apps.leaderboard.models import Challenge, ReportedRow, Score
from apps.visibility import as_open_as
from gem.benchmarks import Benchmark
from gem.evaluation.spec import read_stored

MOST_REPORTED = 200
"""Reported rows in a list."""


def of_owner(user: Viewer) -> QuerySet[Challenge]:
    """The challenges of a person, with what lists say of them, in a few queries for any number."""
    same = Challenge.objects.filter(owner=OuterRef("owner"), season=OuterRef("season")).order_by()
    count = Subquery(same.values("owner").annotate(number=Count("pk")).values("number"), IntegerField())
    rows = Challenge.objects.of(user).select_related("season", "job").annotate(tries=Coalesce(count, 0))
    return rows.prefetch_related("job__scores", "reported_rows").defer("leaves")


def find(user: User, challenge_id: str) -> Challenge:
    """A challenge of this person.

    Raises:
        Http404: they have no such challenge.
    """
    found = of_owner(user).filter(pk=challenge_id).first()
    if found is None:
        raise Http404("You have no such challenge.")
    return found


def rows_of(challenge: Challenge) -> tuple[Score | None, ReportedRow | None]:
    """The row on the leaderboard that a challenge has become, or the reported one."""
    scores = {} if challenge.job is None else {score.env_id: score for score in challenge.job.scores.all()}
    first = scores.get("") or next(iter(scores.values()), None)
    return first, next(iter(challenge.reported_rows.all()), None)


def episodes_of(challenge: Challenge) -> int:
    """The number of episodes to play."""
    return read_stored(challenge.spec).episodes_total


def document_response(challenge: Challenge) -> HttpResponse:
    """The file of a challenge as a download.

    Raises:
        ChallengeRefused: if the version of its benchmark is not known any more.
    """
    try:
        text = document_of(challenge).model_dump_json(indent=1)
    except ChallengeRefused as refusal:
        raise Http404(str(refusal)) from refusal
    response = HttpResponse(text + "\n", content_type="application/json")
    response["Content-Disposition"] = f'attachment; filename="challenge-{challenge.pk}.json"'
    return response


def reported_rows(benchmark: Benchmark) -> list[ReportedRow]:
    """The reported rows of a benchmark that are as open as it is, the best first."""
    visibilities = as_open_as(visibility_of(benchmark.name))
    rows = ReportedRow.objects.filter(hidden_reason="", visibility__in=visibilities)
    return list(rows.of(benchmark)[:MOST_REPORTED])


def find_reported(viewer: Viewer, row_id: str) -> ReportedRow:
    """A reported row that this person may see.

    Raises:
        Http404: there is none.
    """
    found = ReportedRow.objects.visible_to(viewer).select_related("owner", "challenge").filter(pk=row_id).first()
    if found is None:
        raise Http404("There is no such row.")
    return found
