"""Jobs: requests to evaluate or to train, and which of them a person may see, owns or searches for."""

from __future__ import annotations

import re
from typing import Any

from django.conf import settings
from django.contrib.postgres.fields import ArrayField
from django.contrib.postgres.indexes import GinIndex
from django.contrib.postgres.search import SearchQuery, SearchVector
from django.db import models
from django.db.models.functions import Coalesce
from django.urls import reverse

from apps.accounts.models import Viewer
from apps.agents.models import Agent
from apps.episodes.models import ID_LENGTH, Batch, make_id
from apps.moderation.moderated import Moderated
from apps.visibility import Person, Visibility, VisibleQuerySet
from gem import benchmarks

WORDS = SearchVector("name", "notes", config="simple")
"""What a search among jobs looks at; an index has it."""
MAX_WORDS, MAX_AGENTS = 8, 200
"""The words of a search among jobs, and the agents with such a name."""


class JobQuerySet(VisibleQuerySet["Job"]):
    """Reads of jobs."""

    governed_by = ("batch__visibility",)

    def owned_by(self, user: Person, visitor: str) -> models.Q:
        """See `VisibleQuerySet.owned_by`. Visitors have no jobs."""
        return models.Q(owner=user.pk) if user.is_authenticated else models.Q(pk__in=[])

    def active(self) -> JobQuerySet:
        """Queued and running jobs."""
        return self.filter(state__in=[Job.State.QUEUED, Job.State.RUNNING])

    def unfinished(self) -> JobQuerySet:
        """Queued, running and paused jobs."""
        return self.filter(state__in=[Job.State.QUEUED, Job.State.RUNNING, Job.State.PAUSED])

    def trainings(self) -> JobQuerySet:
        """Jobs that train a policy."""
        return self.filter(kind=Job.Kind.TRAINING)

    def evaluations(self) -> JobQuerySet:
        """Jobs that evaluate an agent."""
        return self.filter(kind=Job.Kind.EVALUATION)

    def filed_under(self, viewer: Viewer, *, words: str = "", tag: str = "", group: str = "") -> JobQuerySet:
        """Those with a tag, of a group, and with words in their name, their notes or the name of their agent.

        Empty values choose nothing. Each part of the search reads an index.
        """
        jobs = self
        if tag:
            jobs = jobs.filter(tags__contains=[tag])
        if group:
            jobs = jobs.filter(group=group)
        if parts := re.findall(r"\w+", words)[:MAX_WORDS]:
            query = SearchQuery(" & ".join(f"{part}:*" for part in parts), search_type="raw", config="simple")
            agents = Agent.objects.named_to(viewer).filter(name__icontains=words.strip())
            named = list(agents.values_list("pk", flat=True)[:MAX_AGENTS])
            jobs = jobs.annotate(words=WORDS).filter(models.Q(words=query) | models.Q(agent__in=named))
        return jobs

    def for_list(self) -> JobQuerySet:
        """With all related rows that a list of jobs shows, in one query."""
        return self.select_related("agent", "owner", "batch", "books")

    def for_page(self) -> JobQuerySet:
        """With all related rows that the page of a job shows, in two queries for any number of jobs."""
        return self.for_list().prefetch_related("shards")


class Job(Moderated):
    """A request to evaluate an agent or to train a policy, with its state and its progress."""

    class Kind(models.TextChoices):
        EVALUATION = "evaluation"
        TRAINING = "training"

    class State(models.TextChoices):
        QUEUED = "queued"
        RUNNING = "running"
        PAUSED = "paused"
        DONE = "done"
        STOPPED = "stopped"  # an evaluation by its budget, a training by its alarm
        DECIDED = "decided", "stopped: decided"
        CANCELLED = "cancelled"
        FAILED = "failed"

    class Priority(models.IntegerChoices):
        LOW = -1
        NORMAL = 0
        HIGH = 1

    id = models.CharField(primary_key=True, max_length=ID_LENGTH, default=make_id, editable=False)
    kind = models.CharField(max_length=12, choices=Kind.choices, default=Kind.EVALUATION)
    name = models.CharField(max_length=120, blank=True)
    notes = models.TextField(blank=True, db_default="")
    """What it is for, in the words of its owner, to whoever can see the job."""
    tags: models.Field[Any, list[str]] = ArrayField(
        models.CharField(max_length=40), default=list, db_default=[], blank=True
    )
    group = models.CharField(max_length=ID_LENGTH, blank=True, db_default="")
    """The same in all jobs that were submitted together; empty of one that was submitted alone."""
    priority = models.SmallIntegerField(choices=Priority.choices, default=Priority.NORMAL, db_default=0)
    """Which of its owner's jobs is served first. It has no effect on the jobs of others."""
    spec = models.JSONField()
    """An `EvaluationSpec` or a `TrainingSpec` as JSON: form, API and worker validate with the same model."""
    owner = models.ForeignKey(settings.AUTH_USER_MODEL, models.CASCADE, null=True, blank=True, related_name="jobs")
    agent = models.ForeignKey(Agent, models.PROTECT, related_name="jobs")
    """The agent that plays. Of a training: the agent that it creates, which has the newest weights."""
    set_up = models.JSONField(null=True, blank=True)
    """The agent's set-up when the job was submitted (`Agent.set_up`): the prompt and the sampling."""
    parent = models.ForeignKey("self", models.SET_NULL, null=True, blank=True, related_name="forks")
    """The training that this one is forked from; of the evaluation of a best checkpoint, its training."""
    parent_update = models.PositiveIntegerField(default=0)
    """The update of the checkpoint that is forked or evaluated."""
    evaluate_best = models.BooleanField(default=False, db_default=False)
    """Of a training: whether its best checkpoint is submitted for evaluation when it is done."""
    batch = models.OneToOneField(Batch, models.CASCADE, related_name="job")
    state = models.CharField(max_length=12, choices=State.choices, default=State.QUEUED)
    reason = models.TextField(blank=True)
    """Why it failed, or why its budget or a restore stopped it. Empty if a person cancelled or paused it."""
    idempotency_key = models.CharField(max_length=80, blank=True)
    """Two submissions with the same owner and key create one job."""
    seq = models.PositiveIntegerField(default=0)
    episodes_total = models.PositiveIntegerField()
    episodes_done = models.PositiveIntegerField(default=0)
    turns_done = models.PositiveBigIntegerField(default=0)
    num_envs = models.PositiveSmallIntegerField(null=True, blank=True)
    """Episodes that each worker plays at a time, if somebody has changed it since the job was submitted."""
    max_workers = models.PositiveSmallIntegerField(null=True, blank=True)
    """The most workers that play it at a time; None for as many as there are."""
    seconds_busy = models.FloatField(default=0.0)
    """Wall time that workers spent on it, summed over shards."""
    seconds_agent = models.FloatField(default=0.0)
    """The part of `seconds_busy` in which the agent chose its actions."""
    seconds_storing = models.FloatField(default=0.0)
    """The part of `seconds_busy` in which episodes were stored."""
    latest = models.JSONField(default=dict)
    """Of a training: the number, success and return of its last update, and its alarms: see `apps.trainings.alarms`."""
    served = models.DateTimeField(null=True, blank=True)
    """When a worker last claimed one of its shards. Of one person's jobs, the one that has waited longest is next."""
    archived = models.DateTimeField(null=True, blank=True)
    """When its owner archived it: lists leave it out then, unless they are asked for archived jobs."""
    created = models.DateTimeField(auto_now_add=True)
    started = models.DateTimeField(null=True, blank=True)
    ended = models.DateTimeField(null=True, blank=True)

    objects = JobQuerySet.as_manager()

    class Meta:
        ordering = ["-created"]
        indexes = [
            models.Index(fields=["state", "created"]),
            models.Index(fields=["-created", "id"], name="jobs_by_time"),
            models.Index(fields=["owner", "-created"]),
            models.Index(
                "kind",
                Coalesce("owner_id", 0),
                "state",
                models.F("priority").desc(),
                "created",
                condition=models.Q(state__in=["queued", "running"]),
                name="jobs_in_line",
            ),
            GinIndex(fields=["tags"], name="jobs_by_tag"),
            GinIndex(WORDS, name="jobs_by_word"),
            models.Index(fields=["group"], condition=~models.Q(group=""), name="jobs_of_group"),
            models.Index(fields=["batch"], condition=models.Q(hidden_reason__gt=""), name="hidden_jobs"),
            models.Index(
                fields=["agent", "-created"], condition=models.Q(started__isnull=False), name="started_jobs_of_agents"
            ),
        ]
        constraints = [
            models.UniqueConstraint(
                fields=["owner", "idempotency_key"], condition=~models.Q(idempotency_key=""), name="one_job_per_key"
            )
        ]

    def __str__(self) -> str:
        return self.name or f"{self.kind} {self.id}"

    def get_absolute_url(self) -> str:
        """The job's page."""
        return reverse("jobs:job", args=[self.id])

    @property
    def title(self) -> str:
        """Its name, or a description of who plays what. Of a training: the name of its agent."""
        if self.kind == self.Kind.TRAINING:
            return self.agent.name
        if self.name:
            return self.name
        env_ids = self.spec.get("env_ids", [])
        what = self.spec.get("benchmark") or (
            env_ids[0].partition(":")[2] if len(env_ids) == 1 else f"{len(env_ids)} environments"
        )
        against = f" against {self.spec['opponent']}" if self.spec.get("opponent") else ""
        tools = f" with {', '.join(self.spec['tools'])}" if self.spec.get("tools") else ""
        return f"{self.agent.name}{tools} on {what}{against}"

    @property
    def over(self) -> bool:
        """Whether it has ended."""
        return self.state not in {self.State.QUEUED, self.State.RUNNING, self.State.PAUSED}

    @property
    def is_ranked(self) -> bool:
        """Whether its results count on the leaderboard, so that nobody may choose which of its episodes count.

        It is decided by the request alone, and does not change while the job runs.
        """
        return self.plays_hidden_seeds or self._plays_all_public_seeds

    @property
    def plays_hidden_seeds(self) -> bool:
        """Whether its seeds are hidden, or were until its season was revealed."""
        return bool(self.spec.get("hidden_seeds"))

    @property
    def _plays_all_public_seeds(self) -> bool:
        """Whether it plays a benchmark that is ranked on public seeds, each of them once."""
        name = self.spec.get("benchmark")
        return bool(name) and int(self.spec.get("repeats", 1)) == 1 and not benchmarks.has_hidden_seeds(name)

    @property
    def is_closed(self) -> bool:
        """Whether nobody may see its seeds and its episodes yet, but only how these ended."""
        return self.batch.closed

    @property
    def episodes_at_a_time(self) -> int:
        """Episodes of an evaluation that each worker plays at a time."""
        return self.num_envs or int(self.spec.get("num_envs", 1))

    @property
    def state_in_words(self) -> str:
        """The state as pages name it."""
        if self.state == self.State.DECIDED:
            return self.State.DECIDED.label
        if self.state != self.State.STOPPED:
            return self.state
        return "stopped by its alarm" if self.kind == self.Kind.TRAINING else "stopped by its budget"

    @property
    def visibility(self) -> Visibility:
        """Who may see it and its episodes. It is stored in its batch, so that both always agree."""
        return Visibility(self.batch.visibility)

    def may_be_changed_by(self, user: Viewer) -> bool:
        """Whether `user` may cancel it: its owner, or staff."""
        return user.is_authenticated and (user.is_staff or user == self.owner)


def owner_of_job(user: Person, visitor: str) -> models.Q:
    """A filter for the episodes of this person's jobs, which they own."""
    return models.Q(batch__in=Job.objects.owned(user, visitor).values("batch"))
