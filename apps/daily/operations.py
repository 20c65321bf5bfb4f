"""Writes about daily seeds: a person begins, an agent begins, and tries that are over get their results."""

from __future__ import annotations

from django.db import transaction
from django.db.models import F, Q
from django.db.models.functions import Now
from django.utils import timezone

from apps.accounts.models import User, Viewer
from apps.admission.counting import one_at_a_time
from apps.agents.models import Agent
from apps.daily import days
from apps.daily.models import Try
from apps.episodes import operations as episodes
from apps.episodes.errors import EpisodeEnded, Refusal
from apps.episodes.models import Batch, Episode, EpisodeQuerySet, Seat
from apps.episodes.visibility import seats_of
from apps.play import operations as playing
from apps.play.shows import operations as shows
from apps.play.shows import show_leases
from apps.seasons.models import COMMON, Season
from apps.visibility import Visibility
from gem.agents import has_expert
from gem.errors import GemError

AGENT_PACE = 0.1
"""Seconds per turn of agents: nobody can watch them."""
SITE = "daily"
"""In the place of a visitor's key: the site itself has begun the episode. It is a party of its own in the queue."""


class DayOver(EpisodeEnded):
    """The day is over, so nobody can begin it any more."""

    title = "This day is over"


def begin(day: Season, user: Viewer, visitor: str) -> Episode:
    """Begin the try of a person, or return the one that they have begun. That of a guest does not rank.

    Raises:
        DayOver: nobody can begin this day any more.
        Refusal: the environment cannot begin now.
    """
    with transaction.atomic():
        if isinstance(user, User):
            User.objects.select_for_update(no_key=True).get(pk=user.pk)  # so that two requests begin one try
        else:
            one_at_a_time("daily seeds", visitor)
        found = own_episode(day, user, visitor)
        if found is not None:
            return found
        if day.is_over:
            raise DayOver("A new seed starts at 00:00 UTC every day. This one is open now: anybody can play it.")
        env_id = days.env_id_of(day)
        episode = playing.begin_in_batch(
            batch_of(day),
            None,
            env_id,
            seed=days.seed_of(day),
            shown_seed=days.shown_seed_of(day),
            user=user,
            visitor=visitor,
        )
        if isinstance(user, User):
            Try.objects.create(season=day, user=user, episode=episode)
    return episode


def own_episode(day: Season, user: Viewer, visitor: str) -> Episode | None:
    """The first episode of a person on a day, or the one that ranks if they have played as a guest too."""
    seats = seats_of(user, visitor).filter(episode__batch__season=day, episode__batch__kind=Batch.Kind.RANKED)
    seat = (
        seats.select_related("episode__batch__season")
        .order_by(F("episode__daily_try__pk").asc(nulls_last=True), "episode__created")
        .first()
    )
    return seat.episode if seat is not None else None


def episodes_of(day: Season) -> EpisodeQuerySet:
    """All episodes of a day."""
    return Episode.objects.filter(batch__season=day, batch__kind=Batch.Kind.RANKED)


def batch_of(day: Season) -> Batch:
    """The batch of a day, which is closed while the day lasts."""
    found = Batch.objects.filter(season=day, kind=Batch.Kind.RANKED).first()
    if found is not None:
        return found
    with transaction.atomic():
        Season.objects.select_for_update(no_key=True).get(pk=day.pk)
        found = Batch.objects.filter(season=day, kind=Batch.Kind.RANKED).first()
        return found or Batch.objects.create(kind=Batch.Kind.RANKED, closed=True, season=day, submission=COMMON)


# ---------------------------------------------------------------- agents


def agents_for(day: Season) -> list[Agent]:
    """The agents that are still to play a day: the site's own, and public ones whose owners let them."""
    playing_daily = Q(owner=None) | Q(plays_daily=True, visibility=Visibility.PUBLIC)
    agents = Agent.objects.filter(playing_daily, Agent.objects.is_shown(), retired=False, owner__closed=None)
    is_away = Q(kind=Agent.Kind.REMOTE) & (Q(remote__alive_until=None) | Q(remote__alive_until__lte=Now()))
    waiting = agents.exclude(kind=Agent.Kind.HUMAN).exclude(is_away).exclude(daily_tries__season=day).order_by("pk")
    return [agent for agent in waiting if agent.kind != Agent.Kind.EXPERT or has_expert(days.env_id_of(day))]


def let_agent_play() -> Try | None:
    """Let one more agent play today's seed, if nobody waits for a host now; None if there is nothing to do."""
    day = days.today()
    if show_leases.waiting().exists():
        return None
    for agent in agents_for(day):
        try:
            return _begin_agent(day, agent)
        except (Refusal, GemError):  # it cannot play here or now: the next one can
            continue
    return None


def _begin_agent(day: Season, agent: Agent) -> Try:
    draft = episodes.draft(days.env_id_of(day), seed=days.seed_of(day))
    draft.seed = days.shown_seed_of(day)
    with transaction.atomic():
        episode = shows.start(
            draft.env_id,
            agent,
            pace=AGENT_PACE,
            user=agent.owner,
            visitor="" if agent.owner else SITE,
            visibility=Visibility.PUBLIC,
            batch=batch_of(day),
            draft=draft,
        )
        return Try.objects.create(season=day, agent=agent, episode=episode)


# ---------------------------------------------------------------- results


def collect() -> int:
    """Store the results of tries that are over. At the end of a day, one that still runs is not solved.

    Returns the number of tries that got a result.
    """
    now = timezone.now()
    is_over = ~Q(episode__status=Episode.Status.RUNNING) | Q(season__ends__lte=now)
    waiting = Try.objects.filter(is_over, ended=None).select_related("episode", "season")
    return sum(_store(one) for one in waiting[:500])


def collect_own(episode: Episode) -> None:
    """Store the result of one try that is over, so that the page of its player has it at once."""
    for one in Try.objects.filter(episode=episode, ended=None).select_related("episode", "season"):
        _store(one)


def _store(one: Try) -> bool:
    episode = one.episode
    seat = Seat.objects.get(episode=episode, number=episode.scored_seat)
    in_time = episode.ended is not None and episode.ended <= one.season.ends
    return bool(
        Try.objects.filter(pk=one.pk, ended=None).update(
            solved=bool(episode.success) and in_time,
            turns=episode.turn_count,
            score=seat.total_reward,
            tokens=_tokens(episode) if one.agent_id else None,
            ended=episode.ended if in_time else one.season.ends,
        )
    )


def _tokens(episode: Episode) -> int | None:
    """The tokens of all turns, in and out; None if no turn says how many."""
    counted = [turn.extra for turn in episode.turns.only("extra") if turn.extra]
    found = [int(extra.get("tokens_in") or 0) + int(extra.get("tokens_out") or 0) for extra in counted]
    return sum(found) if any(found) else None
