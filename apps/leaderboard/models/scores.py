"""Scores of agents on benchmarks, written once at the end of the job that measured them."""

from __future__ import annotations

from django.db import models
from django.urls import reverse

from apps.agents.models import Agent
from apps.jobs.models import Job, JobQuerySet
from apps.leaderboard.models.reexecutions import Reexecution
from apps.visibility import Visibility
from gem.benchmarks import Benchmark

LONG = ("job__reexecution__leaves", "job__reexecution__certificate")
"""Columns that lists of rows do not show."""


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
        """Scores on the benchmark's present version, of public jobs: a ranking is the same for everybody."""
        scores = self.filter(benchmark=benchmark.name, benchmark_version=benchmark.version)
        return scores.filter(job__batch__visibility=Visibility.PUBLIC)

    def with_tools(self, tools: bool) -> ScoreQuerySet:
        """Scores with tools, or scores without. They are never ranked together."""
        return self.exclude(tools="") if tools else self.filter(tools="")

    def newest(self, env_id: str = "") -> ScoreQuerySet:
        """The latest score of each agent and choice of tools, on one environment or (without `env_id`) overall.

        A row belongs to whoever submitted its job, so that nobody replaces the row of somebody else. Those of the
        built-in agents, which have no owner, come from the jobs of the site itself.
        """
        group = "agent_id", "tools", "job__owner_id"
        rows = self.verified().eligible().filter(env_id=env_id)
        latest = rows.order_by(*group, "-created").distinct(*group)
        rows = Score.objects.filter(pk__in=latest.values("pk"))
        return rows.select_related("agent", "job__owner", "job__reexecution").defer(*LONG)


class Score(models.Model):
    """An agent's result on one environment of a benchmark, or over all of it (`env_id` empty).

    `mean`, `low` and `high` are normalized: 0 is the random agent's reference, 1 the best possible. The interval is
    that of the job's page, `gem.evaluation.intervals.estimate_return`, in which a seed counts once.
    """

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
        return self.success_rate * self.n / self.planned if self.planned else 0.0

    @property
    def success_high(self) -> float:
        """The share of solved episodes if all that are missing were won."""
        return (self.success_rate * self.n + self.errors) / self.planned if self.planned else 1.0
