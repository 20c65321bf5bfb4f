"""Pydantic's validation errors as sentences that name the field and what it has to be."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any

from gem.validation.near import did_you_mean

if TYPE_CHECKING:
    from pydantic import BaseModel, ValidationError
    from pydantic_core import PydanticCustomError

MAX_VALUE_CHARS = 60
"""The length of the longest invalid value that a message quotes."""

_WHOLE, _NUMBER, _FLAG, _TEXT = "a whole number", "a number", "true or false", "a text"
_KINDS = {
    "int_parsing": _WHOLE, "int_type": _WHOLE, "int_from_float": _WHOLE, "float_parsing": _NUMBER,
    "float_type": _NUMBER, "finite_number": _NUMBER, "bool_parsing": _FLAG, "bool_type": _FLAG, "string_type": _TEXT,
    "dict_type": "an object", "model_type": "an object", "list_type": "a list", "tuple_type": "a list",
}  # fmt: skip
_BOUNDS: Mapping[str, Callable[[Mapping[str, Any]], str]] = {
    "greater_than_equal": lambda limits: f"at least {_number(limits['ge'])}",
    "greater_than": lambda limits: f"above {_number(limits['gt'])}",
    "less_than_equal": lambda limits: f"at most {_number(limits['le'])}",
    "less_than": lambda limits: f"below {_number(limits['lt'])}",
    "literal_error": lambda limits: str(limits["expected"]),
}


def field_errors(
    error: ValidationError, model: type[BaseModel], names: Mapping[str, str] | None = None, *, holder: str = ""
) -> list[tuple[str, str]]:
    """Return the field and a sentence for each error.

    The field is a path with dots, such as "prices.tokens_in", and empty for an error of the whole model.

    Args:
        names: labels that the sentences use in place of the names of fields. They have no effect on the messages that
            a model words itself, which are errors of the type "refused".
        holder: a field of `model` that holds what the caller has sent. Neither fields nor sentences name it.
    """
    errors = []
    held = _type_of(model, holder)
    for detail in error.errors(include_url=False):
        location, of_model = detail["loc"], model
        if holder and location[:1] == (holder,):
            location, of_model = location[1:], held
        field_name = ".".join(str(part) for part in location)
        subject = (names or {}).get(field_name, field_name) or "It"
        errors.append((field_name, _sentence(detail | {"loc": location}, subject, of_model)))
    return errors


def os_error_sentence(error: OSError) -> str:
    """An error of the operating system as a sentence, with the file that it is about."""
    place = f"{error.filename}: " if error.filename is not None else ""
    return f"{place}{error.strerror or error}."


def refused(sentence: str) -> PydanticCustomError:
    """An error for a validator to raise, whose message is exactly this sentence."""
    from pydantic_core import PydanticCustomError  # noqa: PLC0415 (the sentences alone need no Pydantic)

    return PydanticCustomError("refused", "{sentence}", {"sentence": sentence})


def error_sentence(error: ValidationError, model: type[BaseModel]) -> str:
    """Return the sentences about all errors, one after the other."""
    return " ".join(sentence for _, sentence in field_errors(error, model))


def _sentence(error: Any, subject: str, model: type[BaseModel]) -> str:
    kind = error["type"]
    if kind == "refused":
        return str(error["msg"])
    if kind == "extra_forbidden":
        return _unknown_field(error["loc"], model)
    if kind == "missing":
        return f"{subject} is missing."
    value = repr(error["input"])
    suffix = f", not {value}" if len(value) <= MAX_VALUE_CHARS else ""
    if isinstance(error["input"], float) and not math.isfinite(error["input"]):
        return f"{subject} has to be a finite number, not {value}."
    if kind in _KINDS:
        return f"{subject} has to be {_KINDS[kind]}{suffix}."
    if kind in _BOUNDS:
        return f"{subject} has to be {_BOUNDS[kind](error['ctx'])}{suffix}."
    if kind in {"too_long", "too_short"}:
        limits = error["ctx"]
        bound = f"most {limits['max_length']}" if kind == "too_long" else f"least {limits['min_length']}"
        return f"{subject} has to have at {bound} entries, not {limits['actual_length']}."
    message = str(error["msg"]).removeprefix("Value error, ").rstrip(".")
    for phrase, replacement in (("Input should be", "has to be"), ("should have", "has to have"), ("should", "has to")):
        message = message.replace(phrase, replacement)
    return f"{subject} {message}." if message.startswith("has to") else f"{subject}: {message}."


def _type_of(model: type[BaseModel], holder: str) -> type[BaseModel]:
    """The model that a field holds; `model` itself if it holds none."""
    from pydantic import BaseModel  # noqa: PLC0415 (as above)

    held = model.model_fields[holder].annotation if holder in model.model_fields else None
    return held if isinstance(held, type) and issubclass(held, BaseModel) else model


def _number(limit: Any) -> str:
    """A bound in figures: whole numbers in full, because a rounded one is none."""
    return f"{limit:,}" if isinstance(limit, int) else f"{limit:,.15g}"


def _unknown_field(location: tuple[int | str, ...], model: type[BaseModel]) -> str:
    """Return a sentence about an unknown field, with a suggestion if it is not nested."""
    name = ".".join(map(str, location))
    hint = did_you_mean(name, model.model_fields, "") if len(location) == 1 else ""
    return f"There is no setting {name}. {hint}".rstrip()


def count(number: int, noun: str) -> str:
    """Return a number with its noun in singular or plural: "1 turn", "1,200 turns"."""
    return f"{number:,} {noun}{'' if number == 1 else 's'}"
