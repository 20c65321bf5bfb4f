"""`gemweb check`: does an environment keep the contract?"""

from __future__ import annotations

import argparse
from collections.abc import Sequence

import gem
from gem.cli.output.tables import count


def arguments(parser: argparse.ArgumentParser) -> None:
    """What it takes."""
    parser.add_argument("env_id", metavar="ID")


def run(env_id: str, modules: Sequence[str]) -> int:
    """Try every promise of the contract; 1 if one is broken."""
    from gem.check import check as findings_of  # noqa: PLC0415

    spec = gem.spec(env_id)
    print(f"{env_id}, version {spec.version}, replay {spec.replay}\n")
    tried = wrong = 0
    for finding in findings_of(env_id, modules):
        print(f"{finding.status.upper() if finding.status == 'wrong' else finding.status:<8}  {finding.title}")
        for label, text in (("", finding.detail), ("What to do: ", finding.advice)):
            if text:
                print(f"{'':10}{label}{text}")
        tried += finding.status != "left out"
        wrong += finding.status == "wrong"
    verdict = "The contract is kept." if not wrong else f"{wrong} of them {'is' if wrong == 1 else 'are'} broken."
    print(f"\n{count(tried, 'promise')} tried. {verdict}")
    return 1 if wrong else 0
