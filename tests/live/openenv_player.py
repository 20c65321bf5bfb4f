"""Plays scripts with OpenEnv's own client, in whatever environment OpenEnv is installed.

    python openenv_player.py ROOT_URL < scripts.json > transcripts.json

A script is `[env_id, seed, [action, ...]]`; its transcript has what there was to read after the reset and each action,
with rewards and ends. Several sessions play at a time.
"""

# mypy: ignore-errors
# OpenEnv is not installed beside this repository.

import asyncio
import json
import sys

try:
    from openenv import GenericEnvClient
except ImportError:  # openenv-core 0.2
    from openenv.core import GenericEnvClient

SESSIONS = 4


async def play(root, env_id, seed, actions):
    """The transcript of one script."""
    async with GenericEnvClient(base_url=f"{root}{env_id}") as env:
        result = await env.reset(seed=seed)
        transcript = [[result.observation["prompt"], result.reward, result.done]]
        for action in actions:
            result = await env.step({"message": action})
            transcript.append([result.observation["prompt"], result.reward, result.done])
        state = await env.state()
        assert state["step_count"] == len(actions), state
        return transcript


async def main():
    """Play all scripts; an error is a transcript too."""
    gate = asyncio.Semaphore(SESSIONS)

    async def play_in_turn(script):
        async with gate:
            try:
                return await play(sys.argv[1], *script)
            except Exception as error:  # noqa: BLE001 (the test reads it)
                return f"{type(error).__name__}: {error}"

    scripts = json.load(sys.stdin)
    json.dump(await asyncio.gather(*map(play_in_turn, scripts)), sys.stdout)


if __name__ == "__main__":
    asyncio.run(main())
