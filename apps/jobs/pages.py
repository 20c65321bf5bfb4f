"""The contents of the pages of jobs."""

from __future__ import annotations

import json
import shlex
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from functools import partial
from typing import Any
from urllib.parse import urlencode

from django.utils import timezone

from apps.accounts.models import Viewer
from apps.agents.models import Agent
from apps.jobs import estimates, results
from apps.jobs.books.reading import books_of, cost_of, spec_of
from apps.jobs.decisions.reading import decision_of, known_other, sentence_of
from apps.jobs.decisions.rows import Decision
from apps.jobs.estimates import Start, start_of, starts_of
from apps.jobs.form import entries
from apps.jobs.kinds import kind_of
from apps.jobs.models import Job, JobEvent
from apps.jobs.ranked.pages import script_of, season_of
from apps.jobs.results import Tally, clusters, curves, datasets, finished, missing
from apps.jobs.results.cached import shared
from apps.jobs.results.clusters import Scores
from gem.evaluation import wrapping
from gem.evaluation.data import shared as shared_data
from gem.evaluation.spec import EvaluationSpec, read_stored

MAX_LATEST_EPISODES = 8
LOG_LINES = 200
MAX_ERRORS = 20
TOOL_FIELDS = {"tools", "max_tool_uses", "tool_format"}
"""The fields of a specification about tools."""


@dataclass(frozen=True, slots=True)
class TimeSplit:
    """A part of the time that workers spent, and its place in the bar."""

    name: str
    seconds: float
    x: float
    width: float
    colour: int


def evaluation(
    job: Job,
    *,
    pages: Mapping[str, int] | None = None,
    cells: bool = True,
    only: set[int] | None = None,
    priced: bool = False,
) -> dict[str, Any]:
    """The part of a job's page that changes and is the same for everybody, but for the cost.

    Args:
        pages: the page of the grid by environment; the first where there is none.
        cells: whether to include the cells of the grid.
        only: the slots whose cells are included; None includes all on the pages.
        priced: whether to include the cost, for those who may see the agent's set-up (`may_see_set_up`).
    """
    shards = list(job.shards.all())
    repeats = int(job.spec.get("repeats", 1))
    scores = clusters.scores_of(job)
    lines = results.lines(shards, pages, repeats, scores)
    if cells:
        results.fill(job, shards, lines, only)
    tally = Tally.of(shards)
    returns = [line.scores.mean_return for line in lines if line.scores.mean_return is not None]
    intervals = [found.interval for found in returns if found.interval is not None]
    left = estimates.remaining(job)
    uses = datasets.used(job, shards)
    books = books_of(job.pk)
    decision = decision_of(job)
    return {
        "job": job,
        "decision": decision,
        "decision_says": sentence_of(decision) if decision is not None else "",
        "tally": tally,
        "scores": scores.total,
        "missing": missing.missing_from_job(job, tally, lines),
        "uses": uses,
        "stand_ins": shared_data(
            datasets.stand_ins(datasets.played_and_expected(job, uses, (line.env_id for line in lines)))
        ),
        "books": books,
        "cost": cost_of(job, books) if priced else None,
        "lines": lines,
        "overviews": results.overviews(job, lines) if cells and only is None else {},
        "unsure": len(intervals) < len(returns),
        "elapsed": elapsed(job),
        "turns_per_second": job.turns_done / max(elapsed(job), 0.001) if job.turns_done else None,
        "start": start_of(job),
        "left": left,
        "expected_cost": left.cost if left is not None and priced else None,
        "last": finished.latest(job, MAX_LATEST_EPISODES),
        "errors": finished.failed(job, MAX_ERRORS) if tally.errors else [],
        "curve": shared(job, "curve-over-seeds", partial(curves.curve, job)) if tally.n else None,
        "histogram": shared(job, "histogram", partial(results.histogram, job)) if tally.n else None,
        "passes": results.passes(job) if repeats > 1 and job.over else {},
        "splits": splits(job),
        "low": min([0.0, *(interval.low for interval in intervals)]),
        "high": max([1.0, *(interval.high for interval in intervals)]),
    }


def may_see_set_up(job: Job, viewer: Viewer) -> bool:
    """Whether this person may see the set-up of the job's agent: who may open the agent's page, while it has one."""
    is_endpoint = job.agent.kind == Agent.Kind.ENDPOINT
    return is_endpoint and Agent.objects.endpoints().visible_to(viewer).filter(pk=job.agent_id).exists()


def set_up(job: Job, *, priced: bool = False) -> dict[str, Any]:
    """The part of a job's page about its request, which never changes.

    Args:
        priced: see `evaluation`.
    """
    spec = read_stored(spec_of(job, priced=priced))
    request = spec.model_dump(mode="json", exclude_defaults=True)
    if spec.benchmark:
        request = {
            "agent": spec.agent,
            "benchmark": spec.benchmark,
            "benchmark_version": spec.benchmark_version,
            **({"hidden_seeds": True} if spec.hidden_seeds else {}),
            "num_envs": spec.num_envs,
            "repeats": spec.repeats,
            "token_budget": spec.token_budget,
            **({"money_budget": spec.money_budget} if spec.money_budget is not None else {}),
            **({"turn_budget": spec.turn_budget} if spec.turn_budget is not None else {}),
            **(spec.model_dump(mode="json", include=TOOL_FIELDS) if spec.tools else {}),
        }
    return {
        "spec": spec,
        "seeds": (spec.parts[0].first_seed, spec.parts[0].seed_and_seat(spec.parts[0].episodes - 1)[0]),
        "opponent": Agent.objects.filter(slug=spec.opponent).first() if spec.opponent else None,
        "spec_json": json.dumps(request, indent=2),
        "script": _script(job, spec, request),
        **season_of(job),
        "agent_json": json.dumps({name: value for name, value in (job.set_up or {}).items() if name != "version"}),
        "log": job.events.for_log().filter(seq__lte=job.seq).order_by("-seq")[:LOG_LINES],
    }


def _script(job: Job, spec: EvaluationSpec, request: dict[str, Any]) -> str:
    """What plays the same episodes elsewhere; of hidden seeds, when they are published."""
    if spec.hidden_seeds:
        return script_of(job, spec.all_wrappers)
    agent_options = _agent_options(job)
    return _command(spec, agent_options) if agent_options else SCRIPT.format(spec=json.dumps(request, indent=4))


def _agent_options(job: Job) -> list[str]:
    """Command-line options for an agent that is not built in: an endpoint of one's own, or a downloaded checkpoint."""
    if job.agent.kind == Agent.Kind.ENDPOINT:
        return ["--agent endpoint --agent-spec agent.json", "--url http://127.0.0.1:8001/v1"]
    return ["--agent policy --checkpoint checkpoint"] if job.agent.kind == Agent.Kind.CHECKPOINT else []


def _command(spec: EvaluationSpec, agent_options: list[str]) -> str:
    """The command that plays the same episodes with the agent of these options."""
    words = [f"gemweb eval {agent_options[0]}", *agent_options[1:]]
    if spec.benchmark:
        words.append(f"--benchmark {spec.benchmark}")
    else:
        words += [f"--env {env_id}" for env_id in spec.env_ids]
        words.append(f"--episodes {spec.episodes_per_env} --seed {spec.seed}")
        words += [f"--max-turns {spec.max_turns}"] if spec.max_turns else []
        words += [f"--opponent {spec.opponent}"] if spec.opponent else []
        words += [f"--wrapper {shlex.quote(wrapping.as_word(wrapper))}" for wrapper in spec.wrappers]
    words += [f"--repeats {spec.repeats}"] if spec.repeats > 1 else []
    words += [f"--max-episode-tokens {spec.max_episode_tokens}"] if spec.max_episode_tokens else []
    words += [f"--max-episode-money {spec.max_episode_money}"] if spec.max_episode_money else []
    words += [f"--turn-budget {spec.turn_budget}"] if spec.turn_budget else []
    words += [f"--token-budget {spec.token_budget}"] if spec.token_budget else []
    words += [f"--money-budget {spec.money_budget}"] if spec.money_budget else []
    words += [f"--tool {name}" for name in spec.tools]
    words += [f"--tool-uses {spec.max_tool_uses} --tool-format {spec.tool_format}"] if spec.tools else []
    return " \\\n    ".join([*words, f"--num-envs {spec.num_envs} --out episodes.jsonl"])


SCRIPT = """\
from gem.agents import make_agent
from gem.rollout import EpisodeRequest, rollout
from gem.evaluation.spec import EvaluationSpec

spec = EvaluationSpec.model_validate_json('''{spec}''')
slots = [
    EpisodeRequest(i, part.env_id, seed, {{}}, spec.all_wrappers, seat, part.repeat)
    for part in spec.parts
    for i in range(part.episodes)
    for seed, seat in [part.seed_and_seat(i)]
]
opponent = make_agent(spec.opponent) if spec.opponent else None
for record in rollout(make_agent(spec.agent), slots, num_envs=spec.num_envs, opponent=opponent):
    print(record.identity.env_id, record.identity.seed, record.total_reward, record.success)
"""
"""Plays the same episodes with the engine alone."""


def again(job: Job, viewer: Viewer, decision: Decision | None, *, priced: bool) -> str:
    """The query string that fills the form with the request of a job, and for its owner with how it is filed.

    Args:
        decision: the comparison that the job stops by.
        priced: see `evaluation`.
    """
    spec = read_stored(spec_of(job, priced=priced))
    document = spec.model_dump(mode="json", exclude_none=True)
    if spec.benchmark:
        for name in ("env_ids", "episodes_per_env", "seed", "max_turns"):
            document.pop(name, None)  # the benchmark says them
    document["stop_against"] = known_other(decision, viewer)
    if job.owner_id is not None and job.owner_id == viewer.pk:
        document |= {"name": job.name, "notes": job.notes, "tags": job.tags}
    return urlencode(entries.pairs_of(entries.of_document(document)))


def elapsed(job: Job) -> float:
    """Seconds from a job's start to its end, or to now; 0 before it started."""
    if job.started is None:
        return 0.0
    return ((job.ended or timezone.now()) - job.started).total_seconds()


def splits(job: Job) -> list[TimeSplit]:
    """The workers' time by use: agent, environment, storing."""
    total = job.seconds_busy
    if total <= 0:
        return []
    environment = max(0.0, total - job.seconds_agent - job.seconds_storing)
    parts = [("agent", job.seconds_agent, 4), ("environment", environment, 6), ("storing", job.seconds_storing, 2)]
    time_splits = []
    x = 0.0
    for name, seconds, colour in parts:
        width = 100 * seconds / total
        time_splits.append(TimeSplit(name, seconds, x, width, colour))
        x += width
    return time_splits


def controls(job: Job, viewer: Viewer) -> dict[str, Any]:
    """What the controls of an evaluation show to this person; without the right to use them, nothing."""
    may_change = job.may_be_changed_by(viewer)
    shards = list(job.shards.all())
    is_open = [shard for shard in shards if not shard.skipped and shard.done < shard.count]
    open_env_ids = list(dict.fromkeys(shard.env_id for shard in is_open))
    return {
        "job": job,
        "may_change": may_change,
        "may_control": may_change and not job.is_ranked,
        "open_env_ids": open_env_ids if len(open_env_ids) > 1 else [],
        "skipped": results.skipped_tallies(shards),
        "failed": sum(shard.errors - shard.cancelled for shard in shards if not shard.skipped),
        "can_go_on": job.state not in {Job.State.CANCELLED, Job.State.DECIDED, Job.State.STOPPED},
        "replaced": job.events.filter(kind=JobEvent.Kind.RETRIED).count(),
    }


@dataclass(frozen=True, slots=True)
class Item:
    """A job in a list, with its results so far."""

    job: Job
    tally: Tally
    scores: Scores = field(default_factory=Scores)
    alarms: list[str] = field(default_factory=list)
    """The titles of the alarms of a training that hold."""
    start: Start | None = None
    """When it starts, if it is queued."""


def items(jobs: Iterable[Job]) -> list[Item]:
    """Jobs (fetched with `for_list`) with their results."""
    listed = list(jobs)
    if not listed:
        return []
    evaluations = [job for job in listed if job.kind == Job.Kind.EVALUATION]
    scores, tallies = clusters.scores_of_all(evaluations), results.tallies_of(evaluations)
    starts = starts_of(listed)
    return [
        Item(job, tallies.get(job.pk, Tally()), scores[job.pk].total, start=starts.get(job.pk))
        if job.pk in scores
        else Item(job, Tally(), alarms=kind_of(job).alarms(job), start=starts.get(job.pk))
        for job in listed
    ]
