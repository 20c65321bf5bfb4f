"""The scores of an evaluation as plain data, for `gemweb eval --json`."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import gem
from gem.cli.output.report import Players, score_of

if TYPE_CHECKING:
    from gem.agents.endpoint.ledger import Books
    from gem.benchmarks import Benchmark
    from gem.evaluation.scores import Estimate, Outcome, Summary
    from gem.evaluation.spec import EvaluationSpec


def plain_scores(
    spec: EvaluationSpec,
    players: Players,
    outcomes: Mapping[str, Sequence[Outcome]],
    reasons: Mapping[str, str],
    books: Books | None = None,
) -> dict[str, Any]:
    """Return the scores that `report.print_scores` prints, with the same arguments, as plain data.

    A mean is an object with `mean`, `low` and `high` (its 95 % interval over seeds, or null), `seeds`, and the `reason`
    why there is no interval; it is null where no episode counts.
    """
    from gem import benchmarks  # noqa: PLC0415
    from gem.evaluation.scores import pool_estimates, summarize  # noqa: PLC0415

    benchmark = benchmarks.load(spec.benchmark) if spec.benchmark else None
    summaries = {env_id: summarize(env_outcomes) for env_id, env_outcomes in outcomes.items()}
    scores = [score_of(benchmark, env_id, one) if benchmark else None for env_id, one in summaries.items()]
    known = [score for score in scores if score is not None]
    return {
        "agent": players.agent,
        "opponent": players.opponent,
        "tools": spec.tools,
        "benchmark": spec.benchmark or None,
        "score": _estimate(pool_estimates(known)) if known and len(known) == len(summaries) else None,
        "environments": [_environment(env_id, summary, benchmark) for env_id, summary in summaries.items()],
        "first_failures": {side: reason for side, reason in reasons.items() if side and reason},
        "booked": None if books is None else _booked(books),
    }


def _environment(env_id: str, summary: Summary, benchmark: Benchmark | None) -> dict[str, Any]:
    return {
        "env_id": env_id,
        "version": gem.spec(env_id).version,
        "episodes": summary.n,
        "failed": summary.failed,
        "unanswered": summary.unanswered,
        "mean_return": _estimate(summary.mean_return),
        "success": _estimate(summary.success),
        "mean_turns": summary.mean_turns,
        "unreadable": summary.faults.unreadable_share,
        "forbidden": summary.faults.forbidden_share,
        "pass_at": {str(k): _estimate(value) for k, value in summary.passes.items()},
        "tokens_in": summary.tokens_in,
        "tokens_out": summary.tokens_out,
        "score": None if benchmark is None else _estimate(score_of(benchmark, env_id, summary)),
    }


def _estimate(value: Estimate | None) -> dict[str, Any] | None:
    return None if value is None else dataclasses.asdict(value)


def _booked(books: Books) -> dict[str, Any]:
    booked = books.booked
    return {
        "requests": books.requests,
        "tokens_in": booked.tokens_in,
        "tokens_out": booked.tokens_out,
        "estimated_tokens": books.estimated.tokens,
        "money": float(booked.money),
    }
