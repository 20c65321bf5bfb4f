"""The one record: an episode and its turns, re-executable from seed and actions.

A person's game, an agent's live show, an evaluation's thousandth episode: all are rows of these tables.
"""

from __future__ import annotations

import secrets
from typing import TYPE_CHECKING, Any

from django.conf import settings
from django.db import models
from django.db.models.functions import Coalesce
from django.urls import reverse

import gem
from apps.accounts.models import Viewer
from apps.agents.models import Agent
from apps.leases import Leased, LeasedQuerySet
from gem.errors import UnknownEnvironment
from gem.tools.tool_catalog import as_fields, names_of
from gem.wrappers.wrapper_factory import TOOL_WRAPPERS

if TYPE_CHECKING:
    from gem.registry import EnvSpec

ID_LENGTH = 12
ALPHABET = "0123456789abcdefghjkmnpqrstvwxyz"  # no i, l, o, u: nothing to misread


def make_id() -> str:
    """A random id of 60 bits, short enough to read out."""
    bits = secrets.randbits(5 * ID_LENGTH)
    return "".join(ALPHABET[(bits >> 5 * i) & 31] for i in range(ID_LENGTH))


ORDINALS = ("first", "second", "third", "fourth", "fifth", "sixth")
"""What pages call the seats."""


class Batch(models.Model):
    """Episodes that belong together: those of one job, of one duel, of the showcase, the examples."""

    class Kind(models.TextChoices):
        JOB = "job"
        SHOWCASE = "showcase"
        EXAMPLE = "example"
        DUEL = "duel"

    id = models.CharField(primary_key=True, max_length=ID_LENGTH, default=make_id, editable=False)
    kind = models.CharField(max_length=12, choices=Kind.choices)
    seq = models.PositiveIntegerField(default=0, db_default=0)
    """Of a duel: counts every change of any of its episodes, inside the transaction that makes the change."""
    created = models.DateTimeField(auto_now_add=True)

    def __str__(self) -> str:
        return f"{self.kind} {self.id}"

    @property
    def is_duel(self) -> bool:
        """Whether its episodes are shown side by side."""
        return self.kind == self.Kind.DUEL


class EpisodeQuerySet(models.QuerySet["Episode"]):
    """Reads of episodes."""

    def running(self) -> EpisodeQuerySet:
        """Those that wait for a turn."""
        return self.filter(status=Episode.Status.RUNNING)

    def by_last_turn(self) -> EpisodeQuerySet:
        """Those first in which something happened last."""
        last = Turn.objects.filter(episode=models.OuterRef("pk")).order_by("-number").values("created")[:1]
        return self.order_by(Coalesce(models.Subquery(last), "created").desc())

    def ended(self) -> EpisodeQuerySet:
        """Those that reached an end by the environment's rules."""
        return self.filter(status=Episode.Status.ENDED)

    def with_seats(self) -> EpisodeQuerySet:
        """With seats and their agents in two more queries, whatever the number of episodes."""
        return self.prefetch_related(models.Prefetch("seats", Seat.objects.select_related("agent", "user")))

    def visible_to(self, user: Viewer) -> EpisodeQuerySet:
        """Those that a list may show `user`: public ones and those they have a seat in.

        An unlisted episode is open to whoever has its address; it only is in no list.
        """
        mine = models.Q(seats__user=user) if user.is_authenticated else models.Q(pk__in=[])
        return self.filter(models.Q(listed=True) | mine).distinct()


class Episode(models.Model):
    """One run of an environment from reset to its end.

    It follows from `env_id`, `env_version`, `env_kwargs`, `data_hash`, `wrappers`, `seed` and the turns' actions
    (and `tape`, where outside outputs were used). `state` is a cache of the environment's state after the last
    turn; it is empty once the episode has ended and can always be rebuilt.
    """

    class Status(models.TextChoices):
        RUNNING = "running"
        ENDED = "ended"
        FAILED = "failed"  # it broke off; not counted
        ABANDONED = "abandoned"

    class FailedBy(models.TextChoices):
        ENVIRONMENT = "environment"
        AGENT = "agent"

    class Outcome(models.TextChoices):
        WON = "won", "solved"
        LOST = "lost", "not solved"
        LIMIT = "limit", "turn limit"
        ERROR = "error", "environment error, not counted"
        RUNNING = "running", "running"
        ABANDONED = "abandoned", "abandoned"

    id = models.CharField(primary_key=True, max_length=ID_LENGTH, default=make_id, editable=False)
    batch = models.ForeignKey(Batch, models.CASCADE, null=True, blank=True, related_name="episodes")
    slot = models.PositiveIntegerField(null=True, blank=True)
    """The place in the batch; a batch records each slot once, however often its work is repeated."""
    of_job = models.BooleanField(default=False, db_default=False)
    """Whether a job played it. Most episodes are of jobs, and a list of the others must not wade through them."""

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
    success = models.BooleanField(null=True, blank=True)
    failure = models.TextField(blank=True)
    """Why it broke off: what the environment said when it broke, or why the agent gave no answer."""
    failed_by = models.CharField(max_length=12, choices=FailedBy.choices, blank=True, default="", db_default="")
    """Whose failure it was; empty if there was none, or it was ours."""
    first_observation = models.TextField(blank=True)
    first_info = models.JSONField(default=dict, blank=True)
    turn_count = models.PositiveIntegerField(default=0)
    max_turns = models.PositiveIntegerField(default=0)
    state = models.JSONField(null=True, blank=True)
    seat_count = models.PositiveSmallIntegerField(default=1, db_default=1)
    acting = models.PositiveSmallIntegerField(default=0, db_default=0)
    """The seat whose turn it is, or was when the episode ended."""
    scored_seat = models.PositiveSmallIntegerField(default=0, db_default=0)
    """The seat whose return and success count where the episode has to have one: an evaluated agent's."""

    seq = models.PositiveIntegerField(default=0)
    """Counts every change that a page shows; raised inside the transaction that makes the change."""
    parent = models.ForeignKey("self", models.SET_NULL, null=True, blank=True, related_name="branches")
    """The episode this one forks from; they share everything up to turn `parent_turn`."""
    parent_turn = models.PositiveIntegerField(null=True, blank=True)
    goes_on_in = models.ForeignKey("self", models.SET_NULL, null=True, blank=True, related_name="+")
    """The branch that goes on without the turns that somebody took back."""
    listed = models.BooleanField(default=True)
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
            models.Index(fields=["env_id", "seed"]),
            models.Index(fields=["-created", "id"]),
            models.Index(fields=["-created", "id"], condition=models.Q(of_job=False), name="episodes_not_of_jobs"),
            models.Index(fields=["-created"], condition=models.Q(status="running"), name="running_episodes"),
        ]

    def __str__(self) -> str:
        return f"{self.env_id} {self.label}"

    def get_absolute_url(self) -> str:
        """The permalink: live while it runs, a replay afterwards."""
        return reverse("episodes:episode", args=[self.id])

    @property
    def label(self) -> str:
        """The start of the id, for people."""
        return self.id[:4].upper()

    @property
    def spec(self) -> EnvSpec:
        """The environment's specification."""
        return gem.spec(self.env_id)

    @property
    def family(self) -> str:
        """The environment's short name, even if it is no longer registered: `Sokoban`."""
        return self.env_id.partition(":")[2].partition("-v")[0] or self.env_id

    @property
    def over(self) -> bool:
        """Whether no turn can follow."""
        return self.status != self.Status.RUNNING

    @property
    def slow(self) -> bool:
        """Whether a turn may take seconds: then only workers play it, and every turn keeps the state after it."""
        try:
            return self.spec.cost == "slow" or bool(self.tool_wrappers)
        except UnknownEnvironment:
            return False

    @property
    def on_record(self) -> bool:
        """Whether all that took long is in the record, so that a replay takes it from there and is quick."""
        return self.spec.replay == "taped" or (self.spec.replay == "exact" and self.spec.cost == "fast")

    @property
    def tool_wrappers(self) -> list[dict[str, Any]]:
        """Those of its wrappers that add tools."""
        return [wrapper for wrapper in self.wrappers if wrapper.get("name") in TOOL_WRAPPERS]

    @property
    def added_tools(self) -> str:
        """The tools that were added to the environment, in words; empty if there are none."""
        return ", ".join(", ".join(names_of(wrapper)) or str(wrapper["name"]) for wrapper in self.tool_wrappers)

    @property
    def tool_fields(self) -> list[tuple[str, str]]:
        """Names and values of the form's fields that add the same tools to another episode."""
        return [pair for wrapper in self.tool_wrappers for pair in as_fields(wrapper)]

    @property
    def sealed(self) -> bool:
        """Whether the seats still have secrets from one another and from those who watch.

        They have until the episode is over; after an undo until the branch is, which has the same secrets.
        """
        if self.seat_count == 1:
            return False
        return not self.over or (self.goes_on_in is not None and self.goes_on_in.sealed)

    @property
    def outcome(self) -> str:
        """One of `Outcome`; the environment's failure is not the agent's."""
        if self.status == self.Status.FAILED:
            return self.Outcome.ERROR
        if self.status != self.Status.ENDED:
            return str(self.status)
        if self.success:
            return self.Outcome.WON
        return self.Outcome.LIMIT if self.truncated else self.Outcome.LOST

    @property
    def in_duel(self) -> bool:
        """Whether it is shown side by side with others of its seed."""
        return self.batch is not None and self.batch.is_duel

    @property
    def in_job(self) -> bool:
        """Whether it was played in an evaluation or a training."""
        return self.batch is not None and self.batch.kind == Batch.Kind.JOB

    def identity(self) -> dict[str, Any]:
        """What, together with the actions, the episode follows from (`gem.replay`)."""
        return {
            "env_id": self.env_id,
            "env_version": self.env_version,
            "env_kwargs": self.env_kwargs,
            "data_hash": self.data_hash,
            "wrappers": self.wrappers,
            "seed": self.seed,
        }


class Seat(models.Model):
    """A place in an episode and who acts from it."""

    pk = models.CompositePrimaryKey("episode_id", "number")
    episode = models.ForeignKey(Episode, models.CASCADE, related_name="seats", db_index=False)  # the key begins with it
    number = models.PositiveSmallIntegerField()
    agent = models.ForeignKey(Agent, models.PROTECT, related_name="seats")
    user = models.ForeignKey(settings.AUTH_USER_MODEL, models.SET_NULL, null=True, blank=True, related_name="seats")
    visitor = models.CharField(max_length=32, blank=True)
    """The key in the session of a person without an account who plays here."""
    total_reward = models.FloatField(default=0.0)
    success = models.BooleanField(null=True, blank=True)
    """Whether the episode was a success for this seat; empty while it runs."""
    set_up = models.JSONField(null=True, blank=True)
    """How the agent was set up when it began (`Agent.set_up`). Episodes of a job have that on the job."""
    held = models.TextField(blank=True, default="", db_default="")
    """Where all act at the same time: its action for this round, until those are there that the record has before."""
    advised = models.BooleanField(default=False, db_default=False)
    """Whether the person asked the expert what to do."""

    class Meta:
        indexes = [models.Index(fields=["user", "episode"]), models.Index(fields=["agent", "episode"])]

    def __str__(self) -> str:
        return f"{self.agent} in seat {self.number}"

    @property
    def ordinal(self) -> str:
        """What pages call it: the first seat has the number 0."""
        return ORDINALS[self.number]

    @property
    def is_free(self) -> bool:
        """Whether it waits for a person to take it."""
        return self.agent.kind == Agent.Kind.HUMAN and self.user_id is None and not self.visitor

    def belongs_to(self, user: Viewer, visitor: str) -> bool:
        """Whether this person acts from the seat."""
        if self.agent.kind != Agent.Kind.HUMAN:
            return False
        if self.user_id is not None:
            return user.is_authenticated and self.user_id == user.pk
        return bool(visitor) and self.visitor == visitor


class TurnManager(models.Manager["Turn"]):
    """Reads of turns; their states, which only slow environments have, are read where they are asked for."""

    def get_queryset(self) -> models.QuerySet[Turn]:
        """Without the states."""
        return super().get_queryset().defer("state")


class Turn(models.Model):
    """One exchange: the action taken and what the environment answered."""

    pk = models.CompositePrimaryKey("episode_id", "number")
    episode = models.ForeignKey(Episode, models.CASCADE, related_name="turns", db_index=False)  # the key begins with it
    number = models.PositiveIntegerField()
    """1 for the first."""
    seat = models.PositiveSmallIntegerField(default=0)
    action = models.TextField()
    observation = models.TextField()
    reward = models.FloatField()
    info = models.JSONField(default=dict)
    extra = models.JSONField(null=True, blank=True)
    """What is known besides the environment's answer: the agent's `note`, what was `replaced` in the action."""
    seq = models.PositiveIntegerField(null=True, blank=True)
    """The episode's `seq` with this turn; empty where all turns were recorded at once."""
    state = models.JSONField(null=True, blank=True)
    """The environment's state after the turn, where playing it again would take long (`Episode.slow`). It may hold
    what is hidden, so no page and no download shows it."""
    created = models.DateTimeField(auto_now_add=True)

    objects = TurnManager()

    class Meta:
        ordering = ["number"]

    def __str__(self) -> str:
        return f"turn {self.number}"

    concealed = False
    """Whether the action is another seat's and still its own business (see `apps.episodes.visibility`)."""

    @property
    def note(self) -> str:
        """Why the agent acted so, in words."""
        return str((self.extra or {}).get("note", ""))

    @property
    def replaced(self) -> str:
        """What was done to characters of the action that cannot be stored."""
        return str((self.extra or {}).get("replaced", ""))


class PendingTurn(Leased):
    """A turn that was accepted and that a worker has yet to play, because its environment is slow.

    The worker owns it while its lease lasts; after that another one plays it from the same state. With a `problem` it
    was not played and is not tried again: its player may send it, or another one, once more.
    """

    episode = models.OneToOneField(Episode, models.CASCADE, primary_key=True, related_name="pending")
    number = models.PositiveIntegerField()
    """The turn that it will be."""
    seat = models.PositiveSmallIntegerField(default=0)
    action = models.TextField()
    replaced = models.TextField(blank=True)
    """What was done to characters of the action that cannot be stored."""
    problem = models.TextField(blank=True)
    """Why it was not played, in a sentence; empty while it is under way."""
    created = models.DateTimeField(auto_now_add=True)

    objects = LeasedQuerySet["PendingTurn"].as_manager()

    class Meta:
        indexes = [models.Index(fields=["lease_until"])]

    def __str__(self) -> str:
        return f"turn {self.number} of {self.episode_id}, pending"
