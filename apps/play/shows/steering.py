"""The controls of a show on the page that watches it, for the person who started it."""

from __future__ import annotations

from typing import Any

from django.http import HttpRequest
from django.urls import reverse

from apps.accounts import visitors
from apps.episodes.models import Episode
from apps.play.shows import operations as shows


def controls(request: HttpRequest, episode: Episode) -> dict[str, Any]:
    """The context of "play/steer.html" in the page of a show; empty for people who may not steer it."""
    if not shows.may_control(episode, request.user, visitors.known(request)):
        return {}
    from apps.play.starting.forms import PACES  # noqa: PLC0415 (workers, which have no forms, import this module)

    return {"may_control": True, "paces": PACES, "steer": steering("play:control", episode.id)}


def steering(name: str, key: str) -> str:
    """The address of the controls of `key`, to which the verb and a slash are appended."""
    return reverse(name, args=[key, "pause"]).removesuffix("pause/")
