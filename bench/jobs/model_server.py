"""A model server for `bench.jobs.endpoint`: it plays guessing games, answers after some time, and counts."""

from __future__ import annotations

import asyncio
import json
import re
import sys
from itertools import pairwise
from typing import Any

served = {"tokens": 0, "requests": 0}


async def main(seconds: float) -> None:
    """Serve until the end of the process; the port is the first line of the output."""

    async def handle(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            while await _answer(reader, writer, seconds):
                pass
        except (asyncio.IncompleteReadError, ConnectionError):
            pass
        finally:
            writer.close()

    server = await asyncio.start_server(handle, "127.0.0.1", 0, backlog=1024)
    print(server.sockets[0].getsockname()[1], flush=True)
    await server.serve_forever()


async def _answer(reader: asyncio.StreamReader, writer: asyncio.StreamWriter, seconds: float) -> bool:
    """Answer one request of a connection. Returns whether another one may follow."""
    head = await reader.readuntil(b"\r\n\r\n")
    if head.startswith(b"GET"):
        writer.write(b"HTTP/1.1 200 OK\r\nConnection: close\r\n\r\n" + json.dumps(served).encode())
        await writer.drain()
        return False
    length = re.search(rb"content-length: (\d+)", head, re.IGNORECASE)
    asked = json.loads(await reader.readexactly(int(length[1]) if length else 0))
    await asyncio.sleep(seconds)
    text = _move(asked)
    usage = {
        "prompt_tokens": sum(len(one["content"]) for one in asked["messages"]) // 4,
        "completion_tokens": len(text) // 4,
    }
    served["tokens"] += sum(usage.values())
    served["requests"] += 1
    events: list[dict[str, Any]] = [
        {"choices": [{"index": 0, "delta": {"content": part}}]} for part in re.findall(r".{1,4}", text)
    ]
    events += [{"choices": [{"index": 0, "delta": {}, "finish_reason": "stop"}]}, {"choices": [], "usage": usage}]
    body = "".join(f"data: {json.dumps(event)}\n\n" for event in events).encode() + b"data: [DONE]\n\n"
    headers = f"Content-Type: text/event-stream\r\nContent-Length: {len(body)}"
    writer.write(f"HTTP/1.1 200 OK\r\n{headers}\r\n\r\n".encode() + body)
    await writer.drain()
    return True


def _move(asked: dict[str, Any]) -> str:
    """Halve what is left of the numbers."""
    said = [(one["role"], one["content"]) for one in asked["messages"]]
    rules = next(text for role, text in said if role == "user")
    low, high = (int(number) for number in re.findall(r"(\d+) to (\d+)|between (\d+) and (\d+)", rules)[0] if number)
    for (role, text), (_, answer) in pairwise(said):
        guess = re.search(r"boxed\{(\d+)", text) if role == "assistant" else None
        if guess and "higher" in answer:
            low = max(low, int(guess[1]) + 1)
        elif guess and "lower" in answer:
            high = min(high, int(guess[1]) - 1)
    return f"The number is from {low} to {high}. \\boxed{{{(low + high) // 2}}}"


if __name__ == "__main__":
    asyncio.run(main(float(sys.argv[1])))
