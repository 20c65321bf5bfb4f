"""Play an environment on a server of OpenEnv.

Rules:
    Those of the server. `gem.make("openenv:http://127.0.0.1:8000")` connects when the first episode begins; a seed is
    passed on, and it is up to the server to obey it.

Actions:
    If an action of the server has exactly one required field and that is a text, any text is an action. Otherwise an
    action is a JSON object with the fields of the server's schema.

Rewards:
    Those of the server; where it sends none, 0. An action that is no JSON object where one is needed earns 0 and is not
    sent.

Arguments:
    - `url`: the address of the server.
    - `max_turns`: the number of turns after which the episode is truncated; 100 by default.
    - `timeout`: seconds that an answer may take; 60 by default.
    - `reset_options`: further fields of the message that begins an episode, as the server takes them. With
      `{"record": False}`, a site of gemweb keeps no record.

Source:
    OpenEnv (https://github.com/meta-pytorch/OpenEnv). What the server answered stands in `info["openenv"]`, from which
    an episode is replayed without it.
"""

from __future__ import annotations

import json
import os
from collections.abc import Mapping
from typing import Any

from gem.core import Env, Info, State, Step, reading_state
from gem.errors import EnvironmentFailure, EpisodeOver, InvalidArgument
from gem.net.http import (
    AddressGuard,
    GuardedClient,
    HttpError,
    UnrestrictedGuard,
    check_url,
)
from gem.openenv.wire import frame
from gem.rng import SplitMix64, choice
from gem.tools.mcp.loop import wait
from gem.validation.values import check_action
from gem.views import TextView, View

ADDRESSES_VARIABLE = "GEM_OPENENV_ADDRESSES"
"""The environment variable with the networks that may be connected to besides global addresses, separated by spaces, as
`AddressGuard` takes them. Without it every address may be; with `none` no server is."""
NO_ADDRESS = "none"
MAX_BYTES = 4 * 1024 * 1024
GRACE_SECONDS = 5.0
TEXT_FIELDS = ("prompt", "text", "message", "observation", "content", "result")
"""Fields of an observation that may hold what an agent reads; the first that is a text counts."""
TIMEOUT = 60.0
MAX_TURNS = 100

Answer = dict[str, Any]
"""The `data` of an observation: `observation`, `reward` and `done`."""


class RemoteOpenEnv(Env):
    """See the module's documentation, which is also the catalog page.

    Raises:
        InvalidArgument: if `url` is no address, or this process must not connect to such servers.
    """

    def __init__(
        self,
        url: str,
        max_turns: int = MAX_TURNS,
        timeout: float = TIMEOUT,
        reset_options: Mapping[str, Any] | None = None,
        seed: int | None = None,
    ) -> None:
        super().__init__(seed)
        if max_turns < 1 or not 0 < timeout <= 600:
            raise InvalidArgument("max_turns is at least 1, and timeout more than 0 and at most 600 s.")
        self.url, self.timeout, self.max_turns = check_url(url), timeout, max_turns
        self._reset_options = dict(reset_options or {})
        self._guard = _guard()
        self._connection: _Connection | None = None
        self._answers: list[Answer] = []
        """What the server answered to the reset and to each action of this episode."""
        self._actions: list[str] = []
        self._tape: Answer | None = None
        self._text_field = ""
        """The field of an action that takes the agent's text; empty if actions are JSON objects."""
        self._is_over = True
        self._num_random_actions = 0

    @property
    def to_act(self) -> tuple[int, ...]:
        """See `Env.to_act`; empty outside an episode."""
        return () if self._is_over else (0,)

    def feed_tape(self, recorded: Info, *, repeat: bool = False) -> None:
        """See `Env.feed_tape`; the next answer is taken from `info["openenv"]`."""
        answer = recorded.get("openenv")
        self._tape = _checked(answer.get("answer")) if isinstance(answer, dict) else None
        if isinstance(answer, dict) and isinstance(answer.get("field"), str):
            self._text_field = answer["field"]

    def _start(self) -> tuple[str, Info]:
        self._actions, self._num_random_actions, self._is_over = [], 0, False
        tape, self._tape = self._tape, None
        answer = self._begin() if tape is None else tape
        self._answers = [answer]
        self._is_over = bool(answer["done"])
        return _text_of(answer), self._info(answer)

    def step(self, action: str) -> Step:
        """See `Env.step`.

        Raises:
            EnvironmentFailure: if the server cannot be reached, refuses the action or answers nonsense.
        """
        if self._is_over:
            raise EpisodeOver("There is no episode under way; call reset() to begin one.")
        check_action(action)
        tape, self._tape = self._tape, None
        data = self._data_of(action)
        if data is None:
            answer, fault = {**self._answers[-1], "reward": 0.0}, {"error": "format"}
            text = "This is no action: write a JSON object with the fields of the server's schema."
        else:
            answer = self._ask("step", data) if tape is None else tape
            text, fault = _text_of(answer), {}
        self._answers.append(answer)
        self._actions.append(action)
        done = bool(answer["done"])
        truncated = not done and len(self._actions) >= self.max_turns
        self._is_over, self._num_random_actions = done or truncated, 0
        info: Info = {**self._info(answer), **fault}
        reward = float(answer["reward"] or 0.0)
        if self._is_over:
            observation = answer["observation"]
            solved = observation.get("success") if isinstance(observation.get("success"), bool) else done and reward > 0
            info["success"] = bool(solved)
            self._leave()
        return text, reward, done, truncated, info

    def get_state(self) -> State:
        """See `Env.get_state`: the answers so far. Whoever goes on from it asks the server for the same ones again."""
        return {
            "seed": self.seed, "actions": list(self._actions), "answers": list(self._answers), "over": self._is_over,
            "field": self._text_field,
        }  # fmt: skip

    def set_state(self, state: State) -> None:
        """See `Env.set_state`."""
        with reading_state(self):
            self._leave()
            self.seed, self._next_seed, self._is_over = state["seed"], None, state["over"]
            self._actions, self._answers = list(state["actions"]), list(state["answers"])
            self._text_field, self._tape = state["field"], None
            self.rng.seed(self.seed)

    def sample_random_action(self) -> str:
        """See `Env.sample_random_action`; a word of what there is to read, in the form of an action."""
        self._num_random_actions += 1
        words = (_text_of(self._answers[-1]) if self._answers else "").split() or ["yes", "no"]
        word = choice(SplitMix64(self.seed or 0, len(self._actions), self._num_random_actions), words)
        return word if self._text_field else json.dumps({"message": word})

    def view(self, seat: int = 0) -> View:
        """See `Env.view`; the view is what there is to read."""
        text = _text_of(self._answers[-1]) if self._answers else ""
        return TextView(kind="text", name=f"An environment at {self.url}", text=text)

    def close(self) -> None:
        """See `Env.close`."""
        self._leave()

    def _begin(self) -> Answer:
        """Open a session and reset it."""
        self._leave()
        self._connection = _Connection(self.url, self._guard, self.timeout)
        self._text_field = self._connection.text_field()
        seed = {} if self.seed is None else {"seed": self.seed}
        return self._ask("reset", {**self._reset_options, **seed})

    def _ask(self, kind: str, data: dict[str, Any]) -> Answer:
        if self._connection is None:
            self._return_to_episode()
        assert self._connection is not None
        return self._connection.ask(kind, data)

    def _return_to_episode(self) -> None:
        """Open a session, and play the actions of a restored episode once more.

        Raises:
            EnvironmentFailure: if the server answers otherwise than before.
        """
        answers = [self._begin()]
        assert self._connection is not None
        for action in self._actions:
            data = self._data_of(action)
            answers.append({**answers[-1], "reward": 0.0} if data is None else self._connection.ask("step", data))
        differs = any(_text_of(one) != _text_of(other) for one, other in zip(answers, self._answers, strict=True))
        if differs:
            self._leave()
            raise EnvironmentFailure("The server did not give the same episode for the same seed and actions again.")

    def _data_of(self, action: str) -> dict[str, Any] | None:
        """What the server takes as the action; None if it is none."""
        if self._text_field:
            return {self._text_field: action}
        try:
            data = json.loads(action)
        except (ValueError, RecursionError):
            return None
        return data if isinstance(data, dict) else None

    def _info(self, answer: Answer) -> Info:
        return {"openenv": {"answer": answer, "field": self._text_field}}

    def _leave(self) -> None:
        connection, self._connection = self._connection, None
        if connection is not None:
            connection.close()


class _Connection:
    """A session with a server, over a WebSocket in the event loop of this process."""

    def __init__(self, url: str, guard: AddressGuard, timeout: float) -> None:
        self._url, self._timeout = url, timeout
        self._client = GuardedClient(guard)
        self._socket: Any = None

    def text_field(self) -> str:
        """The only required field of the server's actions, if it is a text; else empty."""
        schema = self._run(self._read_schema())
        action = schema.get("action")
        if not isinstance(action, dict):
            return ""
        required, fields = action.get("required"), action.get("properties")
        if not isinstance(required, list) or len(required) != 1 or not isinstance(fields, dict):
            return ""
        described = fields.get(required[0])
        is_text = isinstance(described, dict) and described.get("type") == "string"
        return str(required[0]) if is_text else ""

    def ask(self, kind: str, data: dict[str, Any]) -> Answer:
        """Send a message, and return the observation that answers it.

        Raises:
            EnvironmentFailure: if there is none.
        """
        reply = self._run(self._exchange(frame(kind, data)))
        if reply.get("type") == "error":
            message = reply.get("data", {}).get("message") if isinstance(reply.get("data"), dict) else None
            raise EnvironmentFailure(f"The server refused the {kind}: {str(message)[:500]}")
        return _checked(reply.get("data"))

    def close(self) -> None:
        """End the session."""
        try:
            self._run(self._close())
        except EnvironmentFailure:
            return  # it has ended anyway

    async def _read_schema(self) -> dict[str, Any]:
        sent = self._client.send("GET", f"{self._url}/schema", {}, timeout_seconds=self._timeout, max_bytes=MAX_BYTES)
        async with sent as response:
            body = b"".join([part async for part in response.body])
        value = json.loads(body)
        return value if isinstance(value, dict) else {}

    async def _exchange(self, text: str) -> dict[str, Any]:
        if self._socket is None:
            self._socket = await self._client.open_socket(
                f"{self._url}/ws", {}, timeout_seconds=self._timeout, max_bytes=MAX_BYTES
            )
        reply = json.loads(await self._socket.ask(text, self._timeout))
        return reply if isinstance(reply, dict) else {}

    async def _close(self) -> None:
        if self._socket is not None:
            await self._socket.close()
        await self._client.close()

    def _run(self, work: Any) -> Any:
        try:
            return wait(work, 2 * self._timeout + GRACE_SECONDS)
        except HttpError as error:
            raise EnvironmentFailure(f"The server at {self._url}: {error}") from error
        except TimeoutError as error:
            raise EnvironmentFailure(f"The server at {self._url} did not answer.") from error
        except (ValueError, RecursionError) as error:
            raise EnvironmentFailure(f"The server at {self._url} sent something that is not JSON.") from error


def _guard() -> AddressGuard:
    """The guard for the addresses of servers, as the environment variable says.

    Raises:
        InvalidArgument: if no server may be connected to.
    """
    allowed = os.environ.get(ADDRESSES_VARIABLE)
    if allowed is None:
        return UnrestrictedGuard()
    if allowed.strip() == NO_ADDRESS:
        raise InvalidArgument("Environments of other servers are not played here. Play them on your own machine.")
    return AddressGuard(allowed.split())


def _checked(answer: object) -> Answer:
    """An answer of the server, as far as it can be used.

    Raises:
        EnvironmentFailure: if it is not an observation with a reward and an end.
    """
    if not isinstance(answer, Mapping):
        raise EnvironmentFailure("The server's answer is no observation.")
    observation, reward, done = answer.get("observation"), answer.get("reward"), answer.get("done", False)
    is_number = reward is None or isinstance(reward, int | float)
    if not isinstance(observation, dict) or not is_number or not isinstance(done, bool):
        raise EnvironmentFailure("The server's answer is no observation with a reward and an end.")
    return {"observation": observation, "reward": None if reward is None else float(reward), "done": done}


def _text_of(answer: Answer) -> str:
    """What an agent reads: the text of the observation or, without one, all its fields as JSON."""
    observation = answer["observation"]
    texts = (observation[name] for name in TEXT_FIELDS if isinstance(observation.get(name), str))
    return next(texts, "") or json.dumps(observation, ensure_ascii=False)
