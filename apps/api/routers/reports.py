"""Reports: what somebody thinks is wrong with content, for the administrators."""

from __future__ import annotations

from django.http import Http404, HttpRequest
from ninja import Router, Status

from apps.api.callers import account, manager
from apps.api.forms import checked, entries
from apps.moderation import operations
from apps.moderation.forms import ReasonForm
from apps.moderation.kinds import kind_named
from apps.moderation.views import check_report
from gem.client import schemas

router = Router(tags=["reports"])


@router.post("/{kind}/{key}", response={204: None}, auth=manager)
def report_content(request: HttpRequest, kind: str, key: str, sent: schemas.NewReport) -> Status[None]:
    """Report an `episode`, a `duel`, a `job` (a training too) or an `agent` to the administrators of the site."""
    user, reported = account(request), kind_named(kind)
    if reported is None or reported.find(key, user) is None:
        raise Http404("There is nothing at this address that could be reported.")
    form = checked(ReasonForm(entries({"reason": sent.reason})))
    check_report(request)
    operations.report(reported, key, form.cleaned_data["reason"], user)
    return Status(204, None)
