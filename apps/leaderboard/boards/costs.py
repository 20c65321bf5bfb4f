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
    """Prompt and completion tokens."""
    turns: float | None = None
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
    return {
        score.job_id: _cost_of(evidence.get(score.job_id, NOTHING).tally(env_id), money.get(score.job_id))
        for score in scores
    }


def _cost_of(tally: Tally, money: float | None) -> Cost:
    if not tally.done:
        return Cost()
    return Cost(
        tally.tokens / tally.done if tally.tokens else None,
        tally.turns / tally.done if tally.turns else None,
        None if money is None else money / tally.done,
    )


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
