"""The repository's Markdown files as pages: raw HTML off, the result cleaned, links between files kept."""

from __future__ import annotations

import itertools
import posixpath
import re
import unicodedata
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path

import nh3
from django.conf import settings
from django.urls import reverse
from django.utils.safestring import SafeString, mark_safe
from markdown_it import MarkdownIt
from markdown_it.rules_inline import StateInline
from markdown_it.token import Token

from apps.site import mathematics

FIRST = ("README.md", "docs/map.md", "docs/walks.md", "docs/glossary.md")
LAST = ("CONTRIBUTING.md", "CHANGELOG.md")

FOLDERS = (("Guides", "docs"), ("Algorithms", "docs/algorithms"), ("Decisions", "docs/decisions"))
"""The headings of the others, by folder."""

PICTURES = "docs/images"

_MARKDOWN = MarkdownIt("commonmark", {"html": False, "linkify": False}).enable(["table", "strikethrough"])
_TAGS = {
    "a", "blockquote", "br", "code", "del", "div", "em", "h1", "h2", "h3", "h4", "hr", "img", "li", "ol", "p", "pre",
    "strong", "table", "tbody", "td", "th", "thead", "tr", "ul",
}  # fmt: skip
_ATTRIBUTES = {
    "a": {"href"},
    "div": {"class", "tabindex", "role", "aria-label"},
    "h2": {"id"},
    "h3": {"id"},
    "h4": {"id"},
    "img": {"src", "alt"},
    "pre": {"class", "tabindex"},
    "td": {"class"},
    "th": {"class"},
}
_FORMULA = re.compile(r"\$\$(?P<display>[^$]+)\$\$|\$(?=\S)(?P<inline>[^$\n]+)(?<=\S)\$(?!\d)")
_COMMAND = re.compile(r"\\([a-zA-Z]+)")
_SCHEME = re.compile(r"[a-z][a-z0-9+.-]*:", re.IGNORECASE)


def _read_formula(state: StateInline, silent: bool) -> bool:
    """An inline rule: what stands between dollars is mathematics, whose backslashes are no escapes."""
    found = _FORMULA.match(state.src, state.pos)
    if found is None:
        return False
    if not silent:
        token = state.push("formula", "", 0)
        token.content, token.markup = found["display"] or found["inline"], "$$" if found["display"] else "$"
    state.pos = found.end()
    return True


def _draw_formula(_renderer: object, tokens: Sequence[Token], at: int, _options: object, _env: object) -> str:
    return mathematics.formula(tokens[at].content, tokens[at].markup == "$$")


_MARKDOWN.inline.ruler.before("escape", "formula", _read_formula)
_MARKDOWN.add_render_rule("formula", _draw_formula)


@dataclass(frozen=True, slots=True)
class Heading:
    """A heading of the second level, for the list of contents."""

    anchor: str
    text: str


@dataclass(frozen=True, slots=True)
class Document:
    """A file, rendered."""

    slug: str
    """`map`, `decisions/0001-one-record`, `readme`."""
    file: str
    title: str
    summary: str
    html: SafeString
    headings: tuple[Heading, ...]
    text: str
    """All that a search looks at, in small letters."""

    def get_absolute_url(self) -> str:
        """Its page."""
        return reverse("site:doc", args=[self.slug])


@dataclass(frozen=True, slots=True)
class DocumentGroup:
    """Documents that belong together."""

    title: str
    documents: tuple[Document, ...]


def groups() -> list[DocumentGroup]:
    """Every document, under the headings of the list; a heading without any is left out."""
    found = documents()
    between = [document for document in found if document.file not in {*FIRST, *LAST}]
    sections = [
        ("Start here", [document for document in found if document.file in FIRST]),
        *((title, [d for d in between if posixpath.dirname(d.file) == folder]) for title, folder in FOLDERS),
        ("The project", [document for document in found if document.file in LAST]),
    ]
    return [DocumentGroup(title, tuple(members)) for title, members in sections if members]


def documents() -> list[Document]:
    """Every document: what to read first, the rest by name, what to read last."""
    return [document for file in _files() if (document := _load(file)) is not None]


def find(slug: str) -> Document | None:
    """The document of that name; names that are none of ours reach no file."""
    return next((document for document in documents() if document.slug == slug), None)


def matching(words: Sequence[str]) -> list[Document]:
    """The documents that have all these words; those first that have more of them in their title and headings."""

    def ahead(document: Document) -> int:
        said = " ".join([document.title, *(heading.text for heading in document.headings)]).lower()
        return -sum((word in document.title.lower()) * 2 + (word in said) for word in words)

    return sorted((found for found in documents() if all(word in found.text for word in words)), key=ahead)


def picture(name: str) -> Path | None:
    """The file of a picture that documents show; names that are none of ours reach no file."""
    folder: Path = settings.BASE_DIR / PICTURES
    ours = {path.relative_to(folder).as_posix(): path for path in folder.rglob("*") if path.suffix in (".png", ".svg")}
    return ours.get(name)


def slug_of(file: str) -> str:
    """`docs/decisions/0001-one-record.md` is `decisions/0001-one-record`, `README.md` is `readme`."""
    return file.removesuffix(".md").removeprefix("docs/") if file.startswith("docs/") else file[:-3].lower()


def _files() -> Iterator[str]:
    root: Path = settings.BASE_DIR
    others = sorted(path.relative_to(root).as_posix() for path in (root / "docs").rglob("*.md"))
    yield from FIRST
    yield from (file for file in others if file not in FIRST)
    yield from LAST


def _load(file: str) -> Document | None:
    """The document in `file`, rendered anew when the file changes; None if an installation left it out."""
    path: Path = settings.BASE_DIR / file
    try:
        changed = path.stat().st_mtime_ns
    except OSError:
        return None
    return _render(file, changed)


@cache
def _render(file: str, changed: int) -> Document:
    text = (settings.BASE_DIR / file).read_text("utf-8")
    tokens = _MARKDOWN.parse(text)
    title, body = _take_title(tokens, file)
    for token in body:
        _prepare(token, file)
    body = list(_tables(body))
    headings = tuple(_anchor_headings(body))
    html = nh3.clean(
        _MARKDOWN.renderer.render(body, _MARKDOWN.options, {}),
        tags=_TAGS | mathematics.TAGS,
        attributes=_ATTRIBUTES | mathematics.ATTRIBUTES,
        url_schemes={"https", "http", "mailto"},
        link_rel="noopener",
    )
    safe = mark_safe(html)  # noqa: S308 (cleaned)
    return Document(slug_of(file), file, title, _summary(body), safe, headings, text.lower())


def _take_title(tokens: list[Token], file: str) -> tuple[str, list[Token]]:
    """The first heading, which becomes the page's, and the rest."""
    if len(tokens) > 2 and tokens[0].type == "heading_open" and tokens[0].tag == "h1":
        return _text(tokens[1]), tokens[3:]
    return file, tokens


def _text(token: Token) -> str:
    children = token.children or []
    return "".join(map(_words, children))


def _words(child: Token) -> str:
    if child.type in {"softbreak", "hardbreak"}:
        return " "
    return _COMMAND.sub(_letter, child.content) if child.type == "formula" else child.content


def _letter(command: re.Match[str]) -> str:
    r"""The Greek letter that a command of a formula names: of `\gamma` it is γ; of others the name."""
    try:
        return unicodedata.lookup(f"GREEK SMALL LETTER {command[1].upper()}")
    except KeyError:
        return command[1]


def _summary(tokens: list[Token]) -> str:
    inline = (after for before, after in itertools.pairwise(tokens) if before.type == "paragraph_open")
    return next((_text(token) for token in inline), "")


def _anchor_headings(tokens: list[Token]) -> Iterator[Heading]:
    seen: dict[str, int] = {}
    for before, after in itertools.pairwise(tokens):
        if before.type != "heading_open":
            continue
        if before.tag == "h1":
            before.tag = "h2"  # one first heading to a page
        anchor = re.sub(r"[^\w]+", "-", _text(after).lower()).strip("-")
        seen[anchor] = seen.get(anchor, 0) + 1
        if seen[anchor] > 1:
            anchor = f"{anchor}-{seen[anchor]}"
        before.attrSet("id", anchor)
        if before.tag == "h2":
            yield Heading(anchor, _text(after))


def _prepare(token: Token, file: str) -> None:
    """Give code our class, alignment a class in place of a style, and links an address on this site."""
    if token.type in {"fence", "code_block"}:
        token.type = "code_block"  # without a language: its class would name no rule of ours
        token.attrs = {"class": "code", "tabindex": "0"}
    if token.type in {"th_open", "td_open"}:
        align = str(token.attrs.pop("style", ""))
        if align.endswith("right"):
            token.attrs["class"] = "num"
    if token.type == "inline":
        token.children = list(_links(token.children or [], file))


def _tables(tokens: list[Token]) -> Iterator[Token]:
    """Tables in a region that the keyboard can scroll, and a corner of the head that says nothing as a plain cell."""
    for number, token in enumerate(tokens):
        if token.type == "th_open" and not tokens[number + 1].content:
            token.tag = tokens[number + 2].tag = "td"
        if token.type == "table_open":
            region: dict[str, str | int | float] = {
                "class": "table-wrap",
                "role": "region",
                "aria-label": "Table",
                "tabindex": "0",
            }
            yield Token("region_open", "div", 1, attrs=region)
        yield token
        if token.type == "table_close":
            yield Token("region_close", "div", -1)


def _links(children: list[Token], file: str) -> Iterator[Token]:
    """Links to other documents lead to their pages; links to source files become plain text."""
    dropped = 0
    for child in children:
        if child.type == "link_open":
            address = _address(str(child.attrs["href"]), file)
            if address is None:
                dropped += 1
                continue
            child.attrs["href"] = address
        if child.type == "link_close" and dropped:
            dropped -= 1
            continue
        if child.type == "image":
            source = _picture_address(str(child.attrs["src"]), file)
            if source is None:
                continue
            child.attrs["src"] = source
        yield child


def _picture_address(source: str, file: str) -> str | None:
    path = posixpath.normpath(posixpath.join(posixpath.dirname(file), source))
    name = path.removeprefix(f"{PICTURES}/")
    return reverse("site:picture", args=[name]) if picture(name) and name != path else None


def _address(href: str, file: str) -> str | None:
    if href.startswith("#") or _SCHEME.match(href):
        return href
    target, hash_sign, anchor = href.partition("#")
    path = posixpath.normpath(posixpath.join(posixpath.dirname(file), target))
    if path not in set(_files()):
        return None
    return reverse("site:doc", args=[slug_of(path)]) + hash_sign + anchor
