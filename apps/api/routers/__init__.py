"""The addresses of the API, a module for each resource. Every one calls what the page of the same thing calls."""

from __future__ import annotations

from ninja import Router

from apps.api.routers import (
    account,
    agents,
    credit,
    curves,
    duels,
    environments,
    episodes,
    events,
    forks,
    job_results,
    play,
    remotes,
    reported,
    reports,
    studies,
    trainings,
    uploads,
    webhooks,
)
from apps.api.routers.boards import benchmarks, challenges, standings

ROUTERS: tuple[tuple[str, Router], ...] = (
    ("/account", account.router),
    ("/environments", environments.router),
    ("/agents", agents.router),
    ("/trials", agents.trials_router),
    ("/remotes", remotes.router),
    ("/uploads", uploads.router),
    ("/episodes", episodes.router),
    ("/episodes", credit.router),
    ("/episodes", forks.router),
    ("/shows", play.shows_router),
    ("/duels", duels.router),
    ("/jobs", job_results.router),
    ("/trainings", trainings.router),
    ("/curves", curves.router),
    ("/studies", studies.router),
    ("/evaluations-elsewhere", reported.router),
    ("/reports", reports.router),
    ("/webhooks", webhooks.router),
    ("", challenges.router),
    ("", benchmarks.router),
    ("/ratings", standings.ratings_router),
    ("/daily", standings.daily_router),
    ("", events.router),
)
"""All routers with their prefixes."""
