"""Python values as JSON and back, for the way between a program that is not trusted and whoever judges it.

Plain data only: what arrives can be compared, and cannot do anything. (Pickle could.)
"""

from __future__ import annotations

from typing import Any

SMALL = 1 << 53
MAX_TEXT = 200
PLAIN: tuple[Any, ...] = (int, float, str, list, tuple, dict, set, frozenset, bytes, complex)


class Other:
    """Something that is no plain data; equal to nothing. `text` says what it was."""

    def __init__(self, text: str) -> None:
        self.text = text

    def __repr__(self) -> str:
        return self.text


def encode(value: Any) -> Any:
    """Something that `json.dumps` takes and `decode` turns into an equal value."""
    kind = type(value)
    if value is None or kind in (bool, str, float):
        return value
    if kind is int:
        return value if abs(value) < SMALL else {"int": hex(value)}
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
    return _of_relatives(value)


def _of_relatives(value: Any) -> Any:
    """Subclasses (`Counter`, `defaultdict`, `deque`, named tuples) and numpy's numbers and arrays as plain data."""
    for plain in PLAIN:
        if isinstance(value, plain):
            return encode(plain(value))
    if hasattr(value, "tolist"):
        return encode(value.tolist())
    if type(value).__name__ in ("deque", "dict_keys", "dict_values", "range"):
        return encode(list(value))
    return {"other": f"{type(value).__name__}: {value!r}"[:MAX_TEXT]}


def decode(value: Any) -> Any:
    """The value that `encode` was given.

    Raises:
        ValueError: for what `encode` never makes.
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
    "other": lambda content: Other(str(content)),
}
