"""Verification of an episode: at once if its environment is fast, otherwise by a worker (see `asked`)."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import Any

from apps.episodes import operations
from apps.episodes.models import Episode, PendingVerification
from apps.episodes.questions.asked import Answer, Question, failure_in
from gem.errors import GemError

TASK = "verify.episode"
KEPT_SECONDS = 3600
"""How long a worker's verdict can be read."""


@dataclass(frozen=True, slots=True)
class Verdict:
    """Whether a replay is identical to its record."""

    holds: bool | None
    """None if this is not known, or not yet."""
    sentence: str = ""
    is_waiting: bool = False
    """Whether a worker has been asked and has not answered."""
    place: int | None = None
    """Its place in the queue, from 1; None if it does not wait there."""


NO_ANSWER = Verdict(None, "No worker has answered. Press Verify again, or download the episode and replay it yourself.")


def verify(episode: Episode, person: str, address: str) -> Verdict:
    """Replay a fast episode now; for a slow one, wake a worker and return what is known; see `Question.ask`."""
    return _read(QUESTION.ask(episode, person, address)) if episode.slow else _compute(episode)


def latest(episode: Episode) -> Verdict:
    """What a worker has found, or that it has not answered yet."""
    return _read(QUESTION.latest(episode))


def answer_next() -> bool:
    """Verify the episode whose turn it is, in a worker. Returns whether there was one."""
    return QUESTION.answer_next()


def _read(answer: Answer) -> Verdict:
    if answer.found:
        return Verdict(**answer.found)
    return Verdict(None, is_waiting=True, place=answer.place) if answer.is_waiting else NO_ANSWER


def _compute(episode: Episode) -> Verdict:
    try:
        difference = operations.verify(episode)
    except GemError as error:
        return Verdict(False, str(error))
    except Exception as error:  # noqa: BLE001 (an environment may fail in any way)
        return Verdict(False, failure_in(error, episode))
    return Verdict(difference is None, difference.sentence if difference else "")


def _answer(episode: Episode) -> dict[str, Any]:
    return asdict(_compute(episode))


QUESTION = Question("verify", TASK, PendingVerification, _answer, KEPT_SECONDS)
