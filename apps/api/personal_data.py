"""The API tokens of a person: in the export of the account, without their secrets, and when it is closed."""

from __future__ import annotations

from collections.abc import Iterator

from apps.accounts.models import User
from apps.accounts.personal_data import PersonalData, as_json
from apps.api.models import ApiToken, IdempotentRequest
from apps.zips import ExportedFile


def _export(user: User) -> Iterator[ExportedFile]:
    fields = ("name", "hint", "scopes", "created", "expires", "last_used")
    yield ExportedFile("api_tokens.json", [as_json(list(ApiToken.objects.filter(user=user).values(*fields)))])


def _stop(user: User) -> None:
    """Delete all tokens, so that no program acts for a closed account."""
    ApiToken.objects.filter(user=user).delete()
    IdempotentRequest.objects.filter(user=user).delete()


PART = PersonalData(export=_export, stop=_stop, goes=("your API tokens",))
