"""The roles that ask for addresses, and what one entry of the tables of addresses says."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from django.db import transaction
from django.test import Client
from django.urls import reverse

if TYPE_CHECKING:
    from apps.accounts.models import User

OWNED = {
    "agent",
    "policy",
    "training",
    "episode",
    "show",
    "duel",
    "job",
    "job_episode",
    "score",
    "daily_episode",
    "reported",
    "own_benchmark",
    "outside",
    "reported_evaluation",
}
"""The objects with a visibility, by their names in the table."""
OTHERS = ("nobody", "somebody else")
ROLES = (*OTHERS, "the owner", "staff")
ENV_ID = "game:GuessTheNumber-v0-easy"


@dataclass(frozen=True, slots=True)
class Address:
    """One request and its answers."""

    answers: str
    """Four statuses, or one for all."""
    names: tuple[str, ...] = ()
    """Which of the objects below fill in the address."""
    post: bool = False
    sent: dict[str, str] = field(default_factory=dict)
    has_session: bool = True
    """Whether it knows who asks; if not, everybody is answered as nobody is."""

    @property
    def method(self) -> str:
        """GET or POST."""
        return "POST" if self.post else "GET"

    def ask(self, client: Client, path: str) -> Any:
        """Send the request to an address of this site, and return the response."""
        return client.post(path, self.sent) if self.post else client.get(path, self.sent)

    @property
    def depends_on_role(self) -> bool:
        """Whether the table has an answer for each role."""
        return " " in self.answers

    @property
    def names_owned(self) -> bool:
        """Whether it is about an object that can be private."""
        return not OWNED.isdisjoint(self.names)

    def status(self, role: str, visibility: str = "unlisted") -> int:
        """What this role is answered about objects with this visibility."""
        is_stranger = role in ("nobody", "somebody else") or not self.has_session
        if visibility == "private" and self.names_owned and is_stranger:
            return 404
        statuses = [int(status) for status in self.answers.split()]
        return statuses[0] if len(statuses) == 1 else statuses[ROLES.index(role)]


class Asker:
    """Somebody of a role with one session for many requests, of which nothing stays for the next one."""

    def __init__(self, person: User | None) -> None:
        self._client = Client()
        if person is not None:
            self._client.force_login(person)
        self._cookies = self._client.cookies.output(header="", sep=";")

    def status(self, name: str, address: Address, objects: dict[str, Any]) -> int:
        """What an address with these objects in it answers."""
        path = reverse(name, args=[objects[part] for part in address.names])
        self._client.cookies.clear()
        self._client.cookies.load(self._cookies)
        with transaction.atomic():
            answer = address.ask(self._client, path)
            transaction.set_rollback(True)
        code: int = answer.status_code
        return code
