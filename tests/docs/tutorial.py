"""The package of docs/add-an-environment.md, taken from its text."""

from __future__ import annotations

import re
import shlex
import subprocess
from pathlib import Path

ROOT = Path(__file__).parents[2]
TEXT = (ROOT / "docs" / "add-an-environment.md").read_text("utf-8")
ENV_ID = "game:CoinRow-v0"


def block(language: str, having: str) -> str:
    """The code block of the tutorial in which these words stand."""
    blocks = re.findall(r"^```(\w*)\n(.*?)^```$", TEXT, re.DOTALL | re.MULTILINE)
    found = [text for written_in, text in blocks if written_in == language and having in text]
    assert len(found) == 1, having
    return str(found[0])


def install(folder: Path) -> Path:
    """Write and install the package as the tutorial says, but below `folder`; where `import coin_row` finds it."""
    package, target = folder / "package", folder / "installed"
    source = package / "src" / "coin_row"
    source.mkdir(parents=True)
    (source / "__init__.py").write_text(block("python", "class CoinRow"), "utf-8")
    (package / "pyproject.toml").write_text(block("toml", "gem.environments"), "utf-8")
    uv, *words = shlex.split(block("", "uv pip install"))
    words = [str(ROOT / ".venv") if word == ".venv" else word for word in words]
    subprocess.run([ROOT / uv, *words, "--offline", "--target", target], cwd=package, check=True)
    return target
