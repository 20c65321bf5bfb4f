"""Forecasts of turns, tokens and seconds, environment by environment, with what each rests on.

Where an agent has played an environment, its own episodes are the evidence, and the interval says how far the total may
be from the forecast. Where it has not, other agents of its kind give the order of magnitude, or else the turn limit of
the environment and the agent's own turns elsewhere. What even these do not say is unknown, and no number is made up.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from enum import StrEnum

from apps.agents.models import Agent
from apps.catalog.entries import entry_of
from apps.jobs.estimates.paces import Pace, paces, paces_in_all_jobs, paces_of_others
from apps.jobs.estimates.ranges import Range
from apps.jobs.models import JobQuerySet
from gem.errors import UsageError
from gem.evaluation.spec import EvaluationPart, EvaluationSpec

MARGIN = 2.0
"""An agent may need so many times more, or less, than others of its kind or than itself elsewhere."""


class Source(StrEnum):
    """What a forecast rests on."""

    OWN = "own"
    """Episodes of this agent on this environment."""
    OTHERS = "others"
    """Episodes of other agents of its kind on this environment."""
    LIMIT = "limit"
    """The turn limit of the environment, and this agent's turns elsewhere."""
    UNKNOWN = "unknown"
    """Nothing."""


@dataclass(frozen=True, slots=True)
class EnvForecast:
    """What some episodes of one environment will take; None where nothing is known."""

    env_id: str
    episodes: int
    source: Source
    evidence: int
    """The earlier episodes that it rests on."""
    turns: Range | None
    tokens_in: Range | None
    tokens_out: Range | None
    """Tokens are None also where the agent's server has not counted any."""
    seconds: Range | None
    """Of one worker."""


@dataclass(frozen=True, slots=True)
class Forecast:
    """What some episodes of several environments will take. Totals leave out what is unknown: see `unknown`."""

    parts: list[EnvForecast]
    turns: Range
    tokens_in: Range
    tokens_out: Range
    seconds: Range
    """Of one worker."""
    prices: Mapping[str, float] | None
    """Those of a million input and output tokens of the agent; None if it has none."""
    own: Mapping[str, Pace]
    """The agent's own paces by environment, of those that it has played."""

    @property
    def tokens(self) -> Range:
        """Input and output tokens."""
        return self.tokens_in.plus(self.tokens_out)

    @property
    def cost(self) -> Range | None:
        """At the prices of the agent; None if it has none."""
        return None if self.prices is None else self.at_prices(self.prices)

    def at_prices(self, prices: Mapping[str, float]) -> Range:
        """The cost of the tokens, at the prices of a million."""
        cost_in = self.tokens_in.times(prices["tokens_in"] / 1e6)
        return cost_in.plus(self.tokens_out.times(prices["tokens_out"] / 1e6))

    @property
    def evidence(self) -> int:
        """The episodes of this agent on these environments."""
        return sum(part.evidence for part in self.parts if part.source is Source.OWN)

    def env_ids(self, *sources: Source) -> list[str]:
        """The environments whose forecast rests on one of these."""
        return [part.env_id for part in self.parts if part.source in sources]

    @property
    def unplayed(self) -> list[str]:
        """The environments that this agent has not played."""
        return self.env_ids(Source.OTHERS, Source.LIMIT, Source.UNKNOWN)

    @property
    def borrowed(self) -> list[str]:
        """Those of them that other agents of its kind have played."""
        return self.env_ids(Source.OTHERS)

    @property
    def limited(self) -> list[str]:
        """Those of them of which only the turn limit is known."""
        return self.env_ids(Source.LIMIT)

    @property
    def unknown(self) -> list[str]:
        """The environments of which nothing is known. They are in no total."""
        return self.env_ids(Source.UNKNOWN)

    @property
    def uncounted(self) -> list[str]:
        """The environments that were played without a count of tokens. Their tokens are in no total."""
        return [part.env_id for part in self.parts if part.source is not Source.UNKNOWN and part.tokens_in is None]

    @property
    def is_empty(self) -> bool:
        """Whether nothing is known of any environment."""
        return bool(self.parts) and len(self.unknown) == len(self.parts)


def forecast(agent: Agent, spec: EvaluationSpec, parts: Iterable[EvaluationPart], known: JobQuerySet) -> Forecast:
    """Forecast what these episodes will take, from the jobs that the caller may know of."""
    episodes: dict[str, int] = {}
    for part in parts:
        episodes[part.env_id] = episodes.get(part.env_id, 0) + part.episodes
    recent = paces(agent, None, spec.tools, known, spec.num_envs)
    own = {env_id: recent[env_id] for env_id in spec.env_ids if env_id in recent}
    if older := [env_id for env_id in spec.env_ids if env_id not in own]:
        own |= paces_in_all_jobs(agent, older, spec.tools, known, spec.num_envs)
    missing = [env_id for env_id in episodes if env_id not in own]
    others = paces_of_others(agent, missing, spec.tools, known, spec.num_envs) if missing else {}
    elsewhere = list(recent.values())
    found = []
    for env_id, count in episodes.items():
        limit = turn_limit(env_id, spec)
        if env_id in own:
            found.append(_from_own(env_id, count, own[env_id], limit))
        elif others.get(env_id):
            found.append(_from_others(env_id, count, others[env_id], limit))
        elif limit and elsewhere:
            found.append(_from_limit(env_id, count, elsewhere, limit))
        else:
            found.append(_unknown(env_id, count, limit))
    if agent.kind == Agent.Kind.ENDPOINT:
        found = [_without_count(part) for part in found]
    return _total(found, (agent.set_up or {}).get("prices"), own)


def turn_limit(env_id: str, spec: EvaluationSpec) -> int:
    """The most turns that an episode can have, with those in which tools are used; 0 if there is no limit."""
    try:
        own_limit = entry_of(env_id).turn_limit
    except UsageError:
        own_limit = 0
    limits = [limit for limit in (own_limit, spec.max_turns) if limit]
    return min(limits) + (spec.max_tool_uses if spec.tools else 0) if limits else 0


def _from_own(env_id: str, count: int, pace: Pace, limit: int) -> EnvForecast:
    """The total of `count` further episodes: its error is that of the mean so far and that of the draw to come."""

    def of(name: str) -> Range:
        mean = float(getattr(pace, name))
        deviation = pace.spread(name) * math.sqrt(count + count * count / pace.episodes)
        return Range.around(count * mean, deviation)

    turns = of("turns")
    turns = turns.at_most(count * limit) if limit else turns
    return EnvForecast(
        env_id, count, Source.OWN, pace.episodes, turns, of("tokens_in"), of("tokens_out"), of("seconds")
    )


def _from_others(env_id: str, count: int, others: Sequence[Pace], limit: int) -> EnvForecast:
    def of(name: str) -> Range:
        return _around(float(getattr(pace, name)) for pace in others).times(count)

    turns = of("turns")
    turns = turns.at_most(count * limit) if limit else turns
    evidence = sum(pace.episodes for pace in others)
    return EnvForecast(env_id, count, Source.OTHERS, evidence, turns, of("tokens_in"), of("tokens_out"), of("seconds"))


def _from_limit(env_id: str, count: int, elsewhere: Sequence[Pace], limit: int) -> EnvForecast:
    """From one turn to the limit, each as long as this agent's turns in other environments."""
    turns = Range.between(1.0, float(limit))

    def of(name: str) -> Range:
        each = _around(float(getattr(pace, name)) / max(pace.turns, 1.0) for pace in elsewhere)
        return turns.by(each).times(count)

    return EnvForecast(
        env_id, count, Source.LIMIT, 0, turns.times(count), of("tokens_in"), of("tokens_out"), of("seconds")
    )


def _unknown(env_id: str, count: int, limit: int) -> EnvForecast:
    turns = Range.between(1.0, float(limit)).times(count) if limit else None
    return EnvForecast(env_id, count, Source.UNKNOWN, 0, turns, None, None, None)


def _without_count(part: EnvForecast) -> EnvForecast:
    """Of a model behind a server: no tokens at all mean that the server does not count them."""
    amounts = [amount for amount in (part.tokens_in, part.tokens_out) if amount is not None]
    return part if any(amount.high for amount in amounts) else replace(part, tokens_in=None, tokens_out=None)


def _around(values: Iterable[float]) -> Range:
    """The smallest to the largest of these, with a margin; the geometric mean of both is expected."""
    listed = [value for value in values if value > 0] or [0.0]  # some servers do not report tokens
    return Range.between(min(listed) / MARGIN, max(listed) * MARGIN)


def _total(parts: list[EnvForecast], prices: Mapping[str, float] | None, own: Mapping[str, Pace]) -> Forecast:
    return Forecast(
        parts=parts,
        turns=_sum([(part.turns, part.source) for part in parts]),
        tokens_in=_sum([(part.tokens_in, part.source) for part in parts]),
        tokens_out=_sum([(part.tokens_out, part.source) for part in parts]),
        seconds=_sum([(part.seconds, part.source) for part in parts]),
        prices=prices or None,
        own=own,
    )


def _sum(terms: Sequence[tuple[Range | None, Source]]) -> Range:
    """The sum of ranges. The errors of measured terms are independent; those of the others may have one cause."""
    total, below, above, expected = Range.zero(), 0.0, 0.0, 0.0
    for term, source in terms:
        if term is None:
            continue
        if source is Source.OWN:
            expected += term.expected
            below += (term.expected - term.low) ** 2
            above += (term.high - term.expected) ** 2
        else:
            total = total.plus(term)
    measured = Range(max(0.0, expected - math.sqrt(below)), expected, expected + math.sqrt(above))
    return total.plus(measured)
