"""Studies as people start them and workers leave them, without any worker."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from apps.accounts.models import User
from apps.studies import claims, operations, recording
from apps.studies.claims import RunClaim
from apps.studies.models import Study
from gem.studies.digests import digest, measured_digests
from gem.studies.results import RunResult
from gem.studies.study import Study as Plan

PLAN: Mapping[str, Any] = {
    "name": "small",
    "title": "A small study",
    "question": "Which of two solves more?",
    "seeds": 3,
    "episodes": 100,
    "environments": {"fifteen": {"recipe": "fifteen-easy", "updates": 2}, "gcd": {"recipe": "gcd", "updates": 2}},
    "variants": {
        "rebn": {"title": "ReBN", "settings": {"algorithm": "rebn"}},
        "ppo": {"title": "PPO", "settings": {"algorithm": "ppo"}},
    },
}


def plan(**changes: Any) -> Plan:
    return Plan.model_validate({**PLAN, **changes})


def start(owner: User, **changes: Any) -> Study:
    return operations.start(owner, plan(**changes))


def claimed(study: Study) -> RunClaim:
    """What a worker holds that makes the next run of a study."""
    claim = claims.claim()
    assert claim is not None
    assert claim.study_id == study.pk
    return claim


def result(claim: RunClaim, solved: int, *, end: float = 0.5) -> RunResult:
    return RunResult(
        digest=digest(claim.plan, claim.run),
        tuned=claim.run.tuned,
        episodes=claim.plan.episodes,
        solved=solved,
        mean_return=solved / claim.plan.episodes,
        turns=4.0,
        turns_when_solved=3.5,
        cpu_seconds=36.0,
        curve=(0.1, end),
        elsewhere=dict.fromkeys(claim.plan.measured_in, solved),
        measured=measured_digests(claim.plan),
    )


def make_all(study: Study, solved: Mapping[str, int], *, best: float | None = None) -> int:
    """Make every run of a study, in which each variant solves so many episodes; how many there were.

    Args:
        best: the value of the tuned setting that solves most.
    """
    number = 0
    while (claim := claims.claim()) is not None:
        end = 0.9 if claim.run.tuned == best else 0.1
        recording.record_result(
            claim, result(claim, solved.get(claim.run.variant, 0) + claim.run.seed % 7, end=end), None
        )
        number += 1
    return number
