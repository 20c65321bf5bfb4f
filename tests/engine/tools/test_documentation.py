"""What docs/tools.md shows works as it stands there."""

import re
from pathlib import Path
from typing import Any

import pytest

import gem
from gem import sandbox
from gem.tools.kinds import TOOLS

TEXT = (Path(__file__).parents[3] / "docs/tools.md").read_text()
PROGRAMS = re.findall(r"```python\n(.*?)```", TEXT, re.DOTALL)


@pytest.mark.skipif(sandbox.level() == "disabled", reason="code cannot be confined on this machine")
def test_the_first_example_gives_what_it_says() -> None:
    names: dict[str, Any] = {}
    exec(PROGRAMS[0], names)
    assert names["obs"] == "Code execution result: 1024\n\n"
    assert names["info"]["tool_calls"][0]["output"] == "1024\n"


def test_ones_own_tool_is_ten_lines_and_works() -> None:
    program = PROGRAMS[1]
    assert len([line for line in program.splitlines() if line.strip()]) <= 10
    try:
        exec(program, {})
        env = gem.make("game:GuessTheNumber-v0-easy", tools=["count"])
        env.reset(seed=7)
        assert "3" in env.step("<count>one two three</count>")[0]
    finally:
        TOOLS.pop("count", None)
