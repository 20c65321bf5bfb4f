"""Facts about an episode that has ended, from one pass over its turns."""

from __future__ import annotations

from typing import NamedTuple

from gem.evaluation.endings import Ending, ending_of
from gem.evaluation.faults import Faults, faults_of
from gem.records import EpisodeRecord


class Facts(NamedTuple):
    """Sums over the turns of an episode, and how it ended."""

    total_rewards: list[float]
    """The return of every seat; empty without turns."""
    faults: Faults
    tokens_in: int
    tokens_out: int
    answer_seconds: float | None
    """See `EpisodeRecord.answer_seconds`."""
    ending: Ending


def facts_of(record: EpisodeRecord) -> Facts:
    """Return what is known of an episode.

    It is what the functions and properties say that are named after the fields. Where there is one seat, and the agent
    reported nothing, as almost always in large evaluations, it takes a fraction of their time.
    """
    turns = record.turns
    infos = [turn.info for turn in turns]
    if record.seat or "seats" in record.first_info or (infos and "seats" in infos[-1]):
        totals, faults = record.total_rewards, faults_of(record)
    else:
        totals = [sum([turn.reward for turn in turns])] if turns else []
        errors = [info["error"] for info in infos if "error" in info]
        faults = Faults(len(turns), errors.count("format"), errors.count("rule"))
    tokens, seconds = (0, 0), None
    if any(turn.extra for turn in turns):
        tokens, seconds = record.tokens, record.answer_seconds
    return Facts(totals, faults, *tokens, seconds, ending_of(record))
