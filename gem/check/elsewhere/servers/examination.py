"""Trying every promise with one server."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from gem.check.elsewhere.servers.promises import PROMISES, ServerPromise, Skipped
from gem.check.elsewhere.servers.server import TIMEOUT, Refused, Server
from gem.check.promise import BrokenPromise, Finding, Status
from gem.errors import EnvironmentFailure, ServerNotThere

__all__ = ["PROMISES", "TIMEOUT", "ServerExamination"]


class ServerExamination:
    """A check of the server at an address."""

    left_out: Sequence[str] = ()

    def __init__(self, url: str, seconds: float = TIMEOUT) -> None:
        self._server = Server(url, seconds)

    @property
    def heading(self) -> str:
        """The address."""
        return f"The OpenEnv server at {self._server.url}"

    def findings(self) -> Iterator[Finding]:
        """Try every promise and yield a finding for each; a broken basic promise is the last one that is tried.

        Raises:
            ServerNotThere: if no connection can be made.
        """
        for promise in PROMISES:
            status, detail = self._attempt(promise)
            advice = promise.advice if status == "wrong" else ""
            yield Finding(promise.title, status, detail, advice, promise.key, self._server.url)
            if promise.basic and status == "wrong":
                return

    def _attempt(self, promise: ServerPromise) -> tuple[Status, str]:
        try:
            promise.attempt(self._server)
        except Skipped as error:
            return "left out", str(error)
        except ServerNotThere:
            raise
        except (BrokenPromise, EnvironmentFailure) as error:
            return "wrong", str(error)
        except Refused as error:
            return "wrong", f"The server answered with an error: {error}"
        return "ok", ""
