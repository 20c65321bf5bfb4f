"""Chat completions for one episode, as OpenAI's clients ask for them: the reply of the model is the observation.

The first request begins; its messages are kept with the first turn. In every later one, what the user says after the
last reply is the action. The answer waits for workers and other seats.
"""

from __future__ import annotations

import asyncio
import json
import time
from collections.abc import Awaitable, Callable, Iterator
from typing import Any

from apps.episodes.errors import Refusal
from apps.episodes.text import storable
from apps.live.threads import DatabaseThreads
from apps.remote import chats
from apps.remote.chats import NotAccepted, Reply
from apps.remote.operations import MODEL

Send = Callable[[dict[str, Any]], Awaitable[None]]
Receive = Callable[[], Awaitable[dict[str, Any]]]

ROLES = ("system", "developer", "user", "assistant", "tool")
MAX_BODY_BYTES = 2 * 1024 * 1024
WAIT_SECONDS = 55.0
FIRST_LOOK_SECONDS, LONGEST_LOOK_SECONDS = 0.02, 0.25
in_thread = DatabaseThreads(2, "completions").run
UNKNOWN_KEY = "This is not the key of the episode, or it has expired. Begin another episode to get another key."
NOT_THERE = "There is no “{}” for an episode, only chat/completions and models. Let the program use chat completions."
NOT_READ = "The body has to be JSON with messages, each with a role and text as its content."
NOT_YET = "The turn was not played within {:.0f} s. Send the same request again: nothing is played twice."


class BadRequest(Exception):
    """A body that is not understood."""


async def serve(
    episode_id: str, secret: str, method: str, what: str, *, is_repeated: bool, receive: Receive, send: Send
) -> None:
    """Answer a request.

    Args:
        what: the part of the address after `v1/`; `models` and `chat/completions` exist.
        is_repeated: whether the client says that it sends the request again.
    """
    if what not in ("models", "chat/completions"):
        await refuse(send, 404, NOT_THERE.format(what[:40]))
        return
    key = await in_thread(chats.find, episode_id, secret) if secret else None
    if key is None:
        await refuse(send, 401, UNKNOWN_KEY, "authentication_error")
    elif what == "models" and method in ("GET", "HEAD"):
        await _send_json(
            send, 200, {"object": "list", "data": [{"id": MODEL, "object": "model", "owned_by": "gemweb"}]}
        )
    elif what == "models" or method != "POST":
        await refuse(send, 405, "Send a POST to chat/completions.")
    else:
        try:
            body = await _read(receive)
            messages = messages_of(body)
            reply = await _play(episode_id, messages, is_repeated=is_repeated)
        except (BadRequest, NotAccepted, Refusal) as refusal:
            await refuse(send, 400, str(refusal))
            return
        except TimeoutError:
            trouble = await in_thread(chats.trouble_of, episode_id)
            await refuse(send, 503, trouble or NOT_YET.format(WAIT_SECONDS), "server_error")
            return
        await _send_reply(send, body, f"chatcmpl-{episode_id}", reply)


def messages_of(body: dict[str, Any]) -> list[dict[str, str]]:
    """The messages of a request, each with its role and its text.

    Raises:
        BadRequest: if they are not understood.
    """
    messages = body.get("messages")
    if not isinstance(messages, list) or not messages:
        raise BadRequest(NOT_READ)
    return [_message(message) for message in messages]


def _message(message: Any) -> dict[str, str]:
    if not isinstance(message, dict) or message.get("role") not in ROLES:
        raise BadRequest(NOT_READ)
    content = message.get("content")
    if isinstance(content, list):
        parts = [part.get("text") for part in content if isinstance(part, dict) and part.get("type") == "text"]
        content = "\n".join(part for part in parts if isinstance(part, str))
    if content is None:
        content = ""
    if not isinstance(content, str):
        raise BadRequest(NOT_READ)
    return {"role": message["role"], "content": storable(content)}


async def _play(episode_id: str, messages: list[dict[str, str]], *, is_repeated: bool) -> Reply:
    """Take the action, and wait for what there is to read then.

    Raises:
        TimeoutError: if it is not there in time.
    """
    given = await in_thread(chats.accept, episode_id, messages, is_repeated=is_repeated)
    if given is not None:
        return Reply(given, is_last=False)
    pause = FIRST_LOOK_SECONDS
    async with asyncio.timeout(WAIT_SECONDS):
        while (reply := await in_thread(chats.next_reply, episode_id)) is None:
            await asyncio.sleep(pause)
            pause = min(1.5 * pause, LONGEST_LOOK_SECONDS)
    return reply


async def _read(receive: Receive) -> dict[str, Any]:
    body = bytearray()
    while True:
        message = await receive()
        if message["type"] == "http.disconnect":
            raise BadRequest("The request ended before its body was complete.")
        body += message.get("body", b"")
        if len(body) > MAX_BODY_BYTES:
            raise BadRequest(f"A body can have at most {MAX_BODY_BYTES // 2**20} MiB.")
        if not message.get("more_body", False):
            break
    try:
        value = json.loads(body)
    except (ValueError, RecursionError) as error:
        raise BadRequest(NOT_READ) from error
    if not isinstance(value, dict):
        raise BadRequest(NOT_READ)
    return value


async def _send_reply(send: Send, body: dict[str, Any], name: str, reply: Reply) -> None:
    about = {"id": name, "created": int(time.time()), "model": MODEL}
    if body.get("stream") is not True:
        message = {"role": "assistant", "content": reply.text}
        choice = {"index": 0, "message": message, "finish_reason": "stop"}
        value = {**about, "object": "chat.completion", "choices": [choice], "usage": USAGE}
        await _send_json(send, 200, value)
        return
    options = body.get("stream_options")
    with_usage = isinstance(options, dict) and options.get("include_usage") is True
    headers = [(b"content-type", b"text/event-stream"), (b"cache-control", b"no-store")]
    await send({"type": "http.response.start", "status": 200, "headers": headers})
    for chunk in _chunks(about, reply.text, with_usage=with_usage):
        text = f"data: {chunk if isinstance(chunk, str) else json.dumps(chunk, ensure_ascii=False)}\n\n"
        await send({"type": "http.response.body", "body": text.encode(), "more_body": True})
    await send({"type": "http.response.body", "body": b"", "more_body": False})


USAGE = {"prompt_tokens": 0, "completion_tokens": 0, "total_tokens": 0}
"""No model has computed anything."""


def _chunks(about: dict[str, Any], text: str, *, with_usage: bool) -> Iterator[dict[str, Any] | str]:
    about = {**about, "object": "chat.completion.chunk"}
    for delta, reason in (({"role": "assistant", "content": text}, None), ({}, "stop")):
        yield {**about, "choices": [{"index": 0, "delta": delta, "finish_reason": reason}]}
    if with_usage:
        yield {**about, "choices": [], "usage": USAGE}
    yield "[DONE]"


async def refuse(send: Send, status: int, sentence: str, kind: str = "invalid_request_error") -> None:
    """Send an error in the form of OpenAI's."""
    await _send_json(send, status, {"error": {"message": sentence, "type": kind, "param": None, "code": None}})


async def _send_json(send: Send, status: int, value: Any) -> None:
    body = json.dumps(value, ensure_ascii=False).encode()
    headers = [
        (b"content-type", b"application/json"),
        (b"content-length", str(len(body)).encode()),
        (b"cache-control", b"no-store"),
    ]
    await send({"type": "http.response.start", "status": status, "headers": headers})
    await send({"type": "http.response.body", "body": body, "more_body": False})
