"""What forms begin: a form carries a key, and what it began with that key is returned when it is sent again.

A browser sends a form twice after a double click, or when a connection breaks before the answer has come.
"""

from __future__ import annotations

import hashlib
import re
import uuid
from collections.abc import Callable, Sequence
from datetime import timedelta

from django import forms
from django.db import transaction
from django.http import HttpRequest
from django.utils import timezone

from apps.accounts import visitors
from apps.admission.counting import one_at_a_time
from apps.admission.models import name_of
from apps.episodes.models import Episode
from apps.play.models import BegunByForm

FIELD = "idempotency_key"
"""The field of a form that has its key."""
KEY = re.compile("[0-9a-f]{32}")
"""What `new_key` returns. Programs may send shorter keys, which others could guess."""
KEPT = timedelta(days=1)
"""How long it is remembered what a form began."""


def new_key() -> str:
    """The key of a form that is shown now."""
    return uuid.uuid4().hex


def key_field() -> forms.CharField:
    """The hidden field with the key."""
    return forms.CharField(max_length=80, required=False, initial=new_key, widget=forms.HiddenInput)


def visitor_of(request: HttpRequest) -> str:
    """The key of the visitor who sends a form that was made for them alone. A new visitor's follows from the form's.

    So somebody whose first request is sent twice, before the browser has a session, is one visitor.
    """
    if request.user.is_authenticated:
        return visitors.known(request)
    key = request.POST.get(FIELD, "")
    return visitors.key(request, made_from=key if KEY.fullmatch(key) else "")


def digest_of(request: HttpRequest) -> str:
    """A digest of who sends which form with which entries and which key; empty without a key."""
    if not request.POST.get(FIELD):
        return ""
    who = name_of(request.user.pk, visitors.known(request))
    sent = sorted((name, values) for name, values in request.POST.lists() if name != "csrfmiddlewaretoken")
    return hashlib.sha256(repr((who, request.path, sent)).encode()).hexdigest()


def begun(digest: str) -> list[Episode]:
    """The episodes that a form with this digest has begun."""
    if not digest:
        return []
    return [row.episode for row in BegunByForm.objects.filter(digest=digest).select_related("episode__batch")]


def begin(digest: str, store: Callable[[], Sequence[Episode]]) -> list[Episode]:
    """The episodes that `store` stores, in one transaction, or those that the same form has begun before.

    Raises whatever `store` raises.
    """
    with transaction.atomic():
        one_at_a_time("forms", digest)
        if found := begun(digest):
            return found
        episodes = list(store())
        if digest:
            rows = [BegunByForm(digest=digest, number=number, episode=each) for number, each in enumerate(episodes)]
            BegunByForm.objects.bulk_create(rows)
        return episodes


def forget() -> None:
    """Delete what is older than `KEPT`."""
    BegunByForm.objects.filter(created__lt=timezone.now() - KEPT).delete()
