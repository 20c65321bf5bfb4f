"""What stock clients of trackio send, without the package."""

from __future__ import annotations

import json
import uuid
from typing import TYPE_CHECKING, Any

from django.test import Client

if TYPE_CHECKING:
    from collections.abc import Mapping

    from apps.curves.models import OutsideTraining


class Trackio:
    """Posts calls as trackio's client does.

    Args:
        username: whose account it is, which exists.
        scopes: what its token allows.
    """

    def __init__(self, username: str, scopes: tuple[str, ...] = ("read", "submit"), address: str = "") -> None:
        from apps.accounts.models import User
        from apps.api import operations

        _, self.secret = operations.make_token(User.objects.get(username=username), "trainer", list(scopes))
        self.client = Client(raise_request_exception=False)
        self.address = f"/trackio/{address or username}"

    def call(self, name: str, **kwargs: Any) -> Any:
        """A call; returns the response."""
        body = {"args": [], "kwargs": {"hf_token": None, **kwargs}}
        return self.post(name, json.dumps(body).encode())

    def post(self, name: str, body: bytes) -> Any:
        """Any body; returns the response."""
        headers = {"x-trackio-write-token": self.secret} if self.secret else {}
        path = f"{self.address}/api/{name}"
        return self.client.post(path, body, content_type="application/json", headers=headers)

    def log(self, *entries: Mapping[str, Any]) -> OutsideTraining:
        """Send entries; returns their training."""
        from apps.curves.models import OutsideTraining

        answer = self.call("bulk_log", logs=list(entries))
        assert answer.status_code == 200, answer.content
        return OutsideTraining.objects.get(project=entries[0]["project"], key=entries[0]["run_id"])


def entry(step: int | None, *, run: str = "first", log_id: str = "", **metrics: Any) -> dict[str, Any]:
    """An entry as trackio makes it."""
    return {
        "project": "wordle", "run": run, "run_id": f"id-{run}", "metrics": metrics, "step": step, "config": None,
        "log_id": log_id or uuid.uuid4().hex,
    }  # fmt: skip
