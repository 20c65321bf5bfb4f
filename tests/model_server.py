"""A server that speaks OpenAI's chat completions and has, on request, every fault that real ones have.

The model's name in a request says what it does: `bisect` plays guessing games well, the names of `FAULTS` fail, each
in its way, and `flaky-N-<fault>` fails N times for each conversation before it plays. It listens on loopback.
"""

from __future__ import annotations

import json
import os
import re
import socket
import struct
import threading
import time
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from itertools import pairwise
from typing import Any

KEY = "sk-test-3f9c1a"
"""What model `locked` wants."""
LETTERS = 1 << 20


class ModelServer(ThreadingHTTPServer):
    """The server; `requests` is what it was asked, in order."""

    daemon_threads = True
    request_queue_size = 256

    def __init__(self, port: int = 0) -> None:
        super().__init__(("127.0.0.1", port), _Handler)
        self.requests: list[dict[str, Any]] = []
        self.headers_seen: list[dict[str, str]] = []
        self.tokens_in = self.tokens_out = 0
        """The tokens of all answers that were begun, as their usage says, also of those that nobody received."""
        self.failures: Counter[str] = Counter()
        self.counts_bytes = False
        """Whether each byte of a prompt is a token, the most that any tokenizer makes of it."""
        self.fates: list[str] = []
        """What becomes of the requests to the model `fated`: one after another, again and again."""
        self.well = False
        """Nothing is flaky any longer."""
        self.delay = 0.0
        """Seconds before every answer."""
        self.busy = self.busiest = 0
        """Requests under way, now and at most."""
        self.over = threading.Event()
        self.lock = threading.Lock()
        threading.Thread(target=self.serve_forever, args=(0.02,), daemon=True).start()

    @property
    def url(self) -> str:
        """What an agent's specification names."""
        return f"http://127.0.0.1:{self.server_address[1]}/v1"

    def handle_error(self, request: Any, client_address: Any) -> None:
        """Clients that go away are part of the tests."""


@contextmanager
def model_server(port: int = 0) -> Iterator[ModelServer]:
    """A server while the block lasts, by default on a free port."""
    server = ModelServer(port)
    try:
        yield server
    finally:
        server.over.set()
        server.shutdown()
        server.server_close()


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    server: ModelServer

    def do_POST(self) -> None:
        asked = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        with self.server.lock:
            self.server.requests.append(asked)
            self.server.headers_seen.append({name.lower(): value for name, value in self.headers.items()})
            self.server.busy += 1
            self.server.busiest = max(self.server.busy, self.server.busiest)
        try:
            self.server.over.wait(self.server.delay)
            if self.path != "/v1/chat/completions":
                self.reply(404, {"error": {"message": f"nothing at {self.path}"}})
            else:
                self.serve(asked)
        finally:
            with self.server.lock:
                self.server.busy -= 1

    def serve(self, asked: dict[str, Any]) -> None:
        model = asked["model"]
        if match := re.fullmatch(r"flaky-(\d+)-(.+)", model):
            conversation = json.dumps(asked["messages"])
            with self.server.lock:
                self.server.failures[conversation] += 1
                failing = self.server.failures[conversation] <= int(match[1]) and not self.server.well
            model = match[2] if failing else "bisect"
        if model == "fated":
            with self.server.lock:
                model = self.server.fates[len(self.server.requests) % len(self.server.fates)]
            asked = {**asked, "model": model}
        if model in LOST:
            self.count(asked, asked.get("max_tokens") or 0)
        if model in FAULTS:
            FAULTS[model](self, asked)
        elif model in MODELS:
            self.complete(asked, *MODELS[model](asked))
        else:
            self.reply(404, {"error": {"message": f"The model `{model}` does not exist.", "code": "model_not_found"}})

    def reply(self, status: int, data: Any, **headers: str) -> None:
        self.raw(status, json.dumps(data).encode(), "application/json", **headers)

    def raw(self, status: int, content: bytes, kind: str = "application/json", **headers: str) -> None:
        self.send_response(status)
        self.send_header("Content-Type", kind)
        self.send_header("Content-Length", str(len(content)))
        for name, value in headers.items():
            self.send_header(name.replace("_", "-"), value)
        self.end_headers()
        with suppress(OSError):
            self.wfile.write(content)

    def count(self, asked: dict[str, Any], completion: int) -> tuple[int, int]:
        """Count the tokens of an answer, which are words, or bytes in the prompt if the server counts these."""
        texts = [str(one["content"]) for one in asked["messages"]]
        words = sum(len(text.split()) for text in texts)
        prompt = sum(len(text.encode()) + 4 for text in texts) if self.server.counts_bytes else words
        completion = min(completion, asked.get("max_tokens") or completion)
        with self.server.lock:
            self.server.tokens_in += prompt
            self.server.tokens_out += completion
        return prompt, completion

    def complete(self, asked: dict[str, Any], message: dict[str, Any], finish: str = "stop") -> None:
        """Answer with a message, in one piece or token by token."""
        said = " ".join(str(message.get(name) or "") for name in ("content", "reasoning_content", "reasoning"))
        prompt, completion = self.count(asked, len(said.split()))
        usage: dict[str, Any] = {"prompt_tokens": prompt, "completion_tokens": completion, "total_tokens": 0}
        usage = {} if asked["model"] == "uncounted" else usage
        usage["completion_tokens_details"] = {
            "reasoning_tokens": len(str(message.get("reasoning_content", "")).split())
        }
        common = {"id": "chatcmpl-1", "model": f"{asked['model']}-2026", "created": 0}
        if not asked.get("stream"):
            choice = {"index": 0, "message": {"role": "assistant", **message}, "finish_reason": finish}
            self.reply(200, {**common, "object": "chat.completion", "choices": [choice], "usage": usage})
            return
        self.start_stream()
        for delta in _deltas(message):
            self.event({**common, "choices": [{"index": 0, "delta": delta, "finish_reason": None}]})
        self.event({**common, "choices": [{"index": 0, "delta": {}, "finish_reason": finish}]})
        if asked.get("stream_options", {}).get("include_usage"):
            self.event({**common, "choices": [], "usage": usage})
        self.wfile.write(b"data: [DONE]\n\n")
        self.close_connection = True

    def start_stream(self) -> None:
        self.send_response(200)
        self.send_header("Content-Type", "text/event-stream; charset=utf-8")
        self.send_header("Connection", "close")
        self.end_headers()

    def event(self, data: Any) -> None:
        self.wfile.write(b": keep-alive\n\ndata: " + json.dumps(data).encode() + b"\r\n\r\n")

    def log_message(self, format: str, *args: Any) -> None:  # noqa: A002 (as the class it extends)
        """Quiet."""


def _deltas(message: dict[str, Any]) -> Iterator[dict[str, Any]]:
    yield {"role": "assistant", "content": ""}
    for name in ("reasoning_content", "reasoning", "content"):
        text = message.get(name) or ""
        size = max(5, len(text) // 200)
        yield from ({name: text[i : i + size]} for i in range(0, len(text), size))
    for index, call in enumerate(message.get("tool_calls", [])):
        function = call["function"]
        yield {"tool_calls": [{"index": index, "id": f"call_{index}", "function": {**function, "arguments": ""}}]}
        for i in range(0, len(function["arguments"]), 7):
            yield {"tool_calls": [{"index": index, "function": {"arguments": function["arguments"][i : i + 7]}}]}


# ------------------------------------------------------------------ models


def bisect(asked: dict[str, Any]) -> tuple[dict[str, Any], str]:
    """Halves what is left of the numbers, and says so in its reasoning."""
    said = [(one["role"], _plain(one["content"]) or str(one.get("tool_calls"))) for one in asked["messages"]]
    rules = next(text for role, text in said if role == "user")
    if not re.search(r"\d+ to \d+|between \d+ and", rules):
        return {"content": "ready"}, "stop"
    low, high = (int(number) for number in re.findall(r"(\d+) to (\d+)|between (\d+) and (\d+)", rules)[0] if number)
    for (role, text), (_, answer) in pairwise(said):
        guess = re.search(r"boxed\{(\d+)", text) if role == "assistant" else None
        if guess and "higher" in answer:
            low = max(low, int(guess[1]) + 1)
        elif guess and "lower" in answer:
            high = min(high, int(guess[1]) - 1)
    middle = (low + high) // 2
    return {"content": f"\\boxed{{{middle}}}", "reasoning_content": f"It is from {low} to {high}. I try the middle."}, (
        "stop"
    )


def _plain(content: Any) -> str:
    return content or "" if isinstance(content, str | None) else " ".join(part.get("text", "") for part in content)


def _call(asked: dict[str, Any]) -> tuple[dict[str, Any], str]:
    message, _ = bisect(asked)
    arguments = json.dumps({"action": message["content"]})
    call = {"id": "call_0", "type": "function", "function": {"name": "act", "arguments": arguments}}
    return {"content": "Calling.", "tool_calls": [call]}, "tool_calls"


def _computes(asked: dict[str, Any]) -> tuple[dict[str, Any], str]:
    """Asks Python before its first guess, by a native call where the server's client offers one."""
    if any(one["role"] == "assistant" for one in asked["messages"]):
        return _call(asked) if asked.get("tools") else bisect(asked)
    code = "print(6 * 7)"
    if not asked.get("tools"):
        return {"content": f"<python>{code}</python>"}, "stop"
    call = {"id": "call_0", "type": "function", "function": {"name": "python", "arguments": json.dumps({"code": code})}}
    return {"content": "", "tool_calls": [call]}, "tool_calls"


def _says(text: str, finish: str = "stop", **more: str) -> Callable[[dict[str, Any]], tuple[dict[str, Any], str]]:
    return lambda _: ({"content": text, **more}, finish)


MODELS: dict[str, Callable[[dict[str, Any]], tuple[dict[str, Any], str]]] = {
    "bisect": bisect,
    "uncounted": bisect,
    "calls": _call,
    "computes": _computes,
    "thinks": _says("<think>Five is in the middle.</think>\n\n\\boxed{5}"),
    "thought": _says("Five, I think.</think>\\boxed{5}"),
    "cut-off": _says("<think>Where was I", "length"),
    "reasons": _says("\\boxed{5}", reasoning="The field has another name."),
    "nul": _says("\\boxed{5}\0\ud800"),
    "long": _says("x" * 200_000 + "\\boxed{5}"),
    "nothing": _says("", "length"),
    "lost": _says("I do not know."),
    "ponders": _says("\\boxed{25}", reasoning_content="It may be any of them, so the middle tells most.\n" * 40),
}


# ------------------------------------------------------------------ faults


def _status(status: int, **headers: str) -> Callable[[_Handler, dict[str, Any]], None]:
    return lambda handler, _: handler.reply(status, {"error": {"message": f"fault {status}"}}, **headers)


def _hang(handler: _Handler, _: dict[str, Any]) -> None:
    handler.server.over.wait(60)


def _drip(handler: _Handler, _: dict[str, Any]) -> None:
    handler.start_stream()
    with suppress(OSError):
        while not handler.server.over.wait(0.05):
            handler.event({"choices": [{"index": 0, "delta": {"content": "."}}]})


def _reset(handler: _Handler, _: dict[str, Any]) -> None:
    handler.connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
    os.close(handler.connection.detach())
    handler.close_connection = True


def _huge(handler: _Handler, _: dict[str, Any]) -> None:
    handler.start_stream()
    with suppress(OSError):
        for _number in range(64):
            handler.event({"choices": [{"index": 0, "delta": {"content": "x" * (LETTERS - 1000)}}]})


def _broken_off(handler: _Handler, _: dict[str, Any]) -> None:
    handler.start_stream()
    handler.event({"choices": [{"index": 0, "delta": {"content": "\\boxed{"}}]})
    handler.close_connection = True


def _fails_midway(handler: _Handler, _: dict[str, Any]) -> None:
    handler.start_stream()
    handler.event({"choices": [{"index": 0, "delta": {"content": "\\box"}}]})
    handler.event({"error": {"message": "out of memory"}})
    handler.close_connection = True


def _locked(handler: _Handler, asked: dict[str, Any]) -> None:
    if handler.headers.get("Authorization") == f"Bearer {KEY}":
        handler.complete(asked, *bisect(asked)) if len(asked["messages"]) > 2 else handler.complete(
            asked, {"content": "ready"}
        )
    else:
        handler.reply(401, {"error": {"message": f"Incorrect key: {handler.headers.get('Authorization')}"}})


def _bytes(content: bytes, kind: str = "application/json") -> Callable[[_Handler, dict[str, Any]], None]:
    return lambda handler, _: handler.raw(200, content, kind)


FAULTS: dict[str, Callable[[_Handler, dict[str, Any]], None]] = {
    "400": _status(400),
    "429": _status(429, Retry_After="0.3"),
    "429-long": _status(429, Retry_After="3600"),
    "429-date": _status(429, Retry_After="Wed, 21 Oct 2015 07:28:00 GMT"),
    "500": _status(500),
    "503": _status(503),
    "redirect": _status(302, Location="http://127.0.0.1:1/"),
    "hang": _hang,
    "drip": _drip,
    "reset": _reset,
    "huge": _huge,
    "broken-off": _broken_off,
    "fails-midway": _fails_midway,
    "locked": _locked,
    "garbage": _bytes(b"<html>Bad gateway</html>", "text/html"),
    "bad-utf8": _bytes(b'{"choices": [{"message": {"content": "\xff\xfe"}}]}'),
    "deep": _bytes(b'{"choices": ' + b"[" * 200_000 + b"]" * 200_000 + b"}"),
    "empty": _bytes(b""),
    "no-choices": _bytes(b'{"choices": []}'),
    "not-a-list": _bytes(b'{"choices": {"0": 1}}'),
    "number": _bytes(b"7"),
    "endless-line": _bytes(b"data: " + b"x" * 3_000_000, "text/event-stream"),
    "zip": lambda handler, _: handler.raw(200, b"\x1f\x8b", Content_Encoding="gzip"),
    "says-secret": lambda handler, _: handler.raw(500, b"root:x:0:0:internal page"),
}


LOST = frozenset({"500", "reset", "broken-off", "hang", "fails-midway"})
"""Faults after which the whole answer was generated, and nobody received it or its count."""


if __name__ == "__main__":
    with model_server() as running:
        print(running.url, flush=True)
        while True:
            time.sleep(3600)
