"""A server of OpenEnv: guess a number from 0 to 3, twice. It keeps its promises, unless it is told to break one."""

from __future__ import annotations

import json
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from random import Random
from typing import Any

from websockets.datastructures import Headers
from websockets.http11 import Request, Response
from websockets.sync.server import ServerConnection, serve

MOST_STEPS = 2
FREED_LATE = 0.1
"""So many seconds after its client left, a session of the server "full" can be had again."""
ACTION = {"properties": {"number": {"type": "integer", "minimum": 0, "maximum": 3}}, "required": ["number"]}


class Session:
    """Guess a number from 0 to 3 in two turns; `fault` says what is wrong with it."""

    shared = 0

    def __init__(self, fault: str) -> None:
        self.fault, self.steps, self.secret, self.is_over = fault, 0, 0, True

    def reply(self, message: Any) -> dict[str, Any] | None:
        """The reply to a message; None closes the connection."""
        kind = message.get("type") if isinstance(message, dict) else None
        data = message.get("data", {}) if isinstance(message, dict) else {}
        if kind == "reset":
            return self._reset(data.get("seed"))
        if kind == "state":
            return {"type": "state", "data": {"episode_id": "x", "step_count": self.steps}}
        if kind == "step" and isinstance(data.get("number"), int):
            return self._step(data["number"])
        if self.fault == "closes":
            return None
        if self.fault == "shrugs":
            return {"type": "observation", "data": {"observation": {}, "reward": None, "done": False}}
        return {"type": "error", "data": {"message": "What?", "code": "VALIDATION_ERROR"}}

    def _reset(self, seed: int | None) -> dict[str, Any]:
        if self.fault == "fails":
            return {"type": "error", "data": {"message": "no environment", "code": "FACTORY_ERROR"}}
        rng = Random(None if self.fault == "seedless" else seed)
        self.steps, self.is_over, self.secret = 0, False, rng.randint(0, 3)
        Session.shared = self.secret
        return self._observation(f"A hint: {rng.random()}", None)

    def _step(self, number: int) -> dict[str, Any]:
        if self.is_over and self.fault != "endless":
            return {"type": "error", "data": {"message": "It is over.", "code": "EXECUTION_ERROR"}}
        self.steps += 0 if self.fault == "counts nothing" else 1
        secret = Session.shared if self.fault == "shared" else self.secret
        is_right = number == secret or self.fault == "pays always"
        self.is_over = is_right or self.steps >= MOST_STEPS
        reward: Any = "1" if self.fault == "pays words" else float(is_right)
        if self.fault == "endless" and self.steps > 1:
            reward, self.is_over = 1.0, self.steps % 2 == 0
        return self._observation("yes" if number == secret else "no", reward)

    def _observation(self, text: str, reward: Any) -> dict[str, Any]:
        data = {
            "observation": {"text": text, "episode_id": str(Random().random())},
            "reward": reward,
            "done": self.is_over,
        }
        return {"type": "observation", "data": data}


@contextmanager
def serving(fault: str = "") -> Iterator[str]:
    """The address of a server with this fault."""
    places = threading.Semaphore(1 if fault == "full" else 100)
    documents = {"/health": {"status": "ill" if fault == "ill" else "healthy"}, "/schema": {"action": ACTION}}
    if fault == "undescribed":
        del documents["/schema"]

    def read(_: ServerConnection, request: Request) -> Response | None:
        if request.path == "/ws":
            return None
        found = documents.get(request.path)
        body = json.dumps(found).encode()
        return Response(200 if found else 404, "", Headers({"Content-Length": str(len(body))}), body)

    def talk(connection: ServerConnection) -> None:
        has_place = places.acquire(blocking=False)
        session = Session(fault)
        for text in connection:
            try:
                message = json.loads(text)
            except ValueError:
                message = None
            reply = session.reply(message)
            if not has_place:
                reply = {"type": "error", "data": {"message": "no place", "code": "CAPACITY_REACHED"}}
            if reply is None:
                break
            connection.send(json.dumps(reply))
        if has_place:
            time.sleep(FREED_LATE if fault == "full" else 0)
            places.release()

    with serve(talk, "127.0.0.1", 0, process_request=read) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        yield f"http://127.0.0.1:{server.socket.getsockname()[1]}"
        server.shutdown()
