"""The code blocks of README and docs, as the tests run them."""

from __future__ import annotations

import re
from typing import NamedTuple

from tests.docs.tutorial import ROOT

PAGES = [ROOT / name for name in ("README.md", "CONTRIBUTING.md")] + sorted((ROOT / "docs").rglob("*.md"))


class Block(NamedTuple):
    """A block between two fences."""

    page: str
    """Where it stands, such as `docs/tools.md`."""
    number: int
    """Its place among the page's blocks of this language, from 0."""
    language: str
    """Empty for what is typed into a shell."""
    text: str

    @property
    def name(self) -> str:
        """Short and unlike any other's."""
        return f"{self.page}#{self.number}"


def blocks(language: str) -> list[Block]:
    """All blocks of a language, page after page."""
    found = []
    for page in PAGES:
        fenced = re.findall(r"^```(\w*)\n(.*?)^```$", page.read_text("utf-8"), re.DOTALL | re.MULTILINE)
        texts = [text for written_in, text in fenced if written_in == language]
        name = str(page.relative_to(ROOT))
        found += [Block(name, number, language, text) for number, text in enumerate(texts)]
    return found


def commands() -> list[tuple[str, str]]:
    """Every command line of every page, in order, without its comment; lines that go on are joined."""
    lines = [
        (block.page, re.sub(r"\s+#.*$", "", line).strip())
        for block in blocks("")
        if block.page not in {"docs/map.md", "docs/api.md"}  # trees; commands that need a server (test_api_page.py)
        for line in re.sub(r"\\\n\s*", " ", block.text).splitlines()
    ]
    return [(page, line) for page, line in lines if line]
