"""Whether the true advantages of an episode can be measured, by whom, and the request to do it."""

from __future__ import annotations

from django.db import IntegrityError, transaction

from apps.accounts.models import Viewer
from apps.accounts.rate_limit import take
from apps.admission.counting import one_at_a_time
from apps.agents.models import Agent
from apps.episodes.errors import NotFound, Outdated, Refusal, Sealed, TooFast
from apps.episodes.models import Episode
from apps.lens.models import Truth, TruthQuerySet
from apps.queue import enqueue
from gem.agents.experts import has_expert
from gem.errors import UnknownEnvironment

TASK = "lens.truth"
COUNTS = (16, 64, 256)
"""The numbers of continuations that one can choose."""
USUAL_COUNT = 64
MOST_OPEN = 3
"""Measurements of one person that wait or are under way."""
MOST_OF_EPISODE = 40
"""Measurements that are kept of one episode."""
PER_HOUR = 60
"""Measurements that one person, or all visitors at one address, may ask for in an hour."""
KINDS = (Agent.Kind.RANDOM, Agent.Kind.EXPERT, Agent.Kind.CHECKPOINT)
"""Agents that continue here: they cost nobody money."""

CLOSED = (
    "This episode is ranked. Its lens opens when its season is over, for everybody who can see the episode; until "
    "then nothing about its seed is shown."
)
RUNNING = "The lens opens when the episode is over: while it runs, its continuations would reveal what is still hidden."
SEVERAL_SEATS = (
    "The lens reads episodes with one seat. In this one several seats act, and the rewards of a seat depend on what "
    "the others do."
)
NO_TURNS = "Nobody has taken a turn in this episode, so there is nothing to give credit for."


class Crowded(Refusal):
    """The person has as many measurements under way as one may have."""

    status = 429
    title = "Too many measurements"


def why_closed(episode: Episode) -> str:
    """Why the lens shows nothing of this episode, as a sentence; empty if it does."""
    if episode.closed:
        return CLOSED
    if not episode.over:
        return RUNNING
    if episode.seat_count > 1:
        return SEVERAL_SEATS
    return "" if episode.turn_count else NO_TURNS


def why_no_truth(episode: Episode) -> str:
    """Why this episode cannot be forked, as a sentence; empty if it can."""
    if closed := why_closed(episode):
        return closed
    try:
        spec = episode.spec
    except UnknownEnvironment:
        return f"{episode.env_id} is no longer installed here, so the episode cannot be forked."
    if spec.version != episode.env_version:
        return (
            f"The episode was played on version {episode.env_version} of {episode.env_id}, and version {spec.version} "
            "is installed, so it cannot be forked: the same actions would give other turns."
        )
    if spec.replay == "none" and not episode.slow:
        return "This environment cannot be replayed and saves no state, so the episode cannot be forked."
    if episode.slow and not episode.on_record and episode.turns.filter(state=None, number__lt=episode.turn_count):
        return "A turn of this environment can take seconds, and no state was saved to fork from."
    return ""


def agents_for(episode: Episode, user: Viewer) -> list[Agent]:
    """The agents that may continue this episode for this person: the one that played it, the expert, the random one."""
    own = Agent.objects.filter(seats__episode=episode, seats__number=episode.scored_seat).first()
    allowed = Agent.objects.selectable_by(user).filter(kind__in=KINDS).select_related("weights")
    slugs = [own.slug] if own is not None else []
    if has_expert(episode.env_id):
        slugs.append("expert")
    found = {agent.slug: agent for agent in allowed.filter(slug__in=[*slugs, "random"])}
    agents = [found[slug] for slug in dict.fromkeys([*slugs, "random"]) if slug in found]
    return [agent for agent in agents if agent.kind != Agent.Kind.CHECKPOINT or hasattr(agent, "weights")]


def ask(
    episode: Episode,
    slug: str,
    count: int,
    turn: int | None,
    *,
    user: Viewer,
    person: str,
    address: str,
) -> Truth:
    """Have a worker measure the true advantages of an episode. If somebody has asked for the same, return that.

    Args:
        slug: the agent that continues.
        count: continuations of each kind and turn, one of `COUNTS`.
        turn: the only turn to measure; None for all.
        person: in whose queue it waits (`apps.admission.models.name_of`).
        address: the hashed IP address of a person without an account.

    Raises:
        Sealed, Outdated: the episode cannot be forked (`why_no_truth`).
        NotFound: there is no such turn, agent or number of continuations.
        TooFast, Crowded: this person has asked for much already.
    """
    if closed := why_closed(episode):
        raise Sealed(closed)
    if reason := why_no_truth(episode):
        raise Outdated(reason)
    if turn is not None and not 1 <= turn <= episode.turn_count:
        raise NotFound(f"The episode has turns 1 to {episode.turn_count}; there is no turn {turn}.")
    if count not in COUNTS:
        raise NotFound(f"Choose {', '.join(map(str, COUNTS[:-1]))} or {COUNTS[-1]} continuations.")
    agent = next((agent for agent in agents_for(episode, user) if agent.slug == slug), None)
    if agent is None:
        raise NotFound(f"{slug or 'Nobody'} cannot continue this episode here. Choose the random agent or the expert.")
    first, last = (1, episode.turn_count) if turn is None else (turn, turn)
    same = Truth.objects.filter(episode=episode, agent=agent, count=count, first=first, last=last)
    same = same.filter(state__in=(Truth.State.WAITING, Truth.State.DONE))
    if found := same.first():
        return found
    try:
        with transaction.atomic():
            _check_room(episode, person, address)
            truth = Truth.objects.create(
                episode=episode, agent=agent, count=count, first=first, last=last, person=person, address=address
            )
            enqueue(TASK, truth.pk)
    except IntegrityError:  # somebody else has asked for the same at this moment
        return same.get()
    return truth


def _check_room(episode: Episode, person: str, address: str) -> None:
    """Check that there is room for another measurement, in the transaction that stores it."""
    one_at_a_time("truths", address or person)
    one_at_a_time("truths", episode.pk)
    waiting = Truth.objects.waiting()
    mine = waiting.filter(address=address) if address else waiting.filter(person=person)
    if mine.count() >= MOST_OPEN:
        raise Crowded(f"{MOST_OPEN} of your measurements are not done yet. Wait for one of them, or stop one.")
    if Truth.objects.filter(episode=episode).count() >= MOST_OF_EPISODE:
        raise Crowded(f"{MOST_OF_EPISODE} measurements of this episode are kept, which is the limit.")
    if wait := take(f"truth:{address or person}", PER_HOUR, PER_HOUR / 3600):
        raise TooFast(
            f"You can ask for {PER_HOUR} measurements in an hour. Try again in {max(1, round(wait))} s.", wait
        )


@transaction.atomic
def stop(episode: Episode, key: str, *, person: str, is_staff: bool) -> Truth:
    """Stop a measurement. The turns that were measured stay.

    Raises:
        NotFound: this episode has no such measurement of this person.
    """
    truths = Truth.objects.select_for_update(of=("self",)).filter(episode=episode)
    truth = truths.filter(pk=key).first()
    if truth is None or not (is_staff or truth.person == person):
        raise NotFound("There is no such measurement of yours, so nothing was stopped.")
    if truth.is_open:
        truth.state = Truth.State.STOPPED
        truth.let_go()
        truth.save()
    return truth


def truths_of(episode: Episode) -> TruthQuerySet:
    """The measurements of an episode, the oldest first, with their turns."""
    return Truth.objects.filter(episode=episode).select_related("agent").prefetch_related("turns")


def wake_workers() -> int:
    """Send the messages about measurements that wait and that no worker has. Returns their number."""
    keys = list(Truth.objects.waiting().free().values_list("pk", flat=True))
    for key in keys:
        enqueue(TASK, key)
    return len(keys)
