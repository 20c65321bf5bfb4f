"""Results from elsewhere: challenges and their episodes, and rows that are only reported."""

from __future__ import annotations

from django.http import Http404, HttpRequest
from django.urls import reverse
from ninja import File, Form, Router, Status, UploadedFile

from apps.api import answers
from apps.api.callers import account, manager, reader, submitter
from apps.api.forms import checked, entries
from apps.api.paging import Cursor, Limit, newest_first
from apps.leaderboard.challenges import checking, drawing, reading, receiving, reports
from apps.leaderboard.challenges.forms import ChallengeForm, EpisodesForm, ReportForm
from apps.leaderboard.models import Challenge, ReportedRow
from apps.leaderboard.reading import find_benchmark
from gem.client import schemas
from gem.verification.challenges import Challenge as Document

router = Router(tags=["challenges"])


class ChallengeDocument(Document):
    """What is played for a challenge: environments with their seeds, wrappers, and the deadline."""


@router.post("/benchmarks/{name}/challenges", response={201: schemas.Challenge}, auth=submitter)
def draw_challenge(request: HttpRequest, name: str, sent: schemas.NewChallenge) -> Status[schemas.Challenge]:
    """Draw seeds of a benchmark for yourself, to play elsewhere. Each challenge counts as a try."""
    benchmark = find_benchmark(name)
    values = {**sent.model_dump(), "tools": ", ".join(sent.tools)}
    row = drawing.draw(account(request), benchmark, **checked(ChallengeForm(entries(values))).cleaned_data)
    return Status(201, _challenge(request, reading.find(row.owner, row.pk)))


@router.get("/challenges", response=schemas.ChallengePage, auth=reader)
def list_challenges(request: HttpRequest, cursor: Cursor = "", limit: Limit = 50) -> schemas.ChallengePage:
    """Your challenges, the newest first. Nobody else sees them."""
    page, following = newest_first(reading.of_owner(account(request)), cursor, limit)
    return schemas.ChallengePage(items=[_challenge(request, row) for row in page], next=following)


@router.post("/challenges/episodes", response={202: schemas.Challenge}, auth=manager)
def push_episodes(request: HttpRequest, file: File[UploadedFile], challenge: Form[str]) -> Status[schemas.Challenge]:
    """Send the episodes of a challenge, one on each line. A worker executes all of them again."""
    checked(EpisodesForm(entries({"challenge": challenge}), request.FILES))
    row = receiving.accept(account(request), challenge, file)
    return Status(202, _challenge(request, reading.find(row.owner, row.pk)))


@router.get("/challenges/{challenge_id}", response=schemas.Challenge, auth=reader)
def get_challenge(request: HttpRequest, challenge_id: str) -> schemas.Challenge:
    """One of your challenges: what became of it."""
    return _challenge(request, reading.find(account(request), challenge_id))


@router.get("/challenges/{challenge_id}/challenge.json", response=ChallengeDocument, auth=reader)
def get_challenge_document(request: HttpRequest, challenge_id: str) -> ChallengeDocument:
    """The file that `gemweb eval --challenge` plays: environments, wrappers and seeds."""
    document = drawing.document_of(reading.find(account(request), challenge_id))
    return ChallengeDocument.model_validate(document.model_dump())


@router.post("/benchmarks/{name}/reported", response={201: schemas.ReportedRow}, auth=submitter)
def report_row(request: HttpRequest, name: str, sent: schemas.NewReportedRow) -> Status[schemas.ReportedRow]:
    """Report a result from elsewhere. Nothing proves it, and it is ranked apart."""
    benchmark = find_benchmark(name)
    numbers = [each.model_dump() for each in sent.environments]
    chosen = checked(ReportForm(entries(sent.model_dump(exclude={"environments"})))).cleaned_data
    row = reports.report(account(request), benchmark, numbers, **chosen)
    return Status(201, _reported(request, row))


@router.get("/benchmarks/{name}/reported", response=schemas.ReportedRows)
def list_reported_rows(request: HttpRequest, name: str) -> schemas.ReportedRows:
    """The reported rows of a benchmark, the best first."""
    rows = reading.reported_rows(find_benchmark(name))
    return schemas.ReportedRows(items=[_reported(request, row, rank) for rank, row in enumerate(rows, start=1)])


@router.get("/reported/{row_id}", response=schemas.ReportedRow)
def get_reported_row(request: HttpRequest, row_id: str) -> schemas.ReportedRow:
    """One reported row."""
    return _reported(request, reading.find_reported(request.user, row_id))


@router.delete("/reported/{row_id}", response={204: None}, auth=manager)
def delete_reported_row(request: HttpRequest, row_id: str) -> Status[None]:
    """Delete a reported row of your own."""
    row = ReportedRow.objects.filter(owner=account(request), pk=row_id).first()
    if row is None:
        raise Http404("You have no such reported row.")
    reports.delete(row)
    return Status(204, None)


def _challenge(request: HttpRequest, row: Challenge) -> schemas.Challenge:
    score, reported = reading.rows_of(row)
    has_ended = row.state == Challenge.State.OPEN and row.is_over
    return schemas.Challenge(
        id=row.pk,
        benchmark=row.season.benchmark,
        version=row.season.version,
        season=row.season.number,
        submission=row.submission,
        agent=row.agent_name,
        kind=answers.known(row.declared),
        tools=row.spec.get("tools", []),
        visibility=answers.known(row.visibility),
        state=answers.known(row.state_in_words if has_ended else row.state),
        deadline=row.deadline,
        episodes=reading.episodes_of(row),
        executed=row.executed,
        uploads=row.uploads,
        problem=row.problem,
        place=checking.place(row) if row.state == Challenge.State.SENT else None,
        tries=row.tries,  # type: ignore[attr-defined]  # annotated by `of_owner`
        row=None if score is None else score.pk,
        reported_row=None if reported is None else reported.pk,
        created=row.created,
        url=answers.link(request, row.get_absolute_url()),
    )


def _reported(request: HttpRequest, row: ReportedRow, rank: int | None = None) -> schemas.ReportedRow:
    return schemas.ReportedRow(
        id=row.pk,
        rank=rank,
        benchmark=row.benchmark,
        version=row.benchmark_version,
        agent=row.agent_name,
        kind=answers.known(row.declared),
        owner=row.owner.get_username(),
        tools=row.tools,
        score=row.score,
        episodes=row.episodes,
        environments=[schemas.ReportedEnvironment(**each) for each in row.numbers],
        source=answers.known(row.source),
        link=row.link,
        notes=row.notes,
        visibility=answers.known(row.visibility),
        created=row.created,
        url=answers.link(request, reverse("leaderboard:reported", args=[row.pk])),
    )
