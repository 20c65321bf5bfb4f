"""Scripts written for GEM run unchanged: each prints what its docstring says.

They are ours, written from GEM's interface (arXiv 2510.01051): each uses names, arguments and calls that its own
scripts use. What stays different stands in docs/differences-from-gem.md.
"""

import ast
import runpy
import textwrap
from collections.abc import Iterator
from pathlib import Path

import pytest

from gem.registry import ENV_REGISTRY

SCRIPTS = sorted(Path(__file__).with_name("gem_scripts").glob("*.py"))
NEEDS_SANDBOX = {"a_program", "helpers", "math_with_python"}


@pytest.fixture(autouse=True)
def own_registrations() -> Iterator[None]:
    before = set(ENV_REGISTRY)
    yield
    for env_id in set(ENV_REGISTRY) - before:
        del ENV_REGISTRY[env_id]


@pytest.mark.parametrize("script", SCRIPTS, ids=[path.stem for path in SCRIPTS])
def test_a_script_prints_what_it_says(script: Path, capsys: pytest.CaptureFixture[str]) -> None:
    documentation = ast.get_docstring(ast.parse(script.read_text())) or ""
    expected = textwrap.dedent(documentation.partition("Prints:\n")[2]).strip()
    assert expected
    runpy.run_path(str(script))
    assert capsys.readouterr().out.strip() == expected
