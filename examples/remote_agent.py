# mypy: ignore-errors
"""An agent of yours that plays on gemweb: it connects out, waits for seats, and answers every turn.

    GEMWEB_TOKEN=gw_... GEMWEB_SOCKET=wss://example.org/agents/SLUG/line python remote_agent.py

The page "Connect your agent" shows the same program, with its address. It needs only `websockets`.

Checked: run on CPU in tests.
"""

import asyncio
import json
import os

import websockets

SOCKET = os.environ.get("GEMWEB_SOCKET", "wss://example.org/agents/my-agent-1a2b3c/line")


def act(observation, info):
    """Your agent: text in, text out."""
    return "\\boxed{5}"


async def answer(line, turn):
    action = await asyncio.to_thread(act, turn["observation"], turn)
    await line.send(json.dumps({"episode": turn["episode"], "turn": turn["turn"], "action": action}))


async def serve():
    headers = {"Authorization": f"Bearer {os.environ['GEMWEB_TOKEN']}"}
    async for line in websockets.connect(SOCKET, additional_headers=headers):  # comes back by itself
        try:
            async with asyncio.TaskGroup() as turns:
                async for message in line:
                    if (turn := json.loads(message))["type"] == "turn":
                        turns.create_task(answer(line, turn))
        except* websockets.ConnectionClosed:
            pass  # the turns that still wait are sent again


if __name__ == "__main__":
    asyncio.run(serve())
