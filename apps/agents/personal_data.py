"""The agents and uploads of a person: in the export of the account, and when it is deleted."""

from __future__ import annotations

import secrets
from collections.abc import Iterator

from django.db.models import ProtectedError

from apps.accounts.models import User
from apps.accounts.personal_data import PersonalData, as_line, stop_each, tombstone
from apps.agents import operations, uploads
from apps.agents.models import Agent, Upload
from apps.leases import patient_transaction
from apps.zips import ExportedFile, content_of


def _export(user: User) -> Iterator[ExportedFile]:
    agents = Agent.objects.filter(owner=user).select_related("endpoint", "weights").order_by("pk")
    yield ExportedFile("agents.jsonl", (as_line(_described(agent)) for agent in agents))
    for agent in agents.filter(weights__uploaded=True):
        for path in sorted(agent.weights.path.glob("*")):
            yield ExportedFile(f"uploads/{agent.slug}/{path.name}", content_of(path), compressed=False)


def _described(agent: Agent) -> dict[str, object]:
    """An agent without its key."""
    names = ["slug", "name", "kind", "about", "visibility", "retired", "created", "hidden_reason"]
    names += ["declared_nature", "parameters", "openness", "plays_daily"]
    described = {name: getattr(agent, name) for name in names}
    if hasattr(agent, "endpoint"):
        described["endpoint"] = agent.endpoint.spec
    if hasattr(agent, "weights"):
        described["weights"] = {"card": agent.weights.card, "size": agent.weights.size, "sha256": agent.weights.sha256}
    return described


def _stop(user: User) -> None:
    """Retire the agents of a person, whose keys and set-ups go at once, and withdraw their uploads."""
    stop_each(Agent.objects.filter(owner=user, retired=False).values_list("pk", flat=True), operations.retire)
    stop_each(Upload.objects.filter(owner=user).values_list("pk", flat=True), uploads.withdraw)


def _erase(user: User) -> Iterator[None]:
    for agent in Agent.objects.filter(owner=user):
        with patient_transaction():
            operations.delete(agent)
        try:
            with patient_transaction():
                Agent.objects.filter(pk=agent.pk).delete()
        except ProtectedError:
            with patient_transaction():
                operations.make_nameless(agent, tombstone(), f"deleted-{secrets.token_hex(6)}")
        yield


PART = PersonalData(
    export=_export,
    stop=_stop,
    erase=_erase,
    goes=("your agents, with their keys, and the checkpoints that you uploaded",),
    stays=("agents that have played in other people's episodes or on the leaderboard: each is called deleted agent",),
)
