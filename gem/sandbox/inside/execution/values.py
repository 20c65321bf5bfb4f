"""Python values as JSON and back, for the exchange between an untrusted program and the process that tests it.

Values are plain data only: unlike a pickle, a value from the program can be compared, but cannot run code.
"""

from __future__ import annotations

from typing import Any

MAX_JSON_INTEGER = 1 << 53
"""Integers from this size on are written as hexadecimal strings."""
MAX_TEXT_CHARS = 200
"""Length of the text that describes an object which is not plain data."""
PLAIN_TYPES: tuple[Any, ...] = (int, float, str, list, tuple, dict, set, frozenset, bytes, complex)


class OpaqueValue:
    """An object that is not plain data, and equal to nothing else; `text` describes it."""

    def __init__(self, text: str) -> None:
        self.text = text

    def __repr__(self) -> str:
        return self.text


def encode(value: Any) -> Any:
    """A value that `json.dumps` accepts and that `decode` turns into an equal value."""
    kind = type(value)
    if value is None or kind in (bool, str, float):
        return value
    if kind is int:
        return value if abs(value) < MAX_JSON_INTEGER else {"int": hex(value)}
    if kind is list:
        return [encode(item) for item in value]
    if kind in (tuple, set, frozenset):
        return {kind.__name__: [encode(item) for item in value]}
    if kind is dict:
        return {"dict": [[encode(key), encode(item)] for key, item in value.items()]}
    if kind is bytes:
        return {"bytes": value.hex()}
    if kind is complex:
        return {"complex": [value.real, value.imag]}
    return _encode_related_type(value)


def _encode_related_type(value: Any) -> Any:
    """Subclasses (`Counter`, `defaultdict`, `deque`, named tuples) and numpy's numbers and arrays as plain data."""
    for plain_type in PLAIN_TYPES:
        if isinstance(value, plain_type):
            return encode(plain_type(value))
    if hasattr(value, "tolist"):
        return encode(value.tolist())
    if type(value).__name__ in ("deque", "dict_keys", "dict_values", "range"):
        return encode(list(value))
    return {"other": f"{type(value).__name__}: {value!r}"[:MAX_TEXT_CHARS]}


def decode(value: Any) -> Any:
    """The value from which `encode` made this one.

    Raises:
        ValueError: if `encode` cannot have made it.
    """
    if isinstance(value, list):
        return [decode(item) for item in value]
    if not isinstance(value, dict):
        return value
    if len(value) != 1:
        raise ValueError("a tagged value has one tag")
    ((tag, content),) = value.items()
    try:
        return _DECODERS[tag](content)
    except (KeyError, TypeError) as error:
        raise ValueError(f"not a tagged value: {tag!r}") from error


_DECODERS: dict[str, Any] = {
    "int": lambda content: int(content, 16),
    "tuple": lambda content: tuple(decode(content)),
    "set": lambda content: set(decode(content)),
    "frozenset": lambda content: frozenset(decode(content)),
    "dict": lambda content: {decode(key): decode(item) for key, item in content},
    "bytes": bytes.fromhex,
    "complex": lambda content: complex(*content),
    "other": lambda content: OpaqueValue(str(content)),
}
