"""What a server of OpenEnv promises to its clients."""

from __future__ import annotations

from typing import Any, NamedTuple

from gem.check.elsewhere.servers.server import Played, Refused, Server, ask, canonical
from gem.check.promise import BrokenPromise, shorten
from gem.errors import EnvironmentFailure
from gem.openenv.connection import Connection
from gem.openenv.wire import CAPACITY_REACHED, frame

SEED, OTHER_SEED = 7, 8
PLAYS = 3
"""A seed is played so often."""
COUNTED = 4
"""The state is asked for so often, with a step before each time but the first."""
MOST_EPISODES = 5
"""So many random episodes are begun in the hope that one ends."""
STATE = '{"type": "state"}'


class Skipped(Exception):
    """A promise cannot be tried with this server; the message says why."""


class ServerPromise(NamedTuple):
    """One promise of a server."""

    title: str
    attempt: Any
    """The function that tries it with a `Server`; it raises `BrokenPromise` or `Skipped`."""
    advice: str
    basic: bool = False
    """Whether nothing else can be tried if it is broken."""

    @property
    def key(self) -> str:
        """The short name."""
        return str(self.attempt.__name__)


def a_session_begins_with_a_reset(server: Server) -> None:
    with server.session() as session:
        answer = _reset(session, SEED)
    if answer["done"]:
        raise BrokenPromise("The first observation of seed 7 says that the episode is over.")


def it_describes_its_actions(server: Server) -> None:
    response = server.get("/schema")
    if response.status != 200 or not isinstance(response.data, dict):
        raise BrokenPromise(f"GET /schema is answered with status {response.status} and {shorten(response.data)}.")
    if not isinstance(response.data.get("action"), dict) or not server.action_schema.get("properties"):
        raise BrokenPromise(f"Its schema of an action has no fields: {shorten(response.data.get('action'))}.")


def it_says_that_it_is_healthy(server: Server) -> None:
    response = server.get("/health")
    if response.status != 200 or not isinstance(response.data, dict) or response.data.get("status") != "healthy":
        raise BrokenPromise(f"GET /health is answered with status {response.status} and {shorten(response.data)}.")


def steps_are_answered(server: Server) -> None:
    with server.session() as session:
        try:
            server.play(session, SEED)
        except Refused as error:
            raise BrokenPromise(f"An action that fits its own schema is refused: {error}") from error


def it_obeys_a_seed(server: Server) -> None:
    first = _played(server, SEED)
    for _ in range(PLAYS - 1):
        _expect_same(first, _played(server, SEED, first.actions), "Played twice, seed 7 differs")


def sessions_do_not_disturb_each_other(server: Server) -> None:
    alone = _played(server, SEED)
    if canonical(alone.answers[0]) != canonical(_played(server, SEED, []).answers[0]):
        raise Skipped("It does not obey a seed, so two sessions cannot be compared.")
    with server.session() as one, server.session() as other:
        beside = Played([_reset(one, SEED)], alone.actions)
        for number, action in enumerate(alone.actions):
            try:
                _reset(other, OTHER_SEED + number)
            except Refused as error:
                if CAPACITY_REACHED in str(error):
                    raise Skipped("It has one session at a time.") from error
                raise
            beside.answers.append(ask(one, "step", action))
    _expect_same(alone, beside, "Seed 7 beside another session differs")


def its_state_counts_the_steps(server: Server) -> None:
    with server.session() as session:
        is_over = bool(_reset(session, SEED)["done"])
        for number in range(COUNTED):
            state = _state(session)
            if state.get("step_count") != number:
                raise BrokenPromise(f"After {number} steps its state has step_count={state.get('step_count')!r}.")
            if is_over:
                return
            is_over = ask(session, "step", server.random_action(SEED, number))["done"]


def what_it_does_not_understand_is_answered_with_an_error(server: Server) -> None:
    with server.session() as session:
        _reset(session, SEED)
        before = canonical(_state(session))
        for label, text in (
            ("a text that is no JSON", "reset"),
            ("a message of an unknown type", '{"type": "fly"}'),
            ("an action without its fields", frame("step", {"no_such_field": [1]})),
        ):
            if label.startswith("an action") and not server.action_schema.get("required"):
                continue
            reply = _exchange(session, text, label)
            if reply.get("type") != "error":
                raise BrokenPromise(f"The reply to {label} is {shorten(reply)}, which is no error.")
            if canonical(_state(session)) != before:
                raise BrokenPromise(f"After {label} its state is another one.")


def a_step_after_the_end_is_answered(server: Server) -> None:
    with server.session() as session:
        for seed in range(MOST_EPISODES):
            played = server.play(session, seed)
            if played.is_over:
                break
        else:
            raise Skipped("Random actions did not end an episode.")
        reply = _exchange(session, frame("step", played.actions[-1]), "a step after the end")
        if reply.get("type") not in ("error", "observation"):
            raise BrokenPromise(f"The reply to a step after the end is {shorten(reply)}.")
        data = reply["data"] if reply["type"] == "observation" else {}
        if data.get("reward") and not data.get("done"):
            raise BrokenPromise(f"A step after the end goes on, and earns {data['reward']}.")
        _reset(session, SEED)


# ------------------------------------------------------------------ asking


def _played(server: Server, seed: int, actions: list[dict[str, Any]] | None = None) -> Played:
    with server.session() as session:
        return server.play(session, seed, actions)


def _reset(session: Connection, seed: int) -> dict[str, Any]:
    return ask(session, "reset", {"seed": seed})


def _state(session: Connection) -> dict[str, Any]:
    reply = _exchange(session, STATE, "state")
    if reply.get("type") != "state" or not isinstance(reply.get("data"), dict):
        raise BrokenPromise(f"The reply to state is {shorten(reply)}: each message has exactly one reply, in order.")
    state: dict[str, Any] = reply["data"]
    return state


def _exchange(session: Connection, text: str, label: str) -> dict[str, Any]:
    try:
        return session.exchange(text)
    except EnvironmentFailure as error:
        raise BrokenPromise(f"After {label} there is no reply: {error}") from error


def _expect_same(first: Played, second: Played, place: str) -> None:
    for number, (one, other) in enumerate(zip(first.answers, second.answers, strict=False)):
        if canonical(one) != canonical(other):
            raise BrokenPromise(f"{place}: turn {number} is {shorten(one)} and then {shorten(other)}.")
    if len(first.answers) != len(second.answers):
        raise BrokenPromise(f"{place}: {len(first.answers) - 1} turns and {len(second.answers) - 1}.")


PROMISES = (
    ServerPromise(
        "A session begins with a reset.",
        a_session_begins_with_a_reset,
        'Answer {"type": "reset"} on the WebSocket /ws with an observation, a reward and done.',
        basic=True,
    ),
    ServerPromise(
        "It describes its actions.",
        it_describes_its_actions,
        "GET /schema has the JSON schemas of an action, an observation and a state.",
    ),
    ServerPromise("It says that it is healthy.", it_says_that_it_is_healthy, 'GET /health is {"status": "healthy"}.'),
    ServerPromise(
        "Actions that fit its schema are answered.",
        steps_are_answered,
        "Answer a step with an observation, a number or null as the reward, and true or false as done.",
        basic=True,
    ),
    ServerPromise(
        "It obeys a seed.",
        it_obeys_a_seed,
        "Pass the seed of a reset on to the environment, and draw from a generator that it seeds.",
    ),
    ServerPromise(
        "Sessions do not disturb each other.",
        sessions_do_not_disturb_each_other,
        "Give every session an environment of its own that draws from a generator of its own.",
    ),
    ServerPromise(
        "Its state counts the steps.",
        its_state_counts_the_steps,
        "Set step_count to 0 at reset, and raise it by one with each step.",
    ),
    ServerPromise(
        "What it does not understand is answered with an error.",
        what_it_does_not_understand_is_answered_with_an_error,
        "Answer with an error (INVALID_JSON, UNKNOWN_TYPE, VALIDATION_ERROR), change nothing, and keep the session.",
    ),
    ServerPromise(
        "A step after the end is answered.",
        a_step_after_the_end_is_answered,
        "Answer with an error, or with an observation that says done again, and keep the session.",
    ),
)
