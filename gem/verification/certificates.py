"""Certificates: what a row claims, signed by the site that checked it.

signed = sign(certificate, key)              # a JSON document
certificate = read(text).verified(trusted)   # raises NotProved unless a trusted key has signed exactly this
"""

from __future__ import annotations

import base64
import binascii
import json
from dataclasses import dataclass
from typing import Annotated, Any, Literal, get_args

from pydantic import AwareDatetime, BaseModel, ConfigDict, Field, FiniteFloat, ValidationError

from gem.errors import GemError, InvalidData
from gem.verification.canonical import canonical_json
from gem.verification.digests import RowDigests
from gem.verification.keys import SigningKey, TrustedKeys

CERTIFICATE_FORMAT = "gemweb-certificate-1"
_SIGNED_PREFIX = f"{CERTIFICATE_FORMAT}\n".encode()
"""What is signed begins with this, so that a signature of anything else is never one of a certificate."""

Tier = Literal["reproduced", "hosted", "verified", "reported"]
PROVED: dict[Tier, str] = {
    "reproduced": "The rewards follow from the actions, and the choices from the weights: both were computed twice.",
    "hosted": "The rewards follow from the actions, and nobody knew the seeds beforehand.",
    "verified": "The rewards follow from the actions. That the seeds were studied before playing cannot be excluded.",
    "reported": "Nothing is proved: somebody has reported these numbers.",
}
"""What each tier proves, in one sentence or two."""
NOT_PROVED = "Nothing here proves anything against the one who runs the site."
"""The sentence that every certificate has besides what its tier proves."""

Digest = Annotated[str, Field(pattern=r"^[0-9a-f]{64}$")]
Count = Annotated[int, Field(ge=0)]


class NotProved(GemError):
    """A certificate or the episodes behind it are not what they claim; the message is the first difference."""


class _Part(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True)


class CertifiedAgent(_Part):
    """The agent of a row."""

    name: str
    kind: Literal["model", "program", "person"]
    """What was declared; only the tier `reproduced` proves it."""
    version: int | None = None
    weights_sha256: Digest | None = None
    """The hash of the weights, if the site holds them."""
    set_up: dict[str, Any] = {}
    """How it was asked: model, prompt, sampling. Empty if the page of the agent is private."""


class CertifiedBenchmark(_Part):
    """A version of a benchmark."""

    name: str
    version: int


class CertifiedSeason(_Part):
    """The season whose key the seeds were drawn with (see `gem.benchmarks.seeds`)."""

    number: int
    commitment: Digest
    """The SHA-256 of its key."""
    scope: str
    """What else the seeds depend on: `common`, or the number of the submission."""


class CertifiedScore(_Part):
    """A number with its 95 % interval; without ends where there is none."""

    mean: FiniteFloat
    low: FiniteFloat | None = None
    high: FiniteFloat | None = None


class CertifiedEnvironment(_Part):
    """The episodes of one environment."""

    env_id: str
    version: int
    data_hash: str = ""
    episodes: Count
    """All episodes of the row in this environment."""
    seeds: Count
    """The number of seeds, each of which is one observation."""
    failed: Count = 0
    """Episodes in which the environment failed; they do not count."""
    unanswered: Count = 0
    """Episodes in which the agent gave no answer."""
    unanswered_return: FiniteFloat | None = None
    """The return that each of those counts with; None if they do not count."""
    mean_return: CertifiedScore | None
    """None if no episode counts."""
    solved: Count
    """The number of episodes that were solved."""
    random_return: FiniteFloat | None = None
    """The mean return of the random agent, which is 0 on the scale."""
    anchor_return: FiniteFloat | None = None
    """The return that is 1 on the scale."""
    score: CertifiedScore | None = None
    """The mean on this scale, clipped to 0 and 1."""
    digest: Digest
    """The digest of these episodes (`RowDigests.environments`)."""


class CertifiedEngine(_Part):
    """What the episodes were played with."""

    version: str
    commit: str = ""
    python: str = ""
    libraries: dict[str, str] = {}
    """The versions of the packages that have an effect."""
    sandbox: str = ""
    """How untrusted programs were confined; empty if there were none."""


class Certificate(_Part):
    """What a row claims."""

    format: Literal["gemweb-certificate-1"] = "gemweb-certificate-1"
    site: str
    """The address of the site that signs."""
    row: str
    """The id of the row on that site."""
    tier: Tier
    proves: str
    """What is proved and what is not, for people (see `statement`)."""
    agent: CertifiedAgent
    submitter: str
    specification: dict[str, Any]
    """How the episodes were played, without seeds that are not public."""
    benchmark: CertifiedBenchmark | None = None
    season: CertifiedSeason | None = None
    score: CertifiedScore | None = None
    """The score of the benchmark."""
    environments: tuple[CertifiedEnvironment, ...]
    episodes: Count
    tries: Count
    """How often this submitter had tried this benchmark, this row included."""
    row_digest: Digest
    engine: CertifiedEngine
    played_from: AwareDatetime
    played_to: AwareDatetime
    issued: AwareDatetime

    @property
    def digests(self) -> RowDigests:
        """The digests of the row and of its parts."""
        return RowDigests(self.row_digest, {one.env_id: one.digest for one in self.environments}, self.episodes)


def statement(tier: Tier) -> str:
    """Return what a certificate of this tier says about itself."""
    return f"{PROVED[tier]} {NOT_PROVED}"


class Signature(_Part):
    """A signature, and the id of the key that made it. The key itself is not in the document, because nobody should
    trust a key that comes with what it signed."""

    key: str
    algorithm: Literal["Ed25519"] = "Ed25519"
    value: str
    """64 bytes in base64."""


@dataclass(frozen=True, slots=True)
class SignedCertificate:
    """A certificate as it was read, which nobody has verified yet."""

    document: dict[str, Any]
    """The certificate as plain data: what was signed."""
    signature: Signature

    @property
    def site(self) -> str:
        """The site that it names, on which nothing may be built before it is verified; empty if it names none."""
        site = self.document.get("site")
        return site if isinstance(site, str) else ""

    def verified(self, trusted: TrustedKeys) -> Certificate:
        """Return the certificate if a trusted key has signed it at a time when the key signed.

        Raises:
            NotProved: if none has.
            InvalidData: if the signed document is no certificate of a known format.
        """
        entry = trusted.find(self.signature.key)
        if entry is None:
            raise NotProved(
                f"The certificate is signed with the key {self.signature.key}, and {trusted.source} has "
                f"{', '.join(trusted.ids)}."
            )
        try:
            value = base64.b64decode(self.signature.value, validate=True)
        except (binascii.Error, ValueError):
            value = b""
        if not entry.key.has_signed(signed_bytes(self.document), value):
            raise NotProved(
                f"The signature is not of this certificate: it was changed after the key {entry.id} signed it, or "
                "another key did."
            )
        certificate = _parse(self.document)
        if trusted.site and certificate.site != trusted.site:
            raise NotProved(
                f"The certificate says that it is of {certificate.site}, and the key {entry.id} that signed it is of "
                f"{trusted.site}."
            )
        if (entry.begins and certificate.issued < entry.begins) or (entry.ends and certificate.issued > entry.ends):
            raise NotProved(
                f"The certificate is dated {certificate.issued:%Y-%m-%d %H:%M} UTC, when the key {entry.id} did not "
                f"sign, as {trusted.source} says."
            )
        return certificate


def sign(certificate: Certificate, key: SigningKey) -> dict[str, Any]:
    """Return the signed certificate as plain data, to be stored and sent as JSON."""
    document = certificate.model_dump(mode="json")
    value = base64.b64encode(key.sign(signed_bytes(document))).decode()
    return {"certificate": document, "signature": Signature(key=key.public.id, value=value).model_dump()}


def signed_bytes(document: dict[str, Any]) -> bytes:
    """Return what is signed: the name of the format, a line break, and the document as canonical JSON."""
    return _SIGNED_PREFIX + canonical_json(document)


def read(text: bytes | str) -> SignedCertificate:
    """Read a signed certificate.

    Raises:
        InvalidData: if it is something else, or has a name twice, so that readers could take it differently.
    """
    try:
        data = json.loads(text, object_pairs_hook=_without_repetition)
    except (ValueError, RecursionError) as error:
        message = str(error) if isinstance(error, InvalidData) else f"it is not JSON: {error}."
        raise InvalidData(f"This is no certificate: {message}") from error
    if not isinstance(data, dict) or not isinstance(data.get("certificate"), dict) or "signature" not in data:
        raise InvalidData("This is no certificate: it has no entries `certificate` and `signature`.")
    try:
        return SignedCertificate(data["certificate"], Signature.model_validate(data["signature"]))
    except ValidationError as error:
        raise InvalidData(f"This is no certificate: {_first(error, 'signature')}") from error


def _parse(document: dict[str, Any]) -> Certificate:
    if document.get("format") not in get_args(Certificate.model_fields["format"].annotation):
        raise InvalidData(
            f"The certificate has the format {document.get('format')!r:.60}; this version reads {CERTIFICATE_FORMAT}. "
            "A newer gemweb may read it."
        )
    try:
        return Certificate.model_validate(document)
    except ValidationError as error:
        raise InvalidData(f"This is no certificate: {_first(error, 'certificate')}") from error


def _first(error: ValidationError, name: str) -> str:
    detail = error.errors()[0]
    return f"{'.'.join([name, *map(str, detail['loc'])])}: {detail['msg']}."


def _without_repetition(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found = dict(pairs)
    if len(found) < len(pairs):
        names = [name for name, _ in pairs]
        twice = next(name for name in names if names.count(name) > 1)
        raise InvalidData(f"it has the name {twice!r:.60} twice.")
    return found
