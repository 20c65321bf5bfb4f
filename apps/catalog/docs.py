r"""The docstring of an environment's module is its public page: a summary, then headed sections of plain text.

    Find a secret number from the answers "higher" and "lower".

    Rules:
        The secret is drawn uniformly ...

A section's text is paragraphs, lists (`- ...`) and, indented further, samples of code. Backquotes mark code.
"""

from __future__ import annotations

import inspect
import itertools
import re
import textwrap
from dataclasses import dataclass
from typing import Literal

HEADING = re.compile(r"([A-Z][A-Za-z ]{0,40}):")
BULLET = "- "

Kind = Literal["text", "list", "code"]


@dataclass(frozen=True, slots=True)
class Block:
    """A paragraph, a list or a code sample."""

    kind: Kind
    lines: tuple[str, ...]
    """The paragraph as one line, the items of the list, or the lines of the sample."""


@dataclass(frozen=True, slots=True)
class Section:
    """A heading and the blocks under it."""

    heading: str
    blocks: tuple[Block, ...]

    @property
    def anchor(self) -> str:
        """The fragment of an address that leads to the section."""
        return self.heading.lower().replace(" ", "-")


@dataclass(frozen=True, slots=True)
class DocstringPage:
    """A parsed docstring."""

    summary: str
    """The first paragraph, on one line."""
    intro: tuple[Block, ...]
    """Further paragraphs before the first heading."""
    sections: tuple[Section, ...]

    def section(self, heading: str) -> Section | None:
        """The section under `heading`, if there is one."""
        return next((section for section in self.sections if section.heading == heading), None)


def parse(docstring: str | None) -> DocstringPage:
    """Parse a docstring. An empty one gives an empty page."""
    lines = inspect.cleandoc(docstring or "").splitlines()
    headings = [i for i, line in enumerate(lines) if HEADING.fullmatch(line) and _is_indented(lines, i + 1)]
    starts = [*headings, len(lines)]
    intro = _blocks(lines[: starts[0]])
    sections = tuple(
        Section(lines[start][:-1], _blocks(lines[start + 1 : end])) for start, end in itertools.pairwise(starts)
    )
    if intro and intro[0].kind == "text":
        return DocstringPage(intro[0].lines[0], intro[1:], sections)
    return DocstringPage("", intro, sections)


def _is_indented(lines: list[str], after: int) -> bool:
    """Whether the next non-empty line is indented, which makes the line before it a heading."""
    following = next((line for line in lines[after:] if line.strip()), "")
    return following.startswith(" ")


def _blocks(lines: list[str]) -> tuple[Block, ...]:
    text = textwrap.dedent("\n".join(lines)).strip("\n")
    return tuple(block for chunk in re.split(r"\n\s*\n", text) if chunk.strip() for block in _chunk(chunk))


def _chunk(chunk: str) -> list[Block]:
    """Split text without empty lines into blocks: a list or a sample may directly follow a sentence."""
    groups: list[tuple[Kind, list[str]]] = []
    for line in chunk.splitlines():
        kind: Kind = "list" if line.startswith(BULLET) else "code" if line.startswith("    ") else "text"
        if line.startswith("  ") and groups and groups[-1][0] == "list":
            groups[-1][1][-1] += " " + line.strip()
        elif groups and groups[-1][0] == kind:
            groups[-1][1].append(line)
        else:
            groups.append((kind, [line]))
    return [_block(kind, lines) for kind, lines in groups]


def _block(kind: Kind, lines: list[str]) -> Block:
    if kind == "list":
        return Block(kind, tuple(line.removeprefix(BULLET) for line in lines))
    if kind == "code":
        return Block(kind, tuple(textwrap.dedent("\n".join(lines)).splitlines()))
    return Block(kind, (" ".join(line.strip() for line in lines),))
