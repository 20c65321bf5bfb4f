"""A transcript as the player of replays shows it: every answer of the agent is a turn."""

from __future__ import annotations

from dataclasses import dataclass

from apps.episodes.models import Turn
from apps.episodes.replays.replay_frames import ReplayFrame
from apps.reported.models import ReportedEpisode
from gem.views import ChatView
from gem.views import Message as Said

SHOWN = 40
"""Messages that stand on the board of a turn."""


@dataclass(frozen=True, slots=True)
class Replay:
    """What the templates of replays ask of an episode."""

    turn_count: int
    first_observation: str


def replay_of(row: ReportedEpisode) -> tuple[Replay, list[Turn]]:
    """The replay of a transcript, and its turns: what the agent said, and what was said to it afterwards."""
    before: list[str] = []
    turns: list[Turn] = []
    for message in row.messages:
        content = "\n".join(text for text in (message.get("content", ""), message.get("calls", "")) if text)
        if message.get("role") == "assistant":
            extra = {"note": message["reasoning"]} if message.get("reasoning") else {}
            turns.append(Turn(number=len(turns) + 1, action=content, observation="", reward=0.0, info={}, extra=extra))
        elif turns:
            turns[-1].observation = "\n\n".join(text for text in (turns[-1].observation, content) if text)
        else:
            before.append(content)
    if turns and row.reward is not None:
        turns[-1].reward = row.reward
    return Replay(len(turns), "\n\n".join(before)), turns


def frames(row: ReportedEpisode, first: int, last: int) -> list[ReplayFrame]:
    """The turns from `first` to `last`, of which 0 is what was said before the agent."""
    replay, turns = replay_of(row)
    found = []
    for number in range(first, min(last, replay.turn_count) + 1):
        turn = turns[number - 1] if number else None
        total = turn.reward if turn is not None and number == replay.turn_count else 0.0
        found.append(ReplayFrame(number, _board(row, number), turn, total, replay.turn_count))
    return found


def _board(row: ReportedEpisode, number: int) -> ChatView:
    """The conversation up to what follows the answer with this number."""
    said, answers = [], 0
    for message in row.messages:
        answers += message.get("role") == "assistant"
        if answers > number:
            break
        text = message.get("content") or message.get("calls") or ""
        said.append(_said(message.get("role", ""), text))
    return ChatView(kind="chat", name=f"Conversation up to turn {number}", messages=said[-SHOWN:])


def _said(role: str, text: str) -> Said:
    if role == "assistant":
        return Said(who="assistant", side="own", text=text)
    return Said(who=role or "?", side="tool" if role == "tool" else "other", text=text)
