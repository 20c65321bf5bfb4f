"""The agents and uploads of a person: in the export of the account, and when it is deleted."""

from __future__ import annotations

import secrets
from collections.abc import Iterator

from django.db import transaction
from django.db.models import ProtectedError

from apps.accounts.models import User
from apps.accounts.personal_data import PersonalData, as_line, tombstone
from apps.agents import operations, uploads
from apps.agents.models import Agent, Upload
from apps.zips import ExportedFile, content_of


def _export(user: User) -> Iterator[ExportedFile]:
    agents = Agent.objects.filter(owner=user).select_related("endpoint", "weights").order_by("pk")
    yield ExportedFile("agents.jsonl", (as_line(_described(agent)) for agent in agents))
    for agent in agents.filter(weights__uploaded=True):
        for path in sorted(agent.weights.path.glob("*")):
            yield ExportedFile(f"uploads/{agent.slug}/{path.name}", content_of(path), compressed=False)


def _described(agent: Agent) -> dict[str, object]:
    """An agent without its key."""
    names = ("slug", "name", "kind", "about", "visibility", "retired", "created", "hidden_reason")
    described = {name: getattr(agent, name) for name in names}
    if hasattr(agent, "endpoint"):
        described["endpoint"] = agent.endpoint.spec
    if hasattr(agent, "weights"):
        described["weights"] = {"card": agent.weights.card, "size": agent.weights.size, "sha256": agent.weights.sha256}
    return described


def _erase(user: User) -> Iterator[None]:
    for upload in Upload.objects.filter(owner=user):
        uploads.withdraw(upload)
        yield
    for agent in Agent.objects.filter(owner=user):
        operations.delete(agent)
        try:
            with transaction.atomic():
                Agent.objects.filter(pk=agent.pk).delete()
        except ProtectedError:
            operations.make_nameless(agent, tombstone(), f"deleted-{secrets.token_hex(6)}")
        yield


PART = PersonalData(
    export=_export,
    erase=_erase,
    goes=("your agents, with their keys, and the checkpoints that you uploaded",),
    stays=("agents that have played in other people's episodes or on the leaderboard: each is called deleted agent",),
)
