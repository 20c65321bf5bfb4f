"""The addresses of the API, a module for each resource. Every one calls what the page of the same thing calls."""

from __future__ import annotations

from ninja import Router

from apps.api.routers import (
    account,
    agents,
    duels,
    environments,
    episodes,
    events,
    job_results,
    leaderboard,
    play,
    reports,
    trainings,
    uploads,
    webhooks,
)

ROUTERS: tuple[tuple[str, Router], ...] = (
    ("/account", account.router),
    ("/environments", environments.router),
    ("/agents", agents.router),
    ("/trials", agents.trials_router),
    ("/uploads", uploads.router),
    ("/episodes", episodes.router),
    ("/shows", play.shows_router),
    ("/duels", duels.router),
    ("/jobs", job_results.router),
    ("/trainings", trainings.router),
    ("/reports", reports.router),
    ("/webhooks", webhooks.router),
    ("", leaderboard.router),
    ("", events.router),
)
"""All routers with their prefixes."""
