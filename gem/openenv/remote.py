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
    - `url`: the address of the server, without a token: that of a gemweb site is sent as a header (`gemweb login`).
    - `max_turns`: the number of turns after which the episode is truncated; 100 by default.
    - `timeout`: seconds that an answer may take; 60 by default.
    - `reset_options`: further fields of the message that begins an episode, as the server takes them. With
      `{"record": False}`, a site of gemweb keeps no record. They are recorded, so they hold no secret.

Source:
    OpenEnv (https://github.com/meta-pytorch/OpenEnv). What the server answered stands in `info["openenv"]`, from which
    an episode is replayed without it.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from gem.core import Env, Info, State, Step, reading_state
from gem.errors import EnvironmentServerFailure, EpisodeOver, InvalidArgument
from gem.net.addresses import allowed_addresses
from gem.net.openenv import check_address
from gem.openenv.connection import Answer, Connection, checked_answer
from gem.openenv.random_actions import draw_action_text, draw_fields, text_field_of
from gem.rng import SplitMix64
from gem.validation.values import check_action
from gem.views import TextView, View

TEXT_FIELDS = ("prompt", "text", "message", "observation", "content", "result")
"""Fields of an observation that may hold what an agent reads; the first that is a text counts."""
TIMEOUT = 60.0
MAX_TURNS = 100


class RemoteOpenEnv(Env):
    """See the module's documentation, which is also the catalog page.

    Raises:
        InvalidArgument: if `url` is no address or has a token in it, or this process must not connect to such servers.
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
        self.url, self.timeout, self.max_turns = check_address(url), timeout, max_turns
        self._reset_options = dict(reset_options or {})
        self._guard = allowed_addresses()
        self._connection: Connection | None = None
        self._answers: list[Answer] = []
        """What the server answered to the reset and to each action of this episode."""
        self._actions: list[str] = []
        self._tape: Answer | None = None
        self._text_field = ""
        """The field of an action that takes the agent's text; empty if actions are JSON objects."""
        self._schema: Mapping[str, Any] = {}
        """What the server says of its actions, once it was asked."""
        self._is_over = True
        self._num_random_actions = 0

    @property
    def to_act(self) -> tuple[int, ...]:
        """See `Env.to_act`; empty outside an episode."""
        return () if self._is_over else (0,)

    def feed_tape(self, recorded: Info, *, repeat: bool = False) -> None:
        """See `Env.feed_tape`; the next answer is taken from `info["openenv"]`."""
        answer = recorded.get("openenv")
        self._tape = checked_answer(answer.get("answer")) if isinstance(answer, dict) else None
        if isinstance(answer, dict) and isinstance(answer.get("field"), str):
            self._text_field = answer["field"]

    def _start(self) -> tuple[str, Info]:
        self._actions, self._num_random_actions, self._is_over = [], 0, False
        tape, self._tape = self._tape, None
        answer = self._begin() if tape is None else tape
        self._answers = [answer]
        if answer["done"]:
            self._is_over = True
            self._leave()
            raise EnvironmentServerFailure(
                "The server's episode was over when it began: its answer to the reset says done."
            )
        return text_of(answer), self._info(answer)

    def step(self, action: str) -> Step:
        """See `Env.step`.

        Raises:
            EnvironmentServerFailure: if the server cannot be reached, refuses the action or answers nonsense.
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
            text, fault = text_of(answer), {}
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
            "field": self._text_field, "schema": dict(self._schema),
        }  # fmt: skip

    def set_state(self, state: State) -> None:
        """See `Env.set_state`."""
        with reading_state(self):
            self._leave()
            self.seed, self._next_seed, self._is_over = state["seed"], None, state["over"]
            self._actions, self._answers = list(state["actions"]), list(state["answers"])
            self._text_field, self._schema, self._tape = state["field"], state.get("schema", {}), None
            self.rng.seed(self.seed)

    def sample_random_action(self) -> str:
        """See `Env.sample_random_action`; fields that fit the server's schema, or a word of what there is to read."""
        self._num_random_actions += 1
        rng = SplitMix64(self.seed or 0, len(self._actions), self._num_random_actions)
        if not self._text_field:
            return json.dumps(draw_fields(rng, self._schema))
        read = [text_of(answer) for answer in self._answers] or [""]
        return draw_action_text(rng, self._schema, read[0], read[-1])

    def view(self, seat: int = 0) -> View:
        """See `Env.view`; the view is what there is to read."""
        text = text_of(self._answers[-1]) if self._answers else ""
        return TextView(kind="text", name=f"An environment at {self.url}", text=text)

    def close(self) -> None:
        """See `Env.close`."""
        self._leave()

    def _begin(self) -> Answer:
        """Open a session and reset it."""
        self._leave()
        self._connection = Connection(self.url, self._guard, self.timeout)
        try:
            if not self._schema:
                self._schema = self._connection.action_schema()
            self._text_field = text_field_of(self._schema)
            seed = {} if self.seed is None else {"seed": self.seed}
            return self._ask("reset", {**self._reset_options, **seed})
        except BaseException:
            self._leave()  # there is no episode that could go on, and so nobody to close it
            raise

    def _ask(self, kind: str, data: dict[str, Any]) -> Answer:
        if self._connection is None:
            self._return_to_episode()
        assert self._connection is not None
        return self._connection.ask(kind, data)

    def _return_to_episode(self) -> None:
        """Open a session, and play the actions of a restored episode once more.

        Raises:
            EnvironmentServerFailure: if the server answers otherwise than before.
        """
        answers = [self._begin()]
        assert self._connection is not None
        for action in self._actions:
            data = self._data_of(action)
            answers.append({**answers[-1], "reward": 0.0} if data is None else self._connection.ask("step", data))
        differs = any(text_of(one) != text_of(other) for one, other in zip(answers, self._answers, strict=True))
        if differs:
            self._leave()
            raise EnvironmentServerFailure(
                "The server did not give the same episode for the same seed and actions again."
            )

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


def text_of(answer: Answer) -> str:
    """What an agent reads: the text of the observation or, without one, all its fields as JSON."""
    observation = answer["observation"]
    texts = (observation[name] for name in TEXT_FIELDS if isinstance(observation.get(name), str))
    return next(texts, "") or json.dumps(observation, ensure_ascii=False)
