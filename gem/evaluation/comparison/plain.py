"""A comparison as plain data: what `gemweb compare --json` prints and the page of a comparison exports."""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence
from typing import Any

from gem.evaluation.compare import Comparison


def plain(comparison: Comparison, names: Sequence[str]) -> dict[str, Any]:
    """Return a comparison as plain data, with the outcome of every seed.

    Args:
        names: the names of the runs.
    """
    data = dataclasses.asdict(comparison)
    for pair, shown in zip(comparison.pairs, data["pairs"], strict=True):
        del shown["pairing"]
        shown["seeds"] = [{**row._asdict(), "outcome": row.outcome} for row in pair.pairing.pairs]
        shown |= {name: getattr(pair.pairing, name) for name in ("only_first", "only_second", "uncounted")}
        shown["decided"] = pair.difference is not None and pair.difference.decided
    data["runs"] = list(names)
    return data
