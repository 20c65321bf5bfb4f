"""Certificates: who has signed them, when, and what is refused."""

from __future__ import annotations

import base64
import json
from copy import deepcopy
from datetime import timedelta

import pytest

from gem.errors import InvalidData
from gem.verification.certificates import (
    CERTIFICATE_FORMAT,
    NotProved,
    Signature,
    SignedCertificate,
    read,
    sign,
    signed_bytes,
)
from gem.verification.keys import PublicKey, SigningKey, SiteKeys, TrustedKeys
from tests.engine.verification.rows import NOON, SITE, certify, play

RFC_8032 = (  # the first test vector of section 7.1: private key, public key, signature of the empty message
    "9d61b19deffd5a60ba844af492ec2cc44449c5697b326919703bac031cae7f60",
    "d75a980182b10ab7d54bfed3c964073a0ee172f3daa62325af021a68f707511a",
    "e5564300c360ac729086e2cc806e828a84877f1eb8e5d974d873e06522490155"
    "5fb8821590a33bacc61e39701cf9b46bd25bf5f0595bbe24655141438e7a100b",
)
KEY = SigningKey.generate()
OTHER = SigningKey.generate()
CERTIFICATE = certify(play(seeds=2))


def test_keys_are_ed25519_as_in_rfc_8032() -> None:
    _, public, signature = map(bytes.fromhex, RFC_8032)
    assert PublicKey(public).has_signed(b"", signature)
    assert not PublicKey(public).has_signed(b"x", signature)


def test_keys_are_written_and_read_and_never_shown() -> None:
    assert PublicKey.from_pem(KEY.public.pem) == PublicKey.from_base64(KEY.public.base64) == KEY.public
    again = SigningKey.from_pem(KEY.pem)
    assert again.public == KEY.public
    assert repr(KEY) == f"<SigningKey {KEY.public.id}>"
    with pytest.raises(InvalidData, match="no public key"):
        PublicKey.from_pem(KEY.pem)
    with pytest.raises(InvalidData) as error:
        SigningKey.from_pem(KEY.pem[:60])
    assert error.value.__cause__ is None
    assert KEY.pem[30:50].decode() not in str(error.value)
    for text in ("", "AAAA", "not base64", KEY.public.base64[:-4]):
        with pytest.raises(InvalidData):
            PublicKey.from_base64(text)


def test_a_signed_certificate_is_read_back_by_who_trusts_the_key() -> None:
    signed = read(json.dumps(sign(CERTIFICATE, KEY)))
    assert signed.verified(TrustedKeys.single(KEY.public, "the file")) == CERTIFICATE
    assert "one who runs the site" in CERTIFICATE.proves
    with pytest.raises(NotProved, match=f"signed with the key {KEY.public.id}, and the file has {OTHER.public.id}"):
        signed.verified(TrustedKeys.single(OTHER.public, "the file"))


def test_every_changed_field_is_noticed() -> None:
    document = sign(CERTIFICATE, KEY)
    trusted = TrustedKeys.single(KEY.public, "the file")
    paths = list(_paths(document["certificate"]))
    assert len(paths) > 50
    for path in paths:
        changed = deepcopy(document)
        inner = changed["certificate"]
        for name in path[:-1]:
            inner = inner[name]
        inner[path[-1]] = "another" if inner[path[-1]] != "another" else "one more"
        with pytest.raises(NotProved, match="changed after"):
            read(json.dumps(changed)).verified(trusted)


def _paths(value: object, before: tuple = ()) -> object:
    entries = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    for name, inner in entries:
        yield (*before, name)
        yield from _paths(inner, (*before, name))


def test_a_signature_under_another_key_s_name_is_refused() -> None:
    forged = sign(CERTIFICATE, OTHER)
    forged["signature"]["key"] = KEY.public.id
    with pytest.raises(NotProved, match="another key did"):
        read(json.dumps(forged)).verified(TrustedKeys.single(KEY.public, "the file"))


def test_a_key_published_under_another_id_is_refused() -> None:
    published = SiteKeys.first(SITE, OTHER.public, NOON).model_dump(mode="json")
    published["keys"][0]["id"] = KEY.public.id
    with pytest.raises(InvalidData, match="whose id is"):
        SiteKeys.read(json.dumps(published))


def test_rotation_keeps_old_certificates_and_ends_the_old_key() -> None:
    first = SiteKeys.first(SITE, KEY.public, NOON - timedelta(days=9))
    both = first.rotated(OTHER.public, NOON + timedelta(days=1))
    both = SiteKeys.read(both.model_dump_json())
    assert [entry.id for entry in both.keys] == [OTHER.public.id, KEY.public.id]
    trusted = TrustedKeys.of_site(both, "the site")
    assert read(json.dumps(sign(CERTIFICATE, KEY))).verified(trusted) == CERTIFICATE
    late = CERTIFICATE.model_copy(update={"issued": NOON + timedelta(days=2)})
    assert read(json.dumps(sign(late, OTHER))).verified(trusted) == late
    with pytest.raises(NotProved, match="did not sign"):
        read(json.dumps(sign(late, KEY))).verified(trusted)
    with pytest.raises(NotProved, match="did not sign"):
        read(json.dumps(sign(CERTIFICATE, OTHER))).verified(trusted)
    withdrawn = SiteKeys(site=SITE, keys=both.keys[:1])
    with pytest.raises(NotProved, match="signed with the key"):
        read(json.dumps(sign(CERTIFICATE, KEY))).verified(TrustedKeys.of_site(withdrawn, "the site"))


def test_the_key_of_one_site_does_not_sign_for_another() -> None:
    trusted = TrustedKeys.of_site(SiteKeys.first("https://other.example", KEY.public, NOON), "the site")
    with pytest.raises(NotProved, match=r"is of https://other\.example"):
        read(json.dumps(sign(CERTIFICATE, KEY))).verified(trusted)


@pytest.mark.parametrize(
    "text",
    ["", "[]", "{}", "[" * 99_999, '{"certificate": 1, "signature": {}}', '{"certificate": {}, "signature": {}}',
     '{"certificate": {"site": 1, "site": 2}, "signature": {"key": "", "value": ""}}', b"\xff"],
)  # fmt: skip
def test_what_is_no_certificate_is_refused_in_a_sentence(text: str | bytes) -> None:
    with pytest.raises(InvalidData, match="This is no certificate: "):
        read(text)


def test_a_signed_document_of_another_format_is_refused() -> None:
    signed = sign(CERTIFICATE, KEY)
    document = {**signed["certificate"], "format": "gemweb-certificate-9"}
    assert signed_bytes(document).startswith(CERTIFICATE_FORMAT.encode())
    value = base64.b64encode(KEY.sign(signed_bytes(document))).decode()
    other = SignedCertificate(document, Signature(key=KEY.public.id, value=value))
    with pytest.raises(InvalidData, match="A newer gemweb may read it"):
        other.verified(TrustedKeys.single(KEY.public, "the file"))
