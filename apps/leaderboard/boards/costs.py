"""What the rows of a board have used for each episode: tokens, money and turns."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from apps.accounts.models import Viewer
from apps.agents.models import Agent
from apps.jobs.books.rows import JobBooks
from apps.jobs.results.tallies import Tally
from apps.leaderboard.evidence import NOTHING, Evidence
from apps.leaderboard.models import Score


@dataclass(frozen=True, slots=True)
class Cost:
    """What a row has used per episode. None where nothing was counted."""

    tokens: float | None = None
    """Prompt and completion tokens. Answers that were lost, or that no server counted, have all that they could use."""
    turns: float | None = None
    """Of an episode that ended, so of none in which the agent gave no answer."""
    money: float | None = None
    """What its requests cost, in the currency of its prices; None if it has none, or if they are not public."""

    def of(self, what: str) -> float | None:
        """The amount of `tokens`, `money` or `turns`."""
        return {"tokens": self.tokens, "money": self.money, "turns": self.turns}[what]


def costs_of(
    scores: Sequence[Score], evidence: Mapping[str, Evidence], viewer: Viewer, env_id: str = ""
) -> dict[str, Cost]:
    """What each row has used, by job, on one environment or on all. Money is only known of whole jobs."""
    money = {} if env_id else _money_of(scores, viewer)
    books = JobBooks.objects.in_bulk({score.job_id for score in scores})
    return {
        score.job_id: _cost_of(
            tally := evidence.get(score.job_id, NOTHING).tally(env_id),
            _tokens_of(tally, books.get(score.job_id), is_whole=not env_id),
            money.get(score.job_id),
        )
        for score in scores
    }


def _cost_of(tally: Tally, tokens: int | None, money: float | None) -> Cost:
    if not tally.done:
        return Cost()
    return Cost(
        tokens / tally.done if tokens else None,
        tally.mean_turns or None,
        None if money is None else money / tally.done,
    )


def _tokens_of(tally: Tally, books: JobBooks | None, *, is_whole: bool) -> int | None:
    """The tokens of a job or of one of its environments; None if they are not known.

    The books have all requests. The sums of episodes have only what a server counted, so a server that counts few of
    its answers would seem to be a cheap one.
    """
    if books is None or not books.requests:
        return tally.tokens
    if is_whole:
        return books.tokens
    return None if books.estimated else tally.tokens


def _money_of(scores: Sequence[Score], viewer: Viewer) -> Mapping[str, float]:
    """What the requests of jobs cost. Prices are a part of the set-up, which only some may see (`may_see_set_up`)."""
    agents = {score.agent_id for score in scores if score.agent.kind == Agent.Kind.ENDPOINT}
    if not agents:
        return {}
    open_agents = set(Agent.objects.endpoints().visible_to(viewer).filter(pk__in=agents).values_list("pk", flat=True))
    jobs = [score.job_id for score in scores if score.agent_id in open_agents]
    return {
        job: float(money) for job, money in JobBooks.objects.filter(job__in=jobs).values_list("job", "money") if money
    }
