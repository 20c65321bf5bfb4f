"""The search tool and a server of GEM's protocol: a real HTTP server in this process, good and bad."""

import socket
import threading
import time
from collections.abc import Callable, Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

import pytest

import gem
from gem.errors import InvalidArgument
from gem.tools.search_tool import SearchTool

msgpack = pytest.importorskip("msgpack")

DOCUMENTS = [{"contents": "Tokyo\nTokyo is the capital\nof Japan."}, {"contents": '"Kyoto"\nKyoto is old.'}]
ASK = "I look. <search> capital of Japan </search> Then more."


class Server:
    """Answers every request with what `answer` writes; `requests` has what was sent."""

    def __init__(self) -> None:
        self.requests: list[Any] = []
        self.answer: Callable[[BaseHTTPRequestHandler], None] = self.documents
        outer = self

        class Handler(BaseHTTPRequestHandler):
            def do_POST(self) -> None:
                body = self.rfile.read(int(self.headers["Content-Length"]))
                outer.requests.append(msgpack.unpackb(body))
                outer.answer(self)

            def log_message(self, *args: object) -> None:
                pass

        self.http = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.url = f"http://127.0.0.1:{self.http.server_port}/retrieve?corpus=towns"

    def documents(self, handler: BaseHTTPRequestHandler) -> None:
        found = [{"document": one, "score": 1.5} for one in DOCUMENTS]
        send(handler, msgpack.packb({"result": found[: self.requests[-1]["topk"]]}))


def send(handler: BaseHTTPRequestHandler, body: bytes, status: int = 200, **headers: str) -> None:
    handler.send_response(status)
    for name, value in headers.items():
        handler.send_header(name, value)
    handler.send_header("Content-Length", str(len(body)))
    handler.end_headers()
    handler.wfile.write(body)


@pytest.fixture
def server() -> Iterator[Server]:
    running = Server()
    thread = threading.Thread(target=running.http.serve_forever, args=(0.02,), daemon=True)
    thread.start()
    yield running
    running.http.shutdown()
    running.http.server_close()


def test_it_speaks_gems_protocol(server: Server) -> None:
    valid, error, told, parsed = SearchTool(search_url=server.url, topk=2).execute_action(ASK)
    assert server.requests == [{"query": "capital of Japan", "topk": 2, "return_scores": True}]
    assert (valid, error, parsed) == (True, False, "I look. <search> capital of Japan </search>")
    assert told == (
        "\n\n<information>Doc 1(Title: Tokyo) Tokyo is the capital\nof Japan.\n"
        'Doc 2(Title: "Kyoto") Kyoto is old.\n</information>\n\n'
    )


def test_the_address_may_come_from_the_environment(server: Server, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SEARCH_URL", server.url)
    assert "Tokyo" in SearchTool().execute_action(ASK)[2]


@pytest.mark.parametrize(
    "body",
    [
        {"result": [DOCUMENTS]},  # a server for several queries
        {"result": DOCUMENTS},  # without scores
        {"result": [{"document": {"title": "Tokyo", "text": "Tokyo is the capital"}, "score": None}]},
    ],
)
def test_other_servers_of_the_family_are_understood(server: Server, body: Any) -> None:
    server.answer = lambda handler: send(handler, msgpack.packb(body))
    assert "Doc 1(Title: Tokyo) Tokyo is the capital" in SearchTool(search_url=server.url).execute_action(ASK)[2]


def test_nothing_found_is_said(server: Server) -> None:
    server.answer = lambda handler: send(handler, msgpack.packb({"result": []}))
    assert "Nothing was found." in SearchTool(search_url=server.url).execute_action(ASK)[2]


def slowly(handler: BaseHTTPRequestHandler) -> None:
    handler.send_response(200)
    handler.send_header("Content-Length", "1000000")
    handler.end_headers()
    try:
        for _ in range(100):
            handler.wfile.write(b"x")
            handler.wfile.flush()
            time.sleep(0.05)
    except OSError:
        pass


def endlessly(handler: BaseHTTPRequestHandler) -> None:
    handler.send_response(200)
    handler.end_headers()
    try:
        while True:
            handler.wfile.write(b"x" * 1_000_000)
    except OSError:
        pass


def hang_up(handler: BaseHTTPRequestHandler) -> None:
    handler.connection.shutdown(socket.SHUT_RDWR)


@pytest.mark.parametrize(
    ("answer", "said"),
    [
        (lambda h: send(h, b"oops", 500), "status 500"),
        (lambda h: send(h, b"", 302, Location="http://127.0.0.1:9/"), "status 302"),
        (lambda h: send(h, b"<html>"), "no list of passages"),
        (lambda h: send(h, b""), "no list of passages"),
        (lambda h: send(h, b"\x81" * 100_000), "no list of passages"),
        (lambda h: send(h, msgpack.packb({"result": "text"})), "no list of passages"),
        (lambda h: send(h, msgpack.packb({"result": [{"document": {"contents": 5}}]})), "no list of passages"),
        (lambda h: send(h, msgpack.packb([1])), "no list of passages"),
        (lambda _: time.sleep(1.5), "did not answer within 0.5 s"),
        (slowly, "did not answer within 0.5 s"),
        (endlessly, "more than 8 MiB"),
        (hang_up, "cannot be reached"),
    ],
    ids=[
        "status",
        "redirect",
        "html",
        "nothing",
        "nested",
        "no list",
        "no passage",
        "no object",
        "silence",
        "drip",
        "flood",
        "gone",
    ],
)
def test_a_server_that_fails_is_an_answer_and_not_the_end(
    server: Server, answer: Callable[[BaseHTTPRequestHandler], None], said: str
) -> None:
    server.answer = answer
    timeout = 5.0 if "MiB" in said else 0.5
    env = gem.make(
        "game:GuessTheNumber-v0-easy", tools=[{"name": "search", "search_url": server.url, "timeout": timeout}]
    )
    env.reset(seed=1)
    observation, _, terminated, truncated, info = env.step(ASK)
    assert said in observation
    assert (terminated, truncated) == (False, False)
    assert info["tool_calls"][0]["error"] is True
    assert info["tool_success_counter"] == 0


def test_nobody_there_is_an_answer_too() -> None:
    with socket.socket() as unused:
        unused.bind(("127.0.0.1", 0))
        url = f"http://127.0.0.1:{unused.getsockname()[1]}/"
    valid, error, told, _ = SearchTool(search_url=url).execute_action(ASK)
    assert (valid, error) == (True, True)
    assert "cannot be reached" in told


@pytest.mark.parametrize("url", ["file:///etc/passwd", "localhost:8000", "ftp://x/", ""])
def test_an_address_is_one_of_a_server(url: str) -> None:
    with pytest.raises(InvalidArgument, match="address"):
        SearchTool(search_url=url)


def test_an_environment_spawns_with_the_same_server(server: Server) -> None:
    env = gem.make("game:GuessTheNumber-v0-easy", tools=[SearchTool(search_url=server.url)])
    other = env.spawn()
    other.reset(seed=1)
    assert "Tokyo" in other.step(ASK)[0]


def test_an_address_is_in_no_record(server: Server) -> None:
    assert SearchTool(search_url=server.url, topk=5).settings() == {"topk": 5}
    with pytest.raises(InvalidArgument, match="not both"):
        SearchTool(search_url=server.url, index="towns")
