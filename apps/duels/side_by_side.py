"""A duel as a page shows it: the episodes side by side, where they diverge, and who did better.

Nothing here is stored; everything is computed from the episodes.
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

MAX_MARKS = 400
"""The number of turns per episode that the lines of actions show."""
LOBBY_AGE = timedelta(days=1)
"""A duel that is older and still runs was most likely abandoned by its player."""
MAX_LOBBY_DUELS = 6
"""The number of duels that the lobby lists."""
ARROWS = {"up": "↑", "down": "↓", "left": "←", "right": "→"}


@dataclass(frozen=True, slots=True)
class ActionMark:
    """One turn in the line of an episode's actions."""

    number: int
    action: str
    kind: str = ""
    """`same` before the turn at which the episodes diverge, `diff` at that turn, empty after it."""

    @property
    def glyph(self) -> str:
        """A short form of the action: an arrow for a direction, otherwise the action."""
        return ARROWS.get(self.action, self.action)


@dataclass(frozen=True, slots=True)
class Side:
    """One episode of a duel."""

    shot: Snapshot
    name: str
    """The agent's name, numbered if the same agent plays twice."""
    marks: list[ActionMark]
    waits_for: str = ""
    """The agents it waits for in lock step, in words; empty if it waits for nobody."""
    best: bool = False
    """Whether it did better than all others and all episodes are over."""
    moment: ReplayFrame | None = None
    """An earlier turn, if the address requests one."""

    @property
    def episode(self) -> Episode:
        """The episode."""
        return self.shot.episode

    @property
    def agent(self) -> Agent:
        """The agent that plays it."""
        return self.shot.seat.agent

    @property
    def total(self) -> float:
        """The total reward so far."""
        return self.shot.seat.total_reward

    @property
    def result(self) -> str:
        """How it ended, or how far it has come, in words that follow the agent's name."""
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
    """All episodes of a duel, and what they show when all_sides."""

    all: list[Side]
    parting: int | None
    """The first turn at which the actions differ; None if they never do."""
    duel: Batch | None = None
    """The batch they belong to; None for two recorded episodes that were put side by side."""

    @property
    def last(self) -> int:
        """The number of turns of the longest episode."""
        return max(side.episode.turn_count for side in self.all)

    @property
    def first(self) -> Episode:
        """The episode in the first slot. Its environment and seed are those of all."""
        return self.all[0].episode

    @property
    def over(self) -> bool:
        """Whether all episodes are over."""
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
        """Seconds per turn of the agents; None if no agent plays live."""
        return next((side.shot.pace for side in self.all if side.shot.pace is not None), None)

    @property
    def lock_step(self) -> bool:
        """Whether the agents wait for one another."""
        return any(getattr(getattr(side.episode, "show", None), "lock_step", False) for side in self.all)

    @property
    def verdict(self) -> tuple[str, str]:
        """Who did better: a headline and the result of each."""
        return verdict(self.all)

    @property
    def parting_sentence(self) -> tuple[str, str]:
        """Where they diverge: a headline and the details."""
        return parting_sentence(self)


def sides_of(duel: Batch, shots: Sequence[Snapshot] | None = None) -> Sides:
    """The episodes of a duel as spectators see them. Pass `shots` if the snapshots exist already."""
    if shots is None:
        episodes = duel.episodes.select_related("show").order_by("slot")
        shots = [public_snapshot(episode) for episode in episodes]
    return replace(sides(shots), duel=duel)


def sides(shots: Sequence[Snapshot]) -> Sides:
    """Compare these episodes."""
    names = _names([shot.seat.agent for shot in shots])
    actions = _actions([shot.episode for shot in shots])
    parting = part_at(actions)
    waited_names = {
        shot.episode.pk: "a person" if shot.seat.agent.kind == Agent.Kind.HUMAN else name
        for shot, name in zip(shots, names, strict=True)
    }
    all_sides = [
        Side(shot, name, _marks(own, parting), _waits_for(shot, waited_names))
        for shot, name, own in zip(shots, names, actions, strict=True)
    ]
    best = leader(all_sides)
    return Sides([replace(side, best=side is best) for side in all_sides], parting)


def under_way() -> list[Sides]:
    """The newest listed duels in which an episode is still running."""
    running = (
        Episode.objects.running()
        .shown()
        .filter(batch=OuterRef("pk"), listed=True, created__gt=timezone.now() - LOBBY_AGE)
    )
    duels = Batch.objects.filter(Exists(running), kind=Batch.Kind.DUEL)
    return [sides_of(duel) for duel in duels.order_by("-created")[:MAX_LOBBY_DUELS]]


def at_turn(all_sides: Sides, number: int) -> Sides:
    """The sides with the boards of an earlier turn. An episode that ended before that turn shows its last one."""
    sides_at_turn = []
    for side in all_sides.all:
        turn = min(number, side.episode.turn_count)
        sides_at_turn.append(replace(side, moment=replay_frames(side.episode, turn, turn, 0)[0]))
    return replace(all_sides, all=sides_at_turn)


# ---------------------------------------------------------------- where they diverge


def part_at(actions: Sequence[Sequence[str]]) -> int | None:
    """The first turn (from 1) at which the episodes that have it differ in their actions; None if there is none."""
    for number in range(max((len(played) for played in actions), default=0)):
        different = {played[number] for played in actions if len(played) > number}
        if len(different) > 1:
            return number + 1
    return None


def parting_sentence(all_sides: Sides) -> tuple[str, str]:
    """Where the episodes diverge, in words: a headline and the details."""
    if all_sides.last == 0:
        return "No turns yet.", "All episodes start with the same board."
    if all_sides.parting is None:
        shared = sorted(side.episode.turn_count for side in all_sides.all)[-2]
        if shared == 0:
            return "Nothing to compare yet.", "Only one of them has taken a turn."
        return "Identical so far." if not all_sides.over else "They never diverge.", f"{_turns(shared)} in common."
    index = all_sides.parting - 1
    moves = [f"{side.name} plays {side.marks[index].action}" for side in all_sides.all if len(side.marks) > index]
    before = "" if index == 0 else " Before that, the episodes are identical."
    return f"They diverge at turn {all_sides.parting}.", f"{', '.join(moves)}.{before}"


# ---------------------------------------------------------------- who did better


def verdict(all_sides: Sequence[Side]) -> tuple[str, str]:
    """Who did better: a headline and the result of each.

    Solved beats not solved. If both are solved, fewer turns win; if neither is, the higher return wins.
    """
    results = " ".join(f"{side.name}: {side.result}." for side in all_sides)
    running = [side for side in all_sides if not side.episode.over]
    if len(running) == len(all_sides):
        return "Still running.", results
    if running:
        return f"Waiting for {_listed(side.name for side in running)} to finish.", results
    if any(side.episode.status != Episode.Status.ENDED for side in all_sides):
        return "No verdict: not every episode was played to its end.", results
    best = leader(all_sides)
    solved = any(side.episode.success for side in all_sides)
    if best is None:
        return "A draw." if solved else "A draw: none of them solved it.", results
    return (f"{best.name} wins." if solved else f"None of them solved it; {best.name} has the highest return."), results


def leader(all_sides: Sequence[Side]) -> Side | None:
    """The side that did better than every other; None for a draw, or while episodes are running."""
    if any(side.episode.status != Episode.Status.ENDED for side in all_sides):
        return None
    ranked = sorted(all_sides, key=_standing, reverse=True)
    return ranked[0] if _standing(ranked[0]) > _standing(ranked[1]) else None


def _standing(side: Side) -> tuple[bool, float]:
    solved = bool(side.episode.success)
    return solved, -side.episode.turn_count if solved else round(side.total, 9)


# ---------------------------------------------------------------- helpers


def _actions(episodes: Sequence[Episode]) -> list[list[str]]:
    """The actions of each episode, turn by turn, without their boxes."""
    turns = Turn.objects.filter(episode__in=episodes, number__lte=MAX_MARKS).order_by("number")
    actions: dict[str, list[str]] = {episode.pk: [] for episode in episodes}
    for episode_id, action in turns.values_list("episode_id", "action"):
        actions[episode_id].append(_plain(action))
    return [actions[episode.pk] for episode in episodes]


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
    """The names of the agents, numbered if a name occurs more than once."""
    names = [agent.name for agent in agents]
    numbered = [f"{name} {names[: place + 1].count(name)}" for place, name in enumerate(names)]
    return [long if names.count(name) > 1 else name for name, long in zip(names, numbered, strict=True)]


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
