"""The keys that sign certificates (Ed25519), what a site publishes of them, and which of them a reader trusts.

A site signs with one key at a time. After a rotation it goes on publishing the earlier keys with the time at which each
stopped signing, so that older certificates can still be verified. A key that somebody else got hold of is no longer
published, and the certificates it signed are no longer believed.
"""

from __future__ import annotations

import base64
import binascii
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import datetime
from hashlib import sha256
from typing import Annotated, Literal, Self

from cryptography.exceptions import InvalidSignature, UnsupportedAlgorithm
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey, Ed25519PublicKey
from cryptography.hazmat.primitives.serialization import (
    Encoding,
    NoEncryption,
    PrivateFormat,
    PublicFormat,
    load_pem_private_key,
    load_pem_public_key,
)
from pydantic import AfterValidator, AwareDatetime, BaseModel, ConfigDict, Field, ValidationError

from gem.errors import InvalidData

WELL_KNOWN = "/.well-known/gemweb.json"
"""Where a site publishes its keys, as JSON of `SiteKeys`."""
KEY_BYTES = 32


@dataclass(frozen=True, slots=True)
class PublicKey:
    """A public key, as its 32 bytes."""

    raw: bytes

    @classmethod
    def from_base64(cls, text: str) -> Self:
        """Read a key from base64 of its 32 bytes.

        Raises:
            InvalidData: if it is something else.
        """
        try:
            raw = base64.b64decode(text.strip(), validate=True)
        except (binascii.Error, ValueError) as error:
            raise InvalidData("A public key is written in base64.") from error
        if len(raw) != KEY_BYTES:
            raise InvalidData(f"A public key has {KEY_BYTES} bytes; this one has {len(raw)}.")
        return cls(raw)

    @classmethod
    def from_pem(cls, pem: bytes) -> Self:
        """Read a key from the content of a PEM file, which begins with `-----BEGIN PUBLIC KEY-----`.

        Raises:
            InvalidData: if it is something else, such as a private key or one of another algorithm.
        """
        try:
            key = load_pem_public_key(pem)
        except (ValueError, UnsupportedAlgorithm) as error:
            raise InvalidData("The file has no public key in the format PEM.") from error
        if not isinstance(key, Ed25519PublicKey):
            raise InvalidData("The key is of another algorithm than Ed25519.")
        return cls(key.public_bytes(Encoding.Raw, PublicFormat.Raw))

    @property
    def id(self) -> str:
        """The first 16 hexadecimal digits of the key's SHA-256, by which signatures name it."""
        return sha256(self.raw).hexdigest()[:16]

    @property
    def base64(self) -> str:
        """The key as text."""
        return base64.b64encode(self.raw).decode()

    @property
    def pem(self) -> bytes:
        """The key as a PEM file."""
        key = Ed25519PublicKey.from_public_bytes(self.raw)
        return key.public_bytes(Encoding.PEM, PublicFormat.SubjectPublicKeyInfo)

    def has_signed(self, message: bytes, signature: bytes) -> bool:
        """Whether the private half of this key has signed the message."""
        try:
            Ed25519PublicKey.from_public_bytes(self.raw).verify(signature, message)
        except InvalidSignature:
            return False
        return True


class SigningKey:
    """A private key. Neither `repr` nor an error message shows it."""

    def __init__(self, key: Ed25519PrivateKey) -> None:
        self._key = key
        self.public = PublicKey(key.public_key().public_bytes(Encoding.Raw, PublicFormat.Raw))

    def __repr__(self) -> str:
        return f"<SigningKey {self.public.id}>"

    @classmethod
    def generate(cls) -> Self:
        """Make a new key."""
        return cls(Ed25519PrivateKey.generate())

    @classmethod
    def from_pem(cls, pem: bytes) -> Self:
        """Read a key from what `pem` returned.

        Raises:
            InvalidData: if it is something else.
        """
        try:
            key = load_pem_private_key(pem, password=None)
        except (ValueError, TypeError, UnsupportedAlgorithm):
            raise InvalidData("This is no private key in the format PEM without a password.") from None
        if not isinstance(key, Ed25519PrivateKey):
            raise InvalidData("The key is of another algorithm than Ed25519.")
        return cls(key)

    @property
    def pem(self) -> bytes:
        """The key as a PEM file without a password, to be stored where only the site can read it."""
        return self._key.private_bytes(Encoding.PEM, PrivateFormat.PKCS8, NoEncryption())

    def sign(self, message: bytes) -> bytes:
        """Return the signature of the message, 64 bytes."""
        return self._key.sign(message)


# ------------------------------------------------------------------ what a site publishes


def _checked_base64(text: str) -> str:
    try:
        return PublicKey.from_base64(text).base64
    except InvalidData as error:
        raise ValueError(str(error)) from error


class PublishedKey(BaseModel):
    """A public key of a site, and when it signed."""

    model_config = ConfigDict(extra="ignore", frozen=True)

    id: str
    algorithm: Literal["Ed25519"] = "Ed25519"
    public_key: Annotated[str, AfterValidator(_checked_base64)]
    """The 32 bytes of the key in base64."""
    begins: AwareDatetime | None = None
    """When it began to sign; None if that is not said."""
    ends: AwareDatetime | None = None
    """When it stopped; None for the one that signs now."""

    @property
    def key(self) -> PublicKey:
        """The key."""
        return PublicKey.from_base64(self.public_key)


class SiteKeys(BaseModel):
    """The keys of a site, the one that signs now first: what its `/.well-known/gemweb.json` has."""

    model_config = ConfigDict(extra="ignore", frozen=True)

    site: str
    keys: Annotated[tuple[PublishedKey, ...], Field(min_length=1)]

    @classmethod
    def read(cls, document: bytes | str) -> Self:
        """Read what a site publishes.

        Raises:
            InvalidData: if it is something else, or the id of a key is not its own.
        """
        try:
            published = cls.model_validate_json(document)
        except ValidationError as error:
            detail = error.errors()[0]
            place = ".".join(map(str, detail["loc"]))
            raise InvalidData(f"The list of keys is malformed: {place or 'JSON'}: {detail['msg']}.") from error
        for entry in published.keys:
            if entry.key.id != entry.id:
                raise InvalidData(f"The list of keys names a key {entry.id} whose id is {entry.key.id}.")
        return published

    @classmethod
    def first(cls, site: str, key: PublicKey, now: datetime) -> Self:
        """Return the list of a site that has made its first key."""
        return cls(site=site, keys=(PublishedKey(id=key.id, public_key=key.base64, begins=now),))

    def rotated(self, key: PublicKey, now: datetime) -> Self:
        """Return the list after a rotation: `key` signs from now on, and the one before it no longer."""
        before = [entry if entry.ends else entry.model_copy(update={"ends": now}) for entry in self.keys]
        new = PublishedKey(id=key.id, public_key=key.base64, begins=now)
        return self.model_copy(update={"keys": (new, *before)})


# ------------------------------------------------------------------ what a reader trusts


@dataclass(frozen=True, slots=True)
class TrustedKeys:
    """The keys that a reader trusts, because somebody gave them or they were pinned."""

    keys: Sequence[PublishedKey]
    source: str
    """Where they come from, for messages: "the file key.pem"."""
    site: str = ""
    """The site whose keys they are; empty if that is not known."""

    @classmethod
    def single(cls, key: PublicKey, source: str) -> Self:
        """Trust one key, whenever it signed."""
        return cls([PublishedKey(id=key.id, public_key=key.base64)], source)

    @classmethod
    def of_site(cls, published: SiteKeys, source: str) -> Self:
        """Trust the keys of a site, each for the time when it signed."""
        return cls(published.keys, source, published.site)

    def find(self, key_id: str) -> PublishedKey | None:
        """Return the trusted key with this id."""
        return next((entry for entry in self.keys if entry.key.id == key_id), None)

    @property
    def ids(self) -> Iterable[str]:
        """The ids of all trusted keys."""
        return [entry.key.id for entry in self.keys]
