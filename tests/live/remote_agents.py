"""Remote agents of tests: what they decide, and a thread in which one is connected."""

from __future__ import annotations

import asyncio
import re
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from gem.client.serving import Act, serve

SECONDS = 60


def bisect(observation: str, info: dict[str, Any]) -> str:
    """Guess the number between all bounds of the history; the first guess is the middle of what the rules say."""
    texts = [text for text, _ in info["history"]] + [observation]
    found = re.search(r"from (\d+) to (\d+)", texts[0])
    low, high = (int(found[1]), int(found[2])) if found else (1, 10)
    for (_, action), answer in zip(info["history"], texts[1:], strict=True):
        guess = int(re.findall(r"\d+", action)[-1])
        if "higher" in answer:
            low = max(low, guess + 1)
        else:
            high = min(high, guess - 1)
    return f"I guess \\boxed{{{(low + high) // 2}}}"


class Connected:
    """A connected agent, and what it was told."""

    def __init__(self) -> None:
        self.events: list[tuple[str, dict[str, Any]]] = []
        self.told = threading.Condition()

    def report(self, event: str, data: dict[str, Any]) -> None:
        """Note what happens."""
        with self.told:
            self.events.append((event, data))
            self.told.notify_all()

    def count(self, event: str) -> int:
        """How often something has happened."""
        return sum(name == event for name, _ in self.events)

    def wait_for(self, event: str, count: int = 1) -> None:
        """Wait until something has happened so often."""
        with self.told:
            assert self.told.wait_for(lambda: self.count(event) >= count, SECONDS), (event, self.events[-5:])


@contextmanager
def connected(act: Act, socket: str, token: str) -> Iterator[Connected]:
    """An agent that is connected, in a thread of its own, while the block lasts."""
    agent, loop = Connected(), asyncio.new_event_loop()
    task = loop.create_task(serve(act, socket, token, report=agent.report))

    def run() -> None:
        try:
            loop.run_until_complete(task)
        except asyncio.CancelledError:
            return

    thread = threading.Thread(target=run, name="remote agent")
    thread.start()
    try:
        yield agent
    finally:
        loop.call_soon_threadsafe(task.cancel)
        thread.join(SECONDS)
        loop.close()
