"""API tokens, and the requests that may be repeated without effect."""

from __future__ import annotations

from typing import Any

from django.conf import settings
from django.contrib.postgres.fields import ArrayField
from django.db import models
from django.utils import timezone

from apps.agents.models import Agent


class Scope(models.TextChoices):
    """What a token may do besides reading what its owner may see."""

    READ = "read", "read what you can see, also what is private"
    PLAY = "play", "play, let agents play live, and start duels"
    SUBMIT = "submit", "submit and control evaluations and trainings"
    ANSWER = "answer", "connect programs that act as remote agents of yours"
    MANAGE = "manage", "add, change and delete agents, upload checkpoints, and change who may see what"


class TokenQuerySet(models.QuerySet["ApiToken"]):
    """Reads of tokens."""

    def valid(self) -> TokenQuerySet:
        """Tokens that have not expired, of people whose accounts are open."""
        is_current = models.Q(expires=None) | models.Q(expires__gt=timezone.now())
        return self.filter(is_current, user__is_active=True, user__closed=None)

    def of_people(self) -> TokenQuerySet:
        """Tokens that act for their owners, and not for a single agent alone."""
        return self.filter(agent=None)


class ApiToken(models.Model):
    """A person's permission for a program to act for them. Only a digest of the secret is stored."""

    user = models.ForeignKey(settings.AUTH_USER_MODEL, models.CASCADE, related_name="api_tokens")
    name = models.CharField(max_length=80)
    """What its owner calls it, such as the program that has it."""
    digest = models.CharField(max_length=64, unique=True)
    """The SHA-256 digest of the token. It has 256 random bits, so a slow hash would add nothing."""
    hint = models.CharField(max_length=12)
    """The first characters of the token, by which its owner recognizes it."""
    scopes: models.Field[Any, list[str]] = ArrayField(models.CharField(max_length=12, choices=Scope.choices))
    created = models.DateTimeField(auto_now_add=True)
    expires = models.DateTimeField(null=True, blank=True)
    last_used = models.DateTimeField(null=True, blank=True)
    """When it was last used, to the minute."""
    agent = models.ForeignKey(Agent, models.CASCADE, null=True, blank=True, related_name="+")
    """The remote agent that it connects; it is good for nothing else. Null of all other tokens."""

    objects = TokenQuerySet.as_manager()

    class Meta:
        ordering = ["-created", "-pk"]

    def __str__(self) -> str:
        return f"{self.name} of {self.user}"

    @property
    def has_expired(self) -> bool:
        """Whether it has no effect any more."""
        return self.expires is not None and self.expires <= timezone.now()

    @property
    def scopes_in_words(self) -> str:
        """What it may do, for pages."""
        if self.agent is not None:
            return f"connect {self.agent.name}"
        return ", ".join(str(scope) for scope in Scope.values if scope in self.scopes)


class IdempotentRequest(models.Model):
    """A request with an `Idempotency-Key`, and its response once there is one."""

    user = models.ForeignKey(settings.AUTH_USER_MODEL, models.CASCADE, related_name="+")
    key = models.CharField(max_length=80)
    digest = models.CharField(max_length=64)
    """The SHA-256 digest of method, address and body. Another request with the same key is refused."""
    status = models.PositiveSmallIntegerField(null=True, blank=True)
    """The status of the response; None while the request is answered."""
    body = models.BinaryField(null=True, blank=True)
    created = models.DateTimeField(auto_now_add=True)

    objects: models.Manager[IdempotentRequest] = models.Manager()

    class Meta:
        constraints = [models.UniqueConstraint(fields=["user", "key"], name="one_request_per_key")]
        indexes = [models.Index(fields=["created"], name="idempotent_requests_by_time")]

    def __str__(self) -> str:
        return f"request {self.key} of {self.user}"
