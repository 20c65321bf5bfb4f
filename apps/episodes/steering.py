"""Whoever started a live episode steers it: what their page shows for that comes from the app of shows."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from django.http import HttpRequest

from apps.episodes.models import Episode

controls: list[Callable[[HttpRequest, Episode], dict[str, Any]]] = []
"""The app that starts live episodes registers here. The answer is for the template of the page that watches one."""


def controls_of(request: HttpRequest, episode: Episode) -> dict[str, Any]:
    """What the page that watches an episode shows to people who steer it; nothing for others."""
    return {name: value for find in controls for name, value in find(request, episode).items()}
