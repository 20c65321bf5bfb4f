"""`gemweb check`: whether an environment keeps the contract, also one of another package or of a server."""

from __future__ import annotations

import argparse
import dataclasses
import json
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any, Protocol

import gem
from gem.errors import InvalidArgument
from gem.validation.dependencies import ENDPOINT_PACKAGES, import_modules, require_installed
from gem.validation.messages import count

if TYPE_CHECKING:
    from gem.check import Finding
    from gem.check.elsewhere.targets import Target

NAMED = 6
"""So many of the ids that are left out are named."""


class Examination(Protocol):
    """A check of one environment, of a package or of a server."""

    left_out: Sequence[str]

    @property
    def heading(self) -> str:
        """What is checked; known once there is a finding."""

    def findings(self) -> Iterator[Finding]:
        """A finding for each promise, as soon as it is known."""


@dataclasses.dataclass
class OwnExamination:
    """A check of an environment of this engine."""

    env_id: str
    modules: Sequence[str]
    left_out: Sequence[str] = ()

    @property
    def heading(self) -> str:
        """The id with its version."""
        spec = gem.spec(self.env_id)
        return f"{self.env_id}, version {spec.version}, replay {spec.replay}"

    def findings(self) -> Iterator[Finding]:
        """See `gem.check.check`."""
        from gem.check import check  # noqa: PLC0415

        return check(self.env_id, self.modules)


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the arguments of the command."""
    parser.add_argument(
        "env_id",
        metavar="ID",
        help="an environment here, or gem:ID, gem:all, gymnasium:ID, verifiers:NAME or http://HOST:PORT elsewhere",
    )
    parser.add_argument("--python", metavar="PATH", help="the interpreter that has gem:, gymnasium: or verifiers:")
    parser.add_argument(
        "--seconds",
        type=float,
        metavar="N",
        help="processor time for each promise elsewhere, or time for an answer (30)",
    )
    parser.add_argument("--json", action="store_true", help="print JSON at the end")


def run(env_id: str, modules: Sequence[str], python: str | None, seconds: float | None, json: bool) -> int:
    """Check every promise; the exit code is 1 if one is broken."""
    from gem.check.elsewhere.targets import ALL, read_target  # noqa: PLC0415

    target = read_target(env_id)
    if python is not None and (target is None or target.kind == "openenv"):
        raise InvalidArgument("--python is for environments of other packages: gem:ID, gymnasium:ID, verifiers:NAME.")
    examination: Examination
    if seconds is not None and (target is None or seconds <= 0):
        raise InvalidArgument("--seconds is a number above 0, for environments of other packages and for servers.")
    if target is None:
        import_modules(modules)
        examination = OwnExamination(env_id, modules)
        examination.heading  # noqa: B018 (an unknown id is refused first)
    else:
        examination = _examination_elsewhere(target, modules, python, seconds)
    if json:
        return _print_json(env_id, examination)
    return _print_briefly(examination) if target is not None and target.name == ALL else _print(examination)


def _examination_elsewhere(
    target: Target, modules: Sequence[str], python: str | None, seconds: float | None
) -> Examination:
    if target.kind == "openenv":
        from gem.check.elsewhere.servers import TIMEOUT, ServerExamination  # noqa: PLC0415

        require_installed("A check of a server", ENDPOINT_PACKAGES)
        return ServerExamination(target.name, seconds or TIMEOUT)
    from gem.check.elsewhere.driver.promise import CPU_SECONDS  # noqa: PLC0415
    from gem.check.elsewhere.processes import DriverExamination  # noqa: PLC0415

    return DriverExamination(target, python, modules, seconds or CPU_SECONDS)


def _print(examination: Examination) -> int:
    """A line for each promise."""
    statuses: list[str] = []
    for finding in examination.findings():
        if not statuses:
            print(f"{examination.heading}\n")
        statuses.append(finding.status)
        _print_finding(finding)
    print(f"\n{_verdict(statuses)}")
    return _code(statuses)


def _print_briefly(examination: Examination) -> int:
    """For each environment what is broken."""
    statuses: dict[str, list[str]] = {}
    for finding in examination.findings():
        if not statuses:
            print(f"{examination.heading}")
        if finding.env_id not in statuses:
            print(f"\n{finding.env_id}")
            statuses[finding.env_id] = []
        statuses[finding.env_id].append(finding.status)
        if finding.status == "wrong":
            _print_finding(finding)
    if examination.left_out:
        named, more = examination.left_out[:NAMED], len(examination.left_out) - NAMED
        print(f"\nNot checked: {', '.join(named)}{f' and {more} others' if more > 0 else ''}.")
        print("They need data that is downloaded, or are of a class with many ids. Name one to check it.")
    every = [status for each in statuses.values() for status in each]
    concerned = sum("wrong" in each for each in statuses.values())
    print(f"\n{len(statuses)} subjects, {_verdict(every)}{_concerned(concerned)}")
    return _code(every)


def _concerned(number: int) -> str:
    return f" {count(number, 'subject')} {'is' if number == 1 else 'are'} concerned." if number else ""


def _print_json(env_id: str, examination: Examination) -> int:
    findings = list(examination.findings())
    statuses = [finding.status for finding in findings]
    data: dict[str, Any] = {
        "id": env_id,
        "subject": examination.heading,
        "kept": statuses.count("ok"),
        "broken": statuses.count("wrong"),
        "left_out": statuses.count("left out"),
        "hints": statuses.count("hint"),
        "not_checked": list(examination.left_out),
        "findings": [dataclasses.asdict(finding) for finding in findings],
    }
    print(json.dumps(data, indent=2))
    return _code(statuses)


def _print_finding(finding: Finding) -> None:
    status = finding.status.upper() if finding.status == "wrong" else finding.status
    print(f"{status:<8}  {finding.title}")
    for label, text in (("", finding.detail), ("What to do: ", finding.advice)):
        if text:
            print(f"{'':10}{label}{text}", flush=True)


def _verdict(statuses: Sequence[str]) -> str:
    broken = statuses.count("wrong")
    kept = "The contract is kept." if not broken else f"{broken} of them {'is' if broken == 1 else 'are'} broken."
    return f"{count(statuses.count('ok') + broken, 'promise')} checked. {kept}"


def _code(statuses: Sequence[str]) -> int:
    return 1 if "wrong" in statuses else 0
