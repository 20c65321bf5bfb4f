"""Agents, and uploads that are no agents yet."""

from __future__ import annotations

from django.http import HttpRequest

from apps.agents.models import Agent, Upload
from apps.agents.uploads import place as place_of_upload
from apps.api.answers.values import known, link
from gem.client import schemas


def agent(request: HttpRequest, row: Agent) -> schemas.Agent:
    """An agent. Only its owner sees the address of an endpoint."""
    mine = row.owner_id is not None and row.owner_id == request.user.pk
    endpoint = getattr(row, "endpoint", None) if row.kind == Agent.Kind.ENDPOINT else None
    weights = getattr(row, "weights", None) if row.kind == Agent.Kind.CHECKPOINT else None
    return schemas.Agent(
        slug=row.slug,
        name=row.name,
        kind=known(row.kind),
        about=row.about,
        owner=row.owner.get_username() if row.owner else None,
        mine=mine,
        visibility=known(row.visibility),
        set_up={"version": endpoint.version, **endpoint.asked} if endpoint else None,
        endpoint_url=str(endpoint.spec["url"]) if endpoint and mine else None,
        has_key=bool(endpoint.sealed_key) if endpoint and mine else None,
        card=weights.card if weights else None,
        size=weights.size if weights else None,
        sha256=weights.sha256 if weights else None,
        nature=known(row.nature),
        parameters=row.parameters,
        open_weights=row.weights_are_open,
        plays_daily=row.plays_daily or (row.owner is None and row.kind != Agent.Kind.HUMAN),
        created=row.created,
        url=link(request, row.get_absolute_url()) if weights or row.kind != Agent.Kind.CHECKPOINT else None,
    )


def upload(row: Upload) -> schemas.Upload:
    """An upload that is no agent yet."""
    return schemas.Upload(
        slug=row.slug,
        name=row.name,
        state="refused" if row.problem else "waiting",
        problem=row.problem,
        place=None if row.problem else place_of_upload(row),
        created=row.created,
    )
