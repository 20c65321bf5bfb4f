"""All writes to a duel: start it, add an agent, and control the agents of all its episodes together.

A duel is a batch of episodes with the same environment and seed, shown side by side, each in its own slot. Each is an
ordinary episode: an agent's episode is a show, and a person plays theirs on a board.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from django.db import transaction

import gem
from apps.accounts.models import Viewer, account_of, default_visibility
from apps.admission.counting import one_at_a_time
from apps.agents.models import Agent
from apps.episodes import branches, operations
from apps.episodes.errors import EpisodeEnded, NotFound, Refusal
from apps.episodes.models import Batch, DuelChange, Episode
from apps.live import recheck_access, wake
from apps.play import operations as play
from apps.play.models import Show
from apps.play.shows import operations as shows
from apps.play.starting import once
from apps.play.starting.tooling import ask_tools
from apps.visibility import Visibility
from gem.errors import EnvironmentFailure
from gem.validation.values import check_seed

MAX_EPISODES = 4


class NoDuel(Refusal):
    """These episodes cannot be shown side by side."""

    title = "This cannot be a duel"


@dataclass(frozen=True, slots=True)
class DuelStart:
    """What all episodes of a duel start from. Without a `seed`, one is drawn."""

    env_id: str
    seed: int | None = None
    env_kwargs: Mapping[str, Any] = field(default_factory=dict)
    wrappers: Sequence[Mapping[str, Any]] = ()


def start(
    begin: DuelStart,
    agents: Sequence[Agent],
    *,
    plays: bool = False,
    pace: float = 1.0,
    lock_step: bool = True,
    user: Viewer,
    visitor: str,
    address: str = "",
    visibility: str = "",
    form: str = "",
) -> Batch:
    """Start an episode for each of `agents` and, if the person `plays`, one for the person in the first slot.

    A `form` with this digest begins one duel (`once.begin`).

    Raises:
        NoDuel, CannotPlay, PaceRefused, TooManyShows: nothing was started; the message is for the person.
        gem.errors.UnknownEnvironment, gem.errors.InvalidArgument: likewise.
    """
    if gem.spec(begin.env_id).seats > 1:
        raise NoDuel(
            f"{begin.env_id} has several seats, so agents already meet in one episode. Choose an environment with one "
            "seat, or watch two agents play against each other."
        )
    if not 2 <= len(agents) + plays <= MAX_EPISODES:
        raise NoDuel(f"A duel has 2 to {MAX_EPISODES} episodes, not {len(agents) + plays}.")
    drafts = _drafts(begin, len(agents) + plays)

    def store() -> list[Episode]:
        duel = Batch.objects.create(kind=Batch.Kind.DUEL, visibility=visibility or default_visibility(user))
        if plays:
            operations.store(drafts[0], seats=[play.person(user, visitor)], batch=duel, slot=0)
        for number, agent in enumerate(agents, int(plays)):
            shows.start(
                begin.env_id,
                agent,
                pace=pace,
                user=account_of(user),
                visitor=_visitor(user, visitor),
                address=address,
                visibility=Visibility.PUBLIC,  # the duel decides
                batch=duel,
                slot=number,
                lock_step=lock_step,
                draft=drafts[number],
            )
        episodes = list(duel.episodes.order_by("slot"))
        for episode in episodes:
            operations.tell(episode, DuelChange.Kind.JOINED)
        return episodes

    first = once.begin(form, store)[0]
    return Batch.objects.get(pk=first.batch_id)


def add(
    duel: Batch, agent: Agent, *, user: Viewer, visitor: str, address: str = "", place: int | None = None
) -> Episode:
    """Let another agent play the same seed from the start. In lock step the others wait until it has caught up.

    Args:
        place: the number of episodes that the person saw. If the agent was added in this place already, because the
            request was sent twice, that episode is returned.

    Raises:
        NoDuel, CannotPlay, TooManyShows, Refusal: nothing was started.
    """
    first = duel.episodes.order_by("slot")[0]
    branches.check_registered(first)
    ask_tools(first.env_id, first.wrappers)
    draft = _drafts(DuelStart(first.env_id, first.seed, first.env_kwargs, first.wrappers), 1)[0]
    with transaction.atomic():
        one_at_a_time("agents of duels", duel.pk)
        episodes = _lock_episodes(duel)
        if place is not None and place < len(episodes) and episodes[place].seats.filter(agent=agent).exists():
            return episodes[place]
        starter = shows.Starter(account_of(user), _visitor(user, visitor), address)
        return _add_draft(duel, episodes, draft, agent, starter)


def _add_draft(
    duel: Batch, episodes: Sequence[Episode], draft: Episode, agent: Agent, starter: shows.Starter
) -> Episode:
    if len(episodes) >= MAX_EPISODES:
        raise NoDuel(f"A duel has at most {MAX_EPISODES} episodes. Start another duel on the same seed.")
    first = episodes[0]
    draft.hidden_reason = duel.reason_to_hide()
    show = Show.objects.filter(episode__in=episodes).order_by("episode__slot").first()
    episode = shows.start(
        first.env_id,
        agent,
        pace=show.pace if show else 1.0,
        user=starter.user,
        visitor=starter.visitor,
        address=starter.address,
        visibility=Visibility.PUBLIC,  # the duel decides
        batch=duel,
        slot=len(episodes),
        lock_step=show.lock_step if show else False,
        draft=draft,
    )
    operations.tell(episode, DuelChange.Kind.JOINED)
    return episode


def may_control(duel: Batch, user: Viewer, visitor: str) -> bool:
    """Whether this person may control the agents: the person who started the duel, or staff."""
    episode = duel.episodes.filter(show__isnull=False).order_by("slot").first()
    return episode is not None and shows.may_control(episode, user, visitor)


@transaction.atomic
def steer(duel: Batch, verb: Callable[[str], None]) -> None:
    """Apply `verb` to every agent that still plays: `shows.pause`, `resume`, `one_turn` or `stop`.

    Raises:
        EpisodeEnded: no agent plays any more.
        PaceRefused: see `shows.set_pace`.
    """
    for episode in _running_shows(duel):
        verb(episode.id)


@transaction.atomic
def keep_step(duel: Batch, lock_step: bool) -> None:
    """Turn lock step on or off for all agents. Raises the same errors as `steer`."""
    for episode in _running_shows(duel):
        Show.objects.filter(pk=episode.pk).update(lock_step=lock_step)
        operations.touch(episode)
        wake(shows.HOSTS, episode.id)


def _visitor(user: Viewer, visitor: str) -> str:
    """The visitor key of a person without an account; empty for people with one."""
    return "" if user.is_authenticated else visitor


def _drafts(begin: DuelStart, count: int) -> list[Episode]:
    """The episodes of a duel, all with one seed; they have not been stored (see `episodes.operations.draft`)."""
    drafts: list[Episode] = []
    try:
        for _ in range(count):
            seed = check_seed(drafts[0].seed) if drafts else begin.seed
            drafts.append(
                operations.draft(begin.env_id, seed=seed, env_kwargs=begin.env_kwargs, wrappers=begin.wrappers)
            )
    except EnvironmentFailure as failure:
        raise Refusal(str(failure)) from failure
    return drafts


def _lock_episodes(duel: Batch) -> list[Episode]:
    """All episodes of the duel, locked. They are locked before the duel's own row, so that writers cannot deadlock."""
    return list(duel.episodes.select_for_update().order_by("slot"))


def _running_shows(duel: Batch) -> list[Episode]:
    show_ids = set(Show.objects.filter(episode__batch=duel).values_list("pk", flat=True))
    running = [episode for episode in _lock_episodes(duel) if not episode.over and episode.pk in show_ids]
    if not running:
        raise EpisodeEnded("All agents have finished. The replay shows every turn.")
    return running


def set_visibility(duel: Batch, visibility: Visibility) -> None:
    """Change who may see a duel and all its episodes."""
    Batch.objects.filter(pk=duel.pk).update(visibility=visibility)
    for topic in (f"duel:{duel.pk}", *(f"episode:{key}" for key in duel.episodes.values_list("pk", flat=True))):
        recheck_access(topic)


def find(duel_id: str, user: Viewer, visitor: str) -> Batch:
    """The duel with this id.

    Raises:
        NotFound: there is no such duel, or this person may not see it.
    """
    duel = Batch.objects.visible_to(user, visitor).filter(pk=duel_id, kind=Batch.Kind.DUEL).first()
    if duel is None:
        raise NotFound("The address may be mistyped, or the duel was deleted.")
    return duel
