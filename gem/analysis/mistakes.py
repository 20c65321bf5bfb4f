"""Where an episode went wrong, seen by the expert: its first other action, and the turn that cost most.

The expert is asked before every turn what it would do. The value of a state is the return that the expert still earns
from there, in a copy of the environment with the same hidden state and the same chance. So the loss of a turn is what
the expert would have earned before it, less the turn's reward and what the expert earns after it:

    loss(t) = V(s_t) - (r_t + V(s_t+1)),    V(s) = the expert's return from s, and 0 at the end

It holds for this one course of chance: another one may have punished another turn.
"""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import chain, repeat

from gem import registry
from gem.agents import Request, has_expert, make_agent
from gem.core import Env, Info
from gem.grading.parsing import extract_last_boxed_answer, extract_last_tagged_answer
from gem.records import Identity
from gem.replay import is_taped, make_env

MAX_SECONDS = 20.0
"""How long the search for one episode may take."""
SMALLEST_LOSS = 1e-6


@dataclass(frozen=True, slots=True)
class Mistakes:
    """What the expert says of an episode."""

    parting: int | None = None
    """The first turn whose action the expert would not have taken; None if there is none."""
    instead: str = ""
    """What the expert would have sent in that turn."""
    note: str = ""
    """Why, in the expert's words."""
    costliest: int | None = None
    """The turn with the largest loss of value; None if no turn lost any, or the values were not computed."""
    loss: float = 0.0
    """Its loss."""
    is_complete: bool = True
    """Whether the time was enough for all turns."""


def find_mistakes(
    identity: Identity, actions: Sequence[str], infos: Sequence[Info] = (), *, seconds: float = MAX_SECONDS
) -> Mistakes:
    """Ask the expert about every turn of an episode with one seat.

    Args:
        infos: the recorded infos, that of the reset first, as `gem.replay.restore` takes them.
        seconds: after so long, the turns that are left are not looked at.

    Raises:
        VersionChanged, UnknownEnvironment: see `gem.replay.make_env`.
    """
    if not has_expert(identity.env_id):
        return Mistakes()
    stop_at = time.monotonic() + seconds
    env, expert = make_env(identity), make_agent("expert")
    has_values = registry.spec(identity.env_id).cost == "fast" and not is_taped(identity)
    tape = chain(infos, repeat({}))
    env.feed_tape(next(tape))
    observation, info = env.reset(seed=identity.seed)
    found = Mistakes()
    value = _value_of(env, observation, info, stop_at) if has_values else None
    for turn, action in enumerate(actions, start=1):
        if time.monotonic() > stop_at:
            return replace(found, is_complete=False)
        if found.parting is None:
            decision = expert.act([Request(env, observation, info, turn)])[0]
            if _essence(decision.action) != _essence(action):
                found = replace(found, parting=turn, instead=decision.action, note=decision.note)
        env.feed_tape(next(tape))
        observation, reward, terminated, truncated, info = env.step(action)
        before, value = value, None
        if before is not None:
            value = 0.0 if terminated or truncated else _value_of(env, observation, info, stop_at)
        if before is not None and value is not None:
            loss = before - (reward + value)
            if loss > max(found.loss, SMALLEST_LOSS):
                found = replace(found, costliest=turn, loss=loss)
    return found if value is not None or not has_values else replace(found, is_complete=False)


def _value_of(env: Env, observation: str, info: Info, stop_at: float) -> float | None:
    """The return that the expert earns from the present state; None if there is no time left to play it."""
    copy, expert, total, turn = env.spawn(same_state=True), make_agent("expert"), 0.0, 0
    is_over = False
    while not is_over:
        if time.monotonic() > stop_at:
            return None
        turn += 1
        action = expert.act([Request(copy, observation, info, turn)])[0].action
        observation, reward, terminated, truncated, info = copy.step(action)
        total += reward
        is_over = terminated or truncated
    return total


def _essence(action: str) -> str:
    """What an environment reads of an action, so that the words around it make no difference."""
    inner = extract_last_boxed_answer(action)
    inner = extract_last_tagged_answer(action) if inner is None else inner
    return " ".join((action if inner is None else inner).lower().split())
