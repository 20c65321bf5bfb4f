"""The scores of an evaluation: what counts, what is missing, the data behind it, and what its requests used."""

from __future__ import annotations

from gem.client.schemas.base import Answer


class Bounds(Answer):
    """The least and the most that a number can be."""

    low: float
    high: float


class Missing(Answer):
    """The planned episodes that are missing from results, and between which bounds the results would be with them."""

    planned: int
    counted: int
    unplayed: int
    """Episodes that were not played to their end, or not yet."""
    cut_off: int
    """The unplayed ones that were being played when the job was stopped: long episodes rather than short ones."""
    broken: int
    """Episodes that ended with an environment error."""
    unanswered: int
    """Episodes in which the agent gave no answer."""
    success_rate: Bounds
    """If all of them were lost, and if all were won."""
    mean_return: Bounds | None
    """Null if an environment with missing episodes declares no bounds of its returns."""
    env_ids: list[str]
    """The environments of which no episode counts."""


class Data(Answer):
    """The data that an environment was played on."""

    env_id: str
    name: str
    hash: str
    stands_in_for: str
    """The real data in whose place they are; empty if they are the real data."""


class Score(Answer):
    """Results so far, of an evaluation or of one of its environments. Every seed counts as one in the intervals."""

    env_id: str
    """Empty for all environments together."""
    episodes: int
    """Episodes that are to be played; of a job that a decided comparison has stopped, those that were."""
    done: int
    counted: int
    """Episodes that count: without environment errors and unanswered episodes."""
    won: int
    limited: int
    errors: int
    """Episodes that are not counted."""
    unanswered: int
    """The errors in which the agent gave no answer."""
    partial: bool
    """Whether planned episodes are missing."""
    missing: int
    """Their number."""
    seeds: int
    """The number of seeds behind the intervals: all tries and seats of a seed are one observation."""
    success_rate: float | None
    low: float | None
    """The lower end of the 95 % interval of the share of solved episodes; null below ten seeds."""
    high: float | None
    mean_return: float | None
    return_low: float | None
    """The lower end of the 95 % interval of the mean return."""
    return_high: float | None
    no_interval: str
    """Why there is no interval of the mean return, as a sentence; empty if there is one."""
    actions: int | None
    """The agent's actions; null where they were played before unreadable and forbidden ones were counted."""
    unreadable: int | None
    """The actions that the environment could not understand."""
    forbidden: int | None
    """The actions that the rules do not allow."""
    tokens_in: int
    tokens_out: int
    """Of the finished episodes. What all requests used is in `Books`."""


class Books(Answer):
    """The sums over all requests of an evaluation, also those of episodes that were cut off, and of lost answers."""

    tokens_in: int
    tokens_out: int
    tokens_estimated: int
    """The part of both that no server has counted: lost answers, which count as the most that they can be."""
    tokens_reserved: int
    """The most tokens of the requests that are under way; not part of the others."""
    requests: int
    """Requests that were sent and are over; 0 if the job is older than its books."""
    cost: float | None
    """At the agents' prices, for those who may see them."""


class Results(Answer):
    """The results of an evaluation, together and by environment."""

    total: Score
    environments: list[Score]
    passes: dict[str, dict[str, float]]
    """With several tries at each seed, after the job has ended: pass@k by environment and k."""
    pass_intervals: dict[str, dict[str, Bounds]]
    """The 95 % intervals of these, over seeds; those without an interval are left out."""
    missing: Missing | None
    """The missing episodes if the results are partial, otherwise null."""
    data: list[Data]
    """The data of each environment that has some."""
    cost: float | None
    """The cost of all requests at the agent's prices."""
    books: Books | None = None
    """The sums over all requests."""
    books_by_agent: dict[str, Books] = {}
    """The same by agent: the `agent`, and its `opponent` if that sends requests."""
    skipped: list[str] = []
    """Environments of which a person skipped what was left: the results are partial."""
