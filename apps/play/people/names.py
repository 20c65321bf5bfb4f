"""The names of people without an account. People with one go by their user name, if they allow it."""

from __future__ import annotations

import re

from apps.accounts.models import User
from apps.agents.models import Agent
from apps.episodes.errors import Refusal
from apps.episodes.models import Seat
from apps.names import is_reserved
from apps.play.models import GuestName

MAX_CHARS = 24
_ALLOWED = re.compile(r"[^\W_][\w .'’-]{0,22}[\w.]|[^\W_]")
_SPACE = re.compile(r"\s+")


class NameRefused(Refusal):
    """A guest cannot go by this name."""

    status = 422
    title = "This name cannot be used"


def name_of_guest(visitor: str) -> str:
    """The name that this visitor has chosen; empty if they have chosen none."""
    found = GuestName.objects.filter(pk=visitor).values_list("name", flat=True).first() if visitor else None
    return found or ""


def choose(visitor: str, text: str) -> str:
    """Give a visitor a name, in the games that they play now too; an empty text takes it back. Returns it.

    Raises:
        NameRefused: somebody with an account or an agent has this name, or it has characters that names do not have.
    """
    name = _SPACE.sub(" ", text).strip()
    if not name:
        GuestName.objects.filter(pk=visitor).delete()
    else:
        _check(name)
        GuestName.objects.update_or_create(pk=visitor, defaults={"name": name})
    own = Seat.objects.filter(visitor=visitor, user=None, episode__status="running")
    own.update(name=name)
    return name


def forget(user: User, visitor: str) -> None:
    """Forget the name of a visitor who has logged in and plays under the account from now on."""
    GuestName.objects.filter(pk=visitor).delete()


def _check(name: str) -> None:
    if len(name) > MAX_CHARS or not _ALLOWED.fullmatch(name):
        raise NameRefused(f"A name has 1 to {MAX_CHARS} letters, digits, spaces, dots, hyphens and apostrophes.")
    if (
        User.objects.filter(username__iexact=name).exists()
        or Agent.objects.filter(name__iexact=name, owner=None).exists()
    ):
        raise NameRefused(f"{name} is the name of an account or of an agent here. Choose another name.")
    if is_reserved(name):
        raise NameRefused(f"{name} is reserved. Choose another name.")
