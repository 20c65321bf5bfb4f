"""The two clients: `Client` waits in the calling thread, `AsyncClient` in an event loop. Their methods are the same.

    with Client("https://gemweb.example.org", token) as client:
        for environment in client.environments.list("sokoban"):
            print(environment.id, environment.summary)

    async with AsyncClient("https://gemweb.example.org", token) as client:
        async for environment in client.environments.list("sokoban"):
            print(environment.id, environment.summary)
"""

from __future__ import annotations

from gem.client.credentials import find_login
from gem.client.resources.account import AccountResource
from gem.client.resources.catalog import Environments
from gem.client.retries import Retries
from gem.client.runners import TIMEOUT_SECONDS, AsyncRunner, SyncRunner


class Client(SyncRunner):
    """The API of a gemweb server for programs with threads. Several threads may use one client."""

    def __init__(
        self,
        url: str | None = None,
        token: str | None = None,
        *,
        retries: Retries | None = None,
        timeout_seconds: float = TIMEOUT_SECONDS,
    ) -> None:
        """Make a client; the first request connects it.

        Args:
            url: the address of the server; by default that of GEMWEB_URL, else of the last `gemweb login`.
            token: a token of the account page; by default GEMWEB_TOKEN, else that of `gemweb login`. Without a token,
                only what is public can be read.
            retries: how often and after how long requests are repeated.
            timeout_seconds: how long to wait for each part of an answer.

        Raises:
            UsageError: if `url` is no address.
        """
        login = find_login(url, token)
        super().__init__(login.url, login.token, retries=retries, timeout_seconds=timeout_seconds)
        self.account = AccountResource[SyncRunner](self)
        self.environments = Environments[SyncRunner](self)


class AsyncClient(AsyncRunner):
    """The API of a gemweb server for programs with an event loop."""

    def __init__(
        self,
        url: str | None = None,
        token: str | None = None,
        *,
        retries: Retries | None = None,
        timeout_seconds: float = TIMEOUT_SECONDS,
    ) -> None:
        """Make a client; see `Client`."""
        login = find_login(url, token)
        super().__init__(login.url, login.token, retries=retries, timeout_seconds=timeout_seconds)
        self.account = AccountResource[AsyncRunner](self)
        self.environments = Environments[AsyncRunner](self)
