"""The addresses of the API, a module for each resource. Every one calls what the page of the same thing calls."""

from __future__ import annotations

from ninja import Router

from apps.api.routers import account, environments, events

ROUTERS: tuple[tuple[str, Router], ...] = (
    ("/account", account.router),
    ("/environments", environments.router),
    ("", events.router),
)
"""All routers with their prefixes."""
