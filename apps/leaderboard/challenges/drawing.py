"""Drawing challenges: seeds of a season for one person, who plays them elsewhere."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import timedelta

from django.conf import settings
from django.db import transaction
from django.utils import timezone
from pydantic import ValidationError as InvalidSpec

from apps.accounts import quotas
from apps.accounts.models import User, default_visibility
from apps.accounts.quotas import Quota
from apps.admission.models import name_of
from apps.benchmarks.reading import as_closed_as
from apps.episodes.errors import Refusal
from apps.leaderboard.models import Challenge
from apps.seasons.models import Season
from apps.seasons.operations import enter
from gem import benchmarks
from gem.benchmarks import Benchmark
from gem.evaluation.data import not_as_ranked
from gem.evaluation.spec import EvaluationSpec, read_stored
from gem.tools.tool_catalog import Format
from gem.verification.challenges import Challenge as Document
from gem.verification.challenges import ChallengedEnvironment

AGENT = "outside"
"""Stands in specifications of challenges where others have the short name of an agent."""
CHALLENGES = "open-challenges"


class ChallengeRefused(Refusal):
    """A challenge that is not drawn, or episodes that are not taken. The message is a sentence for people."""

    status = 422

    def __init__(self, sentence: str, *, status: int = 422) -> None:
        super().__init__(sentence)
        self.status = status


def _open_challenges_of(user: User) -> int:
    return Challenge.objects.open().filter(owner=user).count()


QUOTA = Quota(
    CHALLENGES,
    "Challenges under way",
    "CHALLENGES_PER_USER",
    _open_challenges_of,
    at_limit="You can draw another one when one of them is verified, or its deadline has passed.",
    refusal="You have {used} challenges under way, the most that one person may have. Send the episodes of one of "
    "them, or wait until the deadline of one has passed. Nothing was drawn.",
)


def draw(
    owner: User,
    benchmark: Benchmark,
    *,
    agent: str,
    kind: str,
    tools: Sequence[str] = (),
    max_tool_uses: int | None = None,
    tool_format: Format | None = None,
    visibility: str = "",
) -> Challenge:
    """Draw the seeds of a challenge. It is counted as a try from then on, whatever becomes of it.

    Args:
        agent: the name that the row will have, which `validate_free_name` accepts.
        kind: one of `Agent.Nature`: what the agent is, as its owner says.

    Raises:
        ChallengeRefused: with the reason. Nothing is drawn then.
    """
    chosen = {"tools": tuple(tools), "max_tool_uses": max_tool_uses, "tool_format": tool_format}
    spec = _spec(benchmark, {name: value for name, value in chosen.items() if value})
    with transaction.atomic():
        User.objects.select_for_update(no_key=True).get(pk=owner.pk)  # so that concurrent calls count each other
        if problem := quotas.refusal(owner, CHALLENGES):
            raise ChallengeRefused(problem, status=429)
        season, submission = enter(benchmark, shares_seeds=False)
        return Challenge.objects.create(
            owner=owner,
            person=name_of(owner.pk),
            season=season,
            submission=submission,
            agent_name=agent,
            declared=kind,
            spec=spec.model_dump(mode="json"),
            visibility=as_closed_as(benchmark.name, visibility or default_visibility(owner)),
            deadline=timezone.now() + timedelta(days=settings.CHALLENGE_DAYS),
        )


def _spec(benchmark: Benchmark, tools: dict[str, object]) -> EvaluationSpec:
    """The specification of the challenge.

    Raises:
        ChallengeRefused: if nobody can play this benchmark elsewhere, or not with these tools.
    """
    if not any(entry.hidden_seeds for entry in benchmark.entries):
        raise ChallengeRefused(
            f"The benchmark {benchmark.name} has no hidden seeds, so none can be drawn. Report the result instead."
        )
    if reasons := not_as_ranked(benchmark):
        raise ChallengeRefused(f"{reasons[0]} So this site could not check the episodes; nothing was drawn.")
    fields = {"agent": AGENT, "benchmark": benchmark.name, "hidden_seeds": True, **tools}
    try:
        spec = EvaluationSpec.model_validate(fields)
    except InvalidSpec as error:
        first = error.errors()[0]
        raise ChallengeRefused(str(first["msg"])) from error
    if spec.multi_seat_env_ids:
        raise ChallengeRefused(
            f"{spec.multi_seat_env_ids[0]} has several seats, and who played the others cannot be checked elsewhere."
        )
    if any(tool.startswith("mcp:") for tool in spec.tools):
        raise ChallengeRefused(
            "Answers of MCP servers do not repeat, so nobody could check the episodes. Report the result instead."
        )
    if spec.episodes_total > settings.EPISODES_PER_JOB:
        raise ChallengeRefused(f"The benchmark {benchmark.name} has more episodes than this site takes at once.")
    return spec


def document_of(challenge: Challenge) -> Document:
    """What the owner plays. Only they may read it: it has the seeds."""
    spec = read_stored(challenge.spec)
    return Document(
        site=settings.SITE_URL,
        id=challenge.pk,
        benchmark=challenge.season.benchmark,
        version=challenge.season.version,
        agent=challenge.agent_name,
        deadline=challenge.deadline,
        tools=spec.tools,
        max_tool_uses=spec.max_tool_uses,
        tool_format=spec.tool_format,
        wrappers=tuple(spec.all_wrappers),
        environments=_environments(challenge.season, challenge.submission),
    )


def _environments(season: Season, submission: int) -> tuple[ChallengedEnvironment, ...]:
    """The environments with their seeds: hidden ones in the order of play, and all of those that hide nothing."""
    benchmark = benchmark_of(season)
    return tuple(
        ChallengedEnvironment(
            env_id=entry.env_id,
            version=entry.env_version,
            max_turns=entry.max_turns,
            data_hash=entry.data.hash if entry.data else "",
            seeds=tuple(season.seeds(entry.env_id, submission) if entry.env_id in season.hidden else entry.seeds),
        )
        for entry in benchmark.entries
    )


def benchmark_of(season: Season) -> Benchmark:
    """The benchmark of a season, in the version that it had when the season began.

    Raises:
        ChallengeRefused: if that version was not kept.
    """
    present = benchmarks.load(season.benchmark)
    found = present if present.version == season.version else benchmarks.earlier(season.benchmark, season.version)
    if found is None:
        raise ChallengeRefused(f"Version {season.version} of {season.benchmark} no longer exists here.")
    return found
