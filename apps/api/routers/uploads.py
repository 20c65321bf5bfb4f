"""Uploads of checkpoints, which a worker checks before they become agents."""

from __future__ import annotations

from django.http import Http404, HttpRequest
from ninja import File, Form, Router, Status, UploadedFile

from apps.agents import uploads
from apps.agents.forms import UploadForm
from apps.agents.models import Agent, Upload
from apps.api import answers
from apps.api.callers import account, manager, reader
from apps.api.forms import checked, entries
from apps.api.paging import Cursor, Limit, newest_first
from gem.client import schemas

router = Router(tags=["uploads"])


@router.get("", response=schemas.UploadPage, auth=reader)
def list_uploads(request: HttpRequest, cursor: Cursor = "", limit: Limit = 50) -> schemas.UploadPage:
    """Your uploads that are no agents yet, the newest first."""
    page, following = newest_first(Upload.objects.filter(owner=account(request)), cursor, limit)
    return schemas.UploadPage(items=[answers.upload(row) for row in page], next=following)


@router.post("", response={202: schemas.Upload}, auth=manager)
def upload_checkpoint(
    request: HttpRequest,
    file: File[UploadedFile],
    name: Form[str] = "",
    visibility: Form[str] = "",
) -> Status[schemas.Upload]:
    """Upload a checkpoint as a zip or tar archive, such as the download of one."""
    user = account(request)
    form = checked(UploadForm(entries({"name": name, "visibility": visibility}), request.FILES))
    values = form.cleaned_data
    row = uploads.accept(user, values["name"], file, visibility=values["visibility"])
    return Status(202, answers.upload(row))


@router.get("/{slug}", response=schemas.Upload, auth=reader)
def get_upload(request: HttpRequest, slug: str) -> schemas.Upload:
    """An upload of your own: whether it waits, was refused, or has become an agent."""
    mine = {"slug": slug, "owner": account(request)}
    row = Upload.objects.filter(**mine).first()
    if row is not None:
        return answers.upload(row)
    agent = Agent.objects.uploads().filter(**mine).first()
    if agent is None:
        raise Http404("There is no such upload, or it is somebody else's.")
    return schemas.Upload(slug=slug, name=agent.name, state="accepted", problem="", place=None, created=agent.created)
