"""`gemweb envs`: what there is."""

from __future__ import annotations

import argparse

import gem
from gem.cli.output.tables import table
from gem.errors import UsageError


def arguments(parser: argparse.ArgumentParser) -> None:
    """What it takes."""
    parser.add_argument("word", nargs="?", default="", metavar="WORD", help="only ids that contain it")


def run(word: str) -> int:
    """Print a table of the environments whose id contains `word`."""
    from gem.agents import has_expert  # noqa: PLC0415 (a quick start for the other commands)
    from gem.benchmarks import baseline  # noqa: PLC0415

    specs = [spec for spec in gem.registry.specs() if word.lower() in spec.id.lower()]
    if not specs:
        raise UsageError(f"No environment's id contains {word!r}. gemweb envs lists all.")
    rows = []
    for spec in specs:
        solved = [baseline(spec.id, agent) for agent in ("random", "expert")]
        shares = ["" if one is None else f"{one.success_rate:.0%}" for one in solved]
        turns = "" if solved[0] is None else f"{solved[0].mean_turns:.1f}"
        rows.append([spec.id, str(spec.version), spec.replay, "yes" if has_expert(spec.id) else "no", *shares, turns])
    table(["environment", "version", "replay", "expert", "random solves", "expert solves", "random's turns"], rows)
    return 0
