"""docs/engine.md runs as it is written."""

import re
from pathlib import Path

import pytest

PAGE = Path(__file__).parents[2] / "docs" / "engine.md"


def test_every_block_of_the_page_runs(capsys: pytest.CaptureFixture[str]) -> None:
    pytest.importorskip("gymnasium")
    names: dict[str, object] = {}
    blocks = re.findall(r"^```python\n(.*?)^```$", PAGE.read_text("utf-8"), re.DOTALL | re.MULTILINE)
    for block in blocks:
        exec(compile(block, str(PAGE), "exec"), names)
    assert len(blocks) == 5
    assert capsys.readouterr().out.startswith(("True", "False"))
    assert names["ended"] == [False] * 8
    assert len(names["observations"]) == 4  # type: ignore[arg-type]
