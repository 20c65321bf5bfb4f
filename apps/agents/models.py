"""Agents, which act in the seats of episodes, and what each kind plays with."""

from __future__ import annotations

from pathlib import Path
from typing import Any, Literal, cast
from urllib.parse import urlsplit

from django.conf import settings
from django.db import models
from django.urls import reverse

from apps.accounts.models import Viewer
from apps.leases import Leased, LeasedQuerySet
from apps.moderation.moderated import Moderated
from apps.visibility import Person, Visibility, VisibleQuerySet, column

NatureName = Literal["model", "program", "person"]


class AgentQuerySet(VisibleQuerySet["Agent"]):
    """Reads of agents. The agents of a hidden training are hidden with it."""

    def is_shown(self) -> models.Q:
        """See `VisibleQuerySet.is_shown`."""
        agents = self.model.objects  # each of the two queries reads the index of hidden jobs; one would read all jobs
        trained = agents.filter(jobs__hidden_reason__gt="", jobs__kind="training").values("pk")
        checkpoints = agents.filter(checkpoint__job__hidden_reason__gt="").values("pk")
        return models.Q(hidden_reason="") & ~models.Q(pk__in=trained) & ~models.Q(pk__in=checkpoints)

    def owned_by(self, user: Person, visitor: str) -> models.Q:
        """See `VisibleQuerySet.owned_by`. Visitors have no agents."""
        return models.Q(owner=user.pk) if user.is_authenticated else models.Q(pk__in=[])

    def selectable_by(self, user: Viewer) -> AgentQuerySet:
        """Agents that `user` may put into a seat: the built-in ones, their own, and those of others but private ones.

        Agents of others may cost their owners money, so they need an account; being staff is no reason to use them.
        """
        present = self.exclude(kind__in=(Agent.Kind.HUMAN, Agent.Kind.OUTSIDE)).filter(retired=False)
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
        endpoint = models.Q(kind__in=ASKED)
        uploaded = models.Q(kind=Agent.Kind.CHECKPOINT, weights__uploaded=True)
        return self.owned(user).filter(endpoint | uploaded, retired=False).select_related("endpoint", "weights")

    def remotes(self) -> AgentQuerySet:
        """Remote agents that are not deleted."""
        return self.filter(kind=Agent.Kind.REMOTE, retired=False).select_related("owner")

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
        REMOTE = "remote"  # a program on the machine of its owner, which connects to this site
        OUTSIDE = "outside"  # played elsewhere: this site has its episodes, and nothing that could play

    class Nature(models.TextChoices):
        MODEL = "model", "a language model"
        PROGRAM = "program", "a program"
        PERSON = "person", "a person"

    class Openness(models.TextChoices):
        UNKNOWN = "", "not stated"
        OPEN = "open", "open weights"
        CLOSED = "closed", "closed weights"

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
    declared_nature = models.CharField(max_length=8, choices=Nature.choices, blank=True, default="", db_default="")
    """What its owner says answers behind an endpoint, or has played elsewhere; empty for a model. Of other kinds it
    follows from the kind."""
    parameters = models.PositiveBigIntegerField(null=True, blank=True)
    """The number of parameters of its model: of a checkpoint from its weights, of an endpoint as its owner says."""
    openness = models.CharField(max_length=8, choices=Openness.choices, blank=True, default="", db_default="")
    """Whether the weights of an endpoint's model are published, as its owner says."""
    plays_daily = models.BooleanField(default=False, db_default=False)
    """Whether its owner lets it play the daily seed. The site's own agents play it anyway."""
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
    def is_open(self) -> bool:
        """Whether everybody can open its page."""
        return not self.retired and self.visibility != Visibility.PRIVATE and not self.hidden_reason

    @property
    def nature(self) -> NatureName:
        """Whether it is a model, a program or a person, as one of `Nature`. Of an endpoint its owner says it."""
        if self.kind in (self.Kind.ENDPOINT, self.Kind.REMOTE, self.Kind.OUTSIDE):
            return cast("NatureName", self.declared_nature or str(self.Nature.MODEL))
        return cast("NatureName", str(NATURE_OF_KIND[self.Kind(self.kind)]))

    @property
    def weights_are_open(self) -> bool | None:
        """Whether everybody can have its weights; None if nobody said, or if it has none."""
        if self.kind == self.Kind.CHECKPOINT:
            return self.visibility == Visibility.PUBLIC
        return None if not self.openness else self.openness == self.Openness.OPEN

    @property
    def size_in_words(self) -> str:
        """The number of parameters as people write it: 1.1M; empty if it is not known."""
        return in_short(self.parameters)

    @property
    def cut(self) -> str:
        """The name of the icon of its kind, which is the cut of a gem."""
        return "cut-endpoint" if self.kind == self.Kind.REMOTE else f"cut-{self.kind}"

    @property
    def is_asked(self) -> bool:
        """Whether it is asked over a network, so that this site knows its answers and not what gives them."""
        return self.kind in ASKED


ASKED = (Agent.Kind.ENDPOINT, Agent.Kind.REMOTE)
"""Kinds of agents that are asked over a network."""
LETTERS = {"": 1, "K": 10**3, "M": 10**6, "B": 10**9, "T": 10**12}


def in_short(count: int | None) -> str:
    """A number as people write it: 1.1M; empty for None."""
    if count is None:
        return ""
    letter = next((letter for letter in "TBMK" if count >= LETTERS[letter]), "")
    return f"{count / LETTERS[letter]:.3g}{letter}" if letter else str(count)


NATURE_OF_KIND = {
    Agent.Kind.CHECKPOINT: Agent.Nature.MODEL,
    Agent.Kind.RANDOM: Agent.Nature.PROGRAM,
    Agent.Kind.EXPERT: Agent.Nature.PROGRAM,
    Agent.Kind.HUMAN: Agent.Nature.PERSON,
}
"""What agents are whose owner need not say it."""


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
