"""Every write to an episode: begin, take a turn, give up, break, and the check that it can be re-executed.

A transaction that changes an episode locks its row first (`lock`), raises `seq` by one and publishes it.
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
from apps.accounts.models import User
from apps.agents.models import Agent
from apps.episodes.errors import ActionTooLong, EpisodeEnded, NotFound, Outdated, Sealed
from apps.episodes.models import Batch, Episode, PendingTurn, Seat, Turn
from apps.episodes.restore import STAYS, restore_at
from apps.episodes.text import MAX_ACTION_BYTES, shortened, storable, storable_json, what_was_replaced
from apps.live import publish
from gem import replay
from gem.core import Step, check_seed, check_step
from gem.errors import EnvironmentFailure, InvalidArgument, UnknownEnvironment, VersionChanged
from gem.records import Identity, TurnRecord
from gem.seats import rewards, success
from gem.wrappers.wrapper_factory import wrap

logger = logging.getLogger(__name__)

CHANGED_BY_A_TURN = [
    "turn_count", "seq", "terminated", "truncated", "success", "status", "ended", "state", "acting",
]  # fmt: skip
DRAWN_SEEDS = 1_000_000
"""Seeds that nobody chose are below this: short enough to read out."""
SECRET_SEEDS = 2**53
"""Where several seats may have secrets from one another, a seed must not be found by trying all of them."""


@dataclass(frozen=True, slots=True)
class Occupant:
    """Who acts from a seat: an agent, and the person behind it if it is `human`."""

    agent: Agent
    user: User | None = None
    visitor: str = ""


@transaction.atomic
def begin(
    env_id: str,
    *,
    seed: int | None,
    seats: Sequence[Occupant],
    env_kwargs: Mapping[str, Any] | None = None,
    wrappers: Sequence[Mapping[str, Any]] | None = None,
    listed: bool = True,
    batch: Batch | None = None,
    slot: int | None = None,
) -> Episode:
    """Reset the environment and record the episode that begins; without a seed, one is drawn.

    Raises:
        gem.errors.UnknownEnvironment, gem.errors.InvalidArgument: with a sentence for the user.
    """
    spec = gem.spec(env_id)
    with closing(wrap(gem.make(env_id, **(env_kwargs or {})), [dict(wrapper) for wrapper in wrappers or []])) as env:
        if len(seats) != env.seats:
            raise InvalidArgument(f"{env_id} has {env.seats} seats, but {len(seats)} agents were given.")
        drawn = secrets.randbelow(DRAWN_SEEDS if env.seats == 1 else SECRET_SEEDS)
        episode = Episode(
            batch=batch,
            slot=slot,
            env_id=spec.id,
            env_version=spec.version,
            env_kwargs=dict(env_kwargs or {}),
            data_hash=env.data_hash,
            wrappers=[dict(wrapper) for wrapper in wrappers or []],
            seed=drawn if seed is None else check_seed(seed),
            seat_count=env.seats,
            engine_version=gem.__version__,
            python_version=platform.python_version(),
            listed=listed,
        )
        observation, info = env.reset(seed=episode.seed)
        episode.acting = env.to_act[0]
        episode.first_observation = shortened(storable(observation))
        episode.first_info = storable_json(info)
        episode.max_turns = env.max_turns
        episode.state = _cached(env)
    episode.save(force_insert=True)
    Seat.objects.bulk_create(
        Seat(
            episode=episode, number=number, agent=who.agent, user=who.user, visitor=who.visitor, set_up=who.agent.set_up
        )
        for number, who in enumerate(seats)
    )
    return episode


@transaction.atomic
def fork(episode: Episode, turn: int, *, seats: Sequence[Occupant]) -> Episode:
    """Another episode with the same past up to `turn`, and an open future for those in `seats`.

    Raises:
        NotFound: if the episode has no such turn.
        EpisodeEnded: if nothing can follow that turn.
        Sealed: while the seats have secrets from one another.
        Outdated: as `restore`.
    """
    if episode.sealed:
        raise Sealed("A branch would reveal secrets of the seats. Fork the episode after it ends.")
    return _branch(episode, turn, seats)


@transaction.atomic
def take_back(episode: Episode, turn: int, *, seats: Sequence[Occupant]) -> Episode:
    """Go on from `turn` in a branch; the episode, locked by the caller, ends where it is.

    Raises:
        NotFound, EpisodeEnded, Outdated: as `fork`.
    """
    branch = _branch(episode, turn, seats)
    Episode.objects.filter(pk=episode.pk).update(goes_on_in=branch)
    if not episode.over:
        abandon(episode)
    return branch


def acting_after(episode: Episode, turn: int) -> int:
    """The seat that acts after `turn` (0 is the reset)."""
    following = episode.turns.filter(number=turn + 1).values_list("seat", flat=True).first()
    return episode.acting if following is None else following


def _branch(episode: Episode, turn: int, seats: Sequence[Occupant]) -> Episode:
    if not 0 <= turn <= episode.turn_count:
        raise NotFound(f"The episode has turns 0 to {episode.turn_count}; there is no turn {turn} to fork from.")
    if turn == episode.turn_count and episode.status == Episode.Status.ENDED:
        raise EpisodeEnded("No turn can follow the last one. Fork from an earlier turn.")
    try:
        env = restore_at(episode, turn)
    except (VersionChanged, UnknownEnvironment) as error:
        raise Outdated(f"{error} {STAYS}") from error
    branch = Episode(
        parent=episode,
        parent_turn=turn,
        **episode.identity(),
        engine_version=gem.__version__,
        python_version=platform.python_version(),
        first_observation=episode.first_observation,
        first_info=episode.first_info,
        max_turns=episode.max_turns,
        turn_count=turn,
        state=_cached(env),
        seat_count=episode.seat_count,
        acting=env.to_act[0],
        seq=turn,
        listed=episode.listed,
    )
    branch.save(force_insert=True)
    past = list(episode.turns.filter(number__lte=turn).defer(None).order_by("number"))
    for kept in past:
        kept.episode, kept.seq = branch, kept.number
    Turn.objects.bulk_create(past)
    for number, who in enumerate(seats):
        total = sum((rewards(kept.reward, kept.info)[number] for kept in past), 0.0)
        Seat.objects.create(
            episode=branch,
            number=number,
            agent=who.agent,
            user=who.user,
            visitor=who.visitor,
            total_reward=total,
            set_up=who.agent.set_up,
        )
    return branch


def lock(episode_id: str) -> Episode:
    """The episode, its row locked until the end of the caller's transaction.

    Raises:
        NotFound: if there is none with this id.
    """
    episode = Episode.objects.select_for_update().filter(pk=episode_id).first()
    if episode is None:
        raise NotFound("The address may be mistyped, or the episode was deleted.")
    return episode


def check_action(action: str) -> None:
    """Refuse a text that no episode keeps.

    Raises:
        ActionTooLong: above 64 KiB.
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
    """Step `env` (which `restore` returned) and append the turn; the caller's transaction holds the row locked.

    `extra_info` is kept beside the environment's answer (an agent's `note`), never mixed into it. `answer` is what
    `step` has returned already: a slow environment is stepped before the transaction begins. Whoever takes an action in
    from outside has had it checked by `check_action`.

    Raises:
        EpisodeEnded: if no turn can follow.
        EnvironmentFailure: the environment broke. Nothing was written; the caller then calls `fail`, in a new
            transaction.
    """
    if episode.over:
        raise EpisodeEnded("No turn can follow. The replay shows every turn.")
    extra = storable_json(dict(extra_info or {}))
    if replaced := what_was_replaced(action):
        extra["replaced"] = replaced
        action = storable(action)
    seat = episode.acting
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
        state=_cached(env) if episode.slow else None,
    )
    turn.save(force_insert=True)
    _credit(episode, reward, info, over=terminated or truncated)
    if terminated or truncated:
        episode.success = success(0, info)
        _end(episode, Episode.Status.ENDED)
    else:
        episode.state = _cached(env)
        episode.acting = env.to_act[0]
    episode.save(update_fields=CHANGED_BY_A_TURN)
    tell(episode)
    return turn


def hold(episode: Episode, seat: Seat, action: str) -> Episode:
    """Keep the action of a seat that is awaited after others; `play_held` takes it when it is its turn."""
    episode.seats.filter(number=seat.number).update(held=storable(action))
    return touch(episode)


def play_held(episode: Episode, env: gem.Env) -> Turn | None:
    """After a turn, take those that are held until now; the last of them, None if there is none.

    Raises:
        EnvironmentFailure: as `record_turn`.
    """
    turn = None
    while not episode.over and (seat := episode.seats.exclude(held="").filter(number=episode.acting).first()):
        episode.seats.filter(number=seat.number).update(held="")
        turn = record_turn(episode, env, seat.held)
    return turn


def abandon(episode: Episode) -> Episode:
    """End the episode without a result, as its player or starter wishes; what was played stays.

    Raises:
        EpisodeEnded: if it has ended already.
    """
    return _stop(episode, Episode.Status.ABANDONED, "")


def fail(episode: Episode, sentence: str, *, by: Episode.FailedBy = Episode.FailedBy.ENVIRONMENT) -> Episode:
    """End the episode because its environment broke, or its agent gave no answer; this never counts.

    Raises:
        EpisodeEnded: if it has ended already.
    """
    logger.warning("Episode %s of %s failed: %s", episode.id, episode.env_id, sentence)
    return _stop(episode, Episode.Status.FAILED, shortened(storable(sentence), 2000), by)


def tell(episode: Episode) -> None:
    """Tell every page that shows the episode, or the duel it is part of, that it has changed.

    Whoever holds the rows of several episodes of a duel has locked all of them before this, which locks the duel's.
    """
    publish(f"episode:{episode.id}", episode.seq)
    duel = Batch.objects.filter(pk=episode.batch_id, kind=Batch.Kind.DUEL)
    if episode.batch_id is not None and duel.update(seq=F("seq") + 1):
        publish(f"duel:{episode.batch_id}", duel.values_list("seq", flat=True).get())


def touch(episode: Episode) -> Episode:
    """Tell every page that something about the episode besides its turns has changed; its row is locked."""
    episode.seq += 1
    episode.save(update_fields=["seq"])
    tell(episode)
    return episode


def records(episode: Episode) -> list[TurnRecord]:
    """The turns as the engine compares them."""
    return [
        TurnRecord(turn.action, turn.observation, turn.reward, turn.info, turn.seat)
        for turn in episode.turns.order_by("number")
    ]


def verify(episode: Episode) -> replay.Difference | None:
    """Re-execute the episode and return the first difference from what was recorded, None if there is none."""
    ended = episode.status == Episode.Status.ENDED
    return replay.verify(
        Identity(**episode.identity()),
        records(episode),
        first_observation=episode.first_observation,
        first_info=episode.first_info,
        terminated=episode.terminated if ended else None,
        truncated=episode.truncated if ended else None,
    )


def step(episode: Episode, env: gem.Env, action: str) -> Step:
    """Let `env` take the turn; nothing is written.

    Raises:
        EnvironmentFailure: the environment broke.
    """
    where = f"{episode.env_id} broke at turn {episode.turn_count + 1}"
    try:
        return check_step(env.step(storable(action)))
    except EnvironmentFailure as failure:
        raise EnvironmentFailure(f"{where}: {failure}") from failure
    except Exception as error:  # an environment may break in any way; the episode says so
        raise EnvironmentFailure(f"{where}: {type(error).__name__}: {error}") from error


def _credit(episode: Episode, reward: float, info: Mapping[str, Any], *, over: bool) -> None:
    """Write down what the turn earned each seat and, at the end, whether it was a success for it."""
    for number, earned in enumerate(rewards(reward, dict(info))):
        changes: dict[str, Any] = {"total_reward": F("total_reward") + earned} if earned else {}
        if over:
            changes["success"] = success(number, dict(info))
        if changes:
            Seat.objects.filter(episode=episode, number=number).update(**changes)


def _cached(env: gem.Env) -> dict[str, Any]:
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
    tell(locked)
    return locked


def _end(episode: Episode, status: Episode.Status) -> None:
    episode.status = status
    episode.ended = timezone.now()
    episode.state = None
    PendingTurn.objects.filter(episode=episode).delete()
    episode.seats.exclude(held="").update(held="")


def adopt(user: User, visitor: str) -> int:
    """Give the seats that a visitor without an account acted from to the account they now have; how many."""
    return Seat.objects.filter(visitor=visitor, user=None).update(user=user)
