"""Every write to somebody's agent: make an endpoint, upload a checkpoint, change one, delete one."""

from __future__ import annotations

import fcntl
import secrets
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from time import monotonic, sleep, time
from typing import IO, Any

from django.conf import settings
from django.db import connection, transaction
from django.db.models import ProtectedError
from django.utils.text import slugify
from pydantic import SecretStr

from apps.accounts.models import User
from apps.agents.models import Agent, Endpoint, Weights
from apps.agents.seal import seal
from gem.agents.endpoint import EndpointSpec
from gem.errors import InvalidArgument
from gem.http import origin
from gem.training.archive import sha256, unpack
from gem.training.folder_check import WEIGHTS, check_alone, check_folder
from gem.training.trial import try_folder

COLOURS = (1, 4, 5, 6, 7)
"""In turn; the others belong to the agents that everybody has."""
SLUG_LENGTH = 40
MEGABYTE = 10**6
DRAFT_SECONDS = 3600.0
"""After so long nobody works on what is being unpacked."""
WAIT_SECONDS = 60.0
"""How long an upload waits for the one before it to be tried."""


class TooManyAgents(Exception):
    """The person has as many agents of a kind as one person may have; the message says so."""


class Unusable(Exception):
    """The file is no checkpoint that can play here; the message says why, and what to do."""


@transaction.atomic
def create(owner: User, name: str, spec: EndpointSpec, key: SecretStr | None = None, *, shared: bool = False) -> Agent:
    """Store an endpoint agent of `owner`.

    Raises:
        TooManyAgents: above `ENDPOINTS_PER_USER`.
    """
    User.objects.select_for_update(no_key=True).get(pk=owner.pk)  # two at once count each other
    number = Agent.objects.endpoints().filter(owner=owner).count()
    if number >= settings.ENDPOINTS_PER_USER:
        raise TooManyAgents(f"You have {number} agents, as many as one person may have. Delete one first.")
    colour = COLOURS[Agent.objects.count() % len(COLOURS)]
    kind = Agent.Kind.ENDPOINT
    agent = Agent.objects.create(slug=_slug(name), name=name, kind=kind, owner=owner, colour=colour, shared=shared)
    Endpoint.objects.create(agent=agent, spec=spec.model_dump(mode="json"), sealed_key=seal(key or SecretStr("")))
    return agent


@transaction.atomic
def change(agent: Agent, name: str, spec: EndpointSpec, key: SecretStr | None = None, *, shared: bool = False) -> Agent:
    """Store how the agent is from now on; what it plays already goes on as it began.

    Without a `key` the stored one stays, unless the address leads to another server: a key belongs to one.
    """
    endpoint = Endpoint.objects.select_for_update().get(agent=agent)
    before = EndpointSpec.model_validate(endpoint.spec)
    if key is not None and key.get_secret_value():
        endpoint.sealed_key = seal(key)
    elif origin(before.url) != origin(spec.url):
        endpoint.sealed_key = ""
    endpoint.version += before.digest != spec.digest
    endpoint.spec = spec.model_dump(mode="json")
    endpoint.save()
    agent.name, agent.shared = name, shared
    agent.save(update_fields=["name", "shared"])
    return agent


def forget_key(agent: Agent) -> None:
    """Delete the stored key."""
    Endpoint.objects.filter(agent=agent).update(sealed_key="")


def delete(agent: Agent) -> None:
    """Delete the agent and what it played with: key and set-up, or uploaded weights.

    Where it has played, its name stays. The weights of trainings are not for this: they belong to their job.
    """
    weights = Weights.objects.filter(agent=agent, uploaded=True).first()
    try:
        with transaction.atomic():
            agent.delete()
    except ProtectedError:
        with transaction.atomic():
            Endpoint.objects.filter(agent=agent).delete()
            Weights.objects.filter(agent=agent, uploaded=True).delete()
            Agent.objects.filter(pk=agent.pk).update(retired=True, shared=False)
    if weights is not None:
        shutil.rmtree(weights.path, ignore_errors=True)


# ------------------------------------------------------------------ uploaded checkpoints


def upload(owner: User, name: str, file: IO[bytes], *, shared: bool = False) -> Agent:
    """Make an agent of a checkpoint in a zip or tar archive, once it was unpacked, looked at and tried.

    Takes seconds: the policy is loaded and asked once, in a process of its own. Call it outside of any transaction.

    Args:
        name: what pages call it; what its card says it was trained with, if empty.

    Raises:
        Unusable: if the archive is refused or the policy does not play; nothing of it stays.
        TooManyAgents: above `UPLOADS_PER_USER`.
    """
    _check_room(owner)
    _sweep()
    slug = _slug(name or "checkpoint")
    draft = _uploads() / f".{slug}.new"
    draft.mkdir(parents=True)
    try:
        told = _inspected(draft, file)
        return _store(owner, name, slug, draft, told, shared=shared)
    except InvalidArgument as refused:
        raise Unusable(str(refused)) from refused
    finally:
        shutil.rmtree(draft, ignore_errors=True)


def _sweep() -> None:
    """Delete what uploads left behind whose process was killed."""
    for draft in _uploads().glob(".*.new"):
        if time() - draft.stat().st_mtime > DRAFT_SECONDS:
            shutil.rmtree(draft, ignore_errors=True)


def _inspected(draft: Path, file: IO[bytes]) -> dict[str, Any]:
    """What is stored of the policy in an archive, once it has been unpacked into `draft` and has played.

    Raises:
        InvalidArgument: if it is refused.
    """
    unpack(file, draft, most=settings.UPLOAD_MEGABYTES * MEGABYTE)
    card = check_folder(draft)
    check_alone(draft)
    if not connection.in_atomic_block:
        connection.close()  # what takes seconds must not keep a connection of the pool
    with _one_at_a_time():
        tried = try_folder(draft, card.env_id)
    first = {"env_id": tried.env_id, "action": tried.action.replace("\0", ""), "seconds": round(tried.seconds, 3)}
    return {
        "card": {**card.model_dump(mode="json"), "parameters": tried.parameters, "tried": first},
        "size": (draft / WEIGHTS).stat().st_size,
        "sha256": sha256(draft / WEIGHTS),
    }


@transaction.atomic
def _store(owner: User, name: str, slug: str, draft: Path, told: dict[str, Any], *, shared: bool) -> Agent:
    User.objects.select_for_update(no_key=True).get(pk=owner.pk)  # two at once count each other
    _check_room(owner)
    agent = Agent.objects.create(
        slug=slug,
        name=(name or told["card"]["recipe"] or "checkpoint")[:80],
        kind=Agent.Kind.CHECKPOINT,
        about="Uploaded.",
        owner=owner,
        colour=COLOURS[Agent.objects.count() % len(COLOURS)],
        shared=shared,
    )
    place = _uploads() / slug
    Weights.objects.create(agent=agent, folder=str(place.relative_to(settings.RUNS_DIR)), uploaded=True, **told)
    draft.rename(place)  # last: only a lost commit leaves a folder without its row
    return agent


def _check_room(owner: User) -> None:
    number = Agent.objects.uploads().filter(owner=owner).count()
    if number >= settings.UPLOADS_PER_USER:
        raise TooManyAgents(f"You have uploaded {number} checkpoints, as many as one person may. Delete one first.")


def _uploads() -> Path:
    return Path(settings.RUNS_DIR) / "uploads"


@contextmanager
def _one_at_a_time() -> Iterator[None]:
    """Within, nobody else on this machine tries an upload: each takes a core and the memory of a whole model.

    Raises:
        InvalidArgument: if others take too long.
    """
    until = monotonic() + WAIT_SECONDS
    with (_uploads() / "lock").open("w") as lock:
        while True:
            try:
                fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except OSError as error:
                if monotonic() > until:
                    raise InvalidArgument("Other uploads are being tried. Upload it again in a minute.") from error
                sleep(0.2)
            else:
                break
        yield


def _slug(name: str) -> str:
    """A short name that nobody has: no other's is told by asking for it."""
    base = slugify(name)[:SLUG_LENGTH].strip("-") or "endpoint"
    return f"{base}-{secrets.token_hex(3)}"
