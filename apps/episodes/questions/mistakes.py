"""Why an episode failed: its first error, and what the expert says of its turns, for which a worker is asked."""

from __future__ import annotations

import logging
from dataclasses import asdict, dataclass
from typing import Any

from apps.episodes.models import Episode, PendingMistakes
from apps.episodes.questions.asked import Answer, Question, failure_in
from apps.episodes.restore import actions, infos
from gem.agents import has_expert
from gem.analysis.mistakes import Mistakes, find_mistakes
from gem.errors import GemError
from gem.records import Identity

logger = logging.getLogger(__name__)

TASK = "verify.mistakes"
KEPT_SECONDS = 24 * 3600
"""How long what the expert said can be read."""


@dataclass(frozen=True, slots=True)
class Explanation:
    """What is known of where an episode went wrong."""

    expert: Mistakes | None = None
    """What the expert says; None if nobody has asked, or there is no answer yet."""
    problem: str = ""
    """Why the expert cannot say anything, in a sentence."""
    is_waiting: bool = False
    place: int | None = None
    """Its place in the queue, from 1; None if it does not wait there."""


def can_be_asked(episode: Episode) -> bool:
    """Whether the expert may be asked about this episode: it is over, played by one seat, and not ranked just now."""
    if not episode.over or episode.closed or episode.seat_count > 1 or not episode.turn_count:
        return False
    try:
        return has_expert(episode.env_id)
    except GemError:
        return False


def ask(episode: Episode, person: str, address: str) -> Explanation:
    """Wake a worker unless the answer is known, and return what is known; see `Question.ask`."""
    return _read(QUESTION.ask(episode, person, address))


def latest(episode: Episode) -> Explanation:
    """What the expert has said so far."""
    return _read(QUESTION.latest(episode))


def answer_next() -> bool:
    """Ask the expert about the episode whose turn it is, in a worker. Returns whether there was one."""
    return QUESTION.answer_next()


def _read(answer: Answer) -> Explanation:
    if answer.found and "problem" in answer.found:
        return Explanation(problem=answer.found["problem"])
    if answer.found:
        return Explanation(Mistakes(**answer.found))
    return Explanation(is_waiting=answer.is_waiting, place=answer.place)


def _answer(episode: Episode) -> dict[str, Any]:
    try:
        return asdict(find_mistakes(Identity(**episode.identity()), actions(episode), infos(episode)))
    except GemError as error:
        logger.info("The expert cannot look at episode %s: %s", episode.pk, error)
        return {"problem": str(error)}
    except Exception as error:  # noqa: BLE001 (an environment may fail in any way)
        return {"problem": failure_in(error, episode)}


QUESTION = Question("mistakes", TASK, PendingMistakes, _answer, KEPT_SECONDS)
