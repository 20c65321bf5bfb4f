"""Audit the packages of the product: known vulnerabilities, licences, and a list of all of them (SBOM): `make audit`.

The tools have an environment of their own in `.venv/audit`, so that the product does not depend on them. Without a
network nothing can be said about vulnerabilities, and the audit fails.
"""

from __future__ import annotations

import importlib.metadata
import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

from gemweb import toolbox
from gemweb.bootstrap import SetUpError

ROOT = Path(__file__).resolve().parent.parent
LOCKS = {"site": ROOT / "requirements.lock", "training": ROOT / "requirements-training.lock"}
"""The packages of the product, by the name of their SBOM."""
TOOLS_LOCK = ROOT / "requirements-audit.lock"
TOOLS = ROOT / ".venv" / "audit"
SBOM_FOLDER = ROOT / "dist"

PERMISSIVE = re.compile(
    r"\b(MIT|BSD|0BSD|Apache|ISC|PSF|Python Software Foundation|Zlib|CC0|CNRI|BSL-1\.0|Unlicense|HPND)\b", re.IGNORECASE
)
COPYLEFT = re.compile(r"GPL|MPL|Mozilla|EPL|Eclipse|CDDL|EUPL|CeCILL|SSPL|AGPL|GNU", re.IGNORECASE)
REVIEWED = {
    "certifi": "MPL-2.0: a list of certificates, used unchanged",
    "psycopg": "LGPL-3.0: a library, used unchanged",
    "psycopg-binary": "LGPL-3.0: a library, used unchanged",
    "psycopg-pool": "LGPL-3.0: a library, used unchanged",
    "tqdm": "MPL-2.0 and MIT: a library, used unchanged",
    "zss": "BSD by its LICENSE file; its metadata do not say so",
}
"""Packages with a copyleft licence, or without one in their metadata, that somebody has looked at."""


class AuditFailure(Exception):
    """What was found, or why nothing could be found, in words for the person at the terminal."""


def main() -> int:
    """Run all checks, and print what each found. Returns 0 if there is nothing to complain about."""
    is_sound = True
    for check in (check_licences, write_sboms, check_vulnerabilities):
        try:
            print(check())
        except (AuditFailure, SetUpError) as failure:
            print(f"gemweb: {failure}", file=sys.stderr)
            is_sound = False
    return 0 if is_sound else 1


def tool(name: str) -> str:
    """The path of an audit tool, which is installed first if the lock file has changed.

    Raises:
        AuditFailure: if it cannot be installed.
    """
    try:
        return toolbox.program(TOOLS_LOCK, TOOLS, name)
    except SetUpError as error:
        raise AuditFailure(
            "The audit tools could not be installed, so nothing was audited. A network is needed the first time. "
            f"The installer said: {error}"
        ) from error


# ---------------------------------------------------------------- licences


def names_in(lock: Path) -> Iterator[str]:
    """The names of the packages in a lock file."""
    for line in lock.read_text("utf-8").splitlines():
        if found := re.match(r"([A-Za-z0-9][\w.-]*)(\[.*\])?==", line):
            yield found[1]


def licence_of(name: str) -> str | None:
    """The licence of an installed package by its metadata, empty if they state none; None if it is not installed."""
    try:
        metadata = importlib.metadata.metadata(name)
    except importlib.metadata.PackageNotFoundError:
        return None
    classifiers = [each for each in metadata.get_all("Classifier") or [] if each.startswith("License ::")]
    expressions = metadata.get_all("License-Expression") or []
    text = "".join(metadata.get_all("License") or []).strip().splitlines()
    stated = [*expressions, *(each.rpartition(" :: ")[2] for each in classifiers), text[0][:100] if text else ""]
    return "; ".join(part for part in stated if part)


def complaint_about(name: str, licence: str) -> str:
    """What is wrong with the licence of a package; empty if nothing is."""
    if name in REVIEWED:
        return ""
    if COPYLEFT.search(licence):
        return f"{name} has a copyleft licence ({licence})"
    return "" if PERMISSIVE.search(licence) else f"{name} has an unknown licence ({licence or 'none is stated'})"


def check_licences() -> str:
    """Check the licences of all installed packages of the product, and count them.

    Raises:
        AuditFailure: if one is unknown, or is a copyleft licence and not in `REVIEWED`.
    """
    found = {name: licence_of(name) for lock in LOCKS.values() for name in names_in(lock)}
    licences = {name: licence for name, licence in found.items() if licence is not None}
    complaints = [complaint for name, licence in licences.items() if (complaint := complaint_about(name, licence))]
    if complaints:
        raise AuditFailure(f"{'. '.join(complaints)}. Replace them, or review them and add them to REVIEWED.")
    absent = len(found) - len(licences)
    return f"Licences: {len(licences)} packages are permissive or reviewed; {absent} are not installed on this machine."


# ---------------------------------------------------------------- SBOM


def write_sboms() -> str:
    """Write the packages of each lock file as a CycloneDX document.

    Raises:
        AuditFailure: if that fails.
    """
    program = tool("cyclonedx-py")
    SBOM_FOLDER.mkdir(exist_ok=True)
    for name, lock in LOCKS.items():
        place = SBOM_FOLDER / f"sbom-{name}.cdx.json"
        options = ["--pyproject", str(ROOT / "pyproject.toml"), "--output-reproducible", "--output-file", str(place)]
        result = subprocess.run(
            [program, "requirements", *options, str(lock)], cwd=ROOT, check=False, capture_output=True, text=True
        )
        if result.returncode:
            raise AuditFailure(f"The SBOM of {lock.name} could not be written: {result.stderr.strip()[-500:]}")
    return f"SBOM: written to {SBOM_FOLDER.name}/ as {', '.join(f'sbom-{name}.cdx.json' for name in LOCKS)}."


# ---------------------------------------------------------------- vulnerabilities


def check_vulnerabilities() -> str:
    """Look up every package of the lock files in the database of known vulnerabilities.

    Raises:
        AuditFailure: if one has a vulnerability, or if the database cannot be reached.
    """
    program = tool("pip-audit")
    for lock in LOCKS.values():
        options = ["--strict", "--disable-pip", "--no-deps", "--progress-spinner", "off", "--requirement", str(lock)]
        result = subprocess.run([program, *options], cwd=ROOT, check=False, capture_output=True, text=True)
        if result.returncode == 0:
            continue
        if "vulnerabilit" in result.stderr and result.stdout.strip():
            raise AuditFailure(f"Known vulnerabilities in {lock.name}:\n{result.stdout.strip()}")
        said = (result.stderr.strip() or result.stdout.strip() or "nothing").splitlines()[-1]
        raise AuditFailure(
            f"The packages of {lock.name} could not be looked up, so nothing is known about vulnerabilities. "
            f"A network is needed. pip-audit said: {said[:300]}"
        )
    return "Vulnerabilities: none is known."


if __name__ == "__main__":
    sys.exit(main())
