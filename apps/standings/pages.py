"""What the page of an agent shows of its results. It reads rows by key: a kept profile, and what is behind it."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from django.db.models import F, Func, JSONField, Value
from django.http import HttpRequest

from apps.agents.models import Agent
from apps.episodes.models import Episode
from apps.jobs.models import Job
from apps.leaderboard.board import Row
from apps.leaderboard.boards.keys import group_of
from apps.leaderboard.models import Ranking, Score
from apps.leaderboard.models.scores import LONG
from apps.leaderboard.proofs import reading
from apps.queue import enqueue
from apps.standings.boards import RatingRow, rows_of
from apps.standings.measuring import Measured
from apps.standings.models import Profile
from apps.standings.refreshing import TASK_PROFILE
from gem import benchmarks

MOST_COLUMNS = 4
MOST_REPLAYS = 3
MOST_BOARDS = 8
_FIELDS = tuple(Measured.__dataclass_fields__)


@dataclass(frozen=True, slots=True)
class Cell:
    """The result of one version in one environment."""

    measured: Measured
    job_id: str

    @property
    def share(self) -> float:
        """The share of solved episodes."""
        return self.measured.solved[0] or 0.0

    @property
    def heat(self) -> int:
        """The share in five steps, for its tone."""
        return min(5, math.floor(6 * self.share))

    @property
    def has_interval(self) -> bool:
        """Whether there is an interval of the share."""
        return self.measured.solved[1] is not None

    @property
    def low(self) -> float:
        """The lower end of the interval."""
        return self.measured.solved[1] or 0.0

    @property
    def high(self) -> float:
        """The upper end of the interval."""
        return self.measured.solved[2] or 0.0


@dataclass(frozen=True, slots=True)
class Line:
    """An environment, with a cell for each version that is shown."""

    env_id: str
    setting: str
    cells: list[Cell | None]

    @property
    def last(self) -> Cell:
        """The cell of the newest version that has played here."""
        return next(cell for cell in reversed(self.cells) if cell is not None)

    @property
    def difference(self) -> tuple[float, float, float] | None:
        """The newest version minus the one before it, with the ends of the 95 % interval; None without both.

        Its ends are those of R. G. Newcombe (Interval estimation for the difference between independent proportions,
        1998, method 10): of each share only the distance to the end that counts on this side, because the intervals of
        shares near 0 or 1 are not symmetric. It takes the samples to be independent, so it is too wide, never too
        narrow, where both played the same seeds. The page of the comparison pairs them.
        """
        pair = self.cells[-2:]
        if len(pair) < 2 or any(cell is None or not cell.has_interval for cell in pair):
            return None
        before, after = (cell for cell in pair if cell is not None)
        mean = after.share - before.share
        below = math.hypot(after.share - after.low, before.high - before.share)
        above = math.hypot(after.high - after.share, before.share - before.low)
        return mean, mean - below, mean + above

    @property
    def in_points(self) -> list[str]:
        """The difference and the ends of its interval in percentage points, with a real minus sign."""
        return [f"{100 * value:+.1f}".replace("-", "−") for value in self.difference or ()]

    @property
    def verdict(self) -> str:
        """What the difference allows to claim: `better`, `worse` or `too close`; empty without one."""
        if self.difference is None:
            return ""
        _, low, high = self.difference
        return "better" if low > 0 else "worse" if high < 0 else "too close"


def profile_of(request: HttpRequest, agent: Agent) -> dict[str, Any]:
    """The context of templates/standings/profile.html: the same for everybody who may see the agent."""
    kept = Profile.objects.filter(agent=agent).first()
    content: Mapping[str, Any] = kept.content if kept is not None else {}
    cells, versions = _shown(request, agent, content)
    lines = _lines(cells, versions)
    best = _replays([line.last.measured.best for line in reversed(lines)])  # where it is hardest to solve
    worst = _replays([line.last.measured.worst for line in lines])  # where losing surprises most
    return {
        "versions": versions,
        "lines": lines,
        "totals": content.get("totals") if cells else None,
        "overall": _overall([line.last for line in lines]),
        "replay_groups": [("Best", best, "win"), ("Worst", worst, "loss")] if best or worst else [],
        "boards": boards_of(agent),
        "rating": next(iter(rows_of([agent.pk])), None),
        "profile_computed": kept.computed if kept is not None else None,
    }


def _shown(
    request: HttpRequest, agent: Agent, content: Mapping[str, Any]
) -> tuple[list[dict[str, Any]], list[dict[str, Any]]]:
    """The cells whose jobs are public now, and the versions that have some. If some are not, they are composed anew."""
    cells = content.get("cells", [])
    public = Job.objects.published().filter(pk__in={cell["job"] for cell in cells})
    open_jobs = set(public.values_list("pk", flat=True))
    others = {cell["agent"] for cell in cells} - {agent.pk}
    family = {agent.pk, *Agent.objects.visible_to(request.user).filter(pk__in=others).values_list("pk", flat=True)}
    shown = [cell for cell in cells if cell["job"] in open_jobs and cell["agent"] in family]
    if any(cell["job"] not in open_jobs for cell in cells):
        enqueue(TASK_PROFILE, agent.pk)
    used = {tuple(cell["version"]) for cell in shown}
    versions = [version for version in content.get("versions", []) if tuple(version["order"]) in used]
    slugs = dict(Agent.objects.filter(pk__in=family).values_list("pk", "slug"))
    return shown, [{**version, "slug": slugs.get(version["agent"], "")} for version in versions[-MOST_COLUMNS:]]


def _lines(cells: Iterable[Mapping[str, Any]], versions: Sequence[Mapping[str, Any]]) -> list[Line]:
    """One line for each environment and setting, the most often solved first."""
    orders = [tuple(version["order"]) for version in versions]
    found: dict[tuple[str, str], list[Cell | None]] = {}
    for cell in cells:
        order = tuple(cell["version"])
        if order not in orders:
            continue
        row = found.setdefault((cell["env_id"], cell["setting"]), [None] * len(orders))
        row[orders.index(order)] = Cell(Measured(**{name: cell[name] for name in _FIELDS}), cell["job"])
    lines = [Line(env_id, setting, row) for (env_id, setting), row in found.items()]
    return sorted(lines, key=lambda line: (line.setting, -line.last.share, line.env_id))


def _overall(cells: Sequence[Cell]) -> dict[str, Any] | None:
    """The newest results together: the mean share over environments, and tokens for each solved episode."""
    if not cells:
        return None
    solved = sum(cell.share * cell.measured.n for cell in cells)
    counted = [cell for cell in cells if cell.measured.tokens is not None]
    tokens = sum(cell.measured.tokens or 0 for cell in counted)
    solved_counted = sum(cell.share * cell.measured.n for cell in counted)
    return {
        "environments": len({cell.measured.env_id for cell in cells}),
        "episodes": sum(cell.measured.n for cell in cells),
        "share": sum(cell.share for cell in cells) / len(cells),
        "solved": round(solved),
        "tokens_per_solved": tokens / solved_counted if tokens and solved_counted >= 1 else None,
    }


def _replays(keys: Iterable[str]) -> list[Episode]:
    """Of these episodes the first that everybody may open; those of a running season are not among them."""
    wanted = list(filter(None, keys))[: 4 * MOST_REPLAYS]
    episodes = Episode.objects.published().filter(pk__in=wanted).with_seats().in_bulk()
    return [episodes[key] for key in wanted if key in episodes][:MOST_REPLAYS]


@dataclass(frozen=True, slots=True)
class BoardRow:
    """A row of the agent on a board."""

    row: Row
    of: int
    """How many rows rank; 0 while a worker has yet to rank them."""
    standing: reading.Standing
    season: int | None
    """The number of its season; None on published seeds."""


def boards_of(agent: Agent) -> list[BoardRow]:
    """The rows of an agent on the boards of all benchmarks in the newest season of each, with kept rank ranges.

    Rows with tools are on the boards alone.
    """
    scores = Score.objects.public().ranking().filter(agent=agent, tools="").newest_of_each()
    related = scores.select_related("agent", "job__owner", "job__reexecution", "job__batch__season").defer(*LONG)
    newest: dict[str, Score] = {}
    for score in related.order_by("created"):
        if (
            score.benchmark in benchmarks.names()
            and benchmarks.load(score.benchmark).version == score.benchmark_version
        ):
            newest[score.benchmark] = score
    shown = [newest[name] for name in sorted(newest)][:MOST_BOARDS]
    wanted = Ranking.objects.filter(benchmark__in=[score.benchmark for score in shown], with_tools=False)
    overall = Func(F("ranks"), Value(""), function="jsonb_extract_path", output_field=JSONField())
    columns = "benchmark", "version", "season", "group", "overall"
    kept = {tuple(key): ranks or {} for *key, ranks in wanted.annotate(overall=overall).values_list(*columns)}
    found = []
    for score in shown:
        season = score.job.batch.season
        tier = getattr(getattr(score.job, "reexecution", None), "tier", "")
        key = (score.benchmark, score.benchmark_version, season.pk if season else None, group_of(tier).value)
        ranks = kept.get(key, {})
        best, worst = ranks.get(str(score.pk), (0, 0))
        row = Row(score, best, worst, score.pk)
        found.append(BoardRow(row, len(ranks), reading.standing_of(score.job), season.number if season else None))
    return found


@dataclass(frozen=True, slots=True)
class ListedResult:
    """What the list of agents says of the results of one."""

    share: float | None
    """The mean share of solved episodes over the environments of its newest version; None without any."""
    environments: int
    rating: RatingRow | None


def results_of(agents: Iterable[Agent]) -> dict[int, ListedResult]:
    """The results of several agents by key, in three queries. Numbers behind which a job is not public are left out."""
    keys = [agent.pk for agent in agents]
    kept = Profile.objects.filter(agent__in=keys).values_list("agent", "content__newest")
    newest = {agent_id: found for agent_id, found in kept if found}
    behind = {job_id for found in newest.values() for job_id in found["jobs"]}
    open_jobs = set(Job.objects.published().filter(pk__in=behind).values_list("pk", flat=True))
    ratings = {row.agent.pk: row for row in rows_of(keys)}
    results = {}
    for key in keys:
        found = newest.get(key)
        is_open = found is not None and open_jobs.issuperset(found["jobs"])
        if is_open or key in ratings:
            share, count = (found["share"], found["environments"]) if found is not None and is_open else (None, 0)
            results[key] = ListedResult(share, count, ratings.get(key))
    return results
