"""The keys with which this site signs certificates."""

from __future__ import annotations

from django.db import models


class SiteKeyQuerySet(models.QuerySet["SiteKey"]):
    """Reads of keys."""

    def published(self) -> SiteKeyQuerySet:
        """Those that anybody may trust, each for its time, the one that signs now first."""
        return self.filter(withdrawn=None).order_by("-begins", "-pk")

    def signing(self) -> SiteKeyQuerySet:
        """The one that signs now."""
        return self.filter(ends=None)


class SiteKey(models.Model):
    """An Ed25519 key of this site. One signs at a time; the earlier ones are published with the time of their end."""

    key_id = models.CharField(max_length=16, unique=True)
    """The first hexadecimal digits of the SHA-256 of the public key, by which signatures name it."""
    public_key = models.CharField(max_length=44)
    """Its 32 bytes in base64."""
    sealed_key = models.TextField(blank=True)
    """The private key as PEM, sealed by `apps.agents.seal`; empty when it signs no more."""
    begins = models.DateTimeField()
    ends = models.DateTimeField(null=True, blank=True)
    withdrawn = models.DateTimeField(null=True, blank=True)
    """When it was withdrawn, because somebody else may have it: it is published no more, and nothing it signed is
    believed."""

    objects = SiteKeyQuerySet.as_manager()

    class Meta:
        constraints = [models.UniqueConstraint(models.Value(1), condition=models.Q(ends=None), name="one_key_signs")]

    def __str__(self) -> str:
        return f"key {self.key_id}"
