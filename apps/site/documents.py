"""The Markdown files of the repository as pages, and the reference, which is written from the source.

Raw HTML is disabled, and the output is sanitized.
"""

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

from apps.site import mathematics, reference

FIRST = ("README.md", "docs/glossary.md")
LAST = ("CONTRIBUTING.md", "docs/map.md", "docs/where.md", "docs/walks.md", "CHANGELOG.md")
"""Those for people who change gemweb come after all that is for people who use it."""

FOLDERS = (
    ("Tutorials", "docs/tutorials"),
    ("Guides", "docs"),
    ("Algorithms", "docs/algorithms"),
    ("Studies", "docs/studies"),
    ("Decisions", "docs/decisions"),
)
"""The headings for all other files, and their folders."""

PICTURE_TYPES = (".png", ".svg")

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
FORMULA = re.compile(r"\$\$(?P<display>[^$]+)\$\$|\$(?=\S)(?P<inline>[^$\n]+)(?<=\S)\$(?!\d)")
_COMMAND = re.compile(r"\\([a-zA-Z]+)")
_SCHEME = re.compile(r"[a-z][a-z0-9+.-]*:", re.IGNORECASE)


def _read_formula(state: StateInline, silent: bool) -> bool:
    """A rule for markdown-it: read `$...$` and `$$...$$` as formulas, in which backslashes are not escapes."""
    match = FORMULA.match(state.src, state.pos)
    if match is None:
        return False
    if not silent:
        token = state.push("formula", "", 0)
        token.content, token.markup = match["display"] or match["inline"], "$$" if match["display"] else "$"
    state.pos = match.end()
    return True


def _draw_formula(_renderer: object, tokens: Sequence[Token], index: int, _options: object, _env: object) -> str:
    return mathematics.formula(tokens[index].content, tokens[index].markup == "$$")


_MARKDOWN.inline.ruler.before("escape", "formula", _read_formula)
_MARKDOWN.add_render_rule("formula", _draw_formula)


@dataclass(frozen=True, slots=True)
class Heading:
    """A second-level heading, for the table of contents."""

    anchor: str
    text: str


@dataclass(frozen=True, slots=True)
class Document:
    """A rendered Markdown file."""

    slug: str
    """The address below `/docs/`, such as `map`, `decisions/0001-one-record` or `readme`."""
    file: str
    title: str
    summary: str
    html: SafeString
    headings: tuple[Heading, ...]
    text: str
    """The source in lower case, for searches."""

    def get_absolute_url(self) -> str:
        """The address of the page."""
        return reverse("site:doc", args=[self.slug])


@dataclass(frozen=True, slots=True)
class DocumentGroup:
    """Documents under a common heading."""

    title: str
    documents: tuple[Document, ...]


def groups() -> list[DocumentGroup]:
    """All documents in groups; empty groups are left out."""
    members = documents()
    others = [document for document in members if document.file not in {*FIRST, *LAST}]
    sections = [
        ("Start here", [document for document in members if document.file in FIRST]),
        *(
            (title, [document for document in others if posixpath.dirname(document.file) == folder])
            for title, folder in FOLDERS
        ),
        ("The project", [document for document in members if document.file in LAST]),
        ("The engine and the client, module by module", _reference()),
    ]
    return [DocumentGroup(title, tuple(section)) for title, section in sections if section]


def documents() -> list[Document]:
    """All documents: first those of `FIRST`, then the others by name, those of `LAST`, and the reference."""
    return [*(document for file in _files() if (document := _load(file)) is not None), *_reference()]


def find(slug: str) -> Document | None:
    """The document with this slug. Only known slugs are looked up, so no other file can be read."""
    for file in _files():
        if slug_of(file) == slug:
            return _load(file)
    return next((_load_module(name) for name in reference.NAMES if reference.slug_of(name) == slug), None)


def matching(words: Sequence[str]) -> list[Document]:
    """The documents that contain all these words, sorted by how many of them are in the title and the headings; of
    equal ones those first whose title says little else."""

    def rank(document: Document) -> tuple[int, int]:
        headings = " ".join([document.title, *(heading.text for heading in document.headings)]).lower()
        found = sum((word in document.title.lower()) * 2 + (word in headings) for word in words)
        return -found, len(document.title)

    return sorted((document for document in documents() if all(word in document.text for word in words)), key=rank)


def picture(name: str) -> Path | None:
    """The file of a picture. Only pictures of documents are looked up, so no other file can be read."""
    return pictures().get(name)


def pictures() -> dict[str, Path]:
    """The pictures of documents, those in `docs/images` and those beside a document, by their names in addresses."""
    root: Path = settings.BASE_DIR
    return {
        picture_name(path.relative_to(root).as_posix()): path
        for path in (root / "docs").rglob("*")
        if path.suffix in PICTURE_TYPES
    }


def picture_name(file: str) -> str:
    """The name of a picture in addresses: `forks.png` for `docs/images/forks.png`."""
    return file.removeprefix("docs/").removeprefix("images/")


def slug_of(file: str) -> str:
    """The slug of a file: `decisions/0001-one-record` for that file in `docs/`, `readme` for `README.md`."""
    return file.removesuffix(".md").removeprefix("docs/") if file.startswith("docs/") else file[:-3].lower()


def _files() -> Iterator[str]:
    root: Path = settings.BASE_DIR
    others = sorted(path.relative_to(root).as_posix() for path in (root / "docs").rglob("*.md"))
    yield from FIRST
    yield from (file for file in others if file not in {*FIRST, *LAST})
    yield from LAST


def _is_document(file: str) -> bool:
    """Whether this is one of `_files`."""
    is_below = file.startswith("docs/") and file.endswith(".md") and (settings.BASE_DIR / file).is_file()
    return is_below or file in FIRST or file in LAST


def _load(file: str) -> Document | None:
    """The document in `file`, rendered again when the file changes; None if the installation has no such file."""
    path: Path = settings.BASE_DIR / file
    try:
        modified_ns = path.stat().st_mtime_ns
    except OSError:
        return None
    return _render(file, modified_ns)


def _reference() -> list[Document]:
    """The pages of the reference, each written again when its module changes."""
    return [_load_module(name) for name in reference.NAMES]


def _load_module(name: str) -> Document:
    return _render_module(name, reference.path_of(name).stat().st_mtime_ns)


@cache
def _render(file: str, modified_ns: int) -> Document:
    """Render a file. `modified_ns` is only a part of the cache key."""
    return render(slug_of(file), file, (settings.BASE_DIR / file).read_text("utf-8"))


@cache
def _render_module(name: str, modified_ns: int) -> Document:
    """Render the page of a module. `modified_ns` is only a part of the cache key."""
    return render(reference.slug_of(name), reference.file_of(name), reference.page(name))


def render(slug: str, file: str, text: str) -> Document:
    """Render Markdown, whose links are those of `file`."""
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
    return Document(slug, file, title, _summary(body), safe, headings, text.lower())


def _take_title(tokens: list[Token], file: str) -> tuple[str, list[Token]]:
    """The first heading, which becomes the title of the page, and the remaining tokens."""
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
    r"""The Greek letter of a LaTeX command (γ for `\gamma`); for other commands their name."""
    try:
        return unicodedata.lookup(f"GREEK SMALL LETTER {command[1].upper()}")
    except KeyError:
        return command[1]


def _summary(tokens: list[Token]) -> str:
    inline = (after for before, after in itertools.pairwise(tokens) if before.type == "paragraph_open")
    return next((_text(token) for token in inline), "")


class Anchors:
    """Gives the headings of a document anchors, as GitHub does, so that one link serves there and here."""

    def __init__(self) -> None:
        self._seen: dict[str, int] = {}

    def of(self, heading: str) -> str:
        """The anchor of the next heading; one that repeats has a number."""
        anchor = re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-")
        number = self._seen[anchor] = self._seen.get(anchor, -1) + 1
        return f"{anchor}-{number}" if number else anchor


def _anchor_headings(tokens: list[Token]) -> Iterator[Heading]:
    anchors = Anchors()
    for before, after in itertools.pairwise(tokens):
        if before.type != "heading_open":
            continue
        if before.tag == "h1":
            before.tag = "h2"  # the page has one h1 already
        anchor = anchors.of(_text(after))
        before.attrSet("id", anchor)
        if before.tag == "h2":
            yield Heading(anchor, _text(after))


def _prepare(token: Token, file: str) -> None:
    """Add our class to code blocks, replace alignment styles by a class, and link to addresses of this site."""
    if token.type in {"fence", "code_block"}:
        token.type = "code_block"  # drops the language, for which there is no CSS
        token.attrs = {"class": "code", "tabindex": "0"}
    if token.type in {"th_open", "td_open"}:
        align = str(token.attrs.pop("style", ""))
        if align.endswith("right"):
            token.attrs["class"] = "num"
    if token.type == "inline":
        token.children = list(_links(token.children or [], file))


def _tables(tokens: list[Token]) -> Iterator[Token]:
    """Wrap tables in a region that the keyboard can scroll, and turn empty header cells into plain cells."""
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
    """Point links to other documents to their pages, and turn links to source files into plain text."""
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
    name = picture_name(path)
    return reverse("site:picture", args=[name]) if path.startswith("docs/") and picture(name) else None


def _address(href: str, file: str) -> str | None:
    if href.startswith("#") or _SCHEME.match(href):
        return href
    target, hash_sign, anchor = href.partition("#")
    path = posixpath.normpath(posixpath.join(posixpath.dirname(file), target))
    if not _is_document(path):
        return None
    return reverse("site:doc", args=[slug_of(path)]) + hash_sign + anchor
