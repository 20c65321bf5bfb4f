"""The passages in the answer of a search, apart, so that a page can open them one by one."""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass

from django.utils.html import conditional_escape
from django.utils.safestring import SafeString, mark_safe

MAX_PASSAGES = 100
_BEGINNING = re.compile(r"^Doc (\d+)\(Title: ", re.MULTILINE)
_WORD = re.compile(r"\w{4,}")


@dataclass(frozen=True, slots=True)
class Passage:
    """One passage that a search found."""

    title: str
    text: str


def passages(output: str) -> list[Passage]:
    """The passages of an answer as `gem.tools.search_tool` writes them; empty if it is something else."""
    begins: list[re.Match[str]] = []
    for begin in _BEGINNING.finditer(output):
        if begin[1] == str(len(begins) + 1) and len(begins) < MAX_PASSAGES:
            begins.append(begin)
    if not begins or begins[0].start() != 0:
        return []
    ends = [begin.start() for begin in begins[1:]] + [len(output)]
    return [_read(output[begin.end() : end]) for begin, end in zip(begins, ends, strict=True)]


def _read(text: str) -> Passage:
    """A title, which may have parentheses, up to the one that closes it, and the text behind it."""
    depth = 1
    for place, character in enumerate(text):
        depth += (character == "(") - (character == ")")
        if depth == 0:
            return Passage(text[:place], text[place + 1 :].strip())
    return Passage(text.strip(), "")


def marked(text: str, query: str) -> SafeString:
    """The text with the words of the query marked."""
    words = {word.lower() for word in _WORD.findall(query)}
    return mark_safe("".join(_marked(text, words)))  # noqa: S308 (every piece was escaped)


def _marked(text: str, words: set[str]) -> Iterable[str]:
    end = 0
    for word in _WORD.finditer(text):
        if word[0].lower() in words:
            yield f"{conditional_escape(text[end : word.start()])}<mark>{conditional_escape(word[0])}</mark>"
            end = word.end()
    yield str(conditional_escape(text[end:]))
