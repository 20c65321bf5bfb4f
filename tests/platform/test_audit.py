"""`make audit`: licences that nobody has looked at fail it, and so does a missing network."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from gemweb import audit


@pytest.mark.parametrize(
    ("licence", "words"),
    [
        ("MIT", ""),
        ("BSD-3-Clause AND 0BSD AND MIT AND Zlib AND CC0-1.0", ""),
        ("Apache Software License; Apache 2.0", ""),
        ("LGPL-3.0-only", "copyleft"),
        ("GNU Affero General Public License v3; MIT", "copyleft"),
        ("MPL-2.0 AND MIT", "copyleft"),
        ("", "none is stated"),
        ("Proprietary", "unknown"),
        ("SUBMITTED", "unknown"),  # it has MIT in it, though not as a word
    ],
)
def test_a_licence_is_permissive_or_somebody_has_to_look_at_it(licence: str, words: str) -> None:
    complaint = audit.complaint_about("something", licence)
    assert words in complaint
    assert bool(words) == bool(complaint)


def test_the_packages_of_the_product_have_licences_that_somebody_has_looked_at() -> None:
    assert "packages are permissive or reviewed" in audit.check_licences()


def test_every_reviewed_package_is_still_needed() -> None:
    locked = {name for lock in audit.LOCKS.values() for name in audit.names_in(lock)}
    assert set(audit.REVIEWED) <= locked


def test_without_a_network_the_audit_fails_in_a_sentence(tmp_path: Path) -> None:
    cut_off = dict.fromkeys(("HTTPS_PROXY", "HTTP_PROXY", "ALL_PROXY", "UV_DEFAULT_INDEX"), "http://127.0.0.1:1")
    program = (
        "import sys; from pathlib import Path; from gemweb import audit\n"
        f"audit.TOOLS = Path({str(tmp_path / 'audit')!r}); audit.SBOM_FOLDER = Path({str(tmp_path)!r})\n"
        "sys.exit(audit.main())"
    )
    environment = {**os.environ, **cut_off, "UV_CACHE_DIR": str(tmp_path / "cache"), "UV_HTTP_TIMEOUT": "1"}
    environment["UV_HTTP_RETRIES"] = "0"
    result = subprocess.run(
        [sys.executable, "-c", program], cwd=audit.ROOT, env=environment, check=False, capture_output=True, text=True
    )
    assert result.returncode == 1
    assert "nothing was audited" in result.stderr
    assert "Traceback" not in result.stderr
