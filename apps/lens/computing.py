"""Measuring true advantages in a worker, one turn after the other, in parts of some seconds.

The measurements of different people are served in turn. What a worker has measured of a turn is stored at once and
shown. Whatever stops it, the next worker goes on with the turns that are left.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterator
from time import monotonic
from uuid import UUID

from django.db import transaction
from django.db.models import F
from django.db.models.functions import Now
from django.utils import timezone

from apps.admission.line import Line, note_spent, rows
from apps.agents.players import player
from apps.episodes.errors import Refusal
from apps.episodes.models import Episode
from apps.episodes.restore import actions, infos, restore_at
from apps.holders import new_token
from apps.leases import Heartbeat, LeaseLost
from apps.lens.asking import TASK, why_no_truth
from apps.lens.models import Truth, TruthQuerySet, TurnTruth, as_rows
from apps.queue import enqueue
from gem.agents.agent import Exchange
from gem.analysis.true_advantage import Continuations, fork, turns
from gem.errors import GemError
from gem.records import Identity
from gem.rollout import Start

logger = logging.getLogger(__name__)

PART_SECONDS = 5.0
"""After so long, others are served; a turn that is under way is finished first."""
TURN_SECONDS = 30.0
"""The longest that one turn may take."""
MOST_SECONDS = 120.0
"""The longest that workers are busy with one measurement."""
MOST_REWARDS = 60_000
"""The rewards that the outcomes of one measurement may hold, so that pages stay light."""
GAVE_UP = "Workers that measured it have died. Nothing is lost: measure again."
TOO_LONG = (
    f"Workers have spent {MOST_SECONDS:.0f} s on it, which is the limit for one measurement. For the remaining turns, "
    f"choose a single turn, or fewer continuations."
)
TURN_TOO_LONG = (
    f"The continuations from one turn take more than {TURN_SECONDS:.0f} s. Choose fewer of them, or a later turn."
)
TOO_MANY_REWARDS = (
    "The continuations gave too many rewards to store. For the remaining turns, choose a single turn, or fewer "
    "continuations."
)
_LINE = Line("lens", per_person=1, per_address=1)


def compute_next(stopping: Callable[[], bool] = lambda: False) -> bool:
    """Measure a part of what is next, in a worker. Returns whether there was anything."""
    for worn in Truth.objects.waiting().worn():
        _end(worn, Truth.State.FAILED, GAVE_UP)
    token = new_token()
    for key in (claimed := _LINE.claim(_rows(Truth.objects.waiting().claimable()), _busy(), token, 1)):
        _compute(key, token, stopping)
    return bool(claimed)


def _rows(waiting: TruthQuerySet) -> TruthQuerySet:
    return rows(waiting, since="created")


def _busy() -> TruthQuerySet:
    return _rows(Truth.objects.filter(lease_until__gt=Now()))


def place(truth: Truth) -> int | None:
    """Its place in the queue, from 1; None if it does not wait there."""
    return _LINE.place(_rows(Truth.objects.waiting().free()), _busy(), truth.pk)


def _compute(key: str, token: UUID, stopping: Callable[[], bool]) -> None:
    """Measure turns of one episode for some seconds. After an unexpected error, the measurement counts an attempt."""
    truth = Truth.objects.select_related("episode__batch", "agent").get(pk=key)
    owned = Truth.objects.owned_by(token).filter(pk=key)
    started = monotonic()
    try:
        with Heartbeat(owned.renew, owned.exists, name=f"truth {key}") as heartbeat:
            _measure(truth, token, lambda: stopping() or heartbeat.lost.is_set())
    except LeaseLost as lost:
        logger.info("%s", lost)
    except (GemError, Refusal) as error:
        _end(truth, Truth.State.FAILED, str(error))
    except Exception:  # whatever is wrong with one measurement must not keep the others waiting
        logger.exception("The truth %s cannot be measured", key)
        Truth.objects.owned_by(token).filter(pk=key).release()
    note_spent(_LINE.name, truth.person, truth.address, monotonic() - started)


def _measure(truth: Truth, token: UUID, stopping: Callable[[], bool]) -> None:
    """Measure the turns that are left, at least one of them, until the part is over.

    Raises:
        LeaseLost: it was stopped, deleted, or is somebody else's.
        GemError, Refusal: why it cannot be measured, as a sentence.
    """
    episode = truth.episode
    if reason := why_no_truth(episode):
        _end(truth, Truth.State.FAILED, reason)
        return
    agent = player(truth.agent, apart=True)
    identity = Identity(**episode.identity())
    key = int.from_bytes(truth.pk.encode()) % 2**53
    done = set(truth.turns.values_list("number", flat=True))
    measured, until, begun = 0, monotonic() + PART_SECONDS, monotonic()
    for start, action in _starts(episode, identity):
        number = start.turn + 1
        if number in done or not truth.first <= number <= truth.last:
            continue
        if stopping() or (measured and monotonic() >= until):
            _pass_on(truth, token)
            return
        alarm = _Alarm(begun + TURN_SECONDS, begun + MOST_SECONDS - truth.seconds, stopping)
        found = fork(agent, identity, start, action, count=truth.count, key=key, stops=alarm)
        if found is None and alarm.is_late:
            _end(truth, Truth.State.FAILED, alarm.sentence, seconds=monotonic() - begun)
            return
        if found is None:
            _pass_on(truth, token)
            return
        _store(truth, token, number, found, monotonic() - begun)
        measured += 1
        begun = monotonic()
        if truth.rewards > MOST_REWARDS:
            _end(truth, Truth.State.FAILED, TOO_MANY_REWARDS)
            return
    _end(truth, Truth.State.DONE, "")


class _Alarm:
    """Says whether to stop: at the end of the worker, when the lease is lost, or when it takes too long."""

    def __init__(self, turn_until: float, until: float, stopping: Callable[[], bool]) -> None:
        self._until = min(turn_until, until)
        self.sentence = TOO_LONG if until < turn_until else TURN_TOO_LONG
        self._stopping = stopping
        self.is_late = False

    def __call__(self) -> bool:
        self.is_late = monotonic() >= self._until
        return self.is_late or self._stopping()


def _starts(episode: Episode, identity: Identity) -> Iterator[tuple[Start, str]]:
    """The state before each turn, and the action in it: from a replay or, if that takes long, from stored states."""
    taken = actions(episode)
    if not episode.slow or episode.turns.filter(state=None, number__lt=episode.turn_count).exists():
        yield from turns(identity, taken, infos(episode))
        return
    observation, info = episode.first_observation, episode.first_info
    past: list[Exchange] = []
    for number, turn in enumerate(episode.turns.order_by("number")):
        yield Start(restore_at(episode, number).get_state(), observation, info, number, tuple(past)), turn.action
        past.append(Exchange(observation, info, turn.action))
        observation, info = turn.observation, turn.info


def _store(truth: Truth, token: UUID, number: int, found: Continuations, seconds: float) -> None:
    """Store what came of one turn.

    Raises:
        LeaseLost: it was stopped, deleted, or is somebody else's.
        gem.errors.AgentFailure: no continuation of one kind has ended without an error.
    """
    if not found.taken or not found.anew:
        _end(truth, Truth.State.FAILED, f"In turn {number} every continuation ended with an error: {found.failure}")
        raise LeaseLost(f"The truth {truth.pk} has failed.")
    taken, anew = as_rows(found.taken), as_rows(found.anew)
    with transaction.atomic():
        owned = Truth.objects.select_for_update(of=("self",)).owned_by(token).filter(pk=truth.pk)
        if not owned.exists():
            raise LeaseLost(f"The truth {truth.pk} is no longer ours.")
        TurnTruth.objects.create(truth=truth, number=number, taken=taken, anew=anew, failed=found.failed)
        truth.seconds += seconds
        truth.rewards += sum(len(rewards) for _, rewards in [*taken, *anew])
        Truth.objects.filter(pk=truth.pk).update(seconds=truth.seconds, rewards=truth.rewards, attempt=0)


def _pass_on(truth: Truth, token: UUID) -> None:
    """Let the next worker go on with it, behind other work."""
    with transaction.atomic():
        if Truth.objects.owned_by(token).filter(pk=truth.pk).release(attempt=0):
            enqueue(TASK, truth.pk)


def _end(truth: Truth, state: Truth.State, sentence: str, *, seconds: float = 0.0) -> None:
    """End a measurement, unless somebody has stopped it."""
    Truth.objects.waiting().filter(pk=truth.pk).release(
        state=state, sentence=sentence, ended=timezone.now(), seconds=F("seconds") + seconds
    )
