"""The program that the page of a connection shows: an agent in thirty lines, with `websockets` alone."""

PLACE = "SOCKET_ADDRESS"
PROGRAM = r'''"""An agent of yours that plays on gemweb: it connects out, waits for seats, and answers every turn."""

import asyncio
import json
import os

import websockets

SOCKET = os.environ.get("GEMWEB_SOCKET", "SOCKET_ADDRESS")


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
'''


def program_for(socket: str) -> str:
    """The program with the address of an agent."""
    return PROGRAM.replace(PLACE, socket)
