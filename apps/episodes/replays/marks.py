"""What a replay marks in the turns of an episode: rewards, errors, and where the expert would have played otherwise."""

from __future__ import annotations

from typing import Any

from django.db.models.fields.json import KT

from apps.episodes.models import Episode, Turn
from apps.episodes.operations import BY_PERSON
from apps.episodes.questions import mistakes
from gem.seats import rewards

MAX_MARKED_TURNS = 400
"""A strip with more turns would be unreadable and is not shown."""
MIN_STRIP_WIDTH = 25
"""So many turns would fill the strip; fewer leave a part of it empty."""


def marks(episode: Episode, seat: int, *, sealed: bool) -> dict[str, Any]:
    """The rewards of `seat` as bars, the turns with a reward, those with an error, and what the expert has said."""
    if sealed or not 0 < episode.turn_count <= MAX_MARKED_TURNS:
        return {"strip": [], "rewarded": [], "errors": []}
    turns = list(
        episode.turns.order_by("number")
        .only("number", "reward", "info")
        .annotate(failed=KT("extra__error"), by=KT("extra__by"))
    )
    rewards_by_turn = [(turn.number, rewards(turn.reward, turn.info)[seat]) for turn in turns]
    errors = [(turn.number, words) for turn in turns if (words := _error_of(turn))]
    return {
        "strip_width": max(len(turns), MIN_STRIP_WIDTH),
        "strip": _strip(rewards_by_turn, {turn.number for turn in turns if getattr(turn, "by", None) == BY_PERSON}),
        "rewarded": [number for number, reward in rewards_by_turn if reward],
        "errors": [number for number, _ in errors],
        "first_error": errors[0] if errors else None,
        "explanation": mistakes.latest(episode) if mistakes.can_be_asked(episode) else None,
    }


def _error_of(turn: Turn) -> str:
    """What went wrong in a turn, in a few words; empty if nothing did."""
    error = turn.info.get("error")
    if error:
        return "the action could not be read" if error == "format" else "the action was not allowed"
    if getattr(turn, "failed", None):
        return "the agent's server failed"
    calls = turn.info.get("tool_calls")
    has_failed = isinstance(calls, list) and any(isinstance(call, dict) and call.get("error") for call in calls)
    return "a tool failed" if has_failed else ""


def _strip(rewards_by_turn: list[tuple[int, float]], by_person: set[int]) -> list[dict[str, Any]]:
    """The reward of each turn as a bar of width 1: its left edge, y and height in a box of height 24."""
    largest = max((abs(reward) for _, reward in rewards_by_turn), default=0.0) or 1.0
    bars = []
    for number, reward in rewards_by_turn:
        height = max(1.5, 18 * abs(reward) / largest)
        bars.append({
            "number": number,
            "reward": reward,
            "by_person": number in by_person,
            "x": str(number - 1),
            "y": f"{20 - height:.2f}",
            "height": f"{height:.2f}",
        })  # fmt: skip
    return bars
