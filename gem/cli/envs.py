"""`gemweb envs`: list the environments."""

from __future__ import annotations

import argparse

import gem
from gem.cli.output.tables import table
from gem.errors import UsageError

HEADINGS = ["environment", "version", "replay", "expert", "random solves", "expert solves", "turns of random"]


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the arguments of the command."""
    parser.add_argument("word", nargs="?", default="", metavar="WORD", help="only ids that contain it")


def run(word: str) -> int:
    """Print a table of the environments whose id contains `word`."""
    from gem.agents import has_expert  # noqa: PLC0415 (the other commands start faster without it)
    from gem.benchmarks import baseline  # noqa: PLC0415

    specs = [spec for spec in gem.registry.specs() if word.lower() in spec.id.lower()]
    if not specs:
        raise UsageError(f"No environment's id contains {word!r}. gemweb envs lists all.")
    rows = []
    for spec in specs:
        baselines = [baseline(spec.id, agent) for agent in ("random", "expert")]
        success_rates = ["" if scores is None else f"{scores.success_rate:.0%}" for scores in baselines]
        random_turns = "" if baselines[0] is None else f"{baselines[0].mean_turns:.1f}"
        expert = "yes" if has_expert(spec.id) else "no"
        rows.append([spec.id, str(spec.version), spec.replay, expert, *success_rates, random_turns])
    table(HEADINGS, rows)
    return 0
