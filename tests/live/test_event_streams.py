"""Event streams, end to end: a real web process, Postgres, Valkey and plain clients that come, go and come back."""

from __future__ import annotations

import json
import random
import signal
import socket
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from http.client import HTTPConnection

import pytest
from django.conf import settings
from django.test import Client
from websockets.exceptions import ConnectionClosed

from apps.accounts.models import User
from apps.api import operations as tokens
from apps.episodes import operations
from apps.episodes.models import Episode
from apps.moderation import operations as moderation
from apps.moderation.kinds import kind_named
from apps.visibility import Visibility
from tests.live.event_readers import EventReader, Received, reading, socket_of
from tests.live.processes import Fleet, Web, closed_with, wait_for

Take = Callable[..., None]


@pytest.fixture
def web(fleet: Fleet) -> Web:
    """One web process."""
    return fleet.web()


def turns_in(events: list[Received]) -> list[int]:
    """The numbers of the turns among the events."""
    return [event.data["turn"] for event in events if event.name == "episode.turn"]


def path_of(episode: Episode) -> str:
    return f"episodes/{episode.id}"


def test_history_comes_first_then_turns_as_they_are_played_and_the_end_closes_the_stream(
    web: Web, episode: Episode, take_turns: Take
) -> None:
    take_turns(episode, 2)
    with reading(web, path_of(episode)) as reader:
        assert reader.status == 200
        assert reader.response.getheader("Content-Type") == "text/event-stream; charset=utf-8"
        assert reader.response.getheader("Content-Length") is None
        assert [event.name for event in reader.take(3)] == ["episode.started", "episode.turn", "episode.turn"]
        for number in (3, 4):
            take_turns(episode, 1)
            assert turns_in(reader.take(1)) == [number]
        operations.abandon(episode)
        (ended,) = list(reader)
    assert ended.name == "episode.ended"
    assert ended.data["outcome"] == "abandoned"
    assert ended.id == ended.data["seq"] == 5


def test_a_stream_continues_after_every_id_and_says_at_the_end_that_nothing_follows(
    web: Web, episode: Episode, take_turns: Take
) -> None:
    take_turns(episode, 4)
    operations.abandon(episode)
    with reading(web, path_of(episode)) as reader:
        everything = list(reader)
    ids = [event.id for event in everything]
    assert ids == sorted(set(ids))
    for place, last_id in enumerate(ids[:-1]):
        with reading(web, path_of(episode), last_id=last_id) as reader:
            assert list(reader) == everything[place + 1 :]
        with socket_of(web, path_of(episode), after=last_id) as connection:
            assert [json.loads(text) for text in connection] == [event.data for event in everything[place + 1 :]]
    with reading(web, path_of(episode), last_id=ids[-1]) as reader:
        assert reader.status == 204  # a browser does not come back after this
    with socket_of(web, path_of(episode), after=ids[-1]) as connection:
        assert closed_with(connection) == 1000


def test_a_storm_of_disconnects_loses_nothing_and_doubles_nothing(web: Web, episode: Episode, take_turns: Take) -> None:
    def read_in_pieces(seed: int) -> list[int]:
        draw = random.Random(seed)
        got: list[int] = []
        last_id: int | None = None
        while not got or got[-1] < 12:
            reader = EventReader(web, path_of(episode), last_id=last_id)
            assert reader.status == 200
            for event in reader:
                got.append(event.id)
                last_id = event.id
                if draw.random() < 0.4 or event.id == 12:
                    break  # without a word, and with events under way
            reader.close()
        return got

    with ThreadPoolExecutor(6) as readers:
        pieces = [readers.submit(read_in_pieces, seed) for seed in range(6)]
        for _ in range(6):
            take_turns(episode, 2)
        assert all(piece.result(timeout=60) == list(range(13)) for piece in pieces)


def test_every_process_tells_the_same_and_a_restart_is_bridged(
    fleet: Fleet, episode: Episode, take_turns: Take
) -> None:
    first, second = fleet.web(), fleet.web()
    here, there = (EventReader(web, path_of(episode)) for web in (first, second))
    take_turns(episode, 3)
    assert here.take(4) == there.take(4)
    first.running.signal(signal.SIGTERM)
    assert list(here) == [], "the stream ends in order, and not after the time for open responses"
    wait_for(first.running.ended, "the first process to end")
    take_turns(episode, 2)
    with reading(second, path_of(episode), last_id=here.last_id) as back:
        assert turns_in(back.take(2)) == turns_in(there.take(2)) == [4, 5]
    there.close()


def test_a_reader_that_takes_nothing_keeps_nobody_waiting_and_gets_everything_later(
    web: Web, episode: Episode, take_turns: Take
) -> None:
    turn_of = episode.turns
    take_turns(episode, 1)
    turn_of.update(observation="x" * 200_000)
    slow = socket.create_connection(("127.0.0.1", web.port))
    slow.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
    slow.sendall(f"GET /api/v1/{path_of(episode)}/events HTTP/1.0\r\nHost: 127.0.0.1\r\n\r\n".encode())
    with reading(web, path_of(episode)) as quick:
        quick.take(2)
        take_turns(episode, 2)
        assert turns_in(quick.take(2)) == [2, 3]
    operations.abandon(episode)
    text = b""
    slow.settimeout(30)
    while piece := slow.recv(65536):
        text += piece
    slow.close()
    assert [line for line in text.split(b"\n") if line.startswith(b"id: ")] == [b"id: %d" % seq for seq in range(5)]


# ---------------------------------------------------------------- who may follow


def bearer(user: User) -> tuple[int, dict[str, str]]:
    """A token of this person: its primary key, and the header."""
    token, secret = tokens.make_token(user, "a program", [])
    return token.pk, {"Authorization": f"Bearer {secret}"}


@pytest.mark.parametrize("change", ["private", "hidden"])
def test_a_stream_ends_when_one_may_no_longer_see_the_row(
    web: Web, episode: Episode, take_turns: Take, change: str
) -> None:
    with reading(web, path_of(episode)) as reader, socket_of(web, path_of(episode)) as connection:
        reader.take(1)
        connection.recv(timeout=30)
        if change == "private":
            operations.set_visibility(episode, Visibility.PRIVATE)
        else:
            kind = kind_named("episode")
            assert kind is not None
            moderation.hide(kind, episode, "spam", User.objects.create_user("admin", is_staff=True))
        take_turns(episode, 1)
        assert turns_in(list(reader)) in ([], [1]), "a turn may have been under way"
        assert closed_with(connection) == 4403
    with reading(web, path_of(episode)) as again:
        assert again.status == 404


def test_a_token_opens_what_is_private_until_it_is_revoked(web: Web, episode: Episode) -> None:
    owner = User.objects.create_user("ada")
    episode.seats.update(user=owner, visitor="")
    operations.set_visibility(episode, Visibility.PRIVATE)
    key, header = bearer(owner)
    with reading(web, path_of(episode), **header) as reader, socket_of(web, path_of(episode), **header) as connection:
        assert reader.take(1)[0].name == "episode.started"
        assert json.loads(connection.recv(timeout=30))["event"] == "episode.started"
        assert tokens.revoke_token(owner, key)
        assert list(reader) == []
        assert closed_with(connection) == 4403
    with reading(web, path_of(episode), **header) as again:
        assert again.status == 401
    with socket_of(web, path_of(episode), **header) as again_connection:
        assert closed_with(again_connection) == 4401


def test_a_cookie_is_the_key_of_a_session_and_nothing_else(web: Web, episode: Episode) -> None:
    owner = User.objects.create_user("ada")
    episode.seats.update(user=owner, visitor="")
    key, _ = bearer(owner)
    own = f"http://127.0.0.1:{web.port}"
    with reading(web, path_of(episode)) as reader:
        reader.take(1)
        for forged in (f"token {key}", "token x"):
            cookie = {"Cookie": f"{settings.SESSION_COOKIE_NAME}={forged}"}
            with socket_of(web, path_of(episode), origin=own, **cookie) as connection:
                connection.recv(timeout=30)
                operations.set_visibility(episode, Visibility.PRIVATE)
                assert closed_with(connection) == 4403, "it is rechecked as a guest"
            with socket_of(web, path_of(episode), origin=own, **cookie) as connection:
                assert closed_with(connection) == 4404
            operations.set_visibility(episode, Visibility.PUBLIC)


def test_the_headers_of_a_stream_alone_begin_none(web: Web, episode: Episode) -> None:
    connection = HTTPConnection("127.0.0.1", web.port, timeout=30)
    for _ in range(2):
        connection.request("HEAD", f"/api/v1/{path_of(episode)}/events")
        response = connection.getresponse()
        assert (response.status, response.read()) == (200, b"")
    connection.close()


def test_a_page_of_another_site_gets_no_more_than_a_guest(web: Web, episode: Episode) -> None:
    owner = User.objects.create_user("ada")
    episode.seats.update(user=owner, visitor="")
    client = Client()
    client.force_login(owner)
    cookie = {"Cookie": f"{settings.SESSION_COOKIE_NAME}={client.cookies[settings.SESSION_COOKIE_NAME].value}"}
    own = f"http://127.0.0.1:{web.port}"
    with socket_of(web, path_of(episode), origin="http://elsewhere.example") as connection:
        assert json.loads(connection.recv(timeout=30))["seq"] == 0
    operations.set_visibility(episode, Visibility.PRIVATE)
    with socket_of(web, path_of(episode), origin="http://elsewhere.example", **cookie) as connection:
        assert closed_with(connection) == 4404
    with socket_of(web, path_of(episode), origin=own, **cookie) as connection:
        assert json.loads(connection.recv(timeout=30))["seq"] == 0


def test_streams_and_sockets_of_one_person_are_counted_together(fleet: Fleet, episode: Episode) -> None:
    web = fleet.web(SOCKETS_PER_ADDRESS="2")
    with reading(web, path_of(episode)) as first, socket_of(web, path_of(episode)) as second:
        first.take(1)
        second.recv(timeout=30)
        with reading(web, path_of(episode)) as third:
            assert third.status == 429
            assert third.response.getheader("Retry-After")
            assert json.loads(third.response.read())["status"] == 429
        with socket_of(web, path_of(episode)) as fourth:
            assert closed_with(fourth) == 4429
    with pytest.raises(ConnectionClosed):
        second.recv()

    def is_free() -> bool:
        with reading(web, path_of(episode)) as reader:
            return reader.status == 200

    wait_for(is_free, "the places to be free again")


def test_a_socket_says_why_it_is_closed(web: Web, episode: Episode) -> None:
    for path, after, code in (
        ("episodes/nothing", "", 4404),
        (f"jobs/{episode.id}", "", 4404),
        (path_of(episode), "17", 4400),
        (path_of(episode), "-1", 4400),
        (path_of(episode), "9" * 40, 4400),
    ):
        with socket_of(web, path, after=after) as connection:
            assert closed_with(connection) == code, (path, after)
