"""A search server over an index of ours, which `SearchTool(search_url=...)` and scripts written for GEM ask.

    python -m gem.tools.search_engine.retrieval_server --index wikigame --port 8000

It answers POST /retrieve, msgpack over HTTP: `{"query": ..., "topk": 3}` with `{"result": [{"document": ..., "score":
...}, ...]}`. It is meant for one's own machine: it knows no accounts, and listens on 127.0.0.1 unless told otherwise.
"""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from http import HTTPStatus
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

from gem.errors import MissingDependency
from gem.tools.search.index import Index, open_index

MAX_REQUEST = 64 * 1024
"""Bytes of a request that are read."""
MAX_TOPK = 100
TOPK = 3
ADDRESS = "/retrieve"


class SearchServer(ThreadingHTTPServer):
    """The server; `server_address` has the port that it listens on."""

    daemon_threads = True

    def __init__(self, index: Index, host: str = "127.0.0.1", port: int = 0, topk: int = TOPK) -> None:
        self.index, self.topk = index, topk
        super().__init__((host, port), _Handler)

    def answer(self, request: Any) -> dict[str, Any]:
        """The passages for a request.

        Raises:
            ValueError: if it is no request.
        """
        query, topk = (request.get("query"), request.get("topk")) if isinstance(request, dict) else (None, None)
        topk = self.topk if topk is None else topk
        if not isinstance(query, str) or not isinstance(topk, int) or not 1 <= topk <= MAX_TOPK:
            raise ValueError(f"A request is a map with a query, a text, and topk, from 1 to {MAX_TOPK}.")
        passages = self.index.search(query, topk)
        return {
            "result": [
                {"document": {"contents": f"{passage.title}\n{passage.text}"}, "score": passage.score}
                for passage in passages
            ]
        }


class _Handler(BaseHTTPRequestHandler):
    server: SearchServer
    timeout = 30

    def do_POST(self) -> None:
        """Answer a request."""
        msgpack = _msgpack()
        length = int(self.headers.get("Content-Length") or 0)
        if self.path.partition("?")[0] != ADDRESS or not 0 < length <= MAX_REQUEST:
            self.send_error(HTTPStatus.NOT_FOUND if length else HTTPStatus.BAD_REQUEST)
            return
        try:
            answer = self.server.answer(msgpack.unpackb(self.rfile.read(length)))
        except (ValueError, msgpack.exceptions.UnpackException):
            self.send_error(HTTPStatus.BAD_REQUEST, f"A request is a map with a query and topk, from 1 to {MAX_TOPK}")
            return
        body = msgpack.packb(answer)
        self.send_response(HTTPStatus.OK)
        self.send_header("Content-Type", "application/msgpack")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_: Any) -> None:
        """Write nothing for a request."""


def main(arguments: Sequence[str] | None = None) -> None:
    """Serve an index until the process is stopped."""
    parser = argparse.ArgumentParser(description="A search server over an index (gemweb search builds one).")
    parser.add_argument("--index", default="wikigame", help="the name or folder of an index")
    parser.add_argument("--host", default="127.0.0.1")
    parser.add_argument("--port", type=int, default=8000)
    parser.add_argument("--topk", type=int, default=TOPK)
    options = parser.parse_args(arguments)
    _msgpack()
    with SearchServer(open_index(options.index), options.host, options.port, options.topk) as server:
        server.serve_forever()


def _msgpack() -> Any:
    try:
        import msgpack  # type: ignore[import-untyped]  # noqa: PLC0415 (not every engine searches)
    except ImportError as error:
        raise MissingDependency("A search server", ["msgpack"]) from error
    return msgpack
