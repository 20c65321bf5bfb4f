"""The same seeded episode over five wires: the engine, REST, OpenEnv, MCP and chat completions.

python -m bench.interop.wires [--env ENV_ID ...] [--seeds 5]

Every wire plays the same seeds and actions against a web process and a host of live episodes of this machine. The
transcripts have to be equal; the table says how many steps a second each wire makes with one episode at a time. Chats
are paced: a live episode takes at most ten turns a second.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import time
from collections.abc import Callable
from typing import Any

import httpx2
from mcp import ClientSession
from mcp.client.streamable_http import streamable_http_client
from websockets.sync.client import connect

import gem
from bench.stack import Stack, machine, print_table, stack
from gem.client import Client
from gem.client.schemas import Turn
from gem.wrappers.observation_wrapper import as_message
from gemweb.local import services

Script = tuple[str, int, list[str]]
"""An environment, a seed, and the actions."""
Transcript = list[list[Any]]
"""What there was to read after the reset and each action, with rewards and ends."""
END = "\n\nThe episode is over"
"""Begins what a chat adds to the last observation."""
ENVIRONMENTS = ("game:GuessTheNumber-v0", "game:Sokoban-v0-easy", "game:Wordle-v0", "game:Mastermind-v0")
MAX_STEPS = 40
SECONDS = 90


def script_of(env_id: str, seed: int) -> tuple[Script, Transcript]:
    """A script with random actions for an environment with one seat, and its transcript in the engine."""
    env = gem.make(env_id)
    text, info = env.reset(seed=seed)
    actions: list[str] = []
    read: Transcript = [[as_message(text, info), None, False]]
    done = False
    while not done and len(actions) < MAX_STEPS:
        actions.append(env.sample_random_action())
        text, reward, terminated, truncated, info = env.step(actions[-1])
        done = terminated or truncated
        read.append([as_message(text, info), reward, done])
    env.close()
    return (env_id, seed, actions), read


def over_engine(_url: str, _token: str, script: Script) -> Transcript:
    """In this process."""
    env_id, seed, actions = script
    env = gem.make(env_id)
    text, info = env.reset(seed=seed)
    read: Transcript = [[as_message(text, info), None, False]]
    for action in actions:
        text, reward, terminated, truncated, info = env.step(action)
        read.append([as_message(text, info), reward, terminated or truncated])
    env.close()
    return read


def over_rest(url: str, token: str, script: Script) -> Transcript:
    """With our own client."""
    env_id, seed, actions = script
    with Client(url, token) as client:
        env = client.make(env_id, visibility="private")
        text, info = env.reset(seed=seed)
        read: Transcript = [[as_message(text, info), None, False]]
        for action in actions:
            text, reward, terminated, truncated, info = env.step(action)
            read.append([as_message(text, info), reward, terminated or truncated])
        env.close()
    return read


def over_openenv(url: str, token: str, script: Script) -> Transcript:
    """With the messages of OpenEnv's clients over a WebSocket."""
    env_id, seed, actions = script
    read: Transcript = []
    address = f"{url.replace('http', 'ws', 1)}/openenv/{env_id}/ws"
    with connect(address, additional_headers={"Authorization": f"Bearer {token}"}, compression=None) as socket:
        for message in ({"seed": seed, "record": False}, *({"message": action} for action in actions)):
            socket.send(json.dumps({"type": "step" if read else "reset", "data": message}))
            data = json.loads(socket.recv())["data"]
            read.append([data["observation"]["prompt"], data["reward"], data["done"]])
    return read


def over_mcp(url: str, token: str, script: Script) -> Transcript:
    """With the client of the `mcp` package."""
    return asyncio.run(_with_tools(url, token, script))


async def _with_tools(url: str, token: str, script: Script) -> Transcript:
    env_id, seed, actions = script
    async with (
        httpx2.AsyncClient(headers={"Authorization": f"Bearer {token}"}, timeout=SECONDS) as http,
        streamable_http_client(f"{url}/mcp", http_client=http) as streams,
        ClientSession(*streams[:2]) as session,
    ):
        await session.initialize()
        read = (await session.call_tool("reset", {"env_id": env_id, "seed": seed})).structured_content
        found: Transcript = [[read["text"], read["reward"], read["done"]]]
        for action in actions:
            step = {"episode_id": read["episode_id"], "action": action}
            read = (await session.call_tool("step", step)).structured_content
            found.append([read["text"], read["reward"], read["done"]])
        if not read["done"]:
            await session.call_tool("abandon", {"episode_id": read["episode_id"]})
    return found


def over_chats(url: str, token: str, script: Script) -> Transcript:
    """With requests for chat completions; the rewards, which no reply tells, are those of the recorded turns."""
    env_id, seed, actions = script
    with Client(url, token) as client, httpx2.Client(timeout=SECONDS) as http:
        chat = client.remotes.begin_chat(client.remotes.add("wires").slug, env_id, seed=seed)
        replies = []
        for said in ("Begin.", *actions):
            answer = http.post(
                f"{chat.base_url}/chat/completions",
                json={"model": chat.model, "messages": [{"role": "user", "content": said}]},
                headers={"Authorization": f"Bearer {chat.key}"},
            )
            answer.raise_for_status()
            replies.append(answer.json()["choices"][0]["message"]["content"])
        return as_transcript(client, chat.episode.id, replies)


def as_transcript(client: Client, episode_id: str, replies: list[str]) -> Transcript:
    """The transcript of an episode that was played by chat completions; one that is not over is stopped."""
    is_over = client.episodes.get(episode_id).ended is not None
    turns: list[Turn] = list(client.episodes.turns(episode_id))
    if is_over:
        replies = [*replies[:-1], replies[-1].rpartition(END)[0]]
    else:
        client.episodes.control(episode_id, "stop")
    read: Transcript = [[replies[0], None, False]]
    return read + [
        [text, turn.reward, is_over and turn.turn == len(turns)] for text, turn in zip(replies[1:], turns, strict=True)
    ]


Wire = Callable[[str, str, Script], Transcript]
WIRES: dict[str, Wire] = {
    "engine": over_engine,
    "REST": over_rest,
    "OpenEnv": over_openenv,
    "MCP": over_mcp,
    "chat completions": over_chats,
}
"""Each takes the address of the site, a token and a script."""


def main() -> None:
    """Play over all wires, compare, and print the table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--env", action="append", help="an environment with one seat that replays exactly")
    parser.add_argument("--seeds", type=int, default=5)
    options = parser.parse_args()
    planned = [script_of(env_id, seed) for env_id in options.env or ENVIRONMENTS for seed in range(options.seeds)]
    with stack() as running:
        url, token = _site(running)
        print(machine())
        rows: list[tuple[str, ...]] = [("wire", "equal transcripts", "steps/s")]
        for name, wire in WIRES.items():
            wire(url, token, planned[0][0])
            start = time.perf_counter()
            equal = sum(wire(url, token, script) == expected for script, expected in planned)
            seconds = time.perf_counter() - start
            steps = sum(len(script[2]) for script, _ in planned)
            rows.append((name, f"{equal} of {len(planned)}", f"{steps / seconds:,.0f}"))
    print_table(rows)


def _site(running: Stack) -> tuple[str, str]:
    """The address of a web process beside a host of live episodes, and a token."""
    _, port = running.web(SHOWS_PER_PERSON="1000", STARTS_PER_MINUTE="100000")
    env = running.env | {"SHOWS_PER_PERSON": "1000"}
    running.run(next(service for service in services.workers(env) if service.name == "play"))
    from apps.accounts.models import User
    from apps.api import operations as tokens

    user = User.objects.create_user("wires")
    return f"http://127.0.0.1:{port}", tokens.make_token(user, "bench", ["play", "manage"])[1]


if __name__ == "__main__":
    main()
