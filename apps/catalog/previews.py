"""Previews of environments: the first turn of an episode, and a picture of the board in its middle.

Making a preview creates the environment and plays an episode, which may take seconds or fail in any way. A thread does
this, and a page waits for it only as long as it chooses to. Of an environment whose turns run in workers, only the
first observation is read, and only where the data say which action is right; no data are downloaded for it.
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
from gem.datasets.names import NAMED_DATASETS
from gem.errors import MissingMethod
from gem.registry import EnvSpec
from gem.replay import frames
from gem.rollout import EpisodeRequest, rollout
from gem.views import View

logger = logging.getLogger(__name__)

SEED = 7
PROGRESS = 0.6
"""How far into an expert's episode the picture is taken."""
MAX_TURNS = 60
"""The number of turns played at most for the picture; an episode may have a thousand."""
MAX_PARALLEL = 4
RETRY_SECONDS = 60.0
"""The time after which a broken environment is tried again."""
PACKAGES_CACHE_SECONDS = 60
"""How long the list of missing packages is cached."""

STATES: dict[str, tuple[str, Tone, str]] = {
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
    """The first turn of an episode and a later board."""

    observation: str
    prompt: str
    """The suffix that an agent reads after the observation; often the board."""
    action: str
    """The expert's first action, or else the one with the reference answer; empty if there is neither."""
    view: View
    by: Literal["expert", "reference", ""] = ""
    """Where the action comes from."""

    @property
    def label(self) -> str:
        """What the action is, in words."""
        return "action of the expert" if self.by == "expert" else "action with the reference answer"


@dataclass(frozen=True, slots=True)
class Preview:
    """Whether the environment works on this machine, and a sample of it."""

    state: State
    problem: str = ""
    """What is wrong, in a sentence; empty if nothing is."""
    sample: PreviewSample | None = None

    @property
    def badge(self) -> Badge:
        """The state as a badge."""
        words, tone, icon = STATES[self.state]
        meaning = self.problem or "The web server has created this environment and played an episode of it."
        return Badge("health", words, meaning, tone, icon)


@dataclass(frozen=True, slots=True)
class _PreviewRequest:
    answer: Future[Preview]
    at: float

    @property
    def stale(self) -> bool:
        """Whether it failed so long ago that it should be tried again."""
        is_broken = self.answer.done() and self.answer.result().state == "broken"
        return is_broken and time.monotonic() - self.at > RETRY_SECONDS


ELSEWHERE = Preview("elsewhere", "It runs in worker processes, so the web server has not checked it.")
_requests: dict[str, _PreviewRequest] = {}
_lock = threading.Lock()
_slots = threading.Semaphore(MAX_PARALLEL)


def preview(env_id: str, wait: float = 0.0) -> Preview:
    """The preview of an environment; `busy` if it is not ready within `wait` seconds.

    Raises:
        UnknownEnvironment: if no such id is registered.
    """
    spec = gem.spec(env_id)
    missing_packages = _missing(spec.requires, _now())
    if missing_packages:
        noun = "the package" if len(missing_packages) == 1 else "the packages"
        return Preview(
            "missing", f"It needs {noun} {', '.join(missing_packages)}. Run: pip install {' '.join(missing_packages)}"
        )
    if spec.unavailable_reason():
        return Preview("unavailable", spec.unavailable_reason())
    if spec.cost == "slow" and not _has_reference(spec):
        return ELSEWHERE
    with _lock:
        request = _requests.get(env_id)
        if request is None or request.stale:
            request = _requests[env_id] = _PreviewRequest(Future(), time.monotonic())
            threading.Thread(
                target=_make_preview, args=(request.answer, env_id), name=f"look {env_id}", daemon=True
            ).start()
    try:
        return request.answer.result(wait)
    except NotYet:
        return Preview("busy", "It is being checked now.")


def ready_sample(env_id: str) -> PreviewSample | None:
    """The sample of a preview that is ready. Others are started one by one, when a browser shows their place."""
    request = _requests.get(env_id)
    return request.answer.result().sample if request is not None and request.answer.done() else None


def missing(spec: EnvSpec) -> list[str]:
    """What the environment needs and this machine lacks: packages (cached for a minute) or a sandbox."""
    return _missing(spec.requires, _now()) + (["a sandbox"] if spec.unavailable_reason() else [])


def _now() -> int:
    return int(time.monotonic()) // PACKAGES_CACHE_SECONDS


@lru_cache(256)
def _missing(requires: tuple[str, ...], _when: int) -> list[str]:
    return EnvSpec("any:any", "", requires=requires).missing_packages()


def _make_preview(answer: Future[Preview], env_id: str) -> None:
    spec = gem.spec(env_id)
    with _slots:
        try:
            if spec.cost == "slow":
                answer.set_result(replace(ELSEWHERE, sample=_first_turn(spec)))
            else:
                answer.set_result(Preview("ready", sample=_make_sample(spec)))
        except Exception as error:  # an environment may break in any way; the catalog shows the others
            logger.warning("The catalog has no picture of %s", env_id, exc_info=True)
            problem = f"It failed when it was checked: {type(error).__name__}: {error}"
            answer.set_result(ELSEWHERE if spec.cost == "slow" else Preview("broken", problem))


def _has_reference(spec: EnvSpec) -> bool:
    """Whether the data of the environment may say which action is right."""
    try:
        return hasattr(spec.load(), "reference_action")
    except Exception:  # a module may break in any way while it is imported; the catalog shows the others
        logger.warning("The catalog cannot load %s", spec.id, exc_info=True)
        return False


def _first_turn(spec: EnvSpec) -> PreviewSample:
    """The first turn, on the built-in sample where there is one, with the action of the reference if there is one."""
    named = NAMED_DATASETS.get(str(spec.kwargs.get("dataset", "")))
    data = {"dataset": f"sample:{named.sample}"} if named and named.sample else {}
    with closing(gem.make(spec.id, **data)) as env:
        observation, info = env.reset(seed=SEED)
        find_reference = getattr(env.unwrapped, "reference_action", None)
        action = (find_reference() or "") if find_reference else ""
        suffix = str(info.get("suffix", ""))
        return PreviewSample(observation, suffix, action, env.view(), "reference" if action else "")


def _make_sample(spec: EnvSpec) -> PreviewSample:
    env_id, first = spec.id, _first_turn(spec)
    agent = make_agent("expert" if has_expert(env_id) else "random")
    limit = [{"name": "time_limit", "max_turns": MAX_TURNS}]
    try:
        record = next(iter(rollout(agent, [EpisodeRequest(0, env_id, SEED, wrappers=limit)], num_envs=1)))
    except MissingMethod:  # no built-in agent can play it, but people can
        return first
    actions = [turn.action for turn in record.turns]
    drawn = list(frames(record.identity, actions[: math.ceil(PROGRESS * len(actions))], record.infos))
    if not has_expert(env_id):
        return first if first.action else replace(first, view=drawn[-1].view)
    return replace(first, action=actions[0] if actions else "", view=drawn[-1].view, by="expert")
