"""Episodes and their turns, which can be replayed from seed and actions.

Everything that people and agents play is stored in these tables: games of people, live shows, evaluations.
"""

from __future__ import annotations

import secrets
from functools import reduce
from operator import or_
from typing import TYPE_CHECKING, Any, ClassVar

from django.conf import settings
from django.db import models
from django.db.models.functions import Coalesce, Now
from django.urls import reverse

import gem
from apps.accounts.models import Viewer
from apps.admission.models import Admitted
from apps.agents.models import Agent
from apps.leases import LeasedQuerySet
from apps.moderation.moderated import Moderated
from apps.visibility import Claim, Person, Visibility, VisibleQuerySet, column, narrower
from gem.errors import UnknownEnvironment
from gem.tools.tool_catalog import as_fields, names_of
from gem.wrappers.wrapper_factory import TOOL_WRAPPERS

if TYPE_CHECKING:
    from gem.registry import EnvSpec

ID_LENGTH = 12
ALPHABET = "0123456789abcdefghjkmnpqrstvwxyz"  # without i, l, o and u, which are easy to misread


def make_id() -> str:
    """A random id of 60 bits, short enough to read out."""
    bits = secrets.randbits(5 * ID_LENGTH)
    return "".join(ALPHABET[(bits >> 5 * i) & 31] for i in range(ID_LENGTH))


ORDINALS = ("first", "second", "third", "fourth", "fifth", "sixth")
"""The names of the seats on pages."""


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

    id = models.CharField(primary_key=True, max_length=ID_LENGTH, default=make_id, editable=False)
    kind = models.CharField(max_length=12, choices=Kind.choices)
    seq = models.PositiveIntegerField(default=0, db_default=0)
    """Of a duel: the number of changes to its episodes, raised in the transaction that makes the change."""
    visibility = column()
    """Of a job, a training or a duel. None of its episodes is more open than this."""
    created = models.DateTimeField(auto_now_add=True)

    objects = BatchQuerySet.as_manager()

    def __str__(self) -> str:
        return f"{self.kind} {self.id}"

    @property
    def is_duel(self) -> bool:
        """Whether its episodes are shown side by side."""
        return self.kind == self.Kind.DUEL


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
        return reduce(or_, self._reasons(user, visitor), models.Q(pk__in=[]))

    def owned_outside_jobs(self, user: Person, visitor: str) -> EpisodeQuerySet:
        """Episodes of this person that no job has played.

        Their keys are united, because the database would compare every episode with several reasons in one condition.
        """
        found = [Episode.objects.filter(reason, of_job=False).values("pk") for reason in self._reasons(user, visitor)]
        return self.filter(pk__in=found[0].union(*found[1:])) if found else self.none()

    def _reasons(self, user: Person, visitor: str) -> list[models.Q]:
        """A filter for each reason for which this person owns episodes; none for a visitor without a key."""
        if not user.is_authenticated and not visitor:
            return []
        mine = models.Q(user=user.pk) if user.is_authenticated else models.Q(user=None, visitor=visitor)
        seats = models.Q(pk__in=Seat.objects.filter(mine).values("episode"))
        return [seats, *(claim(user, visitor) for claim in self.claims)]

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
    its turns (and `tape`, if external outputs were used). `state` caches the state of the environment after the last
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
        LIMIT = "limit", "turn or token limit"
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
    tape = models.JSONField(null=True, blank=True)
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
            models.Index(fields=["-created", "id"], include=["of_job", "visibility", "batch"], name="episodes_by_time"),
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

    def identity(self) -> dict[str, Any]:
        """Everything besides the actions that a replay needs (see `gem.replay`)."""
        return {
            "env_id": self.env_id,
            "env_version": self.env_version,
            "env_kwargs": self.env_kwargs,
            "data_hash": self.data_hash,
            "wrappers": self.wrappers,
            "seed": self.seed,
        }


class DuelChange(models.Model):
    """A change of a duel that its event stream tells: what happened in which of its episodes, in one order.

    Other changes, such as a pause, raise `Batch.seq` too and have no row.
    """

    class Kind(models.TextChoices):
        JOINED = "joined"
        TURN = "turn"
        ENDED = "ended"
        OVER = "over"

    pk = models.CompositePrimaryKey("duel_id", "seq")
    duel = models.ForeignKey(Batch, models.CASCADE, related_name="changes", db_index=False)
    seq = models.PositiveIntegerField()
    """The duel's `seq` after this change."""
    kind = models.CharField(max_length=8, choices=Kind.choices)
    episode = models.ForeignKey(Episode, models.CASCADE, null=True, blank=True, related_name="+")
    """The episode that changed; empty if all were over."""
    number = models.PositiveIntegerField(default=0)
    """Of a turn, its number; of the end of all episodes, how many there were."""
    at = models.DateTimeField(db_default=Now())

    class Meta:
        ordering = ["seq"]

    def __str__(self) -> str:
        return f"{self.kind} in {self.duel_id}"


class Seat(models.Model):
    """A place in an episode, with the agent or person who acts from it."""

    pk = models.CompositePrimaryKey("episode_id", "number")
    episode = models.ForeignKey(Episode, models.CASCADE, related_name="seats", db_index=False)  # the key begins with it
    number = models.PositiveSmallIntegerField()
    agent = models.ForeignKey(Agent, models.PROTECT, related_name="seats")
    user = models.ForeignKey(settings.AUTH_USER_MODEL, models.SET_NULL, null=True, blank=True, related_name="seats")
    visitor = models.CharField(max_length=32, blank=True)
    """The visitor key, from the session, of a person without an account."""
    total_reward = models.FloatField(default=0.0)
    success = models.BooleanField(null=True, blank=True)
    """Whether the seat succeeded; empty while the episode runs."""
    set_up = models.JSONField(null=True, blank=True)
    """The agent's set-up at the start (`Agent.set_up`). Episodes of a job have it on the job."""
    held = models.TextField(blank=True, default="", db_default="")
    """If all seats choose at the same time: the action of this seat, until the seats before it have chosen."""
    held_address = models.CharField(max_length=32, blank=True, default="", db_default="")
    """The hashed IP address of the person without an account who sent the last action that was held."""
    advised = models.BooleanField(default=False, db_default=False)
    """Whether the person got a hint from the expert."""

    class Meta:
        indexes = [models.Index(fields=["user", "episode"]), models.Index(fields=["agent", "episode"])]

    def __str__(self) -> str:
        return f"{self.agent} in seat {self.number}"

    @property
    def ordinal(self) -> str:
        """Its name on pages: seat 0 is the "first"."""
        return ORDINALS[self.number]

    @property
    def is_free(self) -> bool:
        """Whether the seat is for a person and nobody has taken it yet."""
        return self.agent.kind == Agent.Kind.HUMAN and self.user_id is None and not self.visitor

    def belongs_to(self, user: Viewer, visitor: str) -> bool:
        """Whether this person has the seat."""
        if self.agent.kind != Agent.Kind.HUMAN:
            return False
        if self.user_id is not None:
            return user.is_authenticated and self.user_id == user.pk
        return bool(visitor) and self.visitor == visitor


class TurnManager(models.Manager["Turn"]):
    """Queries for turns. The states, which only slow environments store, are loaded on access."""

    def get_queryset(self) -> models.QuerySet[Turn]:
        """All turns, without loading their states."""
        return super().get_queryset().defer("state")


class Turn(models.Model):
    """One exchange: an action and the environment's response."""

    pk = models.CompositePrimaryKey("episode_id", "number")
    episode = models.ForeignKey(Episode, models.CASCADE, related_name="turns", db_index=False)  # the key begins with it
    number = models.PositiveIntegerField()
    """The number of the turn; the first is 1."""
    seat = models.PositiveSmallIntegerField(default=0)
    action = models.TextField()
    observation = models.TextField()
    reward = models.FloatField()
    info = models.JSONField(default=dict)
    extra = models.JSONField(null=True, blank=True)
    """Data that is not from the environment: the agent's `note`, or what was `replaced` in the action."""
    seq = models.PositiveIntegerField(null=True, blank=True)
    """The episode's `seq` after this turn; empty if all turns were stored at once."""
    state = models.JSONField(null=True, blank=True)
    """The state of the environment after the turn, if a replay would take long (`Episode.slow`). It may hold secrets,
    so no page and no download shows it."""
    created = models.DateTimeField(auto_now_add=True)

    objects = TurnManager()

    class Meta:
        ordering = ["number"]

    def __str__(self) -> str:
        return f"turn {self.number}"

    concealed = False
    """Whether the action belongs to another seat and is still secret (see `apps.episodes.visibility`)."""

    @property
    def note(self) -> str:
        """The agent's reasoning, in words."""
        return str((self.extra or {}).get("note", ""))

    @property
    def replaced(self) -> str:
        """A sentence about characters of the action that were replaced because they cannot be stored."""
        return str((self.extra or {}).get("replaced", ""))


class PendingTurn(Admitted):
    """An accepted turn that a worker has still to play, because its environment is slow.

    A worker owns it while its lease lasts; after that another worker plays it from the same state. A turn with a
    `problem` was not played and is not retried; its player may send the same or another action.
    """

    episode = models.OneToOneField(Episode, models.CASCADE, primary_key=True, related_name="pending")
    number = models.PositiveIntegerField()
    """The number that the turn will have."""
    seat = models.PositiveSmallIntegerField(default=0)
    action = models.TextField()
    replaced = models.TextField(blank=True)
    """A sentence about characters of the action that were replaced because they cannot be stored."""
    problem = models.TextField(blank=True)
    """Why it was not played, in a sentence; empty while it waits or is played."""
    created = models.DateTimeField(auto_now_add=True)

    objects = LeasedQuerySet["PendingTurn"].as_manager()

    class Meta:
        indexes = [models.Index(fields=["lease_until"])]

    def __str__(self) -> str:
        return f"turn {self.number} of {self.episode_id}, pending"


class PendingVerification(Admitted):
    """A slow episode that somebody wants verified: it waits for a worker, or one replays it now."""

    episode = models.OneToOneField(Episode, models.CASCADE, primary_key=True, related_name="+")
    created = models.DateTimeField(auto_now_add=True)

    objects = LeasedQuerySet["PendingVerification"].as_manager()

    def __str__(self) -> str:
        return f"verification of {self.pk}"
