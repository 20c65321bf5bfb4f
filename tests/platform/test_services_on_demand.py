"""Which tests need which services."""

import subprocess
import sys
from pathlib import Path

import pytest

from tests.services import ROOT, needs_services, start_services


@pytest.mark.parametrize(
    "arguments, needed",
    [
        ([], True),
        (["tests"], True),
        (["tests/engine"], False),
        (["tests/engine/test_core.py::test_one"], False),
        (["tests/engine", "tests/examples/test_trl.py"], False),
        (["tests/engine", "tests/apps"], True),
        (["tests/enginery"], True),
    ],
)
def test_only_the_engine_and_the_examples_go_without(arguments: list[str], needed: bool) -> None:
    assert needs_services(arguments, ROOT) is needed


def test_what_is_named_is_not_started() -> None:
    env = {"DATABASE_URL": "postgres://somewhere", "VALKEY_URL": "redis://somewhere"}
    assert start_services(env) is None
    assert env["DATABASE_URL"] == "postgres://somewhere"


def test_engine_tests_import_no_django(tmp_path: Path) -> None:
    script = "import sys; import tests.conftest; sys.exit('django' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", script], cwd=ROOT, check=False).returncode == 0
