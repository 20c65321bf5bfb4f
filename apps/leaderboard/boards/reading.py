"""Reads a board: its rows, and the ranks that a worker has computed for them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import NamedTuple

from django.db.models import Count, F, Func, JSONField, Value

from apps.agents.models import Agent
from apps.jobs.models import Job
from apps.leaderboard.board import Row
from apps.leaderboard.boards.keys import BoardKey, Group, rows_of
from apps.leaderboard.challenges.tries import challenges_by_owner
from apps.leaderboard.models import Ranking, Score
from apps.leaderboard.models.scores import LONG
from apps.seasons.models import Season
from gem import benchmarks
from gem.benchmarks import Benchmark
from gem.evaluation.ranking.board import MAX_ERROR

SENTENCES = {
    Group.PLAYED_HERE: "ranked together: our workers played them",
    Group.VERIFIED: "uploaded actions on seeds that this site chose; executed here, and every reward agreed",
    Group.REPORTED: "numbers that somebody sent; nothing proves them",
}
"""What the rows of a group have in common, after its name."""


@dataclass(frozen=True, slots=True)
class Section:
    """The rows of a board that rank together, the best first."""

    group: Group
    rows: list[Row]
    is_current: bool
    """Whether these are the rows that were ranked. Otherwise a worker will rank them soon."""

    @property
    def sentence(self) -> str:
        """What they have in common."""
        return SENTENCES[self.group]


@dataclass(frozen=True, slots=True)
class BoardView:
    """A board as pages show it."""

    benchmark: Benchmark
    season: Season | None
    env_id: str
    with_tools: bool
    sections: list[Section]

    @property
    def rows(self) -> list[Row]:
        """The rows of all sections."""
        return [row for section in self.sections for row in section.rows]

    @property
    def scores(self) -> list[Score]:
        """The scores of all rows."""
        return [row.score for row in self.rows]


def seasons_of(benchmark: Benchmark) -> list[Season]:
    """The seasons of a benchmark, the newest first; none where it has no hidden seeds."""
    if not benchmarks.has_hidden_seeds(benchmark.name):
        return []
    return list(Season.objects.of(benchmark.name, benchmark.version).defer("sealed_key"))


def read(
    benchmark: Benchmark, season: Season | None, *, env_id: str = "", with_tools: bool = False, group: str = ""
) -> BoardView:
    """The board of a benchmark in a season; without one, of its published seeds.

    Args:
        env_id: one of its environments; empty for all of them.
        group: only the rows of this group of tiers; empty for all.
    """
    found = rows_of(benchmark, season, with_tools)
    kept = _kept(benchmark, season, env_id, with_tools)
    sections = []
    for each in Group:
        key = BoardKey(benchmark.name, benchmark.version, season.pk if season else None, each.value, with_tools)
        if key in found and group in ("", each):
            ranking = kept.get(each.value)
            rows = _rows(found[key], env_id, ranking.ranks if ranking else {})
            sections.append(Section(each, rows, ranking is not None and ranking.rows == found[key]))
    return BoardView(benchmark, season, env_id, with_tools, sections)


class _Kept(NamedTuple):
    """What was kept of a ranking: the rows that were ranked, and their ranks."""

    rows: list[int]
    ranks: Mapping[str, list[int]]


def _kept(benchmark: Benchmark, season: Season | None, env_id: str, with_tools: bool) -> dict[str, _Kept]:
    """The rankings of a board by group, of which the ranks in one environment are read."""
    ranks = Func(F("ranks"), Value(env_id), function="jsonb_extract_path", output_field=JSONField())
    kept = Ranking.objects.of(benchmark.name, benchmark.version).filter(season=season, with_tools=with_tools)
    found = kept.annotate(env_ranks=ranks).values_list("group", "rows", "env_ranks")
    return {group: _Kept(rows, env_ranks or {}) for group, rows, env_ranks in found}


def _rows(pks: list[int], env_id: str, ranks: Mapping[str, list[int]]) -> list[Row]:
    """The rows whose overall scores have these ids, in one environment."""
    scores = Score.objects.filter(pk__in=pks)
    overall = dict(scores.values_list("job_id", "pk")) if env_id else {}
    if env_id:
        scores = Score.objects.filter(job__in=overall, env_id=env_id)
    rows = []
    related = scores.select_related("agent__weights", "job__owner", "job__reexecution", "job__batch").defer(*LONG)
    for score in related.order_by("-mean", "agent__name", "pk"):
        pk = overall.get(score.job_id, score.pk)
        best, worst = ranks.get(str(pk), (0, 0))
        rows.append(Row(score, best, worst, pk))
    return rows


def tries_of_all(season: Season | None, rows: list[Row]) -> dict[str, int]:
    """How many ranked jobs of its season the submitter of each row began with its agent, by the job of the row.

    Of a row that was played elsewhere, these are all challenges of the account.
    """
    if season is None or not rows:
        return {}
    jobs = Job.objects.filter(batch__season=season, agent__in={row.score.agent_id for row in rows})
    counts = {
        (agent, owner): count
        for agent, owner, count in jobs.order_by().values_list("agent", "owner").annotate(count=Count("pk"))
    }
    owners = [row.score.job.owner_id for row in rows if row.score.agent.kind == Agent.Kind.OUTSIDE]
    drawn = challenges_by_owner(owners, season) if owners else {}
    return {
        row.score.job_id: drawn[row.score.job.owner_id].drawn
        if row.score.job.owner_id in drawn and row.score.agent.kind == Agent.Kind.OUTSIDE
        else counts.get((row.score.agent_id, row.score.job.owner_id), 0)
        for row in rows
    }


def history_of(benchmark: Benchmark, rows: list[Row]) -> dict[int, list[Score]]:
    """The rows of the same agent and submitter in all seasons, the oldest first, by the id of each row."""
    of_agents = Score.objects.of(benchmark).ranking().filter(agent__in={row.score.agent_id for row in rows})
    scores = of_agents.filter(job__batch__season__isnull=False).newest_of_each()
    found: dict[tuple[object, ...], list[Score]] = {}
    for score in scores.select_related("job__batch__season", "job__reexecution").defer(*LONG):
        found.setdefault(_owned(score), []).append(score)
    for own in found.values():
        own.sort(key=lambda score: (score.job.batch.season.number if score.job.batch.season else 0, score.created))
    return {row.row: found.get(_owned(row.score), []) for row in rows}


def _owned(score: Score) -> tuple[object, ...]:
    tier = getattr(getattr(score.job, "reexecution", None), "tier", "")
    return (score.agent_id, score.job.owner_id, score.tools, tier)


@dataclass(frozen=True, slots=True)
class Claim:
    """What is known of two rows: the difference of their scores, its interval, and its p-value after Holm."""

    first: int
    second: int
    difference: float
    low: float | None
    high: float | None
    p_adjusted: float

    @property
    def is_sure(self) -> bool:
        """Whether one of the two is surely better."""
        return self.p_adjusted < MAX_ERROR

    def seen_from(self, row: int) -> Claim:
        """The same with this row first."""
        if row == self.first:
            return self
        low = None if self.high is None else -self.high
        high = None if self.low is None else -self.low
        return Claim(self.second, self.first, -self.difference, low, high, self.p_adjusted)

    @property
    def verdict(self) -> str:
        """`ahead`, `behind` or `tie`, of the first row."""
        if not self.is_sure:
            return "tie"
        return "ahead" if self.difference > 0 else "behind"


def claims_of(view: BoardView, group: Group) -> list[Claim]:
    """What is known of each pair of rows of a section; empty if a worker has yet to compare them."""
    kept = Ranking.objects.of(view.benchmark.name, view.benchmark.version)
    one = kept.filter(season=view.season, with_tools=view.with_tools, group=group).only("claims").first()
    return [Claim(*claim) for claim in one.claims] if one else []


def withdrawn(benchmark: Benchmark, season: Season | None, *, with_tools: bool) -> list[Score]:
    """The rows of a board that a maintainer has withdrawn, the newest first."""
    marks = Score.objects.filter(benchmark=benchmark.name, mark=Score.Mark.WITHDRAWN, env_id="")
    keys = list(marks.values_list("pk", flat=True))
    if not keys:
        return []
    scores = Score.objects.of(benchmark).shown().eligible().in_season(season).with_tools(with_tools)
    marked = scores.filter(pk__in=keys).order_by("-created")
    return list(marked.select_related("agent", "job__owner", "job__reexecution", "job__batch").defer(*LONG))
