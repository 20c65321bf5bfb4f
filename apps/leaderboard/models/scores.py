"""Scores of agents on benchmarks, written once at the end of the job that measured them."""

from __future__ import annotations

from functools import cached_property
from statistics import fmean

from django.db import models
from django.urls import reverse

from apps.agents.models import Agent
from apps.benchmarks.models import OwnBenchmark
from apps.benchmarks.reading import visibility_of
from apps.jobs.models import Job, JobQuerySet
from apps.leaderboard.models.reexecutions import Reexecution
from apps.seasons.models import Season
from apps.visibility import Visibility, as_open_as
from gem.benchmarks import Benchmark

LONG = ("job__reexecution__leaves", "job__reexecution__certificate")
"""Columns that lists of rows do not show."""


OWN = ("agent_id", "tools", "job__owner_id")
"""What a row belongs to: an agent, with tools or not, and whoever submitted its job."""


class ScoreQuerySet(models.QuerySet["Score"]):
    """Reads of scores."""

    def shown(self) -> ScoreQuerySet:
        """Scores whose job and agent administrators have not hidden."""
        return self.filter(job__hidden_reason="", agent__hidden_reason="")

    def verified(self) -> ScoreQuerySet:
        """Those shown that rank: on hidden seeds, only when their episodes were executed again and agreed."""
        return self.shown().exclude(self._unproved())

    def unproved(self) -> ScoreQuerySet:
        """Those shown that do not rank, because they are being verified or could not be."""
        return self.shown().eligible().filter(self._unproved())

    def eligible(self) -> ScoreQuerySet:
        """Those but of built-in agents, which have no owner, in the jobs of people."""
        return self.exclude(agent__owner=None, job__owner__isnull=False)

    @staticmethod
    def _unproved() -> models.Q:
        on_hidden_seeds = models.Q(job__batch__season__isnull=False)
        verified = Reexecution.objects.verified().values("pk")
        return on_hidden_seeds & ~models.Q(job__in=verified)

    def of_jobs(self, jobs: JobQuerySet) -> ScoreQuerySet:
        """Scores of these jobs whose agent administrators have not hidden."""
        return self.filter(job__in=jobs, agent__hidden_reason="")

    def of(self, benchmark: Benchmark) -> ScoreQuerySet:
        """Scores on the benchmark's present version, of public jobs: a ranking is the same for everybody.

        That of a benchmark which is not public has the jobs that are as open as the benchmark.
        """
        scores = self.filter(benchmark=benchmark.name, benchmark_version=benchmark.version)
        return scores.filter(job__batch__visibility__in=as_open_as(visibility_of(benchmark.name)))

    def on_boards(self) -> ScoreQuerySet:
        """Scores of all boards, those of benchmarks that are not public included."""
        as_open = models.Q(job__batch__visibility=Visibility.PUBLIC)
        for visibility in (Visibility.UNLISTED, Visibility.PRIVATE):
            own = OwnBenchmark.objects.filter(visibility=visibility).values("name")
            as_open |= models.Q(benchmark__in=own, job__batch__visibility__in=as_open_as(visibility))
        return self.filter(as_open)

    def public(self) -> ScoreQuerySet:
        """Scores of public jobs."""
        return self.filter(job__batch__visibility=Visibility.PUBLIC)

    def in_season(self, season: Season | None) -> ScoreQuerySet:
        """Those on the hidden seeds of a season; without one, those on published seeds."""
        return self.filter(job__batch__season=season)

    def ranking(self) -> ScoreQuerySet:
        """Those that have a rank, of each row all tries: proved as far as their tier says, and not withdrawn."""
        withdrawn = Score.objects.filter(job=models.OuterRef("job"), mark=Score.Mark.WITHDRAWN)
        return self.verified().eligible().exclude(models.Exists(withdrawn))

    def newest_of_each(self) -> ScoreQuerySet:
        """The latest overall score of each agent, submitter, season, tier and choice of tools."""
        group = "benchmark", "benchmark_version", "job__batch__season_id", "job__reexecution__tier", *OWN
        latest = self.filter(env_id="").order_by(*group, "-created").distinct(*group)
        return Score.objects.filter(pk__in=latest.values("pk"))

    def with_tools(self, tools: bool) -> ScoreQuerySet:
        """Scores with tools, or scores without. They are never ranked together."""
        return self.exclude(tools="") if tools else self.filter(tools="")

    def played_elsewhere(self, elsewhere: bool = True) -> ScoreQuerySet:
        """Scores of the tier `verified`, whose episodes were sent for a challenge, or all others: never one ranking."""
        outside = models.Q(agent__kind=Agent.Kind.OUTSIDE)
        return self.filter(outside if elsewhere else ~outside)

    def newest(self, env_id: str = "", *, elsewhere: bool = False) -> ScoreQuerySet:
        """The latest score of each agent and choice of tools, on one environment or (without `env_id`) overall.

        Args:
            elsewhere: those that were played elsewhere and verified here, which rank apart.

        A row belongs to whoever submitted its job, so that nobody replaces the row of somebody else. Those of the
        built-in agents, which have no owner, come from the jobs of the site itself.
        """
        own = self.ranking().played_elsewhere(elsewhere).filter(env_id=env_id)
        latest = own.order_by(*OWN, "-created").distinct(*OWN)
        rows = Score.objects.filter(pk__in=latest.values("pk"))
        return rows.select_related("agent", "job__owner", "job__reexecution").defer(*LONG)


class Score(models.Model):
    """An agent's result on one environment of a benchmark, or over all of it (`env_id` empty).

    `mean`, `low` and `high` are normalized: 0 is the random agent's reference, 1 the anchor. A seed counts once in the
    interval, which is that of the ranking (`apps.leaderboard.results.estimates_of`).
    """

    class Mark(models.TextChoices):
        FLAGGED = "flagged"
        WITHDRAWN = "withdrawn"

    job = models.ForeignKey(Job, models.CASCADE, related_name="scores")
    agent = models.ForeignKey(Agent, models.CASCADE, related_name="scores")
    benchmark = models.CharField(max_length=80)
    benchmark_version = models.PositiveIntegerField()
    env_id = models.CharField(max_length=120, blank=True)
    tools = models.TextField(blank=True, default="", db_default="")
    """The tools of the job and their budget, in words; empty without tools."""
    mean = models.FloatField()
    low = models.FloatField(null=True, blank=True)
    high = models.FloatField(null=True, blank=True)
    """The ends of the 95 % interval; null where there is none."""
    reason = models.TextField(blank=True, default="", db_default="")
    """Why there is no interval, as a sentence; empty if there is one."""
    mean_return = models.FloatField()
    success_rate = models.FloatField()
    n = models.PositiveIntegerField()
    errors = models.PositiveIntegerField(default=0)
    created = models.DateTimeField(auto_now_add=True)
    mark = models.CharField(max_length=10, choices=Mark.choices, blank=True, default="", db_default="")
    """What a maintainer says of the row, on its overall score: a flagged row keeps its rank, a withdrawn one loses it.
    Every change of it is in the log of decisions."""
    mark_reason = models.TextField(blank=True, default="", db_default="")

    objects = ScoreQuerySet.as_manager()

    class Meta:
        constraints = [
            models.UniqueConstraint(
                fields=["job", "benchmark", "benchmark_version", "env_id"], name="one_score_per_job"
            )
        ]
        indexes = [models.Index(fields=["benchmark", "benchmark_version", "env_id", "-mean"])]

    def __str__(self) -> str:
        return f"{self.agent} on {self.benchmark} {self.env_id or 'overall'}: {self.mean:.3f}"

    def get_absolute_url(self) -> str:
        """The page of the row."""
        return reverse("leaderboard:row", args=[self.pk])

    @property
    def planned(self) -> int:
        """The episodes that were to be played."""
        return self.n + self.errors

    @property
    def success_low(self) -> float:
        """The share of solved episodes if all that are missing were lost."""
        return fmean(part.success_rate * part.n / part.planned if part.planned else 0.0 for part in self._parts)

    @property
    def success_high(self) -> float:
        """The share of solved episodes if all that are missing were won."""
        return fmean(
            (part.success_rate * part.n + part.errors) / part.planned if part.planned else 1.0 for part in self._parts
        )

    @cached_property
    def _parts(self) -> list[Score]:
        """What it is the mean of: of an overall score with missing episodes, those of the environments."""
        if self.env_id or not self.errors:
            return [self]
        parts = Score.objects.filter(job=self.job_id, benchmark=self.benchmark).exclude(env_id="")
        return list(parts.filter(benchmark_version=self.benchmark_version)) or [self]
