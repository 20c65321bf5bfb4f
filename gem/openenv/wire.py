r"""The messages of OpenEnv, as its clients 0.2 to 0.10 send and read them.

A WebSocket carries `{"type": "reset", "data": {"seed": 7}}`, `{"type": "step", "data": {"message": "\\boxed{5}"}}`,
`{"type": "state"}`, `{"type": "mcp", "data": JSON-RPC}` and `{"type": "close"}`. Every message but the last has one
reply, in order, because clients pair them by their order: an `observation`, a `state`, an `mcp` or an `error`.

An observation has no `truncated`, and old clients drop everything beside `observation`, `reward` and `done`. So all
that is known of a turn stands in `observation`.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any, Literal, NamedTuple

from gem.core import Info
from gem.validation.values import MAX_SEED
from gem.wrappers.observation_wrapper import as_message

Code = Literal[
    "INVALID_JSON", "UNKNOWN_TYPE", "VALIDATION_ERROR", "EXECUTION_ERROR", "CAPACITY_REACHED", "FACTORY_ERROR",
    "SESSION_ERROR",
]  # fmt: skip
CAPACITY_REACHED: Code = "CAPACITY_REACHED"
"""The code of a server that has as many sessions as it can."""
Kind = Literal["reset", "step", "state", "mcp", "close"]
KINDS: frozenset[str] = frozenset({"reset", "step", "state", "mcp", "close"})
MAX_EPISODE_ID = 255
MAX_ECHO = 80
"""Characters of a client's message that an error repeats."""
GAME = -1
"""The sender of what the environment says, in `messages`."""
LIST_TOOLS, CALL_TOOL = "list_tools", "call_tool"
"""The `type` of steps that ask for tools or call one."""


class WireError(Exception):
    """A message that cannot be answered as it wishes; the session goes on.

    Args:
        code: what clients read.
        message: a sentence for people.
    """

    def __init__(self, code: Code, message: str) -> None:
        super().__init__(message)
        self.code: Code = code
        self.message = message


class Reset(NamedTuple):
    """What a reset asks for."""

    seed: int | None
    episode_id: str | None
    """A name that the client chose for the episode."""
    is_recorded: bool = True
    """Whether the server may keep the episode."""
    secret: str = ""
    """What is put behind the name, with a dot between them, so that nobody can guess it."""

    def named(self, own: str) -> str:
        """The name of the episode for the client: the one that it chose, or else this one."""
        name = self.episode_id or own
        return f"{name}.{self.secret}" if self.secret else name


class Call(NamedTuple):
    """A step that asks for the tools of the environment, or calls one."""

    name: str
    """The tool; empty to list them."""
    arguments: dict[str, Any]


class Observation(NamedTuple):
    """A turn, or the beginning of an episode, as a client of one or several seats may know it."""

    text: str
    info: Info
    reward: float | None
    terminated: bool
    truncated: bool
    to_act: tuple[int, ...]
    """The seats that have to act."""
    seed: int
    episode_id: str

    @property
    def is_over(self) -> bool:
        """Whether the episode has ended."""
        return self.terminated or self.truncated


def read_frame(text: str) -> tuple[Kind, dict[str, Any]]:
    """The kind and the data of a message.

    Raises:
        WireError: if it is not one.
    """
    try:
        message = json.loads(text)
    except (ValueError, RecursionError) as error:
        raise WireError("INVALID_JSON", f"The message is not JSON: {error}.") from error
    if not isinstance(message, dict):
        raise WireError("VALIDATION_ERROR", f"A message is an object, not {type(message).__name__}.")
    kind, data = message.get("type", ""), message.get("data")
    if not isinstance(kind, str) or kind not in KINDS:
        raise WireError(
            "UNKNOWN_TYPE",
            f"There is no message of type {kind!r:.{MAX_ECHO}}; there is reset, step, state, mcp and close.",
        )
    if data is None:
        data = {}
    if not isinstance(data, dict):
        raise WireError("VALIDATION_ERROR", f"The data of a message are an object, not {type(data).__name__}.")
    return kind, data  # type: ignore[return-value]


def read_reset(data: Mapping[str, Any]) -> Reset:
    """What a reset asks for. Other fields are for environments that have them, and are ignored.

    Raises:
        WireError: if the seed is no integer from 0 to 2**63 - 1, or the name is too long.
    """
    seed, episode_id = data.get("seed"), data.get("episode_id")
    if seed is not None and (isinstance(seed, bool) or not isinstance(seed, int) or not 0 <= seed <= MAX_SEED):
        raise WireError("VALIDATION_ERROR", f"A seed is an integer from 0 to {MAX_SEED}, not {seed!r:.{MAX_ECHO}}.")
    if episode_id is not None and (not isinstance(episode_id, str) or not 0 < len(episode_id) <= MAX_EPISODE_ID):
        raise WireError("VALIDATION_ERROR", f"An episode_id is a text of 1 to {MAX_EPISODE_ID} characters.")
    is_recorded = data.get("record", True)
    if not isinstance(is_recorded, bool):
        raise WireError("VALIDATION_ERROR", "record is true or false: whether the server keeps the episode.")
    return Reset(seed, episode_id, is_recorded)


def read_action(data: Mapping[str, Any]) -> str | Call:
    """The action of a step: its field `message`, or a call of a tool.

    Raises:
        WireError: if there is neither.
    """
    message = data.get("message")
    if isinstance(message, str):
        return message
    if data.get("type") == LIST_TOOLS:
        return Call("", {})
    if data.get("type") == CALL_TOOL:
        name, arguments = data.get("tool_name"), data.get("arguments", {})
        if isinstance(name, str) and name and isinstance(arguments, dict):
            return Call(name, arguments)
        raise WireError("VALIDATION_ERROR", "A call of a tool has a tool_name, a text, and arguments, an object.")
    raise WireError("VALIDATION_ERROR", 'An action has a field "message", which is the text that the agent writes.')


def observation_data(turn: Observation) -> dict[str, Any]:
    """The `data` of an observation. The names are those of OpenEnv's own text environments."""
    observation: dict[str, Any] = {
        "prompt": as_message(turn.text, turn.info),
        "messages": [{"sender_id": GAME, "content": turn.text, "category": "MESSAGE"}],
        "current_player_id": turn.to_act[0] if turn.to_act else 0,
        "legal_players": list(turn.to_act),
        "terminated": turn.terminated,
        "truncated": turn.truncated,
        "success": turn.info.get("success") if turn.is_over else None,
        "seed": turn.seed,
        "episode_id": turn.episode_id,
        "info": turn.info,
        "metadata": {},
    }
    return {"observation": observation, "reward": turn.reward, "done": turn.is_over}


def frame(kind: str, data: Any) -> str:
    """A message as text."""
    return as_text({"type": kind, "data": data})


def error_frame(error: WireError) -> str:
    """An error as text."""
    return frame("error", {"message": error.message, "code": error.code})


def as_text(value: Any) -> str:
    """A value as JSON that can be sent: half a surrogate pair, which UTF-8 does not have, stays an escape."""
    text = _encode(value)
    return text if text.isascii() else text.encode("utf-8", "backslashreplace").decode()


_encode = json.JSONEncoder(ensure_ascii=False, separators=(",", ":")).encode
