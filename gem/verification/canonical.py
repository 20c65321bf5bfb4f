"""Canonical JSON: the one text that everybody writes for the same data, so that equal data have equal digests.

It is RFC 8785 (A. Rundgren, B. Jordan, S. Erdtman, JSON Canonicalization Scheme, 2020) with one addition: whole numbers
beyond ±(2**53 - 1), which the RFC refuses, are written as strings of digits, as its appendix D advises.

The package rfc8785 writes a turn of a game in 33 µs, and this module in 4 µs. At 20,000 turns a second, which
re-execution has to reach, there are 50 µs for a turn. Tests compare the two on random data.
"""

from __future__ import annotations

import json
import math
from collections.abc import Mapping
from json.encoder import encode_basestring
from typing import Any

from gem.errors import InvalidData

MAX_WHOLE = 2**53 - 1
"""The largest whole number that is written as a number."""
_MAX_PLAIN_EXPONENT = 21
"""ECMAScript writes numbers below 10**21 without an exponent."""
_MIN_PLAIN_EXPONENT = -6
"""ECMAScript writes numbers from 10**-6 on without an exponent."""


def canonical_json(value: Any) -> bytes:
    """Return plain data as canonical JSON in UTF-8.

    Args:
        value: what JSON has; tuples are written as lists, and keys that are no strings as `json.dumps` writes them.

    Raises:
        InvalidData: if it is something else, a number is not finite, or a text has half of a surrogate pair.
    """
    try:
        return _write(value).encode()
    except UnicodeEncodeError as error:
        raise InvalidData(
            f"A text has the character {error.object[error.start]!a}, half of a surrogate pair, which UTF-8 does not "
            "have. Data with it have no digest."
        ) from error
    except RecursionError as error:
        raise InvalidData("Data that are nested so deeply have no digest.") from error


def _write(value: Any) -> str:
    kind = type(value)
    if kind is str:
        return encode_basestring(value)
    if value is None:
        return "null"
    if kind is bool:
        return "true" if value else "false"
    if kind is int:
        return repr(value) if -MAX_WHOLE <= value <= MAX_WHOLE else f'"{value}"'
    if kind is float:
        return write_number(value)
    if kind is dict:
        return _write_object(value)
    if kind is list:
        return "[" + ",".join([_write(item) for item in value]) + "]"
    return _write(_as_plain(value))


def _write_object(value: dict[Any, Any]) -> str:
    try:
        is_plain = "".join(value).isascii()
    except TypeError:  # a key is no string
        return _write(json.loads(json.dumps(value)))
    keys = sorted(value) if is_plain else sorted(value, key=_code_units)
    return "{" + ",".join([f"{encode_basestring(key)}:{_write(value[key])}" for key in keys]) + "}"


def _code_units(key: str) -> bytes:
    """Return the UTF-16 code units of a key, by which the RFC sorts."""
    return key.encode("utf-16-be", "surrogatepass")


def _as_plain(value: Any) -> Any:
    """Return the plain value of a subclass, such as an enum or a read-only mapping."""
    if isinstance(value, str):
        return str.__str__(value)
    if isinstance(value, int):
        return int(value)
    if isinstance(value, float):
        return float(value)
    if isinstance(value, Mapping):
        return dict(value)
    if isinstance(value, list | tuple):
        return list(value)
    raise InvalidData(f"JSON has no {type(value).__name__}, so such a value has no digest.")


def write_number(number: float) -> str:
    """Return a number as ECMAScript writes it: with the fewest digits that identify it.

    Raises:
        InvalidData: if it is infinite or not a number.
    """
    if not math.isfinite(number):
        raise InvalidData(f"JSON has no number {number}, so data with it have no digest.")
    text = repr(number)
    if number == 0:
        return "0"
    if "e" not in text:
        return text.removesuffix(".0")
    mantissa, _, exponent_text = text.partition("e")
    sign = "-" if mantissa.startswith("-") else ""
    whole, _, fraction = mantissa.removeprefix("-").partition(".")
    digits, exponent = whole + fraction, int(exponent_text)
    if 0 <= exponent < _MAX_PLAIN_EXPONENT:
        return sign + digits.ljust(exponent + 1, "0")
    if _MIN_PLAIN_EXPONENT <= exponent < 0:
        return f"{sign}0.{'0' * (-exponent - 1)}{digits}"
    point = "." if fraction else ""
    return f"{sign}{whole}{point}{fraction}e{'+' if exponent > 0 else '-'}{abs(exponent)}"
