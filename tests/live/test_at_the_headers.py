"""A real web process decides on uploads by their headers, and does not wait for ever for what clients never send."""

from __future__ import annotations

import socket
from contextlib import closing, suppress
from http.client import HTTPConnection
from select import select

from django.conf import settings
from django.test import Client

from apps.accounts.models import User
from apps.agents.models import Upload
from tests.live.processes import Fleet, Web, wait_for

LARGE = 300 * 10**6


def cookie_of(name: str) -> str:
    """The session cookie of a new account."""
    client = Client()
    client.force_login(User.objects.create_user(name))
    return f"{settings.SESSION_COOKIE_NAME}={client.cookies[settings.SESSION_COOKIE_NAME].value}"


def begin_upload(web: Web, length: int | None, cookie: str = "") -> tuple[socket.socket, str]:
    """Send only the headers of an upload. Returns the connection and the beginning of the answer."""
    size = "Transfer-Encoding: chunked" if length is None else f"Content-Length: {length}"
    lines = ["POST /agents/upload/ HTTP/1.1", f"Host: 127.0.0.1:{web.port}", size, "Expect: 100-continue"]
    lines += ["Content-Type: multipart/form-data; boundary=b", f"Cookie: {cookie}", "", ""]
    connection = socket.create_connection(("127.0.0.1", web.port), timeout=30)
    connection.sendall("\r\n".join(lines).encode())
    return connection, connection.recv(65536).decode()


def refused(web: Web, length: int | None, cookie: str = "") -> str:
    """The whole answer to the headers of an upload, after which the process closes the connection."""
    connection, answer = begin_upload(web, length, cookie)
    with closing(connection):
        while piece := connection.recv(65536):
            answer += piece.decode()
    return answer


def test_an_upload_is_decided_by_its_headers(fleet: Fleet) -> None:
    web = fleet.web(UPLOAD_MEGABYTES="400", UPLOAD_FOLDER_MEGABYTES="500", UPLOADS_AT_A_TIME="1", UPLOADS_PER_USER="2")
    without_login = refused(web, LARGE)
    assert "302 Found" in without_login
    assert "location: /account/login/?next=%2Fagents%2Fupload%2F" in without_login
    assert "302 Found" in refused(web, LARGE, 'sessionid="abcdefghijkl\\000"')
    ada, eve, full = cookie_of("ada"), cookie_of("eve"), cookie_of("full")
    Upload.objects.bulk_create(
        Upload(slug=f"sent-{number}", owner=User.objects.get(username="full")) for number in range(2)
    )
    assert "413 " in refused(web, 402 * 10**6, ada)
    assert "411 " in refused(web, None, ada)
    assert "422 " in refused(web, LARGE, full)
    connection, answer = begin_upload(web, LARGE, ada)
    with closing(connection):
        assert "100 Continue" in answer, "this one is waited for"
        assert "You are uploading a checkpoint already" in refused(web, 1000, ada)
        assert "Others are uploading now" in refused(web, 1000, eve)
        assert "507 " in refused(web, LARGE, eve), "there is room for one of them"
    wait_for(lambda: _is_admitted(web, eve), "the place to be free again")


def _is_admitted(web: Web, cookie: str) -> bool:
    connection, answer = begin_upload(web, 1000, cookie)
    connection.close()
    return "100 Continue" in answer


def test_nothing_is_waited_for_for_ever(fleet: Fleet) -> None:
    web = fleet.web(REQUEST_SECONDS="1")
    used_again = HTTPConnection("127.0.0.1", web.port, timeout=30)
    answers = {
        b"": b"",
        b"\r\n\r\n": b"",
        b"GET / HTTP/1.1\r\nHost: 127.0.0.1\r\nX-More: ": b"",
        b"POST /begin/ HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Length: 100\r\n\r\nact=": b"HTTP/1.1 408",
    }
    connections = [(socket.create_connection(("127.0.0.1", web.port), timeout=30), sent) for sent in answers]
    for connection, sent in connections:
        connection.sendall(sent)
    for connection, sent in connections:
        received = b""
        while piece := connection.recv(65536):
            received += piece
        connection.close()
        assert received.startswith(answers[sent])
        assert bool(received) == bool(answers[sent])
        used_again.request("GET", "/health/live")
        with used_again.getresponse() as response:
            assert response.status == 200
            response.read()
    used_again.close()


def refused_headers(web: Web, beginning: bytes, endless: bytes) -> str:
    """Send a request whose headers go on and on; the status of the answer, after which the connection is closed."""
    with socket.create_connection(("127.0.0.1", web.port), timeout=30) as connection:
        connection.sendall(beginning)
        with suppress(OSError):  # it is closed while more is being sent
            for _ in range(2000):
                connection.sendall(endless * (8192 // len(endless)))
                if select([connection], [], [], 0)[0]:
                    break
            else:
                return "16 MB were read"
        with suppress(ConnectionResetError):
            return connection.recv(65536).decode().partition("\r\n")[0]
        return "closed"


def test_headers_that_go_on_and_on_are_not_kept(fleet: Fleet) -> None:
    web = fleet.web()
    begun = b"GET /health/live HTTP/1.1\r\nHost: 127.0.0.1\r\n"
    too_large = {"HTTP/1.1 431 Request Header Fields Too Large", "closed"}
    assert refused_headers(web, begun + b"X-Long: ", b"a") in too_large
    assert refused_headers(web, begun, b"a: b\r\n") in too_large | {"HTTP/1.1 400 Bad Request"}
    assert refused_headers(web, b"GET /", b"a") in too_large
    after_a_body = begun.replace(b"GET", b"POST") + b"Transfer-Encoding: chunked\r\n\r\n1\r\na\r\n0\r\n"
    assert refused_headers(web, after_a_body, b"a: b\r\n") != "16 MB were read"
    used_again = HTTPConnection("127.0.0.1", web.port, timeout=30)
    for _ in range(3):  # each request of a connection is counted anew
        used_again.request("GET", "/health/live", headers={"X-Long": "a" * 60_000})
        with used_again.getresponse() as response:
            assert response.status == 200
            response.read()
    used_again.close()
