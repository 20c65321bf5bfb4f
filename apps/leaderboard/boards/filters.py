"""What the address of a board chooses: its season, its environment, and which of its rows are shown, in which order.

A filter hides rows. It changes no rank, because a rank is one among all rows that rank together.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any
from urllib.parse import urlencode

from django.http import Http404, QueryDict

from apps.agents.models import Agent
from apps.leaderboard.board import Row
from apps.leaderboard.proofs import reading as proofs
from apps.seasons.models import Season
from gem import benchmarks
from gem.benchmarks import Benchmark
from gem.errors import UsageError

DEFAULT_BENCHMARK = benchmarks.FIRST[0]
ALL = "all"
"""In the place of the number of a season: all of them, side by side."""
MILLION = 10**6
SIZES = {"10M": 10 * MILLION, "1B": 1000 * MILLION, "10B": 10_000 * MILLION}
"""The most parameters by the names of the filter."""
KINDS = {"model": "Models", "program": "Programs", "person": "People"}
OPENNESS = {"open": "Open weights", "closed": "Other models"}
TIERS = {"reproduced": "Reproduced", "hosted": "Hosted", "verified": "Verified", "reported": "Reported"}
SORTS: dict[str, Callable[[Row], Any]] = {
    "score": lambda row: -row.score.mean,
    "return": lambda row: -row.score.mean_return,
    "solved": lambda row: -row.score.success_rate,
    "n": lambda row: -row.score.n,
    "agent": lambda row: row.score.agent.name.lower(),
    "date": lambda row: -row.score.created.timestamp(),
}
AMOUNTS = {"tokens": "Tokens", "money": "Cost", "turns": "Turns"}
_SIZE_IN_NAME = re.compile(r"(?<![a-z0-9.])(\d+(?:\.\d+)?)\s?([bm])(?![a-z0-9])", re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class Choice:
    """What an address chooses. Empty values choose everything."""

    benchmark: Benchmark
    season: str = ""
    """A number, `all`, or empty for the one under way."""
    env_id: str = ""
    tools: str = ""
    """`with`, or empty."""
    tier: str = ""
    kind: str = ""
    size: str = ""
    open: str = ""
    sort: str = "score"
    against: str = "tokens"

    @property
    def with_tools(self) -> bool:
        """Whether it is the board of the rows with tools."""
        return self.tools == "with"

    @property
    def filters(self) -> bool:
        """Whether rows may be left out."""
        return bool(self.tier or self.kind or self.size or self.open)

    @property
    def values(self) -> dict[str, str]:
        """The parameters of its address, without what is chosen anyway."""
        found = {
            "benchmark": self.benchmark.name,
            **{name: getattr(self, name) for name in ("season", "env_id", "tools", "tier", "kind", "size", "open")},
            "sort": "" if self.sort == "score" else self.sort,
            "against": "" if self.against == "tokens" else self.against,
        }
        return {name: value for name, value in found.items() if value}

    def address(self, **changed: str) -> str:
        """The query of the address with other values."""
        return "?" + urlencode({name: value for name, value in {**self.values, **changed}.items() if value})

    def season_of(self, seasons: Sequence[Season]) -> Season | None:
        """The chosen one of all seasons, the newest first; None where there are none, or all are chosen.

        Raises:
            Http404: there is no such season.
        """
        if not self.season.isdecimal():
            return seasons[0] if seasons else None
        found = next((season for season in seasons if str(season.number) == self.season), None)
        if found is None:
            raise Http404(f"The benchmark {self.benchmark.name} has no season {self.season}.")
        return found

    def shown(self, rows: Sequence[Row]) -> list[Row]:
        """The rows that the filters leave, in the chosen order."""
        return sorted(filter(self._is_shown, rows), key=SORTS[self.sort])

    def _is_shown(self, row: Row) -> bool:
        agent = row.score.agent
        if self.tier and proofs.standing_of(row.score.job).tier != self.tier:
            return False
        if self.kind and agent.nature != self.kind:
            return False
        if self.open and (agent.nature != "model" or has_open_weights(agent) != (self.open == "open")):
            return False
        if not self.size:
            return True
        parameters = parameters_of(row)
        return parameters is not None and parameters <= SIZES[self.size]


def read(query: QueryDict) -> Choice:
    """What an address chooses. Values that there are not choose everything.

    Raises:
        Http404: there is no such benchmark, or it does not have the environment.
    """
    try:
        benchmark = benchmarks.load(query.get("benchmark", DEFAULT_BENCHMARK))
    except UsageError as error:
        raise Http404(str(error)) from error
    env_id, season = query.get("env_id", ""), query.get("season", "")
    if env_id and env_id not in benchmark.env_ids:
        raise Http404(f"{env_id} is not in the benchmark {benchmark.name}.")
    is_season = season == ALL or (season.isascii() and season.isdecimal() and len(season) < 7)
    return Choice(
        benchmark,
        season=season if is_season else "",
        env_id=env_id,
        tools="with" if query.get("tools") == "with" else "",
        tier=_one_of(TIERS, query.get("tier", "")),
        kind=_one_of(KINDS, query.get("kind", "")),
        size=_one_of(SIZES, query.get("size", "")),
        open=_one_of(OPENNESS, query.get("open", "")),
        sort=_one_of(SORTS, query.get("sort", "")) or "score",
        against=_one_of(AMOUNTS, query.get("against", "")) or "tokens",
    )


def _one_of(known: Any, value: str) -> str:
    return value if value in known else ""


def has_open_weights(agent: Agent) -> bool:
    """Whether everybody can download the weights of a model: those that this site holds, of a public agent."""
    return agent.kind == Agent.Kind.CHECKPOINT and agent.visibility == "public" and hasattr(agent, "weights")


def parameters_of(row: Row) -> int | None:
    """The number of parameters of a model: counted where this site holds the weights, else as its name says it.

    None if it is not known.
    """
    agent = row.score.agent
    if agent.kind == Agent.Kind.CHECKPOINT:
        counted = agent.weights.card.get("parameters") if hasattr(agent, "weights") else None
        return counted if isinstance(counted, int) else None
    model = str((row.score.job.set_up or {}).get("model", "")) if agent.kind == Agent.Kind.ENDPOINT else ""
    found = _SIZE_IN_NAME.search(model.replace("_", "-").replace("-", " ").replace("/", " "))
    if found is None:
        return None
    return round(float(found[1]) * (MILLION if found[2].lower() == "m" else 1000 * MILLION))
