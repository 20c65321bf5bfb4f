"""The two clients: `Client` waits in the calling thread, `AsyncClient` in an event loop. Their methods are the same.

with Client("https://gemweb.example.org", token) as client:
    for environment in client.environments.list("sokoban"):
        print(environment.id, environment.summary)

async with AsyncClient("https://gemweb.example.org", token) as client:
    async for environment in client.environments.list("sokoban"):
        print(environment.id, environment.summary)
"""

from __future__ import annotations

from typing import Any

import httpx2

from gem.client.remote_env import RemoteEnv
from gem.client.resources.account import AccountResource
from gem.client.resources.catalog import Agents, Benchmarks, Environments, Leaderboards, Uploads
from gem.client.resources.challenges import Challenges
from gem.client.resources.curves import Curves
from gem.client.resources.duels import Duels
from gem.client.resources.episodes import Episodes
from gem.client.resources.jobs import Jobs, Trainings
from gem.client.resources.remote import Remotes
from gem.client.resources.reported import Reported
from gem.client.resources.standings import DailySeeds, DuelRatings
from gem.client.resources.studies import Studies
from gem.client.resources.webhooks import WebhooksResource
from gem.client.retries import Retries
from gem.client.runners import AsyncRunner, SyncRunner
from gem.client.transport import TIMEOUT_SECONDS
from gem.net.credentials import find_login


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
            token: a token of the account page; by default GEMWEB_TOKEN, else that of `gemweb login`. With an empty
                one, only what is public can be read.
            retries: how often and after how long requests are repeated.
            timeout_seconds: how long to wait for each part of an answer.

        Raises:
            UsageError: if `url` is no address.
        """
        login = find_login(url, token)
        super().__init__(login.url, login.token, retries=retries, timeout_seconds=timeout_seconds)
        self.account = AccountResource[SyncRunner](self)
        self.environments = Environments[SyncRunner](self)
        self.agents = Agents[SyncRunner](self)
        self.remotes = Remotes[SyncRunner](self)
        self.uploads = Uploads[SyncRunner](self)
        self.episodes = Episodes[SyncRunner](self)
        self.duels = Duels[SyncRunner](self)
        self.jobs = Jobs[SyncRunner](self)
        self.trainings = Trainings[SyncRunner](self)
        self.studies = Studies[SyncRunner](self)
        self.curves = Curves[SyncRunner](self)
        self.reported = Reported[SyncRunner](self)
        self.benchmarks = Benchmarks[SyncRunner](self)
        self.leaderboards = Leaderboards[SyncRunner](self)
        self.challenges = Challenges[SyncRunner](self)
        self.ratings = DuelRatings[SyncRunner](self)
        self.daily = DailySeeds[SyncRunner](self)
        self.webhooks = WebhooksResource[SyncRunner](self)

    def make(self, env_id: str, **arguments: Any) -> RemoteEnv:
        """Make an environment on the server, which an agent program uses like one of `gem.make`.

        Every episode is played and recorded there. The arguments are `opponent` and `seat`, `tools`, `max_tool_uses`
        and `tool_format` as in `gem.make`, `seed` for the first episode, and `visibility`.

        Raises:
            InvalidArgument: if an argument is another one.
        """
        return RemoteEnv(self, env_id, **arguments)


class AsyncClient(AsyncRunner):
    """The API of a gemweb server for programs with an event loop."""

    def __init__(
        self,
        url: str | None = None,
        token: str | None = None,
        *,
        retries: Retries | None = None,
        timeout_seconds: float = TIMEOUT_SECONDS,
        transport: httpx2.AsyncBaseTransport | None = None,
    ) -> None:
        """Make a client; see `Client`.

        Args:
            transport: what carries the requests; by default the network. With `httpx2.ASGITransport` it is a server in
                the same process.
        """
        login = find_login(url, token)
        super().__init__(login.url, login.token, retries=retries, timeout_seconds=timeout_seconds, transport=transport)
        self.account = AccountResource[AsyncRunner](self)
        self.environments = Environments[AsyncRunner](self)
        self.agents = Agents[AsyncRunner](self)
        self.remotes = Remotes[AsyncRunner](self)
        self.uploads = Uploads[AsyncRunner](self)
        self.episodes = Episodes[AsyncRunner](self)
        self.duels = Duels[AsyncRunner](self)
        self.jobs = Jobs[AsyncRunner](self)
        self.trainings = Trainings[AsyncRunner](self)
        self.studies = Studies[AsyncRunner](self)
        self.curves = Curves[AsyncRunner](self)
        self.reported = Reported[AsyncRunner](self)
        self.benchmarks = Benchmarks[AsyncRunner](self)
        self.leaderboards = Leaderboards[AsyncRunner](self)
        self.challenges = Challenges[AsyncRunner](self)
        self.ratings = DuelRatings[AsyncRunner](self)
        self.daily = DailySeeds[AsyncRunner](self)
        self.webhooks = WebhooksResource[AsyncRunner](self)
