"""The branches of a tree as data for training: preference pairs, counterfactual turns, and whole episodes.

Where branches part, different actions were taken in one state. The mean return behind an action is the mean over the
branches that took it and have ended. A prompt is the conversation until then, as messages: all that the seat has read
and written.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import combinations
from typing import Any

from apps.accounts.models import Viewer
from apps.downloads import whole
from apps.episodes.models import Episode, Turn
from apps.episodes.replays.downloads import records_of
from apps.play.tree.reading import Branch, Tree
from gem.seats import observation_for_seat

KINDS = {"pairs": "preference pairs", "turns": "counterfactual turns", "episodes": "whole episodes"}
"""The kinds of exports by name."""
USUAL_GAP = 0.1
"""The least difference of two mean returns of a preference pair, if nothing else is said."""


@dataclass(frozen=True, slots=True)
class Option:
    """An action that was taken in a state, and the chosen branches that took it and have ended."""

    action: str
    ends: list[Branch]

    def mean(self, seat: int) -> float:
        """The mean return of `seat`."""
        return math.fsum(end.returns[seat] for end in self.ends) / len(self.ends)


@dataclass(frozen=True, slots=True)
class Parting:
    """A state in which different actions were taken."""

    line: Branch
    """A branch that was in this state."""
    turn: int
    """The turn in which the actions were taken; the first is 1."""
    seat: int
    options: list[Option]


@dataclass(frozen=True, slots=True)
class Pair:
    """Two actions in one state, of which one had the better mean return."""

    parting: Parting
    chosen: Option
    rejected: Option


def partings(tree: Tree, chosen: Sequence[Branch]) -> list[Parting]:
    """The states in which the chosen branches took different actions, by turn."""
    ends = {id(branch) for branch in chosen if branch.has_result}
    places = {(line.parts_at, tree.branches.index(line.line)) for line in tree.branches if line.line is not None}
    taken = []
    for turn, number in sorted(places):
        line = tree.branches[number]
        following = [line, *(branch for branch in line.parting if branch.parts_at == turn)]
        behind = {
            branch: [end for end in _behind(branch, turn) if id(end) in ends]
            for branch in following
            if branch.episode.turn_count > turn
        }
        if sum(bool(found) for found in behind.values()) > 1:
            taken.append((line, turn + 1, {branch: found for branch, found in behind.items() if found}))
    said = _said([(branch.episode.pk, turn) for _, turn, behind in taken for branch in behind])
    found = []
    for line, turn, behind in taken:
        options: dict[str, Option] = {}
        for branch, branches in behind.items():  # what comes of an action can be left to chance
            seat, action = said[branch.episode.pk, turn]
            options.setdefault(action, Option(action, [])).ends.extend(branches)
        if len(options) > 1:
            found.append(Parting(line, turn, seat, list(options.values())))
    return found


def _said(turns: Sequence[tuple[str, int]]) -> dict[tuple[str, int], tuple[int, str]]:
    """The seat and the action of these turns, by the id of the episode and the number of the turn."""
    rows = Turn.objects.filter(pk__in=turns).values_list("episode", "number", "seat", "action") if turns else ()
    return {(key, number): (seat, action) for key, number, seat, action in rows}


def pairs(found: Sequence[Parting], gap: float) -> list[Pair]:
    """All pairs of actions in one state whose mean returns differ by at least `gap`, and differ at all."""
    results = []
    for parting in found:
        for first, second in combinations(parting.options, 2):
            difference = first.mean(parting.seat) - second.mean(parting.seat)
            if abs(difference) >= max(gap, 1e-9):
                better, worse = (first, second) if difference > 0 else (second, first)
                results.append(Pair(parting, better, worse))
    return results


def lines(tree: Tree, kind: str, chosen: Sequence[Branch], gap: float, user: Viewer, visitor: str) -> Iterator[Any]:
    """The rows of an export, each of which becomes a line of JSON."""
    if kind == "episodes":
        ended = [branch.episode.pk for branch in chosen if branch.has_result]
        rows = Episode.objects.visible_to(user, visitor).filter(pk__in=ended)
        for data, turns in whole(records_of(rows, user, visitor), rows):
            yield {**data, "turns": turns}
        return
    found = partings(tree, chosen)
    if kind == "turns":
        for parting in found:
            yield _turn(parting)
        return
    for parting in found:
        state = None
        for pair in pairs([parting], gap):
            state = state or _about(parting)
            yield _pair(pair, state)


def _pair(pair: Pair, state: dict[str, Any]) -> dict[str, Any]:
    row = dict(state)
    both = (("chosen", pair.chosen), ("rejected", pair.rejected))
    for name, option in both:
        row[name] = [{"role": "assistant", "content": option.action}]
    for name, option in both:
        row[f"{name}_return"] = option.mean(pair.parting.seat)
        row[f"{name}_episodes"] = [end.episode.pk for end in option.ends]
    return row


def _turn(parting: Parting) -> dict[str, Any]:
    """A state with every action that was taken in it, and what came of each."""
    ends = [end for option in parting.options for end in option.ends]
    return {
        **_about(parting),
        "actions": [
            {
                "action": option.action,
                "mean_return": option.mean(parting.seat),
                "returns": [end.returns[parting.seat] for end in option.ends],
                "episodes": [end.episode.pk for end in option.ends],
                "agents": [end.seats[parting.seat].agent.slug for end in option.ends],
            }
            for option in parting.options
        ],
        "mean_return": math.fsum(end.returns[parting.seat] for end in ends) / len(ends),
    }


def _about(parting: Parting) -> dict[str, Any]:
    """What a line says of the state: the episode with its seed and version, the turn, the seat and the prompt."""
    episode = parting.line.episode
    return {
        **episode.open_identity(),
        "engine_version": episode.engine_version,
        "episode": episode.pk,
        "turn": parting.turn,
        "seat": parting.seat,
        "prompt": prompt(episode, parting.turn, parting.seat),
    }


def prompt(episode: Episode, turn: int, seat: int) -> list[dict[str, str]]:
    """What a seat has read and written before a turn, as messages of a user and an assistant."""
    start = Episode.objects.values_list("first_observation", "first_info").get(pk=episode.pk)
    observation, info = start
    messages = []
    for played in episode.turns.filter(number__lt=turn).order_by("number"):
        if played.seat == seat:
            messages += [_message(seat, observation, info), {"role": "assistant", "content": played.action}]
        observation, info = played.observation, played.info
    return [*messages, _message(seat, observation, info)]


def _message(seat: int, observation: str, info: dict[str, Any]) -> dict[str, str]:
    read, own = observation_for_seat(seat, observation, info)
    suffix = str(own.get("suffix") or "")
    return {"role": "user", "content": "\n\n".join(part for part in (read, suffix) if part)}


def _behind(branch: Branch, turn: int) -> Iterator[Branch]:
    """The branch and everything that parts from it after `turn`."""
    yield branch
    for other in branch.parting:
        if other.parts_at > turn:
            yield from other.walk()
