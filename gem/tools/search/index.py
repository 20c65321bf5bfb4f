"""An index of passages on disk, searched by BM25 without a server.

build(Path("corpus.jsonl"), folder_of("wiki"))
open_index("wiki").search("capital of Japan", 3)

The arrays are mapped into memory, so that processes share them and opening takes no time. A query and an index give
the same passages in the same order everywhere: passages of equal score stand in the order of the corpus.
"""

from __future__ import annotations

import hashlib
import json
import logging
import os
import re
import shutil
import tempfile
from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import cached_property, lru_cache
from importlib.metadata import version
from pathlib import Path
from typing import Any

from gem.errors import InvalidArgument, MissingDependency
from gem.tools.search.passages import Passage, passage_of

FORMAT = 1
K1, B = 1.5, 0.75
"""The usual parameters of BM25 (Robertson and Zaragoza, The Probabilistic Relevance Framework, 2009)."""
LANGUAGE = "english"
LONGEST_QUERY = 2000
"""Characters of a query that are looked at."""
BUNDLED = "wikigame"
"""The name of an index that comes with the package: the pages that WikiGame is played on."""
NAME = re.compile(r"[a-z0-9][a-z0-9._-]*")
PACKAGES = ("bm25s", "PyStemmer")
WORD = re.compile(r"\b\w\w+\b")
"""What counts as a word; bm25s has the same."""


class Index:
    """Passages that can be searched; any thread may do it. `open_index` gives one.

    Args:
        manifest: what is in it, and how it was made.
        bm25: the scores, of bm25s.
        passage: the passage of a number.
    """

    def __init__(self, manifest: dict[str, Any], bm25: Any, passage: Callable[[int], Passage]) -> None:
        self.manifest = manifest
        self._bm25, self._passage = bm25, passage

    def __len__(self) -> int:
        """How many passages there are."""
        return int(self.manifest["passages"])

    @cached_property
    def fingerprint(self) -> str:
        """Names everything that an answer follows from: the corpus and how it was indexed."""
        return hashlib.sha256(json.dumps(self.manifest, sort_keys=True).encode()).hexdigest()[:16]

    def search(self, query: str, topk: int) -> list[Passage]:
        """The passages that fit the query, the best first; none where no word of it is in the corpus."""
        import numpy as np  # noqa: PLC0415 (as above)

        tokens = [token for token in _stems(query[:LONGEST_QUERY]) if token in self._bm25.vocab_dict]
        if not tokens or topk < 1:
            return []
        scores = self._bm25.get_scores(tokens)
        least = np.partition(scores, -topk)[-topk] if topk < len(scores) else scores.min()
        found = np.flatnonzero((scores >= least) & (scores > 0))
        best = found[np.lexsort((found, -scores[found]))][:topk]
        passages = ((self._passage(number), float(scores[number])) for number in best.tolist())
        return [Passage(one.title, one.text, score) for one, score in passages]


def load(folder: Path) -> Index:
    """The index in a folder, with its arrays mapped into memory.

    Raises:
        InvalidArgument: if there is no index, or one of another format.
        MissingDependency: if the packages that search are not installed.
    """
    bm25s, _ = _packages()
    import numpy as np  # noqa: PLC0415 (slow to import)

    manifest = _manifest(folder)
    bm25 = bm25s.BM25.load(folder, mmap=True, show_progress=False)
    # mapped all the same, but without what NumPy does for every slice of a `memmap`: half the time of a search
    bm25.scores = {name: np.asarray(one) if isinstance(one, np.memmap) else one for name, one in bm25.scores.items()}
    places = np.asarray(np.load(folder / "places.npy", mmap_mode="r"))
    lines = np.asarray(np.memmap(folder / "passages.jsonl", dtype=np.uint8, mode="r"))

    def passage(number: int) -> Passage:
        title, text = json.loads(lines[places[number] : places[number + 1]].tobytes())
        return Passage(title, text)

    return Index(manifest, bm25, passage)


@lru_cache(maxsize=32)
def _loaded(folder: Path, _changed: float) -> Index:
    return load(folder)


@lru_cache(maxsize=1)
def _bundled() -> Index:
    """The pages that come with the package, indexed in memory."""
    bm25s, _ = _packages()
    from gem.data.wiki import PAGES_HASH, bundled  # noqa: PLC0415 (only where they are searched)

    passages = [Passage(page.title, page.text) for page in bundled().pages()]
    manifest = _described(PAGES_HASH, len(passages))
    return Index(manifest, _scored(bm25s, [f"{one.title}\n{one.text}" for one in passages]), passages.__getitem__)


def open_index(name: str | Path) -> Index:
    """The index of this name, or in this folder; one for each process. `BUNDLED` is always there.

    Raises:
        InvalidArgument, MissingDependency: as `load`.
    """
    if name == BUNDLED:
        return _bundled()
    folder = folder_of(name)
    manifest = folder / "manifest.json"
    return _loaded(folder.resolve(), manifest.stat().st_mtime if manifest.exists() else 0.0)


def folder_of(name: str | Path) -> Path:
    """Where an index of this name lies; a path with a slash in it is a folder of its own.

    Raises:
        InvalidArgument: if it is neither a name nor a path.
    """
    if isinstance(name, Path) or os.sep in name:
        return Path(name)
    if not NAME.fullmatch(name):
        raise InvalidArgument(f"The name of an index is of small letters, digits, dots and hyphens, not {name!r}.")
    return indexes_folder() / name


def indexes_folder() -> Path:
    """Where indexes lie: `GEM_INDEXES`, or a folder of the user's."""
    home = os.environ.get("XDG_DATA_HOME") or Path.home() / ".local" / "share"
    return Path(os.environ.get("GEM_INDEXES") or Path(home) / "gemweb" / "indexes")


def indexes() -> list[Path]:
    """The folders of all indexes that have a name."""
    return sorted(manifest.parent for manifest in indexes_folder().glob("*/manifest.json"))


def build(corpus: Path, folder: Path, *, replace: bool = False) -> Index:
    """Index a corpus and save it; an index is there whole or not at all.

    Args:
        corpus: a file with one passage a line (see `passage_of`).

    Raises:
        InvalidArgument: if the corpus cannot be read or is empty, or the folder is taken and `replace` is not given.
        MissingDependency: as `load`.
    """
    bm25s, _ = _packages()
    if folder == folder_of(BUNDLED):
        raise InvalidArgument(f"{BUNDLED} is the name of the index that comes with gem; choose another one.")
    if folder.exists() and not replace:
        raise InvalidArgument(f"There is something at {folder} already; --replace puts the new index in its place.")
    if folder.exists() and any(folder.iterdir()) and not (folder / "manifest.json").exists():
        raise InvalidArgument(f"{folder} is no index, and is left alone.")
    folder.parent.mkdir(parents=True, exist_ok=True)
    half = Path(tempfile.mkdtemp(prefix=f".{folder.name}.", dir=folder.parent))
    try:
        half.chmod(0o755)
        _write(bm25s, corpus, half)
        if folder.exists():
            shutil.rmtree(folder)
        half.rename(folder)
    except OSError as error:
        raise InvalidArgument(f"{error.filename or folder} cannot be used: {error.strerror}.") from error
    finally:
        shutil.rmtree(half, ignore_errors=True)
    return open_index(folder.resolve())


def _write(bm25s: Any, corpus: Path, folder: Path) -> None:
    import numpy as np  # noqa: PLC0415 (as above)

    digest = hashlib.sha256()
    places, texts = [0], []
    with (folder / "passages.jsonl").open("wb") as file:
        for title, text, _ in _read(corpus, digest):
            places.append(places[-1] + file.write(json.dumps([title, text], ensure_ascii=False).encode() + b"\n"))
            texts.append(f"{title}\n{text}")
    if not texts:
        raise InvalidArgument(f"{corpus} has no passages.")
    _scored(bm25s, texts).save(folder, show_progress=False)
    np.save(folder / "places.npy", np.array(places, dtype=np.int64))
    manifest = _described(digest.hexdigest(), len(texts))
    (folder / "manifest.json").write_text(json.dumps(manifest, indent=1) + "\n")


def _scored(bm25s: Any, texts: Sequence[str]) -> Any:
    bm25, tokens = bm25s.BM25(k1=K1, b=B, method="lucene"), _tokenize(texts)
    if not any(tokens):
        raise InvalidArgument(
            "The passages have no word to search for: the commonest words and those of one letter do not count."
        )
    bm25.index(tokens, show_progress=False)
    return bm25


def _described(corpus_sha256: str, passages: int) -> dict[str, Any]:
    """The manifest of an index."""
    return {
        "format": FORMAT,
        "corpus_sha256": corpus_sha256,
        "passages": passages,
        "method": {"name": "lucene", "k1": K1, "b": B, "language": LANGUAGE},
        "made_with": {package: version(package) for package in PACKAGES},
    }


def _read(corpus: Path, digest: Any) -> Iterator[Passage]:
    try:
        with corpus.open("rb") as lines:
            for number, line in enumerate(lines, start=1):
                digest.update(line)
                if line.strip():
                    yield _row(corpus, number, line)
    except OSError as error:
        raise InvalidArgument(f"{corpus} cannot be read: {error.strerror}.") from error


def _row(corpus: Path, number: int, line: bytes) -> Passage:
    try:
        row = json.loads(line)
        if not isinstance(row, dict):
            raise ValueError("it is no JSON object")
        title, text, _ = passage_of(row)
        return Passage(_storable(title), _storable(text))
    except (ValueError, RecursionError) as error:
        raise InvalidArgument(f"{corpus}, line {number} is no passage: {error}.") from error


def _storable(text: str) -> str:
    """The text with a question mark for half of a surrogate pair, which a file of UTF-8 cannot have."""
    return text.encode(errors="replace").decode()


def _tokenize(texts: Iterable[str]) -> list[list[str]]:
    """Words of two characters and more, without the commonest, each cut to its stem."""
    bm25s, stemmer = _packages()
    tokens: list[list[str]] = bm25s.tokenize(
        list(texts), stopwords="en", stemmer=stemmer.Stemmer(LANGUAGE), return_ids=False, show_progress=False
    )
    return tokens


def _stems(query: str) -> list[str]:
    """What `_tokenize` makes of one text, without the progress bars of bm25s: with their locks they take most of the
    time of a search, and a loaded machine puts a thread aside at each of them."""
    stemmer, stopwords = _language()
    stems: list[str] = stemmer(LANGUAGE, 0).stemWords([w for w in WORD.findall(query.lower()) if w not in stopwords])
    return stems


@lru_cache(maxsize=1)
def _language() -> tuple[Any, frozenset[str]]:
    """What makes a stemmer, of which every thread needs its own, and the words that are left out."""
    bm25s, stemmer = _packages()
    return stemmer.Stemmer, frozenset(bm25s.stopwords.STOPWORDS_EN)


def _packages() -> tuple[Any, Any]:
    """The modules bm25s and Stemmer."""
    try:
        import bm25s  # type: ignore[import-untyped]  # noqa: PLC0415 (not every engine searches)
        import Stemmer  # type: ignore[import-not-found]  # noqa: PLC0415
    except ImportError as error:
        raise MissingDependency("An index of passages", PACKAGES) from error
    logging.getLogger("bm25s").setLevel(logging.WARNING)  # it asks for its debugging messages by itself
    return bm25s, Stemmer


def _manifest(folder: Path) -> dict[str, Any]:
    try:
        manifest: dict[str, Any] = json.loads((folder / "manifest.json").read_text())
    except (OSError, ValueError) as error:
        raise InvalidArgument(
            f"There is no index at {folder}. gemweb index build CORPUS.jsonl makes one, gemweb index list lists them."
        ) from error
    if manifest.get("format") != FORMAT:
        raise InvalidArgument(f"The index at {folder} is of another version of gem; build it again.")
    return manifest
