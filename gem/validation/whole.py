"""Whole numbers in models: a text of digits and a truth value are none, although Pydantic would convert them."""

from __future__ import annotations

from typing import Annotated, Any

from pydantic import BeforeValidator
from pydantic_core import PydanticKnownError


def _refuse_other_types(value: Any) -> Any:
    if isinstance(value, str | bytes | bool):
        raise PydanticKnownError("int_type")
    return value


Whole = Annotated[int, BeforeValidator(_refuse_other_types)]
"""An integer of any kind, NumPy's included."""
