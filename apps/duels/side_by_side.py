"""A duel as a page shows it: the episodes side by side, where they part, and who did better.

Nothing here is stored; all of it follows from the episodes.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from datetime import timedelta

from django.db.models import Exists, OuterRef
from django.utils import timezone

from apps.agents.models import Agent
from apps.episodes.models import Batch, Episode, Turn
from apps.episodes.replays.replay_frames import ReplayFrame, replay_frames
from apps.episodes.snapshot import Snapshot, public_snapshot
from apps.episodes.templatetags.episodes import bare
from apps.play.shows import show_leases

MARKS = 400
"""Turns of each episode that the lines of actions show."""
FRESH = timedelta(days=1)
"""An older duel that still runs has been left by its player, most likely."""
IN_THE_LOBBY = 6
"""Duels that the lobby lists."""
ARROWS = {"up": "↑", "down": "↓", "left": "←", "right": "→"}


@dataclass(frozen=True, slots=True)
class ActionMark:
    """One turn in the line of an episode's actions."""

    number: int
    action: str
    kind: str = ""
    """`same` before the episodes part, `diff` where they do."""

    @property
    def glyph(self) -> str:
        """The action as short as it is understood."""
        return ARROWS.get(self.action, self.action)


@dataclass(frozen=True, slots=True)
class Side:
    """One episode of a duel."""

    shot: Snapshot
    name: str
    """Its agent's, told apart where one plays twice."""
    marks: list[ActionMark]
    waits_for: str = ""
    """Whose turn it waits for in lock step."""
    best: bool = False
    """It did better than all others, and all are over."""
    moment: ReplayFrame | None = None
    """An earlier turn, where the address asks for one."""

    @property
    def episode(self) -> Episode:
        """The episode."""
        return self.shot.episode

    @property
    def agent(self) -> Agent:
        """Who plays it."""
        return self.shot.seat.agent

    @property
    def total(self) -> float:
        """What it has earned."""
        return self.shot.seat.total_reward

    @property
    def result(self) -> str:
        """How it ended, or how far it is, in words that follow its name."""
        episode, turns = self.episode, _turns(self.episode.turn_count)
        if not episode.over:
            return f"running, {turns} so far"
        if episode.status == Episode.Status.ABANDONED:
            return f"given up after {turns}"
        if episode.status == Episode.Status.FAILED:
            return f"ended by an error after {turns}, not counted"
        if episode.success:
            return f"solved in {turns}, return {_number(self.total)}"
        return f"not solved in {turns}, return {_number(self.total)}"


@dataclass(frozen=True, slots=True)
class Sides:
    """All episodes of a duel, and what follows from them together."""

    all: list[Side]
    parting: int | None
    """The first turn at which the actions differ; None if they do not."""
    duel: Batch | None = None
    """The batch that they belong to; None for episodes that were put side by side."""

    @property
    def last(self) -> int:
        """The last turn that any of them has."""
        return max(side.episode.turn_count for side in self.all)

    @property
    def first(self) -> Episode:
        """The episode in the first slot, for what all have in common."""
        return self.all[0].episode

    @property
    def over(self) -> bool:
        """Whether no turn can follow in any."""
        return all(side.episode.over for side in self.all)

    @property
    def played_live(self) -> bool:
        """Whether an agent still takes turns."""
        return any(not side.episode.over and side.shot.pace is not None for side in self.all)

    @property
    def paused(self) -> bool:
        """Whether all agents that still play are paused."""
        playing = [side.shot for side in self.all if not side.episode.over and side.shot.pace is not None]
        return bool(playing) and all(shot.paused for shot in playing)

    @property
    def pace(self) -> float | None:
        """Seconds from one turn of an agent to its next."""
        return next((side.shot.pace for side in self.all if side.shot.pace is not None), None)

    @property
    def lock_step(self) -> bool:
        """Whether the agents wait for one another."""
        return any(getattr(getattr(side.episode, "show", None), "lock_step", False) for side in self.all)

    @property
    def verdict(self) -> tuple[str, str]:
        """Who did better: a headline, and how each did."""
        return verdict(self.all)

    @property
    def parting_sentence(self) -> tuple[str, str]:
        """Where they part: a headline and the rest."""
        return parting_sentence(self)


def sides_of(duel: Batch, shots: Sequence[Snapshot] | None = None) -> Sides:
    """The episodes of a duel as those see them who only watch; `shots` if they have been read already."""
    if shots is None:
        episodes = duel.episodes.select_related("show").order_by("slot")
        shots = [public_snapshot(episode) for episode in episodes]
    return replace(sides(shots), duel=duel)


def sides(shots: Sequence[Snapshot]) -> Sides:
    """These episodes side by side."""
    names = _names([shot.seat.agent for shot in shots])
    actions = _actions([shot.episode for shot in shots])
    parting = part_at(actions)
    waited_names = {
        shot.episode.pk: "a person" if shot.seat.agent.kind == Agent.Kind.HUMAN else name
        for shot, name in zip(shots, names, strict=True)
    }
    found = [
        Side(shot, name, _marks(own, parting), _waits_for(shot, waited_names))
        for shot, name, own in zip(shots, names, actions, strict=True)
    ]
    best = leader(found)
    return Sides([replace(side, best=side is best) for side in found], parting)


def under_way() -> list[Sides]:
    """The newest duels in which an episode is played, of those that a list may show."""
    running = Episode.objects.running().filter(batch=OuterRef("pk"), listed=True, created__gt=timezone.now() - FRESH)
    found = Batch.objects.filter(Exists(running), kind=Batch.Kind.DUEL)
    return [sides_of(duel) for duel in found.order_by("-created")[:IN_THE_LOBBY]]


def at_turn(all_sides: Sides, number: int) -> Sides:
    """The same with the pictures of an earlier turn; an episode that ended before it shows its last."""
    found = []
    for side in all_sides.all:
        turn = min(number, side.episode.turn_count)
        found.append(replace(side, moment=replay_frames(side.episode, turn, turn, 0)[0]))
    return replace(all_sides, all=found)


# ---------------------------------------------------------------- where they part


def part_at(actions: Sequence[Sequence[str]]) -> int | None:
    """The first turn, from 1, at which those that have it did not act the same; None if there is none."""
    for number in range(max((len(own) for own in actions), default=0)):
        taken = {own[number] for own in actions if len(own) > number}
        if len(taken) > 1:
            return number + 1
    return None


def parting_sentence(found: Sides) -> tuple[str, str]:
    """Where the episodes part, in words: a headline and the rest."""
    if found.last == 0:
        return "No turns yet.", "All episodes start with the same board."
    if found.parting is None:
        shared = sorted(side.episode.turn_count for side in found.all)[-2]
        if shared == 0:
            return "Nothing to compare yet.", "Only one of them has taken a turn."
        return "Identical so far." if not found.over else "They never diverge.", f"{_turns(shared)} in common."
    place = found.parting - 1
    plays = [f"{side.name} plays {side.marks[place].action}" for side in found.all if len(side.marks) > place]
    before = "" if place == 0 else " Before that, the episodes are identical."
    return f"They diverge at turn {found.parting}.", f"{', '.join(plays)}.{before}"


# ---------------------------------------------------------------- who did better


def verdict(found: Sequence[Side]) -> tuple[str, str]:
    """Who did better, as a headline, and how each did.

    Solved beats not solved; among those that solved it fewer turns, among the others the higher return.
    """
    results = " ".join(f"{side.name}: {side.result}." for side in found)
    running = [side for side in found if not side.episode.over]
    if len(running) == len(found):
        return "Still running.", results
    if running:
        return f"Waiting for {_listed(side.name for side in running)} to finish.", results
    if any(side.episode.status != Episode.Status.ENDED for side in found):
        return "No verdict: not every episode was played to its end.", results
    best = leader(found)
    solved = any(side.episode.success for side in found)
    if best is None:
        return "A draw." if solved else "A draw: none of them solved it.", results
    return (f"{best.name} wins." if solved else f"None of them solved it; {best.name} has the highest return."), results


def leader(found: Sequence[Side]) -> Side | None:
    """The side that did better than every other; None while that is open, and of equals."""
    if any(side.episode.status != Episode.Status.ENDED for side in found):
        return None
    ranked = sorted(found, key=_standing, reverse=True)
    return ranked[0] if _standing(ranked[0]) > _standing(ranked[1]) else None


def _standing(side: Side) -> tuple[bool, float]:
    solved = bool(side.episode.success)
    return solved, -side.episode.turn_count if solved else round(side.total, 9)


# ---------------------------------------------------------------- helpers


def _actions(episodes: Sequence[Episode]) -> list[list[str]]:
    """What each of them did, turn by turn, without the box."""
    turns = Turn.objects.filter(episode__in=episodes, number__lte=MARKS).order_by("number")
    taken: dict[str, list[str]] = {episode.pk: [] for episode in episodes}
    for episode_id, action in turns.values_list("episode_id", "action"):
        taken[episode_id].append(_plain(action))
    return [taken[episode.pk] for episode in episodes]


def _plain(action: str) -> str:
    text = bare(action)
    return text.lower() if re.fullmatch("up|down|left|right", text, re.IGNORECASE) else text


def _marks(actions: Sequence[str], parting: int | None) -> list[ActionMark]:
    def kind(number: int) -> str:
        if parting is None or number < parting:
            return "same"
        return "diff" if number == parting else ""

    return [ActionMark(number, action, kind(number)) for number, action in enumerate(actions, 1)]


def _names(agents: Sequence[Agent]) -> list[str]:
    """The agents' names, numbered where one is there more than once."""
    names = [agent.name for agent in agents]
    numbered = [f"{name} {names[: place + 1].count(name)}" for place, name in enumerate(names)]
    return [many if names.count(one) > 1 else one for one, many in zip(names, numbered, strict=True)]


def _waits_for(shot: Snapshot, names: dict[str, str]) -> str:
    show = getattr(shot.episode, "show", None)
    if show is None or shot.episode.over or shot.paused:
        return ""
    awaited = show_leases.awaited(shot.episode, show)
    return _listed(names[episode.pk] for episode in awaited if episode.pk in names)


def _listed(names: Iterable[str]) -> str:
    *others, last = list(names) or [""]
    return f"{', '.join(others)} and {last}" if others else last


def _turns(number: int) -> str:
    return f"{number} turn{'' if number == 1 else 's'}"


def _number(value: float) -> str:
    return f"{value:.2f}".replace("-", "−")
