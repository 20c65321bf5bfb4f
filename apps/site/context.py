"""The context processor: variables of every page template."""

from typing import Any

from django.conf import settings
from django.http import HttpRequest

SECTIONS = {
    "catalog": "play",
    "play": "play",
    "duels": "watch",
    "episodes": "watch",
    "learnability": "play",
    "jobs": "jobs",
    "comparisons": "jobs",
    "studies": "jobs",
    "trainings": "jobs",
    "curves": "jobs",
    "reported": "leaderboard",
    "leaderboard": "leaderboard",
    "standings": "leaderboard",
    "benchmarks": "leaderboard",
    "agents": "agents",
    "connect": "agents",
    "daily": "play",
}
"""The navigation entry of each app's pages."""


def site(request: HttpRequest) -> dict[str, Any]:
    """The version, whether this is a local stack, and the navigation entry of the page."""
    return {"version": settings.VERSION, "local_mode": settings.LOCAL_MODE, "section": section(request)}


def section(request: HttpRequest) -> str:
    """The navigation entry of the requested page; empty if it has none."""
    match = request.resolver_match
    if match is None or match.url_name is None:
        return ""
    if match.app_name == "site":
        return {"home": "home", "docs": "docs", "doc": "docs"}.get(match.url_name, "")
    if match.app_name == "programs":
        return "docs" if match.url_name == "rest" else ""
    if match.app_name == "play" and match.url_name.startswith(("watch", "lobby")):
        return "watch"
    return SECTIONS.get(match.app_name, "")
