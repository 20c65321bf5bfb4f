"""The key of this site: made when it is first needed, published at `/.well-known/gemweb.json`, exchanged on demand."""

from __future__ import annotations

from django.conf import settings
from django.db import IntegrityError, transaction
from django.utils import timezone
from pydantic import SecretStr

from apps.agents.seal import CannotUnseal, seal, unseal
from apps.leaderboard.models import SiteKey
from gem.verification.keys import PublicKey, PublishedKey, SigningKey, SiteKeys


def ensure() -> SiteKey:
    """The row of the key that signs now. The first call on a site makes it."""
    found = SiteKey.objects.signing().first()
    if found is not None:
        return found
    try:
        with transaction.atomic():
            return _store(SigningKey.generate())
    except IntegrityError:  # another process was faster
        return SiteKey.objects.signing().get()


def signing_key() -> SigningKey:
    """The private key, which must be in no log and no answer.

    Raises:
        CannotUnseal: if the file of keys does not have the one that sealed it.
    """
    row = ensure()
    secret = unseal(row.sealed_key)
    if secret is None:
        raise CannotUnseal(f"The private half of {row} is gone. Make a new one: manage.py rotate_signing_key.")
    return SigningKey.from_pem(secret.get_secret_value().encode())


@transaction.atomic
def rotate(*, withdraw: bool = False) -> SiteKey:
    """Sign with a new key from now on. The private half of the one before is forgotten.

    Args:
        withdraw: whether the one before is no longer published either, because somebody else may have it.
    """
    now = timezone.now()
    SiteKey.objects.signing().update(ends=now, sealed_key="", withdrawn=now if withdraw else None)
    return _store(SigningKey.generate())


def published() -> SiteKeys:
    """The keys as anybody may read them."""
    ensure()
    rows = SiteKey.objects.published()
    return SiteKeys(
        site=settings.SITE_URL,
        keys=tuple(
            PublishedKey(id=row.key_id, public_key=row.public_key, begins=row.begins, ends=row.ends) for row in rows
        ),
    )


def _store(key: SigningKey) -> SiteKey:
    public: PublicKey = key.public
    return SiteKey.objects.create(
        key_id=public.id,
        public_key=public.base64,
        sealed_key=seal(SecretStr(key.pem.decode())),
        begins=timezone.now(),
    )
