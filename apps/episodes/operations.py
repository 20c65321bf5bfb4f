"""All writes to an episode (begin, take a turn, give up, fail), and its verification.

A transaction that changes an episode first locks its row (`lock`), then raises `seq` by one and publishes it. It may
contain the step of a fast environment, but nothing that waits: environments are made, reset and restored before it
begins (`draft`, `apps.episodes.branches`), and slow ones are stepped before it begins.
"""

from __future__ import annotations

import logging
import math
import platform
import secrets
from collections.abc import Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass
from typing import Any

from django.db import transaction
from django.db.models import F
from django.utils import timezone

import gem
from apps.accounts.models import User, Viewer
from apps.agents.models import Agent
from apps.episodes.errors import ActionTooLong, EpisodeEnded, NotFound, TurnTaken
from apps.episodes.models import TAKEN, Batch, DuelChange, Episode, PendingTurn, Seat, Turn
from apps.episodes.text import MAX_ACTION_BYTES, shortened, storable, storable_json, what_was_replaced
from apps.episodes.visibility import choices_of
from apps.live import publish, recheck_access
from apps.seasons.numbers import is_hidden
from apps.visibility import Visibility
from gem import replay
from gem.core import Step
from gem.errors import EnvironmentFailure, InvalidArgument, Side, failure_of
from gem.records import Identity, TurnRecord
from gem.seats import rewards, success
from gem.validation.values import check_seed, check_step
from gem.wrappers.wrapper_factory import wrap

logger = logging.getLogger(__name__)

TURN_FIELDS = [
    "turn_count", "seq", "terminated", "truncated", "success", "status", "ended", "state", "acting",
]  # fmt: skip
BY_PERSON = "person"
"""In the `extra` of a turn that a person played in the seat of an agent, as `by`."""
MAX_RANDOM_SEED = 1_000_000
"""Random seeds are below this, so that they are short enough to read out."""
MAX_SECRET_SEED = 2**53
"""The bound where seats have secrets from one another: nobody can find the seed by trying all of them."""


@dataclass(frozen=True, slots=True)
class Occupant:
    """Who takes a seat: an agent and, if the agent is `human`, the person."""

    agent: Agent
    user: User | None = None
    visitor: str = ""
    name: str = ""
    """The name that a person without an account has chosen."""


def begin(
    env_id: str,
    *,
    seed: int | None,
    seats: Sequence[Occupant],
    env_kwargs: Mapping[str, Any] | None = None,
    wrappers: Sequence[Mapping[str, Any]] | None = None,
    visibility: str = Visibility.PUBLIC,
) -> Episode:
    """Reset the environment and store the new episode. Without a seed, one is drawn.

    Raises:
        gem.errors.UnknownEnvironment, gem.errors.InvalidArgument: the message is for the user.
    """
    return store(draft(env_id, seed=seed, env_kwargs=env_kwargs, wrappers=wrappers), seats=seats, visibility=visibility)


def draft(
    env_id: str,
    *,
    seed: int | None,
    env_kwargs: Mapping[str, Any] | None = None,
    wrappers: Sequence[Mapping[str, Any]] | None = None,
) -> Episode:
    """Reset the environment; the episode has not been stored. Call it outside of transactions, because it may wait.

    Raises:
        gem.errors.UnknownEnvironment, gem.errors.InvalidArgument: the message is for the user.
    """
    spec = gem.spec(env_id)
    with closing(wrap(gem.make(env_id, **(env_kwargs or {})), [dict(wrapper) for wrapper in wrappers or []])) as env:
        random_seed = secrets.randbelow(MAX_RANDOM_SEED if env.seats == 1 else MAX_SECRET_SEED)
        episode = Episode(
            env_id=spec.id,
            env_version=spec.version,
            env_kwargs=dict(env_kwargs or {}),
            data_hash=env.data_hash,
            wrappers=[dict(wrapper) for wrapper in wrappers or []],
            seed=random_seed if seed is None else check_seed(seed),
            seat_count=env.seats,
            engine_version=gem.__version__,
            python_version=platform.python_version(),
        )
        observation, info = env.reset(seed=episode.seed)
        episode.acting = env.to_act[0]
        episode.first_observation = shortened(storable(observation))
        episode.first_info = storable_json(info)
        episode.max_turns = env.max_turns
        episode.state = cached_state(env)
    return episode


@transaction.atomic
def store(
    episode: Episode,
    *,
    seats: Sequence[Occupant],
    visibility: str = Visibility.PUBLIC,
    batch: Batch | None = None,
    slot: int | None = None,
) -> Episode:
    """Store a new episode (see `draft`) with its seats.

    Raises:
        gem.errors.InvalidArgument: there are more or fewer seats than the environment has.
        EpisodeEnded: its seed is hidden, and the seeds of its batch were published since it was drafted.
    """
    if batch is not None and is_hidden(episode.seed):
        _check_closed(batch)
    if len(seats) != episode.seat_count:
        raise InvalidArgument(f"{episode.env_id} has {episode.seat_count} seats, but {len(seats)} agents were given.")
    episode.visibility, episode.batch, episode.slot = visibility, batch, slot
    episode.save(force_insert=True)
    Seat.objects.bulk_create(
        Seat(
            episode=episode,
            number=number,
            agent=occupant.agent,
            user=occupant.user,
            visitor=occupant.visitor,
            name=occupant.name,
            set_up=occupant.agent.set_up,
        )
        for number, occupant in enumerate(seats)
    )
    return episode


def _check_closed(batch: Batch) -> None:
    """Refuse an episode on a hidden seed in a batch that is open: nobody would replace its number by its seed any more.

    The batch is locked, so that it is opened before this or after the episode is stored.
    """
    if not Batch.objects.select_for_update(no_key=True).get(pk=batch.pk).closed:
        raise EpisodeEnded("Its seeds have just been published, so nobody can begin on them any more. Begin anew.")


def find(episode_id: str) -> Episode:
    """The episode, which is not locked.

    Raises:
        NotFound: there is no episode with this id.
    """
    return _found(Episode.objects.filter(pk=episode_id).first())


def lock(episode_id: str) -> Episode:
    """The episode. Its row is locked until the end of the caller's transaction.

    Raises:
        NotFound: there is no episode with this id.
    """
    return _found(Episode.objects.select_for_update().filter(pk=episode_id).first())


def _found(episode: Episode | None) -> Episode:
    if episode is None:
        raise NotFound("The address may be mistyped, or the episode was deleted.")
    return episode


def check_action(action: str) -> None:
    """Refuse an action that is too long to be stored.

    Raises:
        ActionTooLong: the action is longer than 64 KiB.
    """
    size = len(action.encode(errors="surrogatepass"))
    if size > MAX_ACTION_BYTES:
        raise ActionTooLong(
            f"An action can have at most {MAX_ACTION_BYTES // 1024} KiB; this one has {math.ceil(size / 1024):,} KiB. "
            "The turn was not played. Shorten the text and send it again."
        )


def record_turn(
    episode: Episode,
    env: gem.Env,
    action: str,
    *,
    extra_info: Mapping[str, Any] | None = None,
    answer: Step | None = None,
) -> Turn:
    """Step `env` (from `restore`) and store the turn. The caller's transaction holds the episode's row locked.

    `extra_info` (for example an agent's `note`) is stored separately from the environment's info. `answer` is the
    result of `step` if the environment was stepped already: a slow one is stepped before the transaction begins.
    Callers check actions from outside with `check_action` first.

    Raises:
        EpisodeEnded: no turn can follow.
        EnvironmentFailure: the environment failed. Nothing was written; the caller then calls `fail` in a new
            transaction.
    """
    if episode.over:
        raise EpisodeEnded("No turn can follow. The replay shows every turn.")
    extra = storable_json(dict(extra_info or {}))
    if replaced := what_was_replaced(action):
        extra["replaced"] = replaced
        action = storable(action)
    seat = episode.acting
    if episode.taken_over and episode.seats.filter(TAKEN, number=seat).exists():
        extra["by"] = BY_PERSON
    observation, reward, terminated, truncated, info = answer or step(episode, env, action)
    episode.turn_count += 1
    episode.seq += 1
    episode.terminated, episode.truncated = terminated, truncated
    turn = Turn(
        episode=episode,
        number=episode.turn_count,
        seat=seat,
        action=action,
        observation=shortened(storable(observation)),
        reward=reward,
        info=storable_json(info),
        extra=extra or None,
        seq=episode.seq,
        state=cached_state(env) if episode.slow else None,
    )
    turn.save(force_insert=True)
    is_last = terminated or truncated
    _credit(episode, reward, info, over=is_last)
    if is_last:
        episode.success = success(0, info)
        _end(episode, Episode.Status.ENDED)
    else:
        episode.state = cached_state(env)
        episode.acting = env.to_act[0]
    episode.save(update_fields=TURN_FIELDS)
    tell(episode, DuelChange.Kind.TURN, *([DuelChange.Kind.ENDED] if is_last else []))
    return turn


def hold(episode: Episode, seat: Seat, action: str, address: str = "") -> Episode:
    """Store the action of a seat that has chosen before its turn. `play_held` plays it when its turn comes.

    Args:
        address: the hashed IP address of a person without an account, in whose queue the turn may have to wait.
    """
    episode.seats.filter(number=seat.number).update(held=storable(action), held_address=address)
    return touch(episode)


def play_held(episode: Episode, env: gem.Env) -> Turn | None:
    """After a turn, play the held actions whose turn has come. Returns the last turn, or None.

    Raises:
        EnvironmentFailure: see `record_turn`.
    """
    turn = None
    while not episode.over and (seat := episode.seats.exclude(held="").filter(number=episode.acting).first()):
        episode.seats.filter(number=seat.number).update(held="")
        turn = record_turn(episode, env, seat.held)
    return turn


def abandon(episode: Episode) -> Episode:
    """End the episode without a result, at the request of its player or starter. Its turns are kept.

    Raises:
        EpisodeEnded: the episode has already ended.
    """
    return _stop(episode, Episode.Status.ABANDONED, "")


def fail(episode: Episode, sentence: str, *, side: Side = "environment") -> Episode:
    """End the episode because of a failure; it never counts.

    Args:
        sentence: what happened, for the episode's page.
        side: whose failure it is (see `gem.errors.failure_of`).

    Raises:
        EpisodeEnded: the episode has already ended.
    """
    logger.warning("Episode %s of %s failed: %s", episode.id, episode.env_id, sentence)
    return _stop(episode, Episode.Status.FAILED, shortened(storable(sentence), 2000), "" if side == "ours" else side)


def tell(episode: Episode, *changes: DuelChange.Kind) -> None:
    """Notify whoever follows the episode or its duel that it has changed. A duel's stream tells these `changes`.

    This locks the duel's row. To avoid a deadlock, a transaction that changes several episodes of a duel has locked
    all of them before.
    """
    publish(f"episode:{episode.id}", episode.seq)
    if episode.batch_id is None:
        return
    duel = Batch.objects.filter(pk=episode.batch_id, kind=Batch.Kind.DUEL)
    if not duel.update(seq=F("seq") + max(len(changes), 1)):
        return
    seq = duel.values_list("seq", flat=True).get()
    rows = [DuelChange(kind=kind, episode=episode, number=episode.turn_count) for kind in changes]
    if DuelChange.Kind.ENDED in changes and not Episode.objects.running().filter(batch=episode.batch_id).exists():
        duel.update(seq=F("seq") + 1)
        seq += 1
        count = Episode.objects.filter(batch=episode.batch_id).count()
        rows.append(DuelChange(kind=DuelChange.Kind.OVER, number=count))
    for row_seq, row in enumerate(rows, seq - len(rows) + 1):
        row.duel_id, row.seq = episode.batch_id, row_seq
    DuelChange.objects.bulk_create(rows)
    publish(f"duel:{episode.batch_id}", seq)


def touch(episode: Episode) -> Episode:
    """Raise `seq` and notify every page of a change other than a turn. The caller has locked the row."""
    episode.seq += 1
    episode.save(update_fields=["seq"])
    tell(episode)
    return episode


def set_visibility(episode: Episode, visibility: Visibility) -> None:
    """Change who may see an episode that belongs to no job and no duel."""
    Episode.objects.filter(pk=episode.pk).update(visibility=visibility)
    recheck_access(f"episode:{episode.pk}")


@transaction.atomic
def choose_visibility(episode: Episode, visibility: Visibility, *, user: Viewer, visitor: str) -> None:
    """Change who may see an episode for somebody who plays it, or started it.

    Raises:
        TurnTaken: it is none of the choices of this person any more (`visibility.choices_of`), because somebody else
            has closed it or taken a seat.
    """
    if visibility not in choices_of(lock(episode.pk), user, visitor):
        raise TurnTaken(
            "Who may see the episode has changed in the meantime, and you cannot choose this any more. Nothing was "
            "changed. Reload the page to see what it is now."
        )
    set_visibility(episode, visibility)


def records(episode: Episode) -> list[TurnRecord]:
    """The turns in the form that the engine compares."""
    return [
        TurnRecord(turn.action, turn.observation, turn.reward, turn.info, turn.seat)
        for turn in episode.turns.order_by("number")
    ]


def verify(episode: Episode) -> replay.Difference | None:
    """Replay the episode and return the first difference from its record; None if there is none."""
    ended = episode.status == Episode.Status.ENDED
    return replay.verify(
        Identity(**episode.identity()),
        records(episode),
        first_observation=episode.first_observation,
        first_info=episode.first_info,
        terminated=episode.terminated if ended else None,
        truncated=episode.truncated if ended and not episode.cut else None,
    )


def step(episode: Episode, env: gem.Env, action: str) -> Step:
    """Step `env` without writing anything.

    Raises:
        EnvironmentFailure: the environment failed.
    """
    location = f"{episode.env_id} failed at turn {episode.turn_count + 1}"
    try:
        return check_step(env.step(storable(action)))
    except Exception as error:  # an environment may raise anything; the episode says so
        raise EnvironmentFailure(f"{location}: {failure_of(error, 'environment').message}") from error


def _credit(episode: Episode, reward: float, info: Mapping[str, Any], *, over: bool) -> None:
    """Add the turn's rewards to the seats and, at the end, store the success of each seat."""
    for number, seat_reward in enumerate(rewards(reward, dict(info))):
        changes: dict[str, Any] = {"total_reward": F("total_reward") + seat_reward} if seat_reward else {}
        if over:
            changes["success"] = success(number, dict(info))
        if changes:
            Seat.objects.filter(episode=episode, number=number).update(**changes)


def cached_state(env: gem.Env) -> dict[str, Any]:
    """The state of an environment as episodes and turns store it."""
    return {"engine": gem.__version__, "env": env.get_state()}


@transaction.atomic
def _stop(episode: Episode, status: Episode.Status, failure: str, failed_by: str = "") -> Episode:
    locked = lock(episode.id)
    if locked.over:
        raise EpisodeEnded("The episode had already ended. The replay shows every turn.")
    locked.failure, locked.failed_by = failure, failed_by
    locked.seq += 1
    _end(locked, status)
    locked.save(update_fields=["status", "failure", "failed_by", "seq", "ended", "state"])
    tell(locked, DuelChange.Kind.ENDED)
    return locked


def _end(episode: Episode, status: Episode.Status) -> None:
    episode.status = status
    episode.ended = timezone.now()
    episode.state = None
    PendingTurn.objects.filter(episode=episode).delete()
    episode.seats.exclude(held="").update(held="")


def adopt(user: User, visitor: str) -> int:
    """Move the seats of a visitor without an account to their new account. Returns the number of seats."""
    return Seat.objects.filter(visitor=visitor, user=None).update(user=user)
