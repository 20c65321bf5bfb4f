"""The scores of an evaluation, as the command line prints them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import gem
from gem.cli.words import table

if TYPE_CHECKING:
    from gem.agents.endpoint import EndpointSpec
    from gem.benchmarks import Benchmark
    from gem.evaluation.scores import Interval, Outcome, Summary
    from gem.evaluation.spec import EvaluationSpec
    from gem.records import EpisodeRecord


@dataclass(frozen=True, slots=True)
class Who:
    """Who plays, as the file and the table name them."""

    agent: str
    opponent: str | None = None
    endpoint: EndpointSpec | None = None

    @property
    def set_up(self) -> dict[str, Any] | None:
        """How an endpoint agent was set up, without its address; None for other agents."""
        return None if self.endpoint is None else self.endpoint.model_dump(mode="json", exclude={"url"})

    def beside(self, record: EpisodeRecord) -> str:
        """Who sat in the other seats of this episode; nobody if there are none."""
        return self.opponent or "" if gem.spec(record.identity.env_id).seats > 1 else ""


def print_scores(
    spec: EvaluationSpec, who: Who, outcomes: Mapping[str, Sequence[Outcome]], reasons: Mapping[str, str]
) -> None:
    """A line for each environment, the benchmark's score, and what did not count.

    Args:
        reasons: why the first episode failed, by who failed it.
    """
    from gem import benchmarks  # noqa: PLC0415
    from gem.evaluation.scores import pool, summarize  # noqa: PLC0415

    benchmark = benchmarks.load(spec.benchmark) if spec.benchmark else None
    summaries = {env_id: summarize(those) for env_id, those in outcomes.items()}
    ks = sorted({k for summary in summaries.values() for k in summary.passes if k > 1})
    headings = ["environment", "episodes", "mean return", "solved", "mean turns"]
    headings += [f"pass@{k}" for k in ks] + (["tokens in", "out"] if who.endpoint else [])
    rows, scores = [], []
    for env_id, summary in summaries.items():
        passes = [_share(summary.passes[k]) if k in summary.passes else "" for k in ks]
        tokens = [f"{summary.tokens_in:,}", f"{summary.tokens_out:,}"] if who.endpoint else []
        rows.append([env_id, *_columns(summary), *passes, *tokens])
        if benchmark is not None:
            score = _score(benchmark, env_id, summary)
            rows[-1].append("" if score is None else _interval(score))
            scores += [] if score is None else [score]
    against = f" against {spec.opponent}, from each seat alike" if spec.opponent else ""
    tools = f" with {spec.tools_in_words}" if spec.tools else ""
    print(f"{who.agent}{tools}{against}, {sum(map(len, outcomes.values())):,} episodes")
    table(headings + (["score"] if benchmark else []), rows)
    if benchmark is not None and len(scores) == len(outcomes):
        print(f"Score on {benchmark.name} (0: random, 1: best possible): {_interval(pool(scores))}")
        if spec.tools:
            print("With tools: it is not to be compared with scores without them.")
    print("In brackets: 95 % intervals.")
    _print_what_else(who, summaries, reasons)


def _print_what_else(who: Who, summaries: Mapping[str, Summary], reasons: Mapping[str, str]) -> None:
    failed = sum(summary.failed for summary in summaries.values())
    unanswered = sum(summary.unanswered for summary in summaries.values())
    if failed:
        print(f"In {failed:,} episodes the environment broke; they do not count.{_first(reasons, 'environment')}")
    if unanswered:
        print(
            f"In {unanswered:,} episodes the agent gave no answer; they do not count. "
            f"The same command with --out plays them again.{_first(reasons, 'agent')}"
        )
    if who.endpoint is not None and who.endpoint.prices is not None:
        prices = who.endpoint.prices
        tokens_in, tokens_out = (sum(getattr(s, name) for s in summaries.values()) for name in TOKENS)
        cost = (tokens_in * prices.tokens_in + tokens_out * prices.tokens_out) / 1e6
        print(f"Cost, at the prices of the specification: {cost:,.2f}")


def _first(reasons: Mapping[str, str], side: str) -> str:
    return f"\nThe first: {reasons[side]}" if reasons.get(side) else ""


TOKENS = ("tokens_in", "tokens_out")


def _columns(summary: Summary) -> list[str]:
    if summary.mean_return is None or summary.success is None or summary.mean_turns is None:
        return ["0", "", "", ""]
    solved = _share(summary.success)
    return [f"{summary.n:,}", _interval(summary.mean_return), solved, f"{summary.mean_turns:.1f}"]


def _score(benchmark: Benchmark, env_id: str, summary: Summary) -> Interval | None:
    from gem.evaluation.scores import interval  # noqa: PLC0415

    entry = benchmark.entry(env_id)
    return interval([entry.normalize(value) for value in summary.returns]) if summary.n else None


def _interval(value: Interval) -> str:
    return f"{value.mean:.3f} [{value.low:.3f}, {value.high:.3f}]"


def _share(value: Interval) -> str:
    return f"{value.mean:.1%} [{value.low:.1%}, {value.high:.1%}]"
