"""What the pages of jobs show."""

from __future__ import annotations

import json
import logging
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any
from urllib.parse import urlencode

import redis
from django.core.cache import cache
from django.utils import timezone

from apps.agents.models import Agent
from apps.jobs import estimates, results
from apps.jobs.models import Job
from apps.jobs.results import Tally
from gem.evaluation.spec import EvaluationSpec

logger = logging.getLogger(__name__)

LAST_FINISHED = 8
LOG_LINES = 200
ERRORS_SHOWN = 20
TOOLING = {"tools", "max_tool_uses", "tool_format"}
"""What a specification says of tools."""
HISTOGRAM_SECONDS = 2
"""How old the histogram of a running job may be: it reads every episode."""


@dataclass(frozen=True, slots=True)
class TimeSplit:
    """A part of the time that workers spent."""

    name: str
    seconds: float
    x: float
    width: float
    colour: int


def evaluation(
    job: Job, *, pages: Mapping[str, int] | None = None, cells: bool = True, only: set[int] | None = None
) -> dict[str, Any]:
    """Everything a job's page shows to everybody; the cells of its grid only if asked (`only` some of them)."""
    shards = list(job.shards.all())
    repeats = int(job.spec.get("repeats", 1))
    shown = results.lines(shards, pages, repeats)
    if cells:
        results.fill(job, shards, shown, only)
    tally = Tally.of(shards)
    left = None if job.over else estimates.seconds_left(job)
    return {
        "job": job,
        "tally": tally,
        "cost": _cost(job, tally),
        "lines": shown,
        "partly": only is not None,
        "elapsed": elapsed(job),
        "turns_per_second": job.turns_done / max(elapsed(job), 0.001) if job.turns_done else None,
        "ahead": estimates.jobs_ahead(job) if job.state == Job.State.QUEUED else 0,
        "left": left and left[0],
        "evidence": left and left[1],
        "last": results.finished(job)[:LAST_FINISHED],
        "errors": results.finished(job).filter(status="failed")[:ERRORS_SHOWN] if tally.errors else [],
        "histogram": _histogram(job) if tally.n else None,
        "passes": results.passes(job) if repeats > 1 and job.over else {},
        "splits": splits(job),
        "low": min([0.0, *(line.tally.low for line in shown if line.tally.low is not None)]),
        "high": max([1.0, *(line.tally.high for line in shown if line.tally.high is not None)]),
    }


def _cost(job: Job, tally: Tally) -> float | None:
    """What the tokens cost so far, at the prices that the agent had when the job was submitted."""
    prices = (job.set_up or {}).get("prices")
    if not prices:
        return None
    return float(tally.tokens_in * prices["tokens_in"] + tally.tokens_out * prices["tokens_out"]) / 1e6


def set_up(job: Job) -> dict[str, Any]:
    """What a job's page says of the request, which never changes."""
    spec = EvaluationSpec.model_validate(job.spec)
    plain = spec.model_dump(mode="json", exclude_defaults=True)
    if spec.benchmark:
        plain = {
            "agent": spec.agent,
            "benchmark": spec.benchmark,
            "benchmark_version": spec.benchmark_version,
            "num_envs": spec.num_envs,
            "repeats": spec.repeats,
            "token_budget": spec.token_budget,
            **(spec.model_dump(mode="json", include=TOOLING) if spec.tools else {}),
        }
    return {
        "spec": spec,
        "seeds": (spec.parts[0].first_seed, spec.parts[0].seed_and_seat(spec.parts[0].episodes - 1)[0]),
        "opponent": Agent.objects.filter(slug=spec.opponent).first() if spec.opponent else None,
        "spec_json": json.dumps(plain, indent=2),
        "script": _commands(spec, who) if (who := _who(job)) else SCRIPT.format(spec=json.dumps(plain, indent=4)),
        "agent_json": json.dumps({name: value for name, value in (job.set_up or {}).items() if name != "version"}),
        "again": again(spec),
        "log": job.events.order_by("-seq")[:LOG_LINES],
    }


def _who(job: Job) -> list[str]:
    """The options that name an agent which is not built in: an endpoint of one's own, or a downloaded checkpoint."""
    if job.set_up:
        return ["--agent endpoint --agent-spec agent.json", "--url http://127.0.0.1:8000/v1"]
    return ["--agent policy --checkpoint checkpoint"] if job.agent.kind == Agent.Kind.CHECKPOINT else []


def _commands(spec: EvaluationSpec, who: list[str]) -> str:
    """The command that plays the same with the agent that `who` names."""
    words = [f"gemweb eval {who[0]}", *who[1:]]
    if spec.benchmark:
        words.append(f"--benchmark {spec.benchmark}")
    else:
        words += [f"--env {env_id}" for env_id in spec.env_ids]
        words.append(f"--episodes {spec.episodes_per_env} --seed {spec.seed}")
        words += [f"--max-turns {spec.max_turns}"] if spec.max_turns else []
        words += [f"--opponent {spec.opponent}"] if spec.opponent else []
    words += [f"--repeats {spec.repeats}"] if spec.repeats > 1 else []
    words += [f"--token-budget {spec.token_budget}"] if spec.token_budget else []
    words += [f"--tool {name}" for name in spec.tools]
    words += [f"--tool-uses {spec.max_tool_uses} --tool-format {spec.tool_format}"] if spec.tools else []
    return " \\\n    ".join([*words, f"--num-envs {spec.num_envs} --out episodes.jsonl"])


SCRIPT = """\
from gem.agents import make_agent
from gem.rollout import EpisodeRequest, rollout
from gem.evaluation.spec import EvaluationSpec

spec = EvaluationSpec.model_validate_json('''{spec}''')
slots = [
    EpisodeRequest(i, part.env_id, part.seed_and_seat(i)[0], {{}}, spec.wrappers, part.seed_and_seat(i)[1], part.repeat)
    for part in spec.parts
    for i in range(part.episodes)
]
opponent = make_agent(spec.opponent) if spec.opponent else None
for record in rollout(make_agent(spec.agent), slots, num_envs=spec.num_envs, opponent=opponent):
    print(record.identity.env_id, record.identity.seed, record.total_reward, record.success)
"""
"""Plays the same episodes with the engine alone."""


def again(spec: EvaluationSpec) -> str:
    """The query that fills the form with this request."""
    pairs: list[tuple[str, str | int]] = [("agent", spec.agent), ("benchmark", spec.benchmark or "")]
    if not spec.benchmark:
        pairs += [("env_id", env_id) for env_id in spec.env_ids]
        pairs += [("episodes_per_env", spec.episodes_per_env), ("seed", spec.seed)]
        pairs += [("repeats", spec.repeats)] if spec.repeats > 1 else []
        pairs += [("max_turns", spec.max_turns)] if spec.max_turns else []
        pairs += [("opponent", spec.opponent)] if spec.opponent else []
    pairs += [("token_budget", spec.token_budget)] if spec.token_budget else []
    pairs += [("tool", name) for name in spec.tools]
    if spec.tools:
        pairs += [("max_tool_uses", spec.max_tool_uses), ("tool_format", spec.tool_format)]
    pairs.append(("num_envs", spec.num_envs))
    return urlencode(pairs)


def elapsed(job: Job) -> float:
    """Seconds from a job's start to its end, or to now; 0 before it started."""
    if job.started is None:
        return 0.0
    return ((job.ended or timezone.now()) - job.started).total_seconds()


def splits(job: Job) -> list[TimeSplit]:
    """Where the workers' time went: agent, environment, writing."""
    total = job.seconds_busy
    if total <= 0:
        return []
    environment = max(0.0, total - job.seconds_agent - job.seconds_storing)
    parts = [("agent", job.seconds_agent, 4), ("environment", environment, 6), ("storing", job.seconds_storing, 2)]
    found = []
    x = 0.0
    for name, seconds, colour in parts:
        width = 100 * seconds / total
        found.append(TimeSplit(name, seconds, x, width, colour))
        x += width
    return found


@dataclass(frozen=True, slots=True)
class Item:
    """A job in a list, with what it reached so far."""

    job: Job
    tally: Tally


def items(jobs: Iterable[Job]) -> list[Item]:
    """Jobs (fetched `for_page`) with their sums."""
    return [Item(job, Tally.of(job.shards.all()) if job.kind == Job.Kind.EVALUATION else Tally()) for job in jobs]


def _histogram(job: Job) -> results.Histogram | None:
    if job.over:
        return results.histogram(job)
    try:
        found: results.Histogram | None = cache.get_or_set(
            f"job-histogram:{job.pk}", lambda: results.histogram(job), HISTOGRAM_SECONDS
        )
    except redis.RedisError as error:
        logger.warning("The histogram of %s is not shared with other requests: %s", job, error)
        return results.histogram(job)
    return found
