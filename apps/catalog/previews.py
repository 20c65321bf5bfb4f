"""A look into an episode of an environment: how it begins, and what its board looks like in the middle.

Taking one makes the environment and plays it, which may need seconds or fail in any way. So it happens in a thread,
and no page waits longer than it wants to.
"""

from __future__ import annotations

import logging
import math
import threading
import time
from concurrent.futures import Future
from concurrent.futures import TimeoutError as NotYet
from contextlib import closing
from dataclasses import dataclass, replace
from functools import lru_cache
from typing import Literal

import gem
from apps.catalog.badges import Badge, Tone
from gem.agents import has_expert, make_agent
from gem.errors import MissingMethod
from gem.registry import EnvSpec
from gem.replay import frames
from gem.rollout import EpisodeRequest, rollout
from gem.views import View

logger = logging.getLogger(__name__)

SEED = 7
PROGRESS = 0.6
"""How far into an expert's episode the picture is taken."""
TURNS = 60
"""An episode may take a thousand turns; so many are played for its picture."""
AT_ONCE = 4
AGAIN_SECONDS = 60.0
"""An environment that broke is tried again after so long."""
MISSING_SECONDS = 5
"""How old the answer may be to which packages are installed."""

WORDS: dict[str, tuple[str, Tone, str]] = {
    "ready": ("Works here", "win", "check"),
    "missing": ("Package missing", "warn", "warn"),
    "unavailable": ("Not available here", "warn", "warn"),
    "broken": ("Broken here", "loss", "warn"),
    "busy": ("Being checked", "", "eye"),
    "elsewhere": ("Runs in workers", "", "job"),
}
State = Literal["ready", "missing", "unavailable", "broken", "busy", "elsewhere"]


@dataclass(frozen=True, slots=True)
class PreviewSample:
    """What was seen of an episode."""

    observation: str
    prompt: str
    """What an agent reads after the observation; often the board."""
    action: str
    """What the expert did first, or a random action where there is no expert."""
    view: View


@dataclass(frozen=True, slots=True)
class Preview:
    """Whether the environment works here, and what was seen of it."""

    state: State
    said: str = ""
    """What is the matter; empty if nothing is."""
    sample: PreviewSample | None = None

    @property
    def badge(self) -> Badge:
        """The same as a badge."""
        words, tone, icon = WORDS[self.state]
        meaning = self.said or "The web server has created this environment and played an episode of it."
        return Badge("health", words, meaning, tone, icon)


@dataclass(frozen=True, slots=True)
class _Asked:
    answer: Future[Preview]
    at: float

    @property
    def stale(self) -> bool:
        """Whether it broke so long ago that it is worth another try."""
        done = self.answer.done() and self.answer.result().state == "broken"
        return done and time.monotonic() - self.at > AGAIN_SECONDS


_asked: dict[str, _Asked] = {}
_lock = threading.Lock()
_slots = threading.Semaphore(AT_ONCE)


def preview(env_id: str, wait: float = 0.0) -> Preview:
    """What is known of an environment within `wait` seconds; `busy` until somebody has looked.

    Raises:
        UnknownEnvironment: if no such id is registered.
    """
    spec = gem.spec(env_id)
    lacking = _missing(spec.requires, _now())
    if lacking:
        needs = "the package" if len(lacking) == 1 else "the packages"
        return Preview("missing", f"It needs {needs} {', '.join(lacking)}. Run: pip install {' '.join(lacking)}")
    if spec.unavailable_reason():
        return Preview("unavailable", spec.unavailable_reason())
    if spec.cost == "slow":
        return Preview("elsewhere", "It runs in worker processes, so the web server has not checked it.")
    with _lock:
        asked = _asked.get(env_id)
        if asked is None or asked.stale:
            asked = _asked[env_id] = _Asked(Future(), time.monotonic())
            threading.Thread(target=_answer, args=(asked.answer, env_id), name=f"look {env_id}", daemon=True).start()
    try:
        return asked.answer.result(wait)
    except NotYet:
        return Preview("busy", "It is being checked now.")


def missing(spec: EnvSpec) -> list[str]:
    """What an environment needs and is not here: packages, as of some seconds ago at most, or a sandbox."""
    return _missing(spec.requires, _now()) + (["a sandbox"] if spec.unavailable_reason() else [])


def _now() -> int:
    return int(time.monotonic()) // MISSING_SECONDS


@lru_cache(256)
def _missing(requires: tuple[str, ...], _when: int) -> list[str]:
    return EnvSpec("any:any", "", requires=requires).missing_packages()


def _answer(answer: Future[Preview], env_id: str) -> None:
    with _slots:
        try:
            answer.set_result(Preview("ready", sample=_look(env_id)))
        except Exception as error:  # an environment may break in any way; the catalog shows the others
            logger.warning("The catalog has no picture of %s", env_id, exc_info=True)
            answer.set_result(Preview("broken", f"It failed when it was checked: {type(error).__name__}: {error}"))


def _look(env_id: str) -> PreviewSample:
    with closing(gem.make(env_id)) as env:
        observation, info = env.reset(seed=SEED)
        first = PreviewSample(observation, str(info.get("suffix", "")), "", env.view())
    agent = make_agent("expert" if has_expert(env_id) else "random")
    limit = [{"name": "time_limit", "max_turns": TURNS}]
    try:
        record = next(iter(rollout(agent, [EpisodeRequest(0, env_id, SEED, wrappers=limit)], num_envs=1)))
    except MissingMethod:  # nobody here can play it, and people can
        return first
    actions = [turn.action for turn in record.turns]
    seen = list(frames(record.identity, actions[: math.ceil(PROGRESS * len(actions))], record.infos))
    return replace(first, action=actions[0] if actions else "", view=seen[-1].view)
