"""From rows to the answers of the API, with what the caller may see of them.

One module for each kind of row. What one reads in results is in `readings`; answers in JSON Lines are in `lines`.
"""

from apps.api.answers.agents import agent, upload
from apps.api.answers.episodes import duel, episode, episode_summaries, seen_from, summarized, turn, turn_result
from apps.api.answers.jobs import (
    books_of_job,
    data_of,
    job_data,
    job_summaries,
    missing_of,
    power_of,
    remaining_of,
    score_of,
)
from apps.api.answers.standings import profile, rating
from apps.api.answers.values import known, link

__all__ = [
    "agent",
    "books_of_job",
    "data_of",
    "duel",
    "episode",
    "episode_summaries",
    "job_data",
    "job_summaries",
    "known",
    "link",
    "missing_of",
    "power_of",
    "profile",
    "rating",
    "remaining_of",
    "score_of",
    "seen_from",
    "summarized",
    "turn",
    "turn_result",
    "upload",
]
