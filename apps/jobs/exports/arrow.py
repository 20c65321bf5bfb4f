"""The columns of an export as Arrow has them."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import pyarrow as pa

from apps.jobs.exports.tables import Column, Type

ARROW: Mapping[Type, pa.DataType] = {
    "text": pa.string(),
    "whole": pa.int64(),
    "number": pa.float64(),
    "truth": pa.bool_(),
    "time": pa.timestamp("us", tz="UTC"),
    "json": pa.string(),
}


def field_of(column: Column) -> pa.Field[Any]:
    """The column as Arrow has it, with its description."""
    return pa.field(column.name, ARROW[column.type], metadata={"description": column.description})
