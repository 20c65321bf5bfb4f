"""The socket, end to end: a real web process, Postgres, Valkey and a plain client."""

import re
import socket
import time
from collections.abc import Callable

import pytest
from django.conf import settings
from django.contrib.sessions.backends.db import SessionStore
from django.test import Client
from django.urls import reverse
from websockets.exceptions import ConnectionClosed, InvalidStatus
from websockets.sync.client import ClientConnection

from apps.accounts.models import User
from apps.episodes.models import Episode
from apps.live import presence, publisher
from apps.live.hub import RECHECK_SECONDS
from tests.live.processes import WAIT_SECONDS, Fleet, Web, closed_with, wait_for

SEQ = re.compile(r"<!--seq (\d+)-->")
ROW = re.compile(r'<li id="t(\d+)"')

Take = Callable[[Episode, int], None]


def events_until(connection: ClientConnection, seq: int, seconds: float = WAIT_SECONDS) -> list[str]:
    """The events up to `seq`; notices are left out."""
    found: list[str] = []
    deadline = time.monotonic() + seconds
    while True:
        text = connection.recv(timeout=max(deadline - time.monotonic(), 0.01))
        assert isinstance(text, str)
        if match := SEQ.match(text):
            found.append(text)
            if int(match[1]) >= seq:
                return found


def turns_in(events: list[str]) -> list[int]:
    """The turns whose rows the events add, in the order of a page that puts new rows on top."""
    turns: list[int] = []
    for event in events:
        turns += sorted(map(int, ROW.findall(event)))
    return turns


def visitor_cookie(visitor: str) -> str:
    session = SessionStore()
    session["visitor"] = visitor
    session.save()
    return f"{settings.SESSION_COOKIE_NAME}={session.session_key}"


@pytest.fixture
def web(fleet: Fleet) -> Web:
    """One web process."""
    return fleet.web()


@pytest.mark.parametrize("after", [0, 3, 7])
def test_a_page_catches_up_from_where_it_is(web: Web, episode: Episode, take_turns: Take, after: int) -> None:
    take_turns(episode, 7)
    with web.watch(f"episode/{episode.id}", after=after) as connection:
        if after == 7:
            take_turns(episode, 1)
        last = max(7, after + 1)
        assert turns_in(events_until(connection, last)) == list(range(after + 1, last + 1))


def test_turns_arrive_as_they_are_played_in_every_web_process(fleet: Fleet, episode: Episode, take_turns: Take) -> None:
    first, second = fleet.web(), fleet.web()
    with first.watch(f"episode/{episode.id}") as here, second.watch(f"episode/{episode.id}") as there:
        waits = []
        for number in range(1, 6):
            started = time.monotonic()
            take_turns(episode, 1)
            for connection in (here, there):
                assert turns_in(events_until(connection, number)) == [number]
            waits.append(time.monotonic() - started)
        assert min(waits[1:]) < RECHECK_SECONDS / 2  # by the hint: after a recheck the next is a whole interval away


def test_a_lost_hint_is_healed_by_the_recheck(
    web: Web, episode: Episode, take_turns: Take, monkeypatch: pytest.MonkeyPatch
) -> None:
    with web.watch(f"episode/{episode.id}") as connection:
        take_turns(episode, 1)
        events_until(connection, 1)
        monkeypatch.setattr(publisher, "CHANNEL", "nobody listens here")
        take_turns(episode, 2)
        assert turns_in(events_until(connection, 3)) == [2, 3]


def test_a_slow_socket_is_brought_up_to_date_when_it_reads_again(
    fleet: Fleet, episode: Episode, take_turns: Take
) -> None:
    web = fleet.web()
    raw = socket.create_connection(("127.0.0.1", web.port))
    raw.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
    request = (
        f"GET /live/episode/{episode.id}/?after=0 HTTP/1.1\r\nHost: 127.0.0.1:{web.port}\r\n"
        f"Origin: http://127.0.0.1:{web.port}\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n"
        "Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\nSec-WebSocket-Version: 13\r\n\r\n"
    )
    raw.sendall(request.encode())
    with web.watch(f"episode/{episode.id}") as quick:
        take_turns(episode, 15)
        assert turns_in(events_until(quick, 15)) == list(range(1, 16))
    text = b""
    raw.settimeout(5)
    while b"<!--seq 15-->" not in text:
        text += raw.recv(65536)
    raw.close()
    seqs = [int(seq) for seq in re.findall(rb"<!--seq (\d+)-->", text)]
    assert seqs == sorted(set(seqs))
    assert seqs[-1] == 15


def test_only_who_sits_in_the_seat_hears_what_the_seat_hears(web: Web, episode: Episode) -> None:
    with web.watch(f"episode/{episode.id}", audience="seat-0") as stranger:
        assert closed_with(stranger) == 4403
    cookie = visitor_cookie("a" * 32)
    with web.watch(f"episode/{episode.id}", audience="seat-0", cookie=cookie) as player:
        assert closed_with(player, seconds=1.0) is None


def test_a_logout_closes_the_sockets_that_needed_the_login(web: Web, episode: Episode) -> None:
    user = User.objects.create_user("somebody", password="long enough for a test")
    episode.seats.update(user=user, visitor="")
    client = Client()
    client.force_login(user)
    cookie = f"{settings.SESSION_COOKIE_NAME}={client.cookies[settings.SESSION_COOKIE_NAME].value}"
    with web.watch(f"episode/{episode.id}", audience="seat-0", cookie=cookie) as connection:
        assert closed_with(connection, seconds=0.5) is None
        client.post(reverse("accounts:logout"))
        assert closed_with(connection, seconds=5) == 4403


def test_what_is_not_there_is_closed_with_a_code(web: Web, agents: object) -> None:
    for path in ("episode/nothing", "nothing/here"):
        with web.watch(path) as connection:
            assert closed_with(connection) == 4404


def test_a_deleted_row_sends_its_spectators_away(web: Web, episode: Episode) -> None:
    with web.watch(f"episode/{episode.id}") as connection:
        assert closed_with(connection, seconds=0.5) is None
        episode.delete()
        assert closed_with(connection, seconds=8) == 4404


def test_another_site_opens_no_socket_and_the_log_says_why(web: Web, episode: Episode) -> None:
    with pytest.raises(InvalidStatus):
        web.watch(f"episode/{episode.id}", origin="https://elsewhere.example")
    wait_for(lambda: any("https://elsewhere.example" in line for line in web.running.tail), "the line in the log")


def test_an_address_without_a_socket_is_refused(web: Web) -> None:
    with pytest.raises(InvalidStatus):
        web.watch("a/b/c/d")


def test_a_socket_takes_nothing_but_a_little_noise(web: Web, episode: Episode, take_turns: Take) -> None:
    with web.watch(f"episode/{episode.id}") as connection:
        connection.send("seen 3")
        take_turns(episode, 1)
        assert turns_in(events_until(connection, 1)) == [1]
        deadline = time.monotonic() + 20
        with pytest.raises(ConnectionClosed):
            while time.monotonic() < deadline:
                connection.send("seen")
                time.sleep(0.005)
        assert closed_with(connection) == 1008
    with web.watch(f"episode/{episode.id}") as connection:
        connection.send("x" * 1000)
        assert closed_with(connection) == 1009
    with web.watch(f"episode/{episode.id}") as connection:
        connection.send("x" * 100_000)
        assert closed_with(connection) == 1009


def test_one_address_has_a_number_of_sockets_and_gets_them_back(fleet: Fleet, episode: Episode) -> None:
    web = fleet.web(SOCKETS_PER_ADDRESS="2")
    path = f"episode/{episode.id}"
    with web.watch(path) as one, web.watch(path):
        with web.watch(path) as third:
            assert closed_with(third) == 4429
        one.close()
        wait_for(lambda: _stays_open(web, path), "a free place")


def test_handshakes_above_the_limit_are_answered_with_429(fleet: Fleet, episode: Episode) -> None:
    web = fleet.web(REQUESTS_PER_MINUTE="1")  # four for visitors
    with pytest.raises(InvalidStatus) as refused:
        for _ in range(6):
            with web.watch(f"episode/{episode.id}"):
                pass
    assert refused.value.response.status_code == 429
    assert int(refused.value.response.headers["Retry-After"]) > 0


@pytest.mark.fault
def test_spectators_are_counted_over_all_processes_and_vanish_with_a_killed_one(
    fleet: Fleet, episode: Episode, monkeypatch: pytest.MonkeyPatch
) -> None:
    first, second = fleet.web(), fleet.web()
    path, name = f"episode/{episode.id}", f"episode:{episode.id}"
    with first.watch(path) as here, first.watch(path, audience="home"), second.watch(path):
        wait_for(lambda: presence.count(name) == 2, "two spectators; a card on another page is none")
        wait_for(lambda: "2 watching" in str(here.recv(timeout=WAIT_SECONDS)), "the number on the page")
        second.running.process.kill()
        wait_for(lambda: presence.count(name) == 1, "the killed process' spectator to vanish")
        wait_for(lambda: "1 watching" in str(here.recv(timeout=WAIT_SECONDS)), "the number on the page")
    wait_for(lambda: presence.count(name) == 0, "nobody")


def test_who_plays_is_no_spectator(web: Web, episode: Episode) -> None:
    cookie = visitor_cookie("a" * 32)
    path, name = f"episode/{episode.id}", f"episode:{episode.id}"
    with web.watch(path, audience="seat-0", cookie=cookie) as player, web.watch(path):
        wait_for(lambda: presence.count(name) == 1, "one spectator")
        wait_for(lambda: "1 watching" in str(player.recv(timeout=WAIT_SECONDS)), "the number on the player's page")


def _stays_open(web: Web, path: str) -> bool:
    with web.watch(path) as connection:
        return closed_with(connection, seconds=0.5) is None
