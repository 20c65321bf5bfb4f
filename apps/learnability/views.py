"""The part of an environment's page about whether it can be learned."""

from __future__ import annotations

from typing import Any

from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.urls import reverse
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_POST, require_safe

from apps.accounts import visitors
from apps.admission.models import name_of
from apps.episodes.errors import NotFound, Refusal
from apps.htmx import wants_part
from apps.learnability import asking, computing
from apps.learnability.models import Probe
from apps.play.responses import with_wait
from gem.registry import EnvSpec

TONES = {"broken": "loss", "without the task": "warn", "unreachable": "warn", "has a signal": "win", "learned": "win"}
"""The colour of a verdict, if it has one."""


@never_cache
@require_safe
def probe(request: HttpRequest) -> HttpResponse:
    """The probe of an environment, how far it is, or the button that asks for it."""
    return _part(request, _spec(request.GET.get("env_id", "")))


@require_POST
def ask(request: HttpRequest) -> HttpResponse:
    """Have a worker probe an environment."""
    spec = _spec(request.POST.get("env_id", ""))
    person = request.user.pk if request.user.is_authenticated else None
    try:
        asking.ask(
            spec,
            person=name_of(person, "" if person else visitors.key(request)),
            address=visitors.address(request),
        )
    except Refusal as refusal:
        return with_wait(_part(request, spec, refusal), refusal)
    if wants_part(request):
        return _part(request, spec)
    return redirect(reverse("catalog:environment", args=[spec.id]) + "#learnable")


def _part(request: HttpRequest, spec: EnvSpec, refusal: Refusal | None = None) -> HttpResponse:
    found = asking.probe_of(spec)
    context: dict[str, Any] = {
        "spec": spec,
        "probe": found,
        "place": computing.place(found) if found is not None and found.state == Probe.State.WAITING else None,
        "tone": TONES.get(found.content.get("kind", ""), "") if found is not None else "",
        "why_not": asking.why_not(spec),
        "notice": refusal,
    }
    template = "learnability/probe.html#learnable" if wants_part(request) else "learnability/probe.html"
    return render(request, template, context, status=refusal.status if refusal else 200)


def _spec(env_id: str) -> EnvSpec:
    try:
        return asking.spec_of(env_id)
    except NotFound as error:
        raise Http404(str(error)) from error
