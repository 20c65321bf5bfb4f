"""What every page's template knows."""

from typing import Any

from django.conf import settings
from django.http import HttpRequest

SECTIONS = {
    "catalog": "play",
    "play": "play",
    "duels": "watch",
    "episodes": "watch",
    "jobs": "jobs",
    "trainings": "jobs",
    "leaderboard": "leaderboard",
}
"""Which entry of the navigation an app's pages belong to."""


def site(request: HttpRequest) -> dict[str, Any]:
    """The version, whether this is a stack on somebody's own machine, and the part of the site we are in."""
    return {"version": settings.VERSION, "local_mode": settings.LOCAL_MODE, "section": section(request)}


def section(request: HttpRequest) -> str:
    """The navigation entry that `request` belongs to; empty where it belongs to none."""
    match = request.resolver_match
    if match is None or match.url_name is None:
        return ""
    if match.app_name == "site":
        return {"home": "home", "docs": "docs", "doc": "docs"}.get(match.url_name, "")
    if match.app_name == "play" and match.url_name.startswith(("watch", "lobby")):
        return "watch"
    return SECTIONS.get(match.app_name, "")
