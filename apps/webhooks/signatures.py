"""Signatures of webhooks, as the Standard Webhooks specification has them (https://www.standardwebhooks.com).

The signature is the HMAC-SHA256 of `id.timestamp.body` with the bytes of the secret, in base64.
"""

from __future__ import annotations

import base64
import hashlib
import hmac
import secrets

PREFIX = "whsec_"
"""The beginning of every secret."""
SECRET_BYTES = 32


def make_secret() -> str:
    """A new secret, as its owner sees it once."""
    return PREFIX + base64.b64encode(secrets.token_bytes(SECRET_BYTES)).decode()


def sign(secret: str, message_id: str, timestamp: int, body: bytes) -> str:
    """The signature of a body that is sent with this id at this time, in seconds since 1970."""
    key = base64.b64decode(secret.removeprefix(PREFIX))
    digest = hmac.new(key, f"{message_id}.{timestamp}.".encode() + body, hashlib.sha256).digest()
    return f"v1,{base64.b64encode(digest).decode()}"


def headers(secret: str, message_id: str, timestamp: int, body: bytes) -> dict[str, str]:
    """The headers by which a receiver recognizes a delivery and checks that it is authentic."""
    return {
        "webhook-id": message_id,
        "webhook-timestamp": str(timestamp),
        "webhook-signature": sign(secret, message_id, timestamp, body),
    }
