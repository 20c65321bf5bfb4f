"""Texts of others, which must not steer the terminal."""

from __future__ import annotations

import re

_STEERING = re.compile(r"[\x00-\x08\x0b-\x1f\x7f-\x9f\u061c\u200e\u200f\u202a-\u202e\u2066-\u2069]")
"""Control characters except for line breaks and tabs, and those that change the direction of the text."""


def printable(text: str) -> str:
    """Return a text that somebody else may have written, with U+FFFD in place of what could steer the terminal."""
    return _STEERING.sub("\ufffd", text)
