"""A server that is checked: its sessions, its schemas, and random actions that fit them."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Any, NamedTuple

from gem.net.addresses import allowed_addresses
from gem.net.openenv import check_address
from gem.openenv.connection import Answer, Connection, Response, checked_answer
from gem.openenv.random_actions import draw_fields
from gem.openenv.wire import frame
from gem.rng import SplitMix64

TIMEOUT = 30.0
"""Seconds that an answer may take."""
TURNS = 12
"""An episode is played for so many turns, unless it ends earlier."""
VOLATILE = ("episode_id", "session_id", "request_id", "timestamp", "created_at", "elapsed")
"""Fields that may differ between two plays of the same episode."""


class Refused(Exception):
    """The server answered with an error; the message is its own."""


class Played(NamedTuple):
    """An episode, as far as it was played."""

    answers: list[Answer]
    """What the server answered to the reset and to each step."""
    actions: list[dict[str, Any]]

    @property
    def is_over(self) -> bool:
        """Whether it has ended."""
        return bool(self.answers[-1]["done"])


class Server:
    """The server at an address.

    Raises:
        InvalidArgument: if it is none, or this process must not connect to servers.
    """

    def __init__(self, url: str, timeout: float = TIMEOUT) -> None:
        self.url, self.timeout = check_address(url), timeout
        self._guard = allowed_addresses()
        self._action_schema: dict[str, Any] | None = None

    def get(self, path: str) -> Response:
        """Send a GET request."""
        connection = Connection(self.url, self._guard, self.timeout)
        try:
            return connection.get(path)
        finally:
            connection.close()

    @contextmanager
    def session(self) -> Iterator[Connection]:
        """A session of its own; it opens with its first message."""
        connection = Connection(self.url, self._guard, self.timeout)
        try:
            yield connection
        finally:
            connection.close()

    @property
    def action_schema(self) -> Mapping[str, Any]:
        """What the server says of its actions; empty if it says nothing."""
        if self._action_schema is None:
            with self.session() as connection:
                self._action_schema = connection.action_schema()
        return self._action_schema

    def random_action(self, seed: int, turn: int) -> dict[str, Any]:
        """An action with the required fields of the schema; all of its fields if none is required."""
        return draw_fields(SplitMix64(seed, turn, 11), self.action_schema)

    def play(self, session: Connection, seed: int, actions: list[dict[str, Any]] | None = None) -> Played:
        """Play an episode with random actions, or with these."""
        played = Played([ask(session, "reset", {"seed": seed})], [])
        for turn in range(TURNS if actions is None else len(actions)):
            if played.is_over:
                break
            action = self.random_action(seed, turn) if actions is None else actions[turn]
            played.actions.append(action)
            played.answers.append(ask(session, "step", action))
        return played


def ask(session: Connection, kind: str, data: Mapping[str, Any]) -> Answer:
    """Send a message that an observation has to answer.

    Raises:
        Refused: if the server answers with an error.
        EnvironmentFailure: if there is no answer, or none of this form.
    """
    reply = session.exchange(frame(kind, dict(data)))
    if reply.get("type") == "error":
        said = reply.get("data")
        error: dict[str, Any] = said if isinstance(said, dict) else {}
        raise Refused(f"{error.get('code', 'an error')}: {str(error.get('message', ''))[:200]}")
    return checked_answer(reply.get("data"))


def canonical(answer: Answer) -> str:
    """An answer in a form in which equal ones are equal, whatever the session is called."""
    return json.dumps(_without_volatile(answer), sort_keys=True)


def _without_volatile(value: Any) -> Any:
    if isinstance(value, dict):
        return {key: _without_volatile(item) for key, item in value.items() if key not in VOLATILE}
    return [_without_volatile(item) for item in value] if isinstance(value, list) else value
