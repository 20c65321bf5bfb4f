"""Reading what was checked when it was stored: its environments are not looked for again, because they may be gone.

A package with environments can be uninstalled, and an id can change. What was submitted before stays readable, so pages
read it with `STORED`; whoever is to play or train it reads it without.
"""

from __future__ import annotations

from collections.abc import Mapping

from pydantic import ValidationInfo

STORED: Mapping[str, bool] = {"is_stored": True}
"""The context with which a model reads what was stored."""


def is_stored(info: ValidationInfo) -> bool:
    """Whether a model reads what was stored."""
    return isinstance(info.context, Mapping) and info.context.get("is_stored") is True
