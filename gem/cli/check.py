"""`gemweb check`: whether an environment keeps the contract."""

from __future__ import annotations

import argparse
from collections.abc import Sequence

import gem
from gem.cli.output.tables import count


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the arguments of the command."""
    parser.add_argument("env_id", metavar="ID")


def run(env_id: str, modules: Sequence[str]) -> int:
    """Check every promise of the contract; the exit code is 1 if one is broken."""
    from gem.check import check as check_promises  # noqa: PLC0415

    spec = gem.spec(env_id)
    print(f"{env_id}, version {spec.version}, replay {spec.replay}\n")
    checked_count = broken_count = 0
    for finding in check_promises(env_id, modules):
        status = finding.status.upper() if finding.status == "wrong" else finding.status
        print(f"{status:<8}  {finding.title}")
        for label, text in (("", finding.detail), ("What to do: ", finding.advice)):
            if text:
                print(f"{'':10}{label}{text}")
        checked_count += finding.status != "left out"
        broken_count += finding.status == "wrong"
    verdict = "The contract is kept."
    if broken_count:
        verdict = f"{broken_count} of them {'is' if broken_count == 1 else 'are'} broken."
    print(f"\n{count(checked_count, 'promise')} checked. {verdict}")
    return 1 if broken_count else 0
