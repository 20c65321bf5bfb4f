"""Programs that use the API: each has the token of a person."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import pytest
from django.test import Client

if TYPE_CHECKING:
    from apps.accounts.models import User


class Program:
    """Sends requests with a token; without one, as a guest."""

    def __init__(self, secret: str = "", **headers: str) -> None:
        self.headers = ({"Authorization": f"Bearer {secret}"} if secret else {}) | headers
        self.client = Client(raise_request_exception=False)

    def send(self, method: str, path: str, body: Any = None, **headers: str) -> Any:
        """Send JSON, or bytes as they are."""
        data = body if isinstance(body, bytes) else b"" if body is None else json.dumps(body).encode()
        named = {name.replace("_", "-"): value for name, value in headers.items()}
        return self.client.generic(
            method, f"/api/v1/{path}", data, content_type="application/json", headers=self.headers | named
        )

    def get(self, path: str, **headers: str) -> Any:
        """Read."""
        return self.send("GET", path, **headers)

    def post(self, path: str, body: Any = None, **headers: str) -> Any:
        """Change something."""
        return self.send("POST", path, body, **headers)


@pytest.fixture
def owner(db: None) -> User:
    """Somebody with an account."""
    from apps.accounts.models import User

    return User.objects.create_user("ada")


@pytest.fixture
def program_of(db: None) -> Callable[..., Program]:
    """Makes a program of a person, whose token has these scopes; all by default."""

    def make(person: User, scopes: list[str] | None = None) -> Program:
        from apps.api import operations
        from apps.api.models import Scope

        _, secret = operations.make_token(person, "program", Scope.values if scopes is None else scopes)
        return Program(secret)

    return make


@pytest.fixture
def program(owner: User, program_of: Callable[..., Program]) -> Program:
    """A program of somebody with an account, which may do everything."""
    return program_of(owner)


@pytest.fixture
def guest(db: None) -> Program:
    """A program without a token."""
    return Program()
