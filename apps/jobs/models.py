"""Jobs: requests to evaluate or to train, the shards that workers claim, and the results of trainings."""

from __future__ import annotations

import re
from typing import Any

from django.conf import settings
from django.contrib.postgres.fields import ArrayField
from django.contrib.postgres.indexes import GinIndex
from django.contrib.postgres.search import SearchQuery, SearchVector
from django.db import models
from django.db.models.functions import Coalesce, Now
from django.urls import reverse

from apps.accounts.models import Viewer
from apps.agents.models import Agent
from apps.episodes.models import ID_LENGTH, Batch, Episode, make_id
from apps.jobs.books.rows import EpisodeBooks, JobBooks, Reservation
from apps.jobs.decisions.rows import Decision
from apps.leases import Leased, LeasedQuerySet
from apps.moderation.moderated import Moderated
from apps.visibility import Person, Visibility, VisibleQuerySet
from gem.evaluation.spec import EvaluationPart

WORDS = SearchVector("name", "notes", config="simple")
"""What a search among jobs looks at; an index has it."""
MAX_WORDS, MAX_AGENTS = 8, 200
"""The words of a search among jobs, and the agents with such a name."""

__all__ = [
    "Checkpoint", "Decision", "EpisodeBooks", "Job", "JobBooks", "JobEvent", "JobQuerySet", "Point", "Reservation",
    "Sample", "Shard", "owner_of_job",
]  # fmt: skip


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

    def for_page(self) -> JobQuerySet:
        """With all related rows that a list of jobs shows, in two queries for any number of jobs."""
        return self.select_related("agent", "owner", "batch", "books").prefetch_related("shards")


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
        STOPPED = "stopped", "stopped by its budget"
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
        return bool(self.spec.get("benchmark")) and int(self.spec.get("repeats", 1)) == 1

    @property
    def episodes_at_a_time(self) -> int:
        """Episodes of an evaluation that each worker plays at a time."""
        return self.num_envs or int(self.spec.get("num_envs", 1))

    @property
    def state_in_words(self) -> str:
        """The state as pages name it."""
        return self.State(self.state).label if self.state in {self.State.STOPPED, self.State.DECIDED} else self.state

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


class Shard(Leased):
    """A part of a job that one worker plays: consecutive slots of one environment. A training is one shard.

    Every write of a worker is fenced by `lease_token` and `state`: a worker that lost the lease writes nothing.
    `attempt` counts its claims since it last made progress.
    """

    State = Job.State

    job = models.ForeignKey(Job, models.CASCADE, related_name="shards")
    number = models.PositiveIntegerField()
    env_id = models.CharField(max_length=120)
    first_slot = models.PositiveIntegerField()
    first_seed = models.BigIntegerField(default=0)
    """The seed of the first slot; the seeds of a shard are consecutive like its slots."""
    count = models.PositiveIntegerField()
    done = models.PositiveIntegerField(default=0)
    """The number of its recorded slots. A new attempt plays the others."""
    won = models.PositiveIntegerField(default=0)
    limited = models.PositiveIntegerField(default=0)
    """Episodes that ended by a limit of turns or tokens and were not solved."""
    errors = models.PositiveIntegerField(default=0)
    """Episodes that are not in the sums: environment errors and unanswered episodes."""
    unanswered = models.PositiveIntegerField(default=0, db_default=0)
    """The `errors` in which the agent gave no answer."""
    cancelled = models.PositiveIntegerField(default=0, db_default=0)
    """The `errors` that a person cancelled and dropped."""
    orders: models.Field[Any, dict[str, str]] = models.JSONField(default=dict, db_default={}, blank=True)
    """What people want done with episodes that are not recorded yet, by slot: see `apps.jobs.controls`."""
    skipped = models.BooleanField(default=False, db_default=False)
    """Whether a person skipped what was left of it. Its state is `cancelled` then, and the job goes on without it."""
    tokens_in = models.PositiveBigIntegerField(default=0, db_default=0)
    tokens_out = models.PositiveBigIntegerField(default=0, db_default=0)
    """Tokens of all its episodes, including the `errors`."""
    actions = models.PositiveBigIntegerField(null=True, default=0)
    """Actions of the evaluated agent in all its episodes. In rows from before they were counted, this is null."""
    unreadable = models.PositiveBigIntegerField(null=True, default=0)
    forbidden = models.PositiveBigIntegerField(null=True, default=0)
    """The `actions` that the environment could not understand, and those that its rules do not allow."""
    data: models.Field[Any, dict[str, str]] = models.JSONField(default=dict, db_default={})
    """The data that its episodes were played on: where they come from, by their hash. Empty without data."""
    turns = models.PositiveBigIntegerField(default=0)
    return_sum = models.FloatField(default=0.0)
    return_squares = models.FloatField(default=0.0)
    seconds = models.FloatField(default=0.0)
    """Wall time that workers spent on it."""
    state = models.CharField(max_length=12, choices=State.choices, default=State.QUEUED)
    reason = models.TextField(blank=True)
    setbacks = models.PositiveSmallIntegerField(default=0, db_default=0)
    """How often a fault of the infrastructure interrupted it since it last made progress or an attempt failed."""
    rests_until = models.DateTimeField(null=True, blank=True)
    """After a setback: when it may be claimed again."""
    sent = models.DateTimeField(null=True, blank=True)
    """When a message about it was last sent. The reaper repeats it if no worker claims the shard."""

    objects = LeasedQuerySet["Shard"].as_manager()

    class Meta:
        ordering = ["number"]
        constraints = [models.UniqueConstraint(fields=["job", "number"], name="one_shard_per_number")]
        indexes = [
            models.Index(fields=["state", "lease_until"]),
            models.Index(fields=["job", "number"], condition=models.Q(state="queued"), name="queued_shards"),
        ]

    def __str__(self) -> str:
        return f"shard {self.number} of job {self.job_id}"

    @property
    def slots(self) -> range:
        """The places of its episodes in the batch."""
        return range(self.first_slot, self.first_slot + self.count)

    def place(self, slot: int) -> tuple[int, int]:
        """The seed and the seat of the episode in one of its slots."""
        return EvaluationPart(self.env_id, self.first_seed, self.count).seed_and_seat(slot - self.first_slot)


class JobEventQuerySet(models.QuerySet["JobEvent"]):
    """Reads of events."""

    def for_log(self) -> JobEventQuerySet:
        """Those that the log of a page shows. Which episodes a training has kept is seen in their list."""
        return self.exclude(kind=JobEvent.Kind.SAMPLES)

    def matching(self, text: str, level: str = "all") -> JobEventQuerySet:
        """Those with this text, in any case, that are marked at least so: `all`, `warnings` or `errors`."""
        found = self.filter(text__icontains=text) if text else self
        tones = {"warnings": [JobEvent.Tone.WARN, JobEvent.Tone.LOSS], "errors": [JobEvent.Tone.LOSS]}.get(level)
        return found if tones is None else found.filter(tone__in=tones)


class JobEvent(models.Model):
    """A change that raised a job's `seq`, for the job's log and for the pages that watch the job."""

    class Kind(models.TextChoices):
        SUBMITTED = "submitted"
        CLAIMED = "claimed"
        EPISODES = "episodes"
        UPDATES = "updates"
        SAMPLES = "samples"
        CHECKPOINT = "checkpoint"
        ALARM = "alarm"
        REQUEUED = "requeued"
        PAUSED = "paused"
        RESUMED = "resumed"
        CHANGED = "changed"
        RETRIED = "retried"
        ENDED = "ended"

    class Tone(models.TextChoices):
        PLAIN = ""
        WARN = "warn"
        LOSS = "loss"

    pk = models.CompositePrimaryKey("job_id", "seq")
    job = models.ForeignKey(Job, models.CASCADE, related_name="events", db_index=False)
    seq = models.PositiveIntegerField()
    kind = models.CharField(max_length=12, choices=Kind.choices)
    tone = models.CharField(max_length=4, choices=Tone.choices, blank=True)
    text = models.TextField()
    slots: models.Field[Any, list[int]] = ArrayField(models.PositiveIntegerField(), default=list)
    """The slots of the episodes that were recorded; of `retried`, of those that are played again."""
    data: models.Field[Any, dict[str, Any]] = models.JSONField(default=dict, db_default={})
    """What programs read besides the text: see `apps.jobs.events` and `apps.trainings.events`. Empty in old rows."""
    at = models.DateTimeField(db_default=Now())

    objects = JobEventQuerySet.as_manager()

    class Meta:
        ordering = ["seq"]

    def __str__(self) -> str:
        return self.text


class Point(models.Model):
    """The metrics of one update of a training: a point on each of its curves."""

    pk = models.CompositePrimaryKey("job_id", "update")
    job = models.ForeignKey(Job, models.CASCADE, related_name="points", db_index=False)
    update = models.PositiveIntegerField()
    data: models.Field[Any, dict[str, float]] = models.JSONField()
    """The metrics by name, as `gem.training` writes them. docs/training.md explains each."""

    class Meta:
        ordering = ["update"]

    def __str__(self) -> str:
        return f"update {self.update} of {self.job_id}"


class Checkpoint(models.Model):
    """The policy after an update of a training, as an agent of its own."""

    job = models.ForeignKey(Job, models.CASCADE, related_name="checkpoints")
    update = models.PositiveIntegerField()
    agent = models.OneToOneField(Agent, models.PROTECT, related_name="checkpoint")
    success = models.FloatField(null=True, blank=True)
    """The share of episodes solved in that update; None if it is not known."""
    created = models.DateTimeField(auto_now_add=True)

    class Meta:
        ordering = ["update"]
        constraints = [models.UniqueConstraint(fields=["job", "update"], name="one_checkpoint_per_update")]

    def __str__(self) -> str:
        return f"checkpoint {self.update} of {self.job_id}"


class Sample(models.Model):
    """An episode of a training, kept to be looked at."""

    episode = models.OneToOneField(Episode, models.CASCADE, primary_key=True, related_name="sample")
    job = models.ForeignKey(Job, models.CASCADE, related_name="samples")
    update = models.PositiveIntegerField()
    group = models.PositiveIntegerField()
    """Episodes of one group have the same seed: they are several tries."""
    exam = models.BooleanField(default=False)
    """Whether it was played with a checkpoint on a seed that every checkpoint plays. Nothing is learned from it."""

    class Meta:
        ordering = ["update", "group", "episode__slot"]
        indexes = [models.Index(fields=["job", "update"])]

    def __str__(self) -> str:
        return f"sample of update {self.update} of {self.job_id}"
