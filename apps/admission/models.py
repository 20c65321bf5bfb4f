"""Who waits in a line, and when each party of a line was last served."""

from __future__ import annotations

from django.db import models
from django.db.models import Value
from django.db.models.functions import Cast, Concat, Now

from apps.leases import Leased

ACCOUNT = "user:"
"""The beginning of the name of a person with an account; the number of the account follows."""
VISITOR = "visitor:"
"""The beginning of the name of a person without one; the key of the visitor follows."""


def name_of(user_id: int | None, visitor: str = "") -> str:
    """The name of a person in all lines; empty for the site itself, which has no limits."""
    if user_id is not None:
        return f"{ACCOUNT}{user_id}"
    return f"{VISITOR}{visitor}" if visitor else ""


def account_in(name: str) -> int | None:
    """The number of the account in a name; None if it is the name of a visitor or of the site."""
    number = name.removeprefix(ACCOUNT)
    return int(number) if name.startswith(ACCOUNT) and number.isdecimal() else None


def name_of_account(field: str) -> Concat:
    """For queries: the name of the person whose account is in this foreign key."""
    return Concat(Value(ACCOUNT), Cast(f"{field}_id", models.CharField()))


class Admitted(Leased):
    """A row that waits for a worker on behalf of somebody."""

    person = models.CharField(max_length=48, blank=True, default="", db_default="")
    """Whose it is (`name_of`); empty if it is the site's."""
    address = models.CharField(max_length=32, blank=True, default="", db_default="")
    """The hashed IP address of a person without an account (`apps.accounts.visitors.address`): whoever discards the
    visitor key has the same share and the same limits as before."""

    class Meta:
        abstract = True


class Party(models.Model):
    """A person, or all visitors of one IP address, in one line."""

    pk = models.CompositePrimaryKey("line", "name")
    line = models.CharField(max_length=12)
    name = models.CharField(max_length=48)
    served = models.DateTimeField()
    """When a worker last claimed work of this party."""
    spent = models.FloatField(default=0, db_default=0)
    """Seconds for which workers were busy for this party, as of `spent_at`. Half of it is forgotten every minute."""
    spent_at = models.DateTimeField(db_default=Now())

    class Meta:
        indexes = [models.Index(fields=["served"])]

    def __str__(self) -> str:
        return f"{self.name} in {self.line}"
