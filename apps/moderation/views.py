"""Pages of reports: the form for everybody, and the list for administrators."""

from __future__ import annotations

import math
from typing import Any

from django.conf import settings
from django.contrib import messages
from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_GET, require_http_methods, require_POST

from apps.accounts import visitors
from apps.accounts.limits import HOUR, TooOften, in_words
from apps.accounts.models import User
from apps.accounts.rate_limit import take
from apps.moderation import operations
from apps.moderation.forms import ReasonForm
from apps.moderation.kinds import ModeratedKind, kind_named, kinds
from apps.moderation.models import Decision, Report

MAX_REPORTS = 200
MAX_DECISIONS = 50


@never_cache
@require_http_methods(["GET", "HEAD", "POST"])
def report(request: HttpRequest, kind: str, key: str) -> HttpResponse:
    """The form that reports an episode, a duel, an agent or a job to the administrators."""
    reported_kind = _kind(kind)
    row = reported_kind.find(key, request.user, visitors.known(request))
    if row is None:
        raise Http404("There is nothing at this address that could be reported.")
    form = ReasonForm(request.POST or None)
    context = {"form": form, "row": row, "kind": reported_kind}
    if request.method != "POST":
        return render(request, "moderation/report.html", context)
    if not form.is_valid():
        return render(request, "moderation/report.html", context, status=422)
    try:
        check_report(request)
    except TooOften as refusal:
        form.add_error(None, str(refusal))
        refused = render(request, "moderation/report.html", context, status=429)
        refused["Retry-After"] = str(math.ceil(refusal.wait))
        return refused
    operations.report(reported_kind, key, form.cleaned_data["reason"], request.user)
    messages.success(request, "Your report was sent. The administrators of this site will look at it.")
    return redirect(row)


def check_report(request: HttpRequest) -> None:
    """Count a report of this person or, without an account, of their address.

    Raises:
        TooOften: above `REPORTS_PER_HOUR`.
    """
    size = settings.REPORTS_PER_HOUR
    wait = take(f"report:{visitors.share_of(request)}", size, size / HOUR)
    if wait > 0:
        raise TooOften(f"There were too many reports. Yours was not sent. Try again in {in_words(wait)}.", wait)


@never_cache
@require_GET
def reports(request: HttpRequest) -> HttpResponse:
    """The open reports, what is hidden now, and the last decisions, for administrators."""
    user = _administrator(request)
    open_reports = Report.objects.filter(closed=None)
    found = list(open_reports.select_related("reporter")[:MAX_REPORTS])
    rows = {
        kind.name: kind.named((report.key for report in found if report.kind == kind.name), user) for kind in kinds()
    }
    context = {
        "reports": [{"report": each, "row": rows.get(each.kind, {}).get(each.key)} for each in found],
        "more": open_reports.count() - len(found) if len(found) == MAX_REPORTS else 0,
        "hidden": [(kind, key, row) for kind in kinds() for key, row in _hidden(kind, user).items()],
        "decisions": Decision.objects.all()[:MAX_DECISIONS],
    }
    return render(request, "moderation/reports.html", context)


def _hidden(kind: ModeratedKind, viewer: User) -> dict[str, Any]:
    """The rows of a kind that are hidden now, by their keys. Only what a decision has hidden is looked up."""
    decisions = Decision.objects.filter(kind=kind.name, verb=Decision.Verb.HIDE)
    rows = kind.named(decisions.values_list("key", flat=True), viewer)
    return {key: row for key, row in rows.items() if row.reason_to_hide()}


@require_POST
def decide(request: HttpRequest, kind: str, key: str) -> HttpResponse:
    """Hide content with a reason, show it again, or dismiss the reports about it. The field `do` names the action."""
    user, decided_kind = _administrator(request), _kind(kind)
    action = request.POST.get("do", "")
    if action == Decision.Verb.DISMISS:
        operations.dismiss(decided_kind, key, user)
        return redirect("moderation:reports")
    row = decided_kind.find(key, user)
    if row is None:
        raise Http404("There is nothing at this address that could be hidden.")
    form = ReasonForm(request.POST)
    if action == Decision.Verb.SHOW:
        operations.show(decided_kind, row, user)
        messages.success(request, "It is shown again.")
    elif action == Decision.Verb.HIDE and form.is_valid():
        operations.hide(decided_kind, row, form.cleaned_data["reason"], user)
        messages.success(request, "It is hidden. Its owner can still open it, and sees your reason.")
    else:
        messages.error(request, "Nothing was changed: give a reason, which the owner will read.")
    return redirect("moderation:reports")


def _administrator(request: HttpRequest) -> User:
    if isinstance(request.user, User) and request.user.is_staff:
        return request.user
    raise Http404("The address may be mistyped, or the page was removed.")


def _kind(name: str) -> ModeratedKind:
    kind = kind_named(name)
    if kind is None:
        raise Http404(f"There is nothing of the kind {name}.")
    return kind
