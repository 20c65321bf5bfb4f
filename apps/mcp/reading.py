"""Tools that find environments and agents, submit jobs and read results."""

from __future__ import annotations

from typing import Annotated, Any, ClassVar, Literal

from pydantic import BaseModel, ConfigDict, Field

from apps.mcp.tool import Result, Tool
from gem.client import AsyncClient
from gem.client.schemas import Environment
from gem.validation.whole import Flag, Whole

MOST_ROWS = 200
Limit = Annotated[Whole, Field(ge=1, le=MOST_ROWS)]
DOCUMENTED = ConfigDict(use_attribute_docstrings=True)


class EnvironmentRow(BaseModel):
    """An environment in the list."""

    model_config = DOCUMENTED

    id: str
    summary: str
    category: str
    difficulty: str
    seats: int
    turn_limit: int | None
    """Null if every episode draws it, 0 if there is none."""
    playable: bool
    """Whether this site has all that it needs."""
    url: str


class EnvironmentRows(BaseModel):
    """Environments of the catalog."""

    environments: list[EnvironmentRow]


class ListEnvironments(Tool):
    """Find environments. Without a search, the first of the catalog."""

    name: ClassVar[str] = "list_environments"
    answer: ClassVar[type[BaseModel]] = EnvironmentRows

    search: Annotated[str, Field(max_length=200)] = ""
    """Words of the name or the rules, or a part of the id, such as sokoban or rg:."""
    limit: Limit = 20

    async def run(self, client: AsyncClient) -> Result:
        """See `Tool.run`."""
        found = [_row(one) async for one in client.environments.list(self.search or None, most=self.limit)]
        lines = [f"{row.id}: {row.summary}" for row in found]
        return Result(["\n".join(lines) or "No environment matches."], EnvironmentRows(environments=found))


def _row(found: Environment) -> EnvironmentRow:
    return EnvironmentRow(
        id=found.id,
        summary=found.summary,
        category=found.category,
        difficulty=found.difficulty,
        seats=found.seats,
        turn_limit=found.turn_limit,
        playable=not found.missing,
        url=found.url,
    )


class AgentRow(BaseModel):
    """An agent in the list."""

    slug: str
    name: str
    kind: str
    about: str


class AgentRows(BaseModel):
    """Agents that can be evaluated."""

    agents: list[AgentRow]


class ListAgents(Tool):
    """List the agents that submit_job can evaluate, and that play against you in reset."""

    name: ClassVar[str] = "list_agents"
    answer: ClassVar[type[BaseModel]] = AgentRows

    mine: Flag = False
    """Only your own."""
    limit: Limit = 20

    async def run(self, client: AsyncClient) -> Result:
        """See `Tool.run`."""
        agents = client.agents.list(mine=self.mine or None, most=self.limit)
        rows = [
            AgentRow(slug=one.slug, name=one.name, kind=one.kind, about=one.about)
            async for one in agents
            if one.kind != "human"
        ]
        lines = [f"{row.slug}: {row.name} ({row.kind}). {row.about}".strip() for row in rows]
        return Result(["\n".join(lines) or "There is none."], AgentRows(agents=rows))


class JobStanding(BaseModel):
    """How far a job is, and its results so far."""

    model_config = DOCUMENTED

    job_id: str
    state: Literal["queued", "running", "paused", "done", "stopped", "decided", "cancelled", "failed"]
    reason: str
    """Why it failed or was stopped."""
    agent: str
    episodes_done: int
    episodes_total: int
    mean_return: float | None
    success_rate: float | None
    """The share of solved episodes of those that count; null before there are some."""
    seconds_left: float | None
    url: str


class SubmitJob(Tool):
    """Submit an evaluation: workers let an agent play many episodes. Then ask job for its results."""

    name: ClassVar[str] = "submit_job"
    answer: ClassVar[type[BaseModel]] = JobStanding
    only_reads: ClassVar[bool] = False

    agent: str
    """The slug of an agent, as list_agents has it."""
    env_ids: Annotated[list[str], Field(max_length=1000)] = []
    """Environments, also with patterns such as game:*-v0-easy; leave it out with a benchmark."""
    benchmark: str = ""
    """The name of a benchmark to play whole, such as games-easy."""
    episodes_per_env: Annotated[Whole, Field(ge=1)] | None = None
    job_name: Annotated[str, Field(max_length=120)] = ""
    more: dict[str, Any] = {}
    """Further fields of the specification, as POST /api/v1/jobs takes them."""

    async def run(self, client: AsyncClient) -> Result:
        """See `Tool.run`."""
        own = {"env_ids": self.env_ids, "benchmark": self.benchmark, "episodes_per_env": self.episodes_per_env}
        chosen = {name: value for name, value in own.items() if value}
        submitted = await client.jobs.submit({**self.more, **chosen, "agent": self.agent}, name=self.job_name)
        return await _standing(client, submitted.id)


class JobOf(Tool):
    """Say how far a job is, with its results so far."""

    name: ClassVar[str] = "job"
    answer: ClassVar[type[BaseModel]] = JobStanding

    job_id: Annotated[str, Field(max_length=40)]
    """From the result of submit_job, or from the address of the page of a job."""

    async def run(self, client: AsyncClient) -> Result:
        """See `Tool.run`."""
        return await _standing(client, self.job_id)


async def _standing(client: AsyncClient, job_id: str) -> Result:
    job = await client.jobs.get(job_id)
    total = (await client.jobs.results(job_id)).total if job.kind == "evaluation" and job.episodes_done else None
    standing = JobStanding(
        job_id=job.id,
        state=job.state,
        reason=job.reason,
        agent=job.agent,
        episodes_done=job.episodes_done,
        episodes_total=job.episodes_total,
        mean_return=total.mean_return if total else None,
        success_rate=total.success_rate if total else None,
        seconds_left=job.seconds_left,
        url=job.url,
    )
    words = [f"Job {job.id} of {job.agent} is {job.state}: {job.episodes_done} of {job.episodes_total} episodes."]
    if job.reason:
        words.append(job.reason)
    if standing.mean_return is not None:
        words.append(f"Mean return {standing.mean_return:.3f}.")
    if standing.success_rate is not None:
        words.append(f"{standing.success_rate:.0%} solved.")
    return Result([" ".join([*words, job.url])], standing)


class BoardRow(BaseModel):
    """A row of the board."""

    model_config = DOCUMENTED

    rank: str
    """A range such as 2–4 where rows are too close to call; empty of a row without a rank."""
    agent: str
    agent_name: str
    score: float
    """0 is the random agent, 1 the anchor."""
    low: float | None
    high: float | None
    """The ends of the 95 % interval."""
    success_rate: float
    episodes: int
    group: str
    """played here, verified, or reported."""


class BoardRows(BaseModel):
    """The board of a benchmark."""

    benchmark: str
    version: int
    season: int | None
    rows: list[BoardRow]
    url: str


class Leaderboard(Tool):
    """Read the leaderboard of a benchmark, the best agents first."""

    name: ClassVar[str] = "leaderboard"
    answer: ClassVar[type[BaseModel]] = BoardRows

    benchmark: Annotated[str, Field(max_length=80)] = "games"
    env_id: Annotated[str, Field(max_length=120)] = ""
    """Rank by one environment of the benchmark alone."""
    limit: Limit = 50

    async def run(self, client: AsyncClient) -> Result:
        """See `Tool.run`."""
        board = await client.leaderboards.get(self.benchmark, env_id=self.env_id or None)
        rows = [BoardRow.model_validate(row.model_dump()) for row in board.items[: self.limit]]
        data = BoardRows(
            benchmark=board.benchmark, version=board.version, season=board.season, rows=rows, url=board.url
        )
        lines = [
            f"{row.rank or '–'}. {row.agent_name}: {row.score:.3f} ({row.success_rate:.0%} solved)" for row in rows
        ]
        return Result(["\n".join(lines) or "The board has no rows yet."], data)
