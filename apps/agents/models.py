"""Whatever acts in a seat of an episode."""

from __future__ import annotations

from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

from django.conf import settings
from django.db import models
from django.urls import reverse

from apps.accounts.models import Viewer
from apps.leases import Leased, LeasedQuerySet


class AgentQuerySet(models.QuerySet["Agent"]):
    """Reads of agents."""

    def selectable_by(self, user: Viewer) -> AgentQuerySet:
        """The agents that `user` may put into a seat: the built-in ones, their own, and those that others share.

        A shared agent costs its owner something, so it takes an account.
        """
        theirs = models.Q(owner=user) | models.Q(shared=True) if user.is_authenticated else models.Q(pk__in=[])
        present = self.exclude(kind=Agent.Kind.HUMAN).filter(retired=False)
        return present.filter(models.Q(owner=None) | theirs)

    def offered_to(self, user: Viewer, *chosen: str) -> AgentQuerySet:
        """Those that a form shows `user`: of trained policies the newest of each training of their own.

        Others that `user` may select, such as single checkpoints, are there if their slugs are `chosen` already.
        """
        mine = models.Q(owner=user) if user.is_authenticated else models.Q(pk__in=[])
        untrained = ~models.Q(kind=Agent.Kind.CHECKPOINT)
        shown = models.Q(listed=True) & (untrained | (mine & models.Q(weights__isnull=False)))
        return self.selectable_by(user).filter(shown | models.Q(slug__in=chosen))

    def withheld_from(self, user: Viewer, *chosen: str) -> AgentQuerySet:
        """Those of the `chosen` that would play for `user` if `user` had an account."""
        shared = self.filter(slug__in=chosen, shared=True, retired=False).exclude(owner=None)
        return shared.none() if user.is_authenticated else shared

    def named_to(self, user: Viewer) -> AgentQuerySet:
        """Those whose names lists and searches may offer: not the private ones of others."""
        mine = models.Q(owner=user) if user.is_authenticated else models.Q(pk__in=[])
        return self.filter(models.Q(owner=None) | models.Q(shared=True) | mine, retired=False)

    def endpoints(self) -> AgentQuerySet:
        """Endpoint agents that are there, with how they are set up."""
        return self.filter(kind=Agent.Kind.ENDPOINT, retired=False).select_related("endpoint", "owner")

    def endpoints_seen_by(self, user: Viewer) -> AgentQuerySet:
        """The endpoint agents whose page `user` may open: their own and shared ones; for the others it is not there."""
        mine = models.Q(owner=user) if user.is_authenticated else models.Q(pk__in=[])
        return self.endpoints().filter(models.Q(shared=True) | mine)

    def checkpoints_seen_by(self, user: Viewer) -> AgentQuerySet:
        """The trained policies whose page `user` may open: those trained here and shared ones, and their own."""
        mine = models.Q(owner=user) if user.is_authenticated else models.Q(pk__in=[])
        present = self.filter(kind=Agent.Kind.CHECKPOINT, retired=False, weights__isnull=False)
        return present.filter(models.Q(shared=True) | mine).select_related("weights", "owner")

    def trained_by(self, user: Viewer) -> AgentQuerySet:
        """What the trainings of `user` have made: of each the agent that plays with its newest weights."""
        made = self.filter(kind=Agent.Kind.CHECKPOINT, listed=True, retired=False, weights__uploaded=False)
        return (made.filter(owner=user) if user.is_authenticated else made.none()).select_related("weights")

    def uploads(self) -> AgentQuerySet:
        """Checkpoints that somebody uploaded."""
        uploaded = self.filter(kind=Agent.Kind.CHECKPOINT, retired=False, weights__uploaded=True)
        return uploaded.select_related("weights", "owner")


class Agent(models.Model):
    """One agent; built-in ones have no owner."""

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
    shared = models.BooleanField(default=False, db_default=False)
    """Everybody with an account may let it play; otherwise its owner alone."""
    retired = models.BooleanField(default=False, db_default=False)
    """Deleted by its owner: its name stays on what it has played."""
    listed = models.BooleanField(default=True, db_default=True)
    """Offered in forms. The single checkpoints of a training are not: they are found through it."""
    created = models.DateTimeField(auto_now_add=True)

    objects = AgentQuerySet.as_manager()

    class Meta:
        ordering = ["id"]

    def __str__(self) -> str:
        return self.name

    def get_absolute_url(self) -> str:
        """The agent's page."""
        return reverse("agents:agent", args=[self.slug])

    @property
    def set_up(self) -> dict[str, Any] | None:
        """How it is set up now, for the record of what it plays: without address and key. None for other kinds."""
        if self.kind != self.Kind.ENDPOINT:
            return None
        found = Endpoint.objects.filter(agent=self).first()
        return None if found is None else {"version": found.version, **found.asked}

    @property
    def cut(self) -> str:
        """The icon of its kind: the cut of the stone."""
        return f"cut-{self.kind}"


class Endpoint(models.Model):
    """How an endpoint agent is set up. The key is written and sent, and never shown."""

    agent = models.OneToOneField(Agent, models.CASCADE, primary_key=True, related_name="endpoint")
    spec = models.JSONField()
    """A `gem.agents.endpoint.EndpointSpec` as JSON."""
    version = models.PositiveIntegerField(default=1)
    """Raised with every change of what the model is asked."""
    sealed_key = models.TextField(blank=True)
    """The key as `apps.agents.seal` wrote it; it belongs to the address's scheme, host and port."""
    changed = models.DateTimeField(auto_now=True)

    def __str__(self) -> str:
        return f"endpoint of {self.agent}"

    @property
    def asked(self) -> dict[str, Any]:
        """The specification without its address."""
        return {name: value for name, value in self.spec.items() if name != "url"}

    @property
    def host(self) -> str:
        """The server's name, without scheme and path."""
        return urlsplit(str(self.spec["url"])).netloc


class Weights(models.Model):
    """What a checkpoint agent plays with: a folder that was looked at before it was taken."""

    agent = models.OneToOneField(Agent, models.CASCADE, primary_key=True, related_name="weights")
    folder = models.CharField(max_length=200)
    """Below `settings.RUNS_DIR`."""
    card = models.JSONField(default=dict)
    """Its `card.json`: what it was trained on, how, how far, and how it is to be played."""
    size = models.PositiveBigIntegerField(default=0)
    """Bytes of the weights."""
    sha256 = models.CharField(max_length=64, blank=True)
    """Of the weights."""
    uploaded = models.BooleanField(default=False, db_default=False)
    """They come from somebody's own machine; what plays with them is kept apart from what others play with."""

    def __str__(self) -> str:
        return f"weights of {self.agent}"

    @property
    def path(self) -> Path:
        """The folder, which `make_agent("policy", path=...)` loads."""
        return Path(settings.RUNS_DIR) / self.folder


class UploadQuerySet(LeasedQuerySet["Upload"]):
    """Reads of uploads."""

    def waiting(self) -> UploadQuerySet:
        """Those that a worker has yet to try, or is trying."""
        return self.filter(problem="")


class Upload(Leased):
    """A checkpoint that was sent and is not an agent: a worker has yet to try it, or has refused it.

    The worker owns it while its lease lasts; after that another one tries it anew. Once it has played it is an agent
    with the same slug, and this row is gone. With a `problem` it was refused and is not tried again.
    """

    slug = models.SlugField(primary_key=True)
    """The agent's, later."""
    owner = models.ForeignKey(settings.AUTH_USER_MODEL, models.CASCADE, related_name="uploads")
    name = models.CharField(max_length=80, blank=True)
    shared = models.BooleanField(default=False)
    problem = models.TextField(blank=True)
    """Why it was refused, in a sentence; empty while it waits."""
    created = models.DateTimeField(auto_now_add=True)

    objects = UploadQuerySet.as_manager()

    class Meta:
        ordering = ["-created"]

    def __str__(self) -> str:
        return f"upload {self.slug}"

    def get_absolute_url(self) -> str:
        """The page that says how it stands with it."""
        return reverse("agents:uploaded", args=[self.slug])
