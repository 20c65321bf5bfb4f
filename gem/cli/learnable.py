"""`gemweb learnable`: whether a training has something to learn in an environment, and what it would learn instead."""

from __future__ import annotations

import argparse
import dataclasses
import json
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import gem
from gem.cli.output.tables import table
from gem.registry import REMOTE

if TYPE_CHECKING:
    from gem.learnability import Report
    from gem.learnability.report import Played


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the arguments of the command."""
    parser.add_argument("env_id", metavar="ID", help="an environment here, or http://HOST:PORT of an OpenEnv server")
    parser.add_argument(
        "--seeds", type=int, default=60, metavar="N", help="seeds on which each way of playing is tried (60)"
    )
    parser.add_argument("--tries", type=int, default=4, metavar="N", help="random episodes at each of them (4)")
    parser.add_argument(
        "--train",
        type=float,
        default=0.0,
        metavar="SECONDS",
        help="also train a small policy for this many CPU seconds (0)",
    )
    parser.add_argument("--json", action="store_true", help="print JSON instead of tables")


def run(*, env_id: str, seeds: int, tries: int, train: float, json: bool) -> int:
    """Probe the environment and print the verdict. The exit code is 1 if it is broken or rewards something else."""
    from gem.errors import InvalidArgument  # noqa: PLC0415
    from gem.learnability import probe  # noqa: PLC0415
    from gem.learnability.training import train_briefly  # noqa: PLC0415

    if seeds < 10 or tries < 2:
        raise InvalidArgument("Probes need at least 10 seeds and 2 tries at each.")
    env_id = _begin_once(env_id)
    report = probe(env_id, seeds=seeds, tries=tries)
    if train > 0:
        report = dataclasses.replace(report, training=train_briefly(env_id, train))
    if json:
        print(_as_json(report))
    else:
        _print(report)
    return 1 if report.verdict.kind in ("broken", "without the task") else 0


def _begin_once(env_id: str) -> str:
    """The id that is probed, after an episode of it began if it is on a server.

    Raises:
        UnknownEnvironment: if there is no such environment.
        ServerNotThere: if the server is not there.
        EnvironmentFailure: if it is none of OpenEnv.
    """
    if env_id.startswith(("http://", "https://")):
        env_id = f"{REMOTE}{env_id}"
    spec = gem.spec(env_id)
    if spec.id.startswith(REMOTE):
        env = gem.make(spec.id)
        try:
            env.reset(seed=0)
        finally:
            env.close()
    return spec.id


def _print(report: Report) -> None:
    print(f"{report.env_id}, {report.seeds} seeds, {report.tries} random tries at each\n")
    table(["played by", "solved", "95 %", "mean return"], [_row(played) for played in report.shown])
    print(f"\nSeeds at which random tries differ in their return: {report.signal:.0%}")
    print(f"Different first observations: {report.distinct_starts} of {report.seeds}")
    for note in report.notes:
        print(note)
    if report.training is not None:
        print(f"A small policy: {report.training.in_words}")
    print(f"\n{report.verdict.kind.capitalize()}. {report.verdict.sentence}")


def _row(played: Played) -> list[str]:
    solved = played.solved
    share = ["–", ""] if solved is None else [f"{solved.mean:.1%}", f"{solved.low:.1%} to {solved.high:.1%}"]
    return [played.name, *share, f"{played.mean_return:.3f}"]


def _as_json(report: Report) -> str:
    data = {one.name: getattr(report, one.name) for one in dataclasses.fields(report)} | {"verdict": report.verdict}
    return json.dumps(_named(data), indent=2)


def _named(value: Any) -> Any:
    """Plain data with the names of all fields, where `json` would write a named tuple as a list without them."""
    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        return {field.name: _named(getattr(value, field.name)) for field in dataclasses.fields(value)}
    if hasattr(value, "_asdict"):
        return _named(value._asdict())
    if isinstance(value, Mapping):
        return {name: _named(inner) for name, inner in value.items()}
    return [_named(inner) for inner in value] if isinstance(value, list | tuple) else value
