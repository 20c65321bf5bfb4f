"""Printing the scores of an evaluation."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import gem
from gem.cli.output.tables import table
from gem.validation.messages import count

if TYPE_CHECKING:
    from gem.agents.endpoint import EndpointSpec
    from gem.agents.endpoint.ledger import Books
    from gem.benchmarks import Benchmark
    from gem.evaluation.scores import Estimate, Outcome, Summary
    from gem.evaluation.spec import EvaluationSpec
    from gem.records import EpisodeRecord


@dataclass(frozen=True, slots=True)
class Players:
    """The names of the agent and its opponent, as the file and the table have them."""

    agent: str
    opponent: str | None = None
    endpoint: EndpointSpec | None = None
    """The settings of the agent, if it is an endpoint agent."""

    @property
    def set_up(self) -> dict[str, Any] | None:
        """The settings of an endpoint agent without its URL; None for other agents."""
        return None if self.endpoint is None else self.endpoint.model_dump(mode="json", exclude={"url"})

    def opponent_in(self, record: EpisodeRecord) -> str:
        """Return the agent in the other seats of an episode; empty if there are none."""
        return self.opponent or "" if gem.spec(record.identity.env_id).seats > 1 else ""


def print_scores(
    spec: EvaluationSpec,
    players: Players,
    outcomes: Mapping[str, Sequence[Outcome]],
    reasons: Mapping[str, str],
    books: Books | None = None,
) -> None:
    """Print a line for each environment, the score of the benchmark, and the episodes that do not count.

    Args:
        outcomes: the results of the episodes, by environment.
        reasons: why the first episode failed, by what failed ("environment" or "agent").
        books: what all requests used, also those of episodes that were cut off; None if the agent sends none.
    """
    from gem import benchmarks  # noqa: PLC0415
    from gem.evaluation.scores import pool_estimates, summarize  # noqa: PLC0415

    benchmark = benchmarks.load(spec.benchmark) if spec.benchmark else None
    summaries = {env_id: summarize(env_outcomes) for env_id, env_outcomes in outcomes.items()}
    ks = sorted({k for summary in summaries.values() for k in summary.passes if k > 1})
    headings = ["environment", "episodes", "mean return", "solved", "mean turns", "unreadable", "forbidden"]
    headings += [f"pass@{k}" for k in ks] + (["tokens in", "out"] if players.endpoint else [])
    rows, scores = [], []
    for env_id, summary in summaries.items():
        passes = [_share(summary.passes[k]) if k in summary.passes else "" for k in ks]
        tokens = [f"{summary.tokens_in:,}", f"{summary.tokens_out:,}"] if players.endpoint else []
        rows.append([env_id, *_columns(summary), *passes, *tokens])
        if benchmark is not None:
            score = score_of(benchmark, env_id, summary)
            rows[-1].append("" if score is None else _interval(score))
            scores += [] if score is None else [score]
    played = sum(map(len, outcomes.values()))
    how = "equally often" if played % 2 == 0 else "in turn"
    against = f" against {spec.opponent}, from each seat {how}" if spec.opponent else ""
    tools = f" with {spec.tools_in_words}" if spec.tools else ""
    print(f"{players.agent}{tools}{against}, {count(played, 'episode')}")
    table(headings + (["score"] if benchmark else []), rows)
    if benchmark is not None and scores and len(scores) == len(outcomes):
        score = pool_estimates(scores)
        print(f"Score on {benchmark.name} (0: random, 1: {benchmark.one}): {_interval(score)}")
        if spec.tools:
            print("The agent used tools: do not compare this score with scores without tools.")
    print("In brackets: 95 % intervals over seeds.")
    _print_reasons(summaries)
    _print_excluded(summaries, reasons)
    if books is not None:
        _print_books(books, has_prices=players.endpoint is not None and players.endpoint.prices is not None)


def _print_reasons(summaries: Mapping[str, Summary]) -> None:
    """Print why some results have no interval, each reason once."""
    estimates = [one for summary in summaries.values() for one in (summary.mean_return, summary.success)]
    for reason in dict.fromkeys(one.reason for one in estimates if one is not None and one.reason):
        print(reason)


def _print_books(books: Books, *, has_prices: bool) -> None:
    booked = books.booked
    print(f"Booked: {booked.tokens_in:,} tokens in, {booked.tokens_out:,} out.")
    if books.estimated.tokens:
        print(
            f"Of these, {books.estimated.tokens:,} tokens are estimated, the most that they can be: their answers were "
            "lost or came without a count."
        )
    if has_prices:
        print(f"Cost at the prices of the specification: {booked.money:,.2f}")


def _print_excluded(summaries: Mapping[str, Summary], reasons: Mapping[str, str]) -> None:
    failed = sum(summary.failed for summary in summaries.values())
    unanswered = sum(summary.unanswered for summary in summaries.values())
    if failed:
        reason = _first_reason(reasons, "environment")
        print(f"In {count(failed, 'episode')} the environment failed; they do not count.{reason}")
    if unanswered:
        print(
            f"In {count(unanswered, 'episode')} the agent gave no answer; they do not count. "
            f"The same command with --out plays them again.{_first_reason(reasons, 'agent')}"
        )


def _first_reason(reasons: Mapping[str, str], failed_by: str) -> str:
    return f"\nThe first: {reasons[failed_by]}" if reasons.get(failed_by) else ""


def _columns(summary: Summary) -> list[str]:
    if summary.mean_return is None or summary.success is None or summary.mean_turns is None:
        return ["0", "", "", "", "", ""]
    solved = _share(summary.success)
    shares = (summary.faults.unreadable_share, summary.faults.forbidden_share)
    return [
        f"{summary.n:,}",
        _interval(summary.mean_return),
        solved,
        f"{summary.mean_turns:.1f}",
        *("" if share is None else f"{share:.1%}" for share in shares),
    ]


def score_of(benchmark: Benchmark, env_id: str, summary: Summary) -> Estimate | None:
    """Return the mean return on the scale of the benchmark, as on the leaderboard."""
    from gem.evaluation.scores import SeedSums, estimate_return, scaled  # noqa: PLC0415

    if not summary.returns_by_seed:
        return None
    estimate = estimate_return(map(SeedSums.of, summary.returns_by_seed))
    return scaled(estimate, benchmark.entry(env_id).score)


def _interval(value: Estimate) -> str:
    ends = "" if value.low is None or value.high is None else f" [{value.low:.3f}, {value.high:.3f}]"
    return f"{value.mean:.3f}{ends}"


def _share(value: Estimate) -> str:
    ends = "" if value.low is None or value.high is None else f" [{value.low:.1%}, {value.high:.1%}]"
    return f"{value.mean:.1%}{ends}"
