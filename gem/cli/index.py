"""`gemweb index`: make, list and search the indexes of the search tool."""

from __future__ import annotations

import argparse
from collections.abc import Callable
from pathlib import Path
from typing import Any

from gem.cli.output.tables import table
from gem.errors import UsageError
from gem.validation.messages import count


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the arguments of the command."""
    verbs = parser.add_subparsers(dest="verb", required=True, metavar="build|list|search")
    build = verbs.add_parser("build", help="Index a corpus.", description="Index a corpus.")
    build.add_argument("corpus", type=Path, metavar="CORPUS", help="JSON lines with title and text, or contents")
    build.add_argument("--name", help="its name for the search tool, or a folder if it has a slash (the file's name)")
    build.add_argument("--replace", action="store_true", help="replace an index with this name")
    verbs.add_parser("list", help="List the indexes.", description="List the indexes.")
    search = verbs.add_parser("search", help="Search an index.", description="Search an index.")
    search.add_argument("name", metavar="NAME")
    search.add_argument("query", nargs="+", metavar="WORD")
    search.add_argument("--topk", type=int, default=3, help="passages to print (3)")


def run(verb: str, **options: Any) -> int:
    """Run one of the verbs."""
    verbs: dict[str, Callable[..., int]] = {"build": _build, "list": _list, "search": _search}
    return verbs[verb](**options)


def _build(corpus: Path, name: str | None, replace: bool) -> int:
    from gem.tools.search import index as search_index  # noqa: PLC0415 (the other commands start faster without it)

    folder = search_index.folder_of(name or corpus.stem.lower())
    index = search_index.build(corpus, folder, replace=replace)
    print(f"{count(len(index), 'passage')} of {corpus} indexed in {folder}.")
    print(f"Corpus SHA-256 {index.manifest['corpus_sha256']}, index {index.fingerprint}.")
    return 0


def _list() -> int:
    from gem.tools.search import index as search_index  # noqa: PLC0415 (as above)

    names = [search_index.BUNDLED, *(folder.name for folder in search_index.indexes())]
    rows = []
    for name in names:
        index = search_index.open_index(name)
        rows.append([name, index.fingerprint, f"{len(index):,}", index.manifest["corpus_sha256"][:16]])
    table(["name", "index", "passages", "corpus"], rows)
    return 0


def _search(name: str, query: list[str], topk: int) -> int:
    from gem.tools.search import index as search_index  # noqa: PLC0415 (as above)

    if topk < 1:
        raise UsageError(f"--topk must be at least 1, not {topk}.")
    passages = search_index.open_index(name).search(" ".join(query), topk)
    for rank, (title, text, score) in enumerate(passages, start=1):
        print(f"{rank}. {title} ({score:.2f})\n   {text}")
    if not passages:
        print("Nothing was found.")
    return 0
