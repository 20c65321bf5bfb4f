"""Whole numbers and truth values in what others send: no text is one, although Pydantic would convert it.

Whoever sends the text "5" or true for a number has probably confused two fields. Forms of pages, in which everything is
a text, and query parameters are converted before.
"""

from __future__ import annotations

from numbers import Integral
from typing import Annotated, Any

from pydantic import BeforeValidator, Strict
from pydantic_core import PydanticKnownError


def _refuse_other_types(value: Any) -> Any:
    if isinstance(value, bool) or not isinstance(value, Integral):
        raise PydanticKnownError("int_type")
    return value


def typed(value: Any) -> Any:
    """A value as a person typed it: 1e3 and 5.0 are whole numbers, which fields for other numbers take too."""
    return int(value) if isinstance(value, float) and value.is_integer() else value


Whole = Annotated[int, BeforeValidator(_refuse_other_types)]
"""An integer of any kind, NumPy's included; neither 5.0, "5" nor true."""
Flag = Annotated[bool, Strict()]
"""True or false; neither 1 nor "true"."""
