"""What a server of OpenEnv says of its environment: its schemas, its metadata, and its description in OpenAPI."""

from __future__ import annotations

from typing import Any

from gem.registry import EnvSpec

API_VERSION = "1.0.0"
"""The version of the protocol that servers name; `openenv validate` asks for 1.x."""

ACTION: dict[str, Any] = {
    "title": "TextMessage",
    "type": "object",
    "description": "What the agent writes. The first observation says how actions are written.",
    "properties": {"message": {"title": "Message", "type": "string"}},
    "required": ["message"],
    "additionalProperties": True,
}
OBSERVATION: dict[str, Any] = {
    "title": "TextObservation",
    "type": "object",
    "properties": {
        "prompt": {"type": "string", "description": "Everything to read now: the observation, and the board below it."},
        "messages": {
            "type": "array",
            "items": {
                "type": "object",
                "properties": {
                    "sender_id": {"type": "integer", "description": "-1 for the environment"},
                    "content": {"type": "string"},
                    "category": {"type": "string"},
                },
            },
        },
        "current_player_id": {"type": "integer", "description": "The seat whose action the next step takes."},
        "legal_players": {"type": "array", "items": {"type": "integer"}},
        "terminated": {"type": "boolean", "description": "Whether the problem itself ended."},
        "truncated": {"type": "boolean", "description": "Whether the turn limit ended the episode."},
        "success": {"type": ["boolean", "null"], "description": "Whether the problem was solved; null before the end."},
        "seed": {"type": "integer", "description": "The seed of the episode; the same seed gives the same episode."},
        "episode_id": {"type": "string"},
        "info": {"type": "object"},
        "metadata": {"type": "object"},
    },
    "required": ["prompt", "terminated", "truncated", "seed", "episode_id", "info"],
}
STATE: dict[str, Any] = {
    "title": "EpisodeState",
    "type": "object",
    "properties": {
        "episode_id": {"type": ["string", "null"]},
        "step_count": {"type": "integer", "minimum": 0},
        "env_id": {"type": "string"},
        "seed": {"type": ["integer", "null"]},
        "done": {"type": "boolean"},
        "total_reward": {"type": "number"},
        "max_turns": {"type": "integer", "description": "0 if there is no limit"},
    },
    "required": ["episode_id", "step_count"],
}


def schema() -> dict[str, Any]:
    """The schemas of actions, observations and states, which are the same for all environments."""
    return {"action": ACTION, "observation": OBSERVATION, "state": STATE}


def metadata(spec: EnvSpec, description: str) -> dict[str, Any]:
    """The metadata of an environment; `description` is a sentence about it."""
    return {
        "name": spec.id,
        "description": description,
        "version": str(spec.version),
        "author": None,
        "readme_content": None,
        "documentation_url": None,
    }


def openapi(spec: EnvSpec, prefix: str) -> dict[str, Any]:
    """The description of the server in OpenAPI; `prefix` is the path at which it is."""
    answer = {"200": {"description": "The answer", "content": {"application/json": {"schema": {"type": "object"}}}}}
    body = {"content": {"application/json": {"schema": {"type": "object"}}}}
    posts = {
        "/reset": "Begin an episode: seed, episode_id",
        "/step": "Take a turn: action, episode_id",
        "/mcp": "JSON-RPC: the tools of the environment",
    }
    gets = {
        "/state": "The state of an episode",
        "/schema": "The schemas of actions, observations and states",
        "/metadata": "Name and description",
        "/health": "Whether it can be played",
    }
    paths: dict[str, Any] = {
        path: {"post": {"summary": summary, "requestBody": body, "responses": answer}}
        for path, summary in posts.items()
    } | {path: {"get": {"summary": summary, "responses": answer}} for path, summary in gets.items()}
    return {
        "openapi": "3.1.0",
        "info": {"title": spec.id, "version": API_VERSION},
        "servers": [{"url": prefix}],
        "paths": paths,
    }
