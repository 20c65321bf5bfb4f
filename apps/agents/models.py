"""Agents, which act in the seats of episodes, and what each kind plays with."""

from __future__ import annotations

from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

from django.conf import settings
from django.db import models
from django.urls import reverse

from apps.accounts.models import Viewer
from apps.leases import Leased, LeasedQuerySet
from apps.moderation.moderated import Moderated
from apps.visibility import Person, Visibility, VisibleQuerySet, column


class AgentQuerySet(VisibleQuerySet["Agent"]):
    """Reads of agents. The agents of a hidden training are hidden with it."""

    def is_shown(self) -> models.Q:
        """See `VisibleQuerySet.is_shown`."""
        of_hidden_trainings = models.Q(jobs__kind="training", jobs__hidden_reason__gt="") | models.Q(
            checkpoint__job__hidden_reason__gt=""
        )
        hidden = self.model.objects.filter(of_hidden_trainings).values("pk")
        return models.Q(hidden_reason="") & ~models.Q(pk__in=hidden)

    def owned_by(self, user: Person, visitor: str) -> models.Q:
        """See `VisibleQuerySet.owned_by`. Visitors have no agents."""
        return models.Q(owner=user.pk) if user.is_authenticated else models.Q(pk__in=[])

    def selectable_by(self, user: Viewer) -> AgentQuerySet:
        """Agents that `user` may put into a seat: the built-in ones, their own, and those of others but private ones.

        Agents of others may cost their owners money, so they need an account; being staff is no reason to use them.
        """
        present = self.exclude(kind=Agent.Kind.HUMAN).filter(retired=False)
        if not user.is_authenticated:
            return present.filter(owner=None)
        open_to_others = ~models.Q(visibility=Visibility.PRIVATE) & self.is_shown()
        return present.filter(models.Q(owner=None) | models.Q(owner=user) | open_to_others)

    def offered_to(self, user: Viewer, *chosen: str) -> AgentQuerySet:
        """Agents that a form offers to `user`. Of trained policies, only the newest of each of their own trainings.

        Other selectable agents, such as single checkpoints, are offered only if their slugs are already `chosen`.
        """
        mine = models.Q(owner=user) if user.is_authenticated else models.Q(pk__in=[])
        untrained = ~models.Q(kind=Agent.Kind.CHECKPOINT)
        shown = models.Q(listed=True) & (untrained | (mine & models.Q(weights__isnull=False)))
        return self.selectable_by(user).filter(
            (shown & (models.Q(visibility=Visibility.PUBLIC) | mine)) | models.Q(slug__in=chosen)
        )

    def withheld_from(self, user: Viewer, *chosen: str) -> AgentQuerySet:
        """The `chosen` agents that would play for `user` if they logged in."""
        closed_to_visitors = self.visible_to(user).filter(slug__in=chosen, retired=False).exclude(owner=None)
        return closed_to_visitors.none() if user.is_authenticated else closed_to_visitors

    def named_to(self, user: Viewer) -> AgentQuerySet:
        """Agents that lists and searches show to `user`."""
        return self.listed_for(user).filter(retired=False)

    def endpoints(self) -> AgentQuerySet:
        """Endpoint agents that are not deleted, with their set-up."""
        return self.filter(kind=Agent.Kind.ENDPOINT, retired=False).select_related("endpoint", "owner")

    def deletable_by(self, user: Viewer) -> AgentQuerySet:
        """The endpoint agents and uploaded checkpoints of this person. Those of trainings belong to their job."""
        endpoint = models.Q(kind=Agent.Kind.ENDPOINT)
        uploaded = models.Q(kind=Agent.Kind.CHECKPOINT, weights__uploaded=True)
        return self.owned(user).filter(endpoint | uploaded, retired=False).select_related("endpoint", "weights")

    def checkpoints(self) -> AgentQuerySet:
        """Trained policies that have weights and are not deleted."""
        present = self.filter(kind=Agent.Kind.CHECKPOINT, retired=False, weights__isnull=False)
        return present.select_related("weights", "owner")

    def trained_by(self, user: Viewer) -> AgentQuerySet:
        """The agents of the trainings of `user`, each with the newest weights of its training."""
        policies = self.filter(kind=Agent.Kind.CHECKPOINT, listed=True, retired=False, weights__uploaded=False)
        return (policies.filter(owner=user) if user.is_authenticated else policies.none()).select_related("weights")

    def uploads(self) -> AgentQuerySet:
        """Agents from uploaded checkpoints."""
        uploaded = self.filter(kind=Agent.Kind.CHECKPOINT, retired=False, weights__uploaded=True)
        return uploaded.select_related("weights", "owner")


class Agent(Moderated):
    """An agent. Built-in agents have no owner."""

    class Kind(models.TextChoices):
        HUMAN = "human"
        RANDOM = "random"
        EXPERT = "expert"
        ENDPOINT = "endpoint"
        CHECKPOINT = "checkpoint"

    slug = models.SlugField(unique=True)
    name = models.CharField(max_length=80)
    kind = models.CharField(max_length=12, choices=Kind.choices)
    about = models.TextField(blank=True)
    owner = models.ForeignKey(settings.AUTH_USER_MODEL, models.CASCADE, null=True, blank=True, related_name="agents")
    colour = models.PositiveSmallIntegerField()
    """1 to 8: the agent's colour on every page and chart (`data-c`)."""
    visibility = column(Visibility.PRIVATE)
    """Who may open its page and, with an account, let it play. Its name is in every episode that it plays."""
    retired = models.BooleanField(default=False, db_default=False)
    """Whether its owner has deleted it. The row stays, because its episodes show its name."""
    listed = models.BooleanField(default=True, db_default=True)
    """Whether forms offer it. Single checkpoints of a training are not offered; the page of the training lists them."""
    created = models.DateTimeField(auto_now_add=True)

    objects = AgentQuerySet.as_manager()

    class Meta:
        ordering = ["id"]

    def __str__(self) -> str:
        return self.name

    def get_absolute_url(self) -> str:
        """The agent's page."""
        return reverse("agents:agent", args=[self.slug])

    def reason_to_hide(self) -> str:
        """See `Moderated`; with its training, if it comes from one."""
        of_training = type(self).objects.filter(pk=self.pk).values_list("checkpoint__job__hidden_reason", flat=True)
        own_training = self.jobs.filter(kind="training").values_list("hidden_reason", flat=True)
        return next(filter(None, (self.hidden_reason, *of_training, *own_training)), "")

    @property
    def set_up(self) -> dict[str, Any] | None:
        """The present set-up of an endpoint agent without address and key, for its episodes; None for other kinds."""
        if self.kind != self.Kind.ENDPOINT:
            return None
        endpoint = Endpoint.objects.filter(agent=self).first()
        return None if endpoint is None else {"version": endpoint.version, **endpoint.asked}

    @property
    def cut(self) -> str:
        """The name of the icon of its kind, which is the cut of a gem."""
        return f"cut-{self.kind}"


class Endpoint(models.Model):
    """The set-up of an endpoint agent. The key is sent to its server and never shown."""

    agent = models.OneToOneField(Agent, models.CASCADE, primary_key=True, related_name="endpoint")
    spec = models.JSONField()
    """A `gem.agents.endpoint.EndpointSpec` as JSON."""
    version = models.PositiveIntegerField(default=1)
    """Raised with every change of the set-up that affects requests."""
    sealed_key = models.TextField(blank=True)
    """The key, encrypted by `apps.agents.seal`. It belongs to the scheme, host and port of the address."""
    changed = models.DateTimeField(auto_now=True)

    def __str__(self) -> str:
        return f"endpoint of {self.agent}"

    @property
    def asked(self) -> dict[str, Any]:
        """The specification without its address."""
        return {name: value for name, value in self.spec.items() if name != "url"}

    @property
    def host(self) -> str:
        """The host and port of the server."""
        return urlsplit(str(self.spec["url"])).netloc


class Weights(models.Model):
    """The weights of a checkpoint agent: a folder that was checked before it was accepted."""

    agent = models.OneToOneField(Agent, models.CASCADE, primary_key=True, related_name="weights")
    folder = models.CharField(max_length=200)
    """The path below `settings.RUNS_DIR`."""
    card = models.JSONField(default=dict)
    """Its `card.json`: environment, recipe, number of updates, and the settings to play with."""
    size = models.PositiveBigIntegerField(default=0)
    """The size of the weights in bytes."""
    sha256 = models.CharField(max_length=64, blank=True)
    """The SHA-256 digest of the weights."""
    uploaded = models.BooleanField(default=False, db_default=False)
    """Whether they were uploaded. Such a policy runs in a guarded process of its own."""

    def __str__(self) -> str:
        return f"weights of {self.agent}"

    @property
    def path(self) -> Path:
        """The absolute path, for `make_agent("policy", path=...)`."""
        return Path(settings.RUNS_DIR) / self.folder


class UploadQuerySet(LeasedQuerySet["Upload"]):
    """Reads of uploads."""

    def waiting(self) -> UploadQuerySet:
        """Uploads that wait for a worker or are being checked."""
        return self.filter(problem="")


class Upload(Leased):
    """An uploaded checkpoint that is not an agent: a worker has yet to check it, or has refused it.

    A worker owns it while its lease lasts; after that another one checks it anew. An accepted checkpoint becomes an
    agent with the same slug, and this row is deleted. A refused one has a `problem` and is not checked again.
    """

    slug = models.SlugField(primary_key=True)
    """The slug of the later agent."""
    owner = models.ForeignKey(settings.AUTH_USER_MODEL, models.CASCADE, related_name="uploads")
    name = models.CharField(max_length=80, blank=True)
    visibility = column(Visibility.PRIVATE)
    """That of the later agent. Only its owner sees the upload."""
    problem = models.TextField(blank=True)
    """Why it was refused, in a sentence; empty while it waits."""
    created = models.DateTimeField(auto_now_add=True)

    objects = UploadQuerySet.as_manager()

    class Meta:
        ordering = ["-created"]

    def __str__(self) -> str:
        return f"upload {self.slug}"

    def get_absolute_url(self) -> str:
        """The page that shows its state."""
        return reverse("agents:uploaded", args=[self.slug])
