"""Batches and episodes, and which of them a person may see or owns."""

from __future__ import annotations

from functools import reduce
from operator import or_
from typing import TYPE_CHECKING, Any, ClassVar

from django.db import models
from django.db.models.functions import Coalesce
from django.urls import reverse

import gem
from apps.episodes.models.ids import ID_LENGTH, make_id
from apps.episodes.models.seats import Seat, seated
from apps.episodes.models.turns import Turn
from apps.moderation.moderated import Moderated
from apps.seasons.models import Season
from apps.seasons.operations import seed_of
from apps.visibility import Claim, Person, Visibility, VisibleQuerySet, column, narrower
from gem.errors import UnknownEnvironment
from gem.evaluation.endings import MAX_CHARS
from gem.tools.tool_catalog import as_fields, names_of
from gem.wrappers.wrapper_factory import TOOL_WRAPPERS

if TYPE_CHECKING:
    from gem.registry import EnvSpec


class BatchQuerySet(VisibleQuerySet["Batch"]):
    """Queries for batches. A job's batch is hidden with its job, and a duel with an episode of it."""

    def is_shown(self) -> models.Q:
        """See `VisibleQuerySet.is_shown`."""
        of_jobs = Batch.objects.filter(job__hidden_reason__gt="")
        of_duels = Episode.objects.filter(hidden_reason__gt="", batch__kind=Batch.Kind.DUEL)
        return ~models.Q(pk__in=of_jobs.values("pk")) & ~models.Q(pk__in=of_duels.values("batch"))

    def owned_by(self, user: Person, visitor: str) -> models.Q:
        """See `VisibleQuerySet.owned_by`: the duels with an episode of this person."""
        duels = Episode.objects.filter(batch__kind=Batch.Kind.DUEL).owned(user, visitor)
        return models.Q(pk__in=duels.values("batch"))


class Batch(models.Model):
    """Episodes that belong together: those of a job, of a duel, of the showcase, or the examples."""

    class Kind(models.TextChoices):
        JOB = "job"
        SHOWCASE = "showcase"
        EXAMPLE = "example"
        DUEL = "duel"
        RANKED = "ranked"  # what a person plays on hidden seeds in a season

    id = models.CharField(primary_key=True, max_length=ID_LENGTH, default=make_id, editable=False)
    kind = models.CharField(max_length=12, choices=Kind.choices)
    seq = models.PositiveIntegerField(default=0, db_default=0)
    """Of a duel: the number of changes to its episodes, raised in the transaction that makes the change."""
    visibility = column()
    """Of a job, a training or a duel. None of its episodes is more open than this."""
    closed = models.BooleanField(default=False, db_default=False)
    """Whether its episodes are played on hidden seeds that are not published yet (`apps.episodes.ranked.closing`)."""
    season = models.ForeignKey(Season, models.PROTECT, null=True, blank=True, related_name="batches")
    """The season whose hidden seeds its episodes have; None if their seeds were never hidden."""
    submission = models.PositiveIntegerField(default=0, db_default=0)
    """Its number among those of the season that have seeds of their own; 0 if it shares them."""
    created = models.DateTimeField(auto_now_add=True)

    objects = BatchQuerySet.as_manager()

    class Meta:
        indexes = [models.Index(fields=["id"], condition=models.Q(closed=True), name="closed_batches")]

    def __str__(self) -> str:
        return f"{self.kind} {self.id}"

    def get_absolute_url(self) -> str:
        """The page of a duel."""
        return reverse("duels:duel", args=[self.pk])

    @property
    def is_duel(self) -> bool:
        """Whether its episodes are shown side by side."""
        return self.kind == self.Kind.DUEL

    def reason_to_hide(self) -> str:
        """Of a duel: why administrators have hidden it, or one of its episodes; empty if they have not."""
        hidden = self.episodes.exclude(hidden_reason="").order_by("slot")
        return hidden.values_list("hidden_reason", flat=True).first() or ""


NOT_CLOSED_IN_JOB = models.Q(of_job=False) | models.Q(seed__gte=0)
"""A filter that leaves out the closed episodes of jobs, which nobody may read. Lists that go by time have an index with
this condition: otherwise they would pass all episodes of a season before they find one to show.
"""


class EpisodeQuerySet(VisibleQuerySet["Episode"]):
    """Queries for episodes. An episode of a hidden job is hidden with it."""

    governed_by = ("visibility", "batch__visibility")
    claims: ClassVar[list[Claim]] = []
    """Who owns episodes besides the people in their seats. Upper apps add theirs in `AppConfig.ready`."""

    def is_shown(self) -> models.Q:
        """See `VisibleQuerySet.is_shown`."""
        is_of_hidden_job = models.Q(batch__in=Batch.objects.filter(job__hidden_reason__gt="").values("pk"))
        return models.Q(hidden_reason="") & ~is_of_hidden_job

    def owned_by(self, user: Person, visitor: str) -> models.Q:
        """See `VisibleQuerySet.owned_by`: episodes in which this person has a seat, and those that others claim."""
        if not user.is_authenticated and not visitor:  # a visitor without a key owns none
            return models.Q(pk__in=[])
        return reduce(or_, (claim(user, visitor) for claim in self.claims), seated(user, visitor))

    def visible_to(self, user: Person, visitor: str = "") -> EpisodeQuerySet:
        """See `VisibleQuerySet.visible_to`. Closed episodes are for the people in their seats, and for nobody else."""
        return super().visible_to(user, visitor).filter(self._readable(user, visitor))

    def listed_for(self, user: Person, visitor: str = "") -> EpisodeQuerySet:
        """See `VisibleQuerySet.listed_for`, and `visible_to` for closed episodes."""
        return super().listed_for(user, visitor).filter(self._readable(user, visitor))

    def published(self) -> EpisodeQuerySet:
        """See `VisibleQuerySet.published`."""
        return super().published().opened()

    def opened(self) -> EpisodeQuerySet:
        """Those that are not closed."""
        return self.filter(NOT_CLOSED_IN_JOB, ~self._closed())

    def _closed(self) -> models.Q:
        """A filter for the episodes of closed batches, of which there are few."""
        return models.Q(batch__in=Batch.objects.filter(closed=True).values("pk"))

    def _readable(self, user: Person, visitor: str) -> models.Q:
        """A filter for the episodes that are not closed, or in which this person has a seat."""
        has_seat = seated(user, visitor) if user.is_authenticated or visitor else models.Q(pk__in=[])
        return NOT_CLOSED_IN_JOB & (~self._closed() | has_seat)

    def owned_outside_jobs(self, user: Person, visitor: str) -> EpisodeQuerySet:
        """Episodes of this person that no job has played."""
        return self.filter(self.owned_by(user, visitor), of_job=False)

    def running(self) -> EpisodeQuerySet:
        """Episodes that have not ended."""
        return self.filter(status=Episode.Status.RUNNING)

    def by_last_turn(self) -> EpisodeQuerySet:
        """Order by the time of the last turn, newest first."""
        last = Turn.objects.filter(episode=models.OuterRef("pk")).order_by("-number").values("created")[:1]
        return self.order_by(Coalesce(models.Subquery(last), "created").desc())

    def ended(self) -> EpisodeQuerySet:
        """Episodes that ended by the rules of the environment."""
        return self.filter(status=Episode.Status.ENDED)

    def with_seats(self) -> EpisodeQuerySet:
        """Prefetch seats and their agents, with two more queries for any number of episodes."""
        return self.prefetch_related(models.Prefetch("seats", Seat.objects.select_related("agent", "user")))


class Episode(Moderated):
    """One run of an environment from reset to its end.

    It can be replayed from `env_id`, `env_version`, `env_kwargs`, `data_hash`, `wrappers`, `seed` and the actions of
    its turns; outputs of tools are read from their infos. `state` caches the state of the environment after the last
    turn. It is empty after the episode has ended, and can always be rebuilt.
    """

    class Status(models.TextChoices):
        RUNNING = "running"
        ENDED = "ended"
        FAILED = "failed"  # ended by an error, not counted
        ABANDONED = "abandoned"

    class FailedBy(models.TextChoices):
        ENVIRONMENT = "environment"
        AGENT = "agent"

    class Outcome(models.TextChoices):
        WON = "won", "solved"
        LOST = "lost", "not solved"
        LIMIT = "limit", "limit of turns, tokens or money"
        ERROR = "error", "environment error, not counted"
        RUNNING = "running", "running"
        ABANDONED = "abandoned", "abandoned"

    id = models.CharField(primary_key=True, max_length=ID_LENGTH, default=make_id, editable=False)
    batch = models.ForeignKey(Batch, models.CASCADE, null=True, blank=True, related_name="episodes")
    slot = models.PositiveIntegerField(null=True, blank=True)
    """The position in the batch. A batch stores each slot only once, even if a worker plays it again."""
    of_job = models.BooleanField(default=False, db_default=False)
    """Whether a job played it. Most episodes belong to jobs; an index skips them in lists of the others."""

    env_id = models.CharField(max_length=120)
    env_version = models.PositiveIntegerField()
    env_kwargs = models.JSONField(default=dict, blank=True)
    data_hash = models.CharField(max_length=64, blank=True)
    wrappers = models.JSONField(default=list, blank=True)
    seed = models.BigIntegerField()
    """While it is hidden, a negative number that stands for it: see `apps.seasons.numbers`."""
    engine_version = models.CharField(max_length=20)
    python_version = models.CharField(max_length=20)

    status = models.CharField(max_length=12, choices=Status.choices, default=Status.RUNNING)
    terminated = models.BooleanField(default=False)
    truncated = models.BooleanField(default=False)
    cut = models.CharField(max_length=8, blank=True, default="", db_default="")
    """What ended the episode from outside, where a replay does not end: `tokens` is its token limit."""
    success = models.BooleanField(null=True, blank=True)
    failure = models.TextField(blank=True)
    """Why it failed: the error of the environment, or why the agent gave no answer."""
    failed_by = models.CharField(max_length=12, choices=FailedBy.choices, blank=True, default="", db_default="")
    """Whose failure it was (`gem.errors.failure_of`); empty if there was none, or it was ours."""
    ending_kind = models.CharField(max_length=12, blank=True, default="", db_default="")
    """Of an unsolved episode of a job: how it ended (`gem.evaluation.endings.KINDS`). Empty in old rows."""
    ending_text = models.CharField(max_length=MAX_CHARS, blank=True, default="", db_default="")
    """What the error or the environment said last, the same for all episodes that ended alike."""
    tokens_in = models.BigIntegerField(null=True, blank=True)
    tokens_out = models.BigIntegerField(null=True, blank=True)
    """Of an episode of a job: the tokens of its turns. In old rows, this and what follows is null."""
    answer_seconds = models.FloatField(null=True, blank=True)
    """The mean time that the evaluated agent took for an answer, if it measures that."""
    unreadable = models.IntegerField(null=True, blank=True)
    forbidden = models.IntegerField(null=True, blank=True)
    """Actions of the evaluated agent that the environment could not understand, and that its rules do not allow."""
    first_observation = models.TextField(blank=True)
    first_info = models.JSONField(default=dict, blank=True)
    turn_count = models.PositiveIntegerField(default=0)
    max_turns = models.PositiveIntegerField(default=0)
    state = models.JSONField(null=True, blank=True)
    seat_count = models.PositiveSmallIntegerField(default=1, db_default=1)
    acting = models.PositiveSmallIntegerField(default=0, db_default=0)
    """The seat to act, or the last one that acted if the episode is over."""
    scored_seat = models.PositiveSmallIntegerField(default=0, db_default=0)
    """The seat whose return and success count for the episode as a whole: that of the evaluated agent."""

    seq = models.PositiveIntegerField(default=0)
    """The number of changes that a page shows, raised in the transaction that makes the change."""
    parent = models.ForeignKey("self", models.SET_NULL, null=True, blank=True, related_name="branches")
    """The episode that this one was forked from. Both share all turns up to `parent_turn`."""
    parent_turn = models.PositiveIntegerField(null=True, blank=True)
    taken_over = models.BooleanField(default=False, db_default=False)
    """Whether a person has taken the seat of an agent (`Handover`). Such an episode counts in no ranking or rating."""
    goes_on_in = models.ForeignKey("self", models.SET_NULL, null=True, blank=True, related_name="+")
    """After an undo, the branch that continues without the undone turns."""
    visibility = column()
    """Its own. In a batch the more closed of both counts (`governing_visibility`)."""
    created = models.DateTimeField(auto_now_add=True)
    ended = models.DateTimeField(null=True, blank=True)

    objects = EpisodeQuerySet.as_manager()

    class Meta:
        constraints = [
            models.UniqueConstraint(fields=["batch", "slot"], name="one_episode_per_slot"),
            models.CheckConstraint(
                condition=~models.Q(terminated=True, truncated=True), name="terminated_or_truncated_never_both"
            ),
        ]
        indexes = [
            models.Index(fields=["env_id", "-created"]),
            models.Index(fields=["seed", "env_id"], name="episodes_by_seed"),
            models.Index(
                fields=["-created", "id"],
                include=["of_job", "visibility", "batch"],
                condition=NOT_CLOSED_IN_JOB,
                name="readable_episodes_by_time",
            ),
            models.Index(
                fields=["-created", "id"],
                include=["visibility", "of_job", "batch"],
                condition=models.Q(of_job=False),
                name="episodes_not_of_jobs",
            ),
            models.Index(fields=["-created", "id"], condition=models.Q(status="failed"), name="failed_episodes"),
            models.Index(
                fields=["batch", "slot"], condition=models.Q(status="failed"), name="failed_episodes_of_batch"
            ),
            models.Index(fields=["-created", "id"], condition=models.Q(status="abandoned"), name="abandoned_episodes"),
            models.Index(fields=["-created"], condition=models.Q(status="running"), name="running_episodes"),
        ]

    def __str__(self) -> str:
        return f"{self.env_id} {self.label}"

    def get_absolute_url(self) -> str:
        """The permalink: live while the episode runs, a replay afterwards."""
        return reverse("episodes:episode", args=[self.id])

    def reason_to_hide(self) -> str:
        """See `Moderated`; with its job, if it belongs to one."""
        job = getattr(self.batch, "job", None)
        return self.hidden_reason or (job.hidden_reason if job is not None else "")

    @property
    def label(self) -> str:
        """The start of the id, as pages show it."""
        return self.id[:4].upper()

    @property
    def spec(self) -> EnvSpec:
        """The specification of the environment."""
        return gem.spec(self.env_id)

    @property
    def family(self) -> str:
        """The environment's short name, even if it is no longer registered: `Sokoban`."""
        return self.env_id.partition(":")[2].partition("-v")[0] or self.env_id

    @property
    def over(self) -> bool:
        """Whether the episode has ended, for any reason."""
        return self.status != self.Status.RUNNING

    @property
    def slow(self) -> bool:
        """Whether a turn may take seconds. Then only workers play it, and every turn stores the state after it."""
        try:
            return self.spec.cost == "slow" or bool(self.tool_wrappers)
        except UnknownEnvironment:
            return False

    @property
    def on_record(self) -> bool:
        """Whether the episode may be replayed here, outside of transactions, if states were not stored with its turns.

        Either the record holds everything that took long, or nobody has said that a turn takes long: then it was
        perhaps recorded when such environments still counted as fast.
        """
        spec = self.spec
        if spec.replay == "exact" and spec.cost == "slow" and spec.has_declared_cost:
            return spec.reads_tape()
        return spec.replay != "none"

    @property
    def tool_wrappers(self) -> list[dict[str, Any]]:
        """The wrappers that add tools."""
        return [wrapper for wrapper in self.wrappers if wrapper.get("name") in TOOL_WRAPPERS]

    @property
    def added_tools(self) -> str:
        """The names of the tools that were added to the environment; empty if there are none."""
        return ", ".join(", ".join(names_of(wrapper)) or str(wrapper["name"]) for wrapper in self.tool_wrappers)

    @property
    def tool_fields(self) -> list[tuple[str, str]]:
        """Names and values of the form fields that add the same tools to another episode."""
        return [pair for wrapper in self.tool_wrappers for pair in as_fields(wrapper)]

    @property
    def sealed(self) -> bool:
        """Whether the seats still have secrets from one another and from spectators.

        This ends with the episode or, after an undo, with the branch, which has the same secrets.
        """
        if self.seat_count == 1:
            return False
        return not self.over or (self.goes_on_in is not None and self.goes_on_in.sealed)

    @property
    def outcome(self) -> str:
        """How the episode ended, as one of `Outcome`."""
        if self.status == self.Status.FAILED:
            return self.Outcome.ERROR
        if self.status != self.Status.ENDED:
            return str(self.status)
        if self.success:
            return self.Outcome.WON
        return self.Outcome.LIMIT if self.truncated else self.Outcome.LOST

    @property
    def governing_visibility(self) -> Visibility:
        """Its own visibility or that of its batch, whichever is more closed."""
        return narrower(self.visibility, self.batch.visibility if self.batch else Visibility.PUBLIC)

    @property
    def in_duel(self) -> bool:
        """Whether it belongs to a duel."""
        return self.batch is not None and self.batch.is_duel

    @property
    def in_job(self) -> bool:
        """Whether an evaluation or a training played it."""
        return self.batch is not None and self.batch.kind == Batch.Kind.JOB

    @property
    def closed(self) -> bool:
        """Whether only the people in its seats may know more of it than how it ended."""
        return self.batch is not None and self.batch.closed

    @property
    def played_seed(self) -> int:
        """The seed that the environment was reset with. While it is hidden, it must not leave the server."""
        return seed_of(self.seed, self.env_id)

    def identity(self) -> dict[str, Any]:
        """Everything besides the actions that a replay needs (see `gem.replay`), with a hidden seed."""
        return {**self.open_identity(), "seed": self.played_seed}

    def open_identity(self) -> dict[str, Any]:
        """The identity as programs may read it: with the number in the place of a hidden seed."""
        return {
            "env_id": self.env_id,
            "env_version": self.env_version,
            "env_kwargs": self.env_kwargs,
            "data_hash": self.data_hash,
            "wrappers": self.wrappers,
            "seed": self.seed,
        }
