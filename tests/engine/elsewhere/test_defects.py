"""The demonstrated defects of GEM's environments: each has a reproduction and a promise that tells it."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import pytest

import bench.defects
from bench.defects.defects import DEFECTS, PACKAGE
from gem.check.elsewhere.driver import main
from tests.installed import environment

LEAST_FOUND = 34
REPRODUCTIONS = Path(bench.defects.__file__).with_name("reproductions.py")


def test_every_defect_has_a_reproduction_and_a_promise() -> None:
    reproduced = re.findall(r"^def d(\d\d[a-z]?)\(", REPRODUCTIONS.read_text(), re.MULTILINE)
    assert [defect.number for defect in DEFECTS] == reproduced
    assert len(DEFECTS) == 38
    of_packages, of_environments = ({promise.key for promise in some} for some in (main.OF_PACKAGES, main.PROMISES))
    for defect in DEFECTS:
        assert defect.key in (of_packages if defect.env_id == PACKAGE else of_environments), defect


@pytest.mark.long
def test_the_check_finds_the_defects_of_gem(tmp_path: Path) -> None:
    python = environment("gem-llm") / "python"
    command = [sys.executable, "-m", "bench.defects", "--python", str(python), "--folder", str(tmp_path)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    assert int(done.stdout.splitlines()[-1].split()[0]) >= LEAST_FOUND
    assert "false alarm" not in done.stdout
