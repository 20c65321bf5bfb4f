"""Build the documentation as static pages in `dist/manual`: `python -m gemweb.manual`.

The pages are those under `/docs/` of a site: README, the guides, the reference of the REST API and of every module.
mkdocs-material draws them; it has an environment of its own in `.venv/docs`, so the product does not depend on it. A
link that leads nowhere, or anything else that mkdocs warns of, fails the build.
"""

from __future__ import annotations

import json
import os
import posixpath
import re
import secrets
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

from gemweb import toolbox
from gemweb.bootstrap import SetUpError

if TYPE_CHECKING:
    from apps.api.document.reference import Field, Operation

ROOT = Path(__file__).resolve().parent.parent
TOOLS_LOCK = ROOT / "requirements-docs.lock"
TOOLS = ROOT / ".venv" / "docs"
SOURCES = ROOT / "dist" / "manual-sources"
PAGES = ROOT / "dist" / "manual"
SETTINGS = {
    "DATABASE_URL": "postgres://gemweb@127.0.0.1:9/gemweb",
    "VALKEY_URL": "redis://127.0.0.1:9/0",
    "DJANGO_SETTINGS_MODULE": "gemweb.settings",
    "LOCAL_MODE": "1",
}
"""What Django's settings need; no server is asked for anything."""

_FENCE = re.compile(r"^(```.*?^```$)", re.DOTALL | re.MULTILINE)
_LINK = re.compile(r"(?P<image>!?)\[(?P<text>(?:[^\[\]]|\[[^\]]*\])*)\]\((?P<target>[^()\s]+)\)")
_HEADING = re.compile(r"^(#{2,4}) (.+)$", re.MULTILINE)
_LIST_AFTER_TEXT = re.compile(r"^((?!\s*(?:[-*|#]|\d+\. )).*\S.*)\n(?=(?:[-*]|\d+\.) )", re.MULTILINE)


def main() -> int:
    """Build the pages. Returns 1 after a sentence if that fails."""
    for name, value in {**SETTINGS, "SECRET_KEY": secrets.token_urlsafe(48)}.items():
        os.environ.setdefault(name, value)
    import django  # noqa: PLC0415 (after its settings are known)

    django.setup()
    try:
        mkdocs = toolbox.program(TOOLS_LOCK, TOOLS, "mkdocs")
    except SetUpError as error:
        sys.stderr.write(
            "gemweb: mkdocs could not be installed, so nothing was built. A network is needed the first time. "
            f"The installer said: {error}\n"
        )
        return 1
    write_sources(SOURCES)
    command = [mkdocs, "build", "--strict", "--config-file", str(SOURCES / "mkdocs.yml"), "--site-dir", str(PAGES)]
    environment = {**os.environ, "NO_MKDOCS_2_WARNING": "1"}
    done = subprocess.run(command, env=environment, check=False, capture_output=True, text=True)
    if done.returncode:
        sys.stderr.write(f"{done.stderr}\ngemweb: The manual was not built; see above.\n")
        return 1
    pages = sum(1 for _ in PAGES.rglob("*.html"))
    print(f"The manual has {pages} pages: {PAGES / 'index.html'}")
    return 0


def write_sources(folder: Path) -> None:
    """Write what mkdocs reads: the pages as Markdown, the pictures, and the configuration."""
    from apps.site import documents, reference  # noqa: PLC0415 (as above)

    shutil.rmtree(folder, ignore_errors=True)
    pages = folder / "pages"
    groups = documents.groups()
    files = {document.file: _place(document.slug) for group in groups for document in group.documents}
    modules = {reference.file_of(name): name for name in reference.NAMES}
    nav: list[dict[str, object]] = []
    for group in groups:
        entries = []
        for document in group.documents:
            place = _place(document.slug)
            name = modules.get(document.file)
            text = reference.page(name) if name else (ROOT / document.file).read_text("utf-8")
            _write(pages / place, convert(text, document.file, files))
            entries.append({document.title: place})
        nav.append({group.title: entries})
    _write(pages / "rest.md", "".join(_rest_page()))
    nav.append({"REST API": "rest.md"})
    for picture, path in documents.pictures().items():
        (pages / "images" / picture).parent.mkdir(parents=True, exist_ok=True)
        shutil.copyfile(path, pages / "images" / picture)
    _write(folder / "mkdocs.yml", json.dumps(_configuration(nav), indent=2))  # JSON is YAML


def _place(slug: str) -> str:
    return "index.md" if slug == "readme" else f"{slug}.md"


def _write(path: Path, text: str) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text, "utf-8")


def _configuration(nav: list[dict[str, object]]) -> dict[str, object]:
    extensions = ["admonition", "attr_list", "md_in_html", "pymdownx.superfences", "pymdownx.highlight", "tables"]
    return {
        "site_name": "gemweb",
        "docs_dir": "pages",
        "use_directory_urls": False,
        "theme": {"name": "material", "font": False, "features": ["navigation.indexes", "navigation.sections"]},
        "plugins": ["search"],
        "markdown_extensions": extensions,
        "validation": {
            "nav": {"omitted_files": "warn", "not_found": "warn"},
            "links": {"not_found": "warn", "anchors": "warn", "unrecognized_links": "warn"},
        },
        "nav": nav,
    }


# ---------------------------------------------------------------- Markdown


def convert(text: str, file: str, files: dict[str, str]) -> str:
    """The Markdown of a file for mkdocs: links between its pages, formulas drawn, and the headings' own anchors.

    Args:
        files: the page of each file of the repository that has one.
    """
    from apps.site import documents  # noqa: PLC0415 (as above)

    anchors = documents.Anchors()
    parts = []
    for part in _FENCE.split(text):
        if part.startswith("```"):
            parts.append(part)
            continue
        anchored = _HEADING.sub(lambda found: f"{found[0]} {{#{anchors.of(_plain(found[2]))}}}", part)
        linked = _LINK.sub(lambda found: _link(found, file, files), anchored)
        parts.append(_draw_formulas(_LIST_AFTER_TEXT.sub(r"\1\n\n", linked)))
    return "".join(parts)


def _plain(heading: str) -> str:
    """The text of a heading without its marks."""
    return _LINK.sub(lambda found: found["text"], heading).replace("`", "")


def _link(found: re.Match[str], file: str, files: dict[str, str]) -> str:
    """A link to another page or picture; one to a file that has no page becomes its text."""
    from apps.site import documents  # noqa: PLC0415 (as above)

    target, hash_sign, anchor = found["target"].partition("#")
    if not target or re.match(r"[a-z][a-z0-9+.-]*:", target):
        return found[0]
    path = posixpath.normpath(posixpath.join(posixpath.dirname(file), target))
    here = posixpath.dirname(files[file])
    if path in files:
        return f"[{found['text']}]({posixpath.relpath(files[path], here)}{hash_sign}{anchor})"
    if path.startswith("docs/") and found["image"]:
        picture = f"images/{documents.picture_name(path)}"
        return f"![{found['text']}]({posixpath.relpath(picture, here)})"
    return found["text"]


def _draw_formulas(text: str) -> str:
    """The text with its formulas as MathML, except in code."""
    from apps.site import documents, mathematics  # noqa: PLC0415 (as above)

    def draw(found: re.Match[str]) -> str:
        return str(mathematics.formula(found["display"] or found["inline"], bool(found["display"])))

    pieces = re.split(r"(`+[^`]*`+)", text)
    return "".join(piece if piece.startswith("`") else documents.FORMULA.sub(draw, piece) for piece in pieces)


# ---------------------------------------------------------------- the REST API


def _rest_page() -> Iterator[str]:
    """The page of the REST API, with the operations of the site's own page."""
    from apps.api.document.reference import sections  # noqa: PLC0415 (as above)

    yield "# REST API\n"
    for section in sections():
        yield f"\n## {section.title}\n"
        for operation in section.operations:
            yield from _operation(operation)


def _operation(operation: Operation) -> Iterator[str]:
    yield f"\n### {operation.summary} {{#{operation.name}}}\n\n```\n{operation.method.upper()} {operation.path}\n```\n"
    if operation.about:
        yield f"\n{operation.about}\n"
    yield f"\nScope: `{operation.scope}`.\n" if operation.scope else "\nGuests get an answer too.\n"
    for title, fields in (("Parameters", operation.parameters), ("Body", operation.body)):
        yield from _table(title, fields)
    yield from _table(f"Answer: {operation.answer}" if operation.answer else "Answer", operation.answer_fields)


def _table(title: str, fields: tuple[Field, ...]) -> Iterator[str]:
    if not fields:
        return
    yield f"\n**{title}**\n\n| Name | Type | |\n|---|---|---|\n"
    for field in fields:
        about = " ".join(field.about.split()).replace("|", "\\|")
        required = " (required)" if field.is_required else ""
        kind = field.kind.replace("|", "\\|")
        yield f"| `{field.name}`{required} | {kind} | {about} |\n"


if __name__ == "__main__":
    sys.exit(main())
