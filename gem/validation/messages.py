"""What a Pydantic model refuses, said in sentences that name the field and what it has to be."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any

from gem.validation.near import did_you_mean

if TYPE_CHECKING:
    from pydantic import BaseModel, ValidationError

LONGEST = 60
"""Characters of a refused value that are repeated."""

_WHOLE, _NUMBER, _FLAG, _TEXT = "a whole number", "a number", "true or false", "a text"
_KINDS = {
    "int_parsing": _WHOLE, "int_type": _WHOLE, "int_from_float": _WHOLE, "float_parsing": _NUMBER,
    "float_type": _NUMBER, "finite_number": _NUMBER, "bool_parsing": _FLAG, "bool_type": _FLAG, "string_type": _TEXT,
    "dict_type": "an object", "model_type": "an object", "list_type": "a list", "tuple_type": "a list",
}  # fmt: skip
_BOUNDS: Mapping[str, Callable[[Mapping[str, Any]], str]] = {
    "greater_than_equal": lambda limits: f"at least {limits['ge']:g}",
    "greater_than": lambda limits: f"above {limits['gt']:g}",
    "less_than_equal": lambda limits: f"at most {limits['le']:g}",
    "less_than": lambda limits: f"below {limits['lt']:g}",
    "literal_error": lambda limits: str(limits["expected"]),
}


def refusals(
    error: ValidationError, model: type[BaseModel], names: Mapping[str, str] | None = None
) -> list[tuple[str, str]]:
    """The field (with dots inside a field; empty for the whole) and a sentence about it, for each refusal.

    Args:
        names: what the sentences call fields that should not go by their own name. What the model says in words of
            its own (errors of the type "refused") is not changed.
    """
    found = []
    for one in error.errors(include_url=False):
        where = ".".join(str(part) for part in one["loc"])
        found.append((where, _sentence(one, (names or {}).get(where, where) or "It", model)))
    return found


def in_words(error: ValidationError, model: type[BaseModel]) -> str:
    """All that is refused, one sentence after the other."""
    return " ".join(sentence for _, sentence in refusals(error, model))


def _sentence(error: Any, subject: str, model: type[BaseModel]) -> str:
    kind = error["type"]
    if kind == "refused":
        return str(error["msg"])
    if kind == "extra_forbidden":
        return _unknown(error["loc"], model)
    if kind == "missing":
        return f"{subject} is missing."
    given = repr(error["input"])
    shown = f", not {given}" if len(given) <= LONGEST else ""
    if kind in _KINDS:
        return f"{subject} has to be {_KINDS[kind]}{shown}."
    if kind in _BOUNDS:
        return f"{subject} has to be {_BOUNDS[kind](error['ctx'])}{shown}."
    said = str(error["msg"]).removeprefix("Value error, ").rstrip(".")
    for theirs, ours in (("Input should be", "has to be"), ("should have", "has to have"), ("should", "has to")):
        said = said.replace(theirs, ours)
    return f"{subject} {said}." if said.startswith("has to") else f"{subject}: {said}."


def _unknown(place: tuple[int | str, ...], model: type[BaseModel]) -> str:
    """That there is no such field; with the nearest one where it is a field of the model itself."""
    name = ".".join(map(str, place))
    near = did_you_mean(name, model.model_fields, "") if len(place) == 1 else ""
    return f"There is no setting {name}. {near}".rstrip()
