"""Trial runs: a program on the tests that its problem shows, in a worker. They cost no turn and change no episode.

The result stays in the cache, because it can be computed again; Postgres holds only who waits, one program for each
episode.
"""

from __future__ import annotations

import hashlib
import logging
import time
from collections.abc import Callable
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass
from typing import Any

from django.conf import settings
from django.core.cache import cache
from django.db.models.functions import Now

from apps.accounts import quotas
from apps.accounts.models import User, Viewer
from apps.accounts.rate_limit import take
from apps.admission.line import Line, note_spent, rows
from apps.admission.models import account_in, name_of
from apps.episodes.errors import EpisodeEnded, NotYourTurn, Refusal, TooFast
from apps.episodes.models import Episode
from apps.episodes.operations import check_action
from apps.episodes.questions.asked import wake_if_late
from apps.episodes.restore import restore
from apps.episodes.text import storable
from apps.episodes.visibility import own_seat
from apps.faults import infrastructure_fault
from apps.holders import new_token
from apps.leases import Heartbeat, LeasedQuerySet
from apps.play.models import PendingTrial
from apps.queue import enqueue
from gem.errors import GemError, failure_of

logger = logging.getLogger(__name__)

TASK = "verify.trials"
KEPT_SECONDS = 3600
DIGITS = 32
LINE = Line("trial", per_person=1, per_address=4)


@dataclass(frozen=True, slots=True)
class Trial:
    """What is known of a trial run."""

    digest: str
    """Of the program."""
    tests: list[dict[str, Any]] | None = None
    """The results; None if there are none yet."""
    problem: str = ""
    """Why there are none, in a sentence."""
    is_waiting: bool = False
    place: int | None = None
    """Its place in the queue, from 1; None if a worker runs it now."""

    @property
    def passed(self) -> int:
        """The number of tests that the program passed."""
        return sum(test["status"] == "passed" for test in self.tests or ())


def can_try(episode: Episode, env: Any) -> bool:
    """Whether programs can be tried here: the problem shows tests, and the episode is not ranked just now."""
    public_tests = getattr(getattr(env, "unwrapped", None), "public_tests", None)
    return public_tests is not None and not episode.closed and bool(public_tests())


def ask(episode: Episode, program: str, *, user: Viewer, visitor: str, address: str) -> Trial:
    """Have a worker run the program of the person who plays; what they asked before is not run any more.

    Raises:
        NotYourTurn, EpisodeEnded, ActionTooLong, TooFast: nothing is run.
        Refusal: the problem shows no tests, or the person has used up their CPU seconds.
    """
    _check(episode, user, visitor)
    check_action(program)
    person = name_of(user.pk if isinstance(user, User) else None, visitor)
    size = settings.STARTS_PER_MINUTE
    if wait := take(f"trial:{address or person}", size, size / 60):
        raise TooFast(f"You have tried many programs. Try again in {max(1, round(wait))} s.", wait)
    if isinstance(user, User) and (problem := quotas.refusal(user, quotas.CPU_SECONDS, 0)):
        raise Refusal(problem)
    program = storable(program)
    known = latest(episode, digest_of(program))
    if known.tests is not None:
        return known
    if not known.is_waiting:
        fresh = {"program": program, "person": person, "address": address, "lease_until": None, "attempt": 0}
        PendingTrial.objects.update_or_create(episode=episode, defaults=fresh)
    enqueue(TASK, episode.pk)  # again if it waits, because a message can be lost
    return latest(episode, digest_of(program))


def latest(episode: Episode, digest: str) -> Trial:
    """The results of the program with this digest, or that it waits."""
    if found := cache.get(_key(episode, digest)):
        return Trial(digest, **found)
    waiting = _all().filter(pk=episode.pk).first()
    if waiting is None or digest_of(waiting.program) != digest:
        return Trial(digest)
    return Trial(digest, is_waiting=True, place=LINE.place(_rows(_all().free()), _busy(), episode.pk))


def answer_next(metered: Callable[[int | None], AbstractContextManager[object]] = lambda _: nullcontext()) -> bool:
    """Run the program whose turn it is, in a worker. Returns whether there was one.

    Args:
        metered: what the program runs in, which counts its CPU seconds for the account with this id; None is nobody.
    """
    _all().worn().delete()  # all workers that tried it have died
    token = new_token()
    claimed = LINE.claim(_rows(_all().claimable()), _busy(), token, 1)
    for trial in _all().filter(pk__in=claimed).select_related("episode"):
        start = time.monotonic()
        heartbeat = Heartbeat(_all().owned_by(token).renew, name=str(trial))
        with heartbeat, metered(account_in(trial.person)):
            found = _run(trial.episode, trial.program)
        cache.set(_key(trial.episode, digest_of(trial.program)), found, KEPT_SECONDS)
        _all().filter(pk=trial.pk, program=trial.program).delete()
        note_spent(LINE.name, trial.person, trial.address, time.monotonic() - start)
    return bool(claimed)


def wake_worker() -> bool:
    """Wake a worker if a program has waited for long; see `wake_if_late`."""
    return wake_if_late(TASK, _all())


def digest_of(program: str) -> str:
    """The name of a program in addresses and in the cache."""
    return hashlib.sha256(program.encode()).hexdigest()[:DIGITS]


def digest_in(text: str) -> str:
    """The digest in an address; empty if it is none."""
    return text if len(text) == DIGITS and set(text) <= set("0123456789abcdef") else ""


def _run(episode: Episode, program: str) -> dict[str, Any]:
    try:
        return {"tests": restore(episode).unwrapped.try_out(program)}  # type: ignore[attr-defined]  # `can_try`
    except (GemError, Refusal) as error:
        logger.info("A program cannot be tried in episode %s: %s", episode.pk, error)
        return {"problem": str(error)}
    except Exception as error:  # an environment may fail in any way, and the page waits for an answer
        if infrastructure_fault(error) is not None:
            raise
        logger.exception("A program cannot be tried in episode %s", episode.pk)
        return {"problem": f"The tests could not be run: {failure_of(error, 'environment').message}."}


def _check(episode: Episode, user: Viewer, visitor: str) -> None:
    if own_seat(episode, user, visitor) is None:
        raise NotYourTurn("Somebody else is playing this episode.")
    if episode.over:
        raise EpisodeEnded("The program was not run. The board shows how the episode ended.")
    if not can_try(episode, restore(episode)):
        raise Refusal("This problem shows no tests to try a program on.")


def _key(episode: Episode, digest: str) -> str:
    return f"trial:{episode.pk}:{digest}"


def _all() -> LeasedQuerySet[PendingTrial]:
    return PendingTrial.objects.all()


def _busy() -> LeasedQuerySet[PendingTrial]:
    return _rows(_all().filter(lease_until__gt=Now()))


def _rows(waiting: LeasedQuerySet[PendingTrial]) -> LeasedQuerySet[PendingTrial]:
    return rows(waiting, since="created")
