"""A server of chat completions on loopback that says what a function tells it to, for verifiers to evaluate."""

from __future__ import annotations

import json
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any


class _Server(ThreadingHTTPServer):
    daemon_threads = True

    def __init__(self, reply: Callable[[str], str]) -> None:
        super().__init__(("127.0.0.1", 0), _Handler)
        self.reply = reply


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    server: _Server

    def do_POST(self) -> None:
        asked = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        text = self.server.reply(_content(asked["messages"][-1]))
        choice = {"index": 0, "message": {"role": "assistant", "content": text}, "finish_reason": "stop"}
        usage = {"prompt_tokens": 1, "completion_tokens": 1, "total_tokens": 2}
        answer = {"id": "scripted", "object": "chat.completion", "created": 0, "model": asked.get("model", "")}
        body = json.dumps({**answer, "choices": [choice], "usage": usage}).encode()
        self.send_response(200)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, format: str, *arguments: Any) -> None:  # noqa: A002 (http.server's name)
        """Say nothing about requests."""


def _content(message: Any) -> str:
    content = message["content"]
    if isinstance(content, str):
        return content
    return "".join(part.get("text", "") for part in content or [])


@contextmanager
def scripted_model(reply: Callable[[str], str]) -> Iterator[str]:
    """Serve a model while the block lasts; its address, which ends with /v1.

    Args:
        reply: what is said to the last message of a conversation.
    """
    server = _Server(reply)
    threading.Thread(target=server.serve_forever, args=(0.02,), daemon=True).start()
    try:
        yield f"http://127.0.0.1:{server.server_address[1]}/v1"
    finally:
        server.shutdown()
        server.server_close()
