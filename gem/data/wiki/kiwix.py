"""The pages of a book (a ZIM file) that a kiwix server offers, such as a copy of Wikipedia.

The identity of the book is the graph's `data_hash`: an episode can be re-executed wherever a server has the same
book, and is refused with another one.
"""

from __future__ import annotations

import json
import re
import urllib.error
import urllib.request
from functools import lru_cache
from html.parser import HTMLParser
from typing import Any
from urllib.parse import quote, unquote, urlencode, urljoin, urlsplit
from xml.etree import ElementTree as ET

from gem.data.wiki import Link, Page
from gem.errors import EnvironmentFailure, InvalidArgument
from gem.rng import RandomSource, choice, randint

TIMEOUT_S = 10.0
MAX_BYTES = 8 * 2**20
MAX_TEXT = 1500
"""Characters of a page that are shown."""
MAX_LINKS = 100
"""Links of a page that are offered, the first ones."""
TRIES = 50
ATOM = "{http://www.w3.org/2005/Atom}"
NO_PAGE = re.compile(r"\.(?:png|jpe?g|gif|svg|webp|ogg|ogv|webm|mp[34]|pdf|css|js)$", re.IGNORECASE)


class KiwixGraph:
    """The pages of one book of the server at `url`: the one named `book`, or the only one."""

    def __init__(self, url: str, book: str = "") -> None:
        if urlsplit(url).scheme not in {"http", "https"}:
            raise InvalidArgument(f"The address of a kiwix server begins with http:// or https://, not {url!r}.")
        self.url = url.rstrip("/") + "/"
        self.root, uuid = self._find(book)
        self.data_hash = f"kiwix:{uuid}"
        self.page = lru_cache(maxsize=512)(self._fetch)  # an expert and a replay ask for the same pages again

    def __reduce__(self) -> tuple[Any, ...]:
        return KiwixGraph, (self.url, self.root.rpartition("/content/")[2].strip("/"))

    def _find(self, book: str) -> tuple[str, str]:
        """The path of the book's pages and the identity of its file."""
        feed = ET.fromstring(self._get("catalog/v2/entries?count=-1"))  # noqa: S314 (the operator's own server)
        found = {}
        for entry in feed.iter(f"{ATOM}entry"):
            for link in entry.iter(f"{ATOM}link"):
                path = urlsplit(link.get("href", "")).path
                if link.get("type") == "text/html" and "/content/" in path:
                    name = path.rpartition("/content/")[2].strip("/")
                    found[name] = path.rstrip("/") + "/", entry.findtext(f"{ATOM}id", "").rpartition(":")[2]
        if book not in found and (book or len(found) != 1):
            raise InvalidArgument(f"The kiwix server has the books {', '.join(found) or 'none'}; name one of them.")
        return found[book] if book else next(iter(found.values()))

    def _get(self, path: str) -> bytes:
        try:
            with urllib.request.urlopen(urljoin(self.url, path), timeout=TIMEOUT_S) as answer:  # noqa: S310
                content: bytes = answer.read(MAX_BYTES)
        except (urllib.error.URLError, TimeoutError, ConnectionError) as error:
            raise EnvironmentFailure(f"The kiwix server at {self.url} did not answer for {path}: {error}.") from error
        return content

    def _fetch(self, key: str) -> Page:
        reader = _PageReader()
        reader.feed(self._get(self.root + quote(key)).decode("utf-8", "replace"))
        base = self.root + quote(key)
        links: dict[str, Link] = {}
        for words, href in reader.links:
            parts = urlsplit(urljoin(base, href))
            page = unquote(parts.path.removeprefix(self.root))
            inside = not parts.netloc and parts.path.startswith(self.root) and page not in {"", key}
            if inside and not NO_PAGE.search(page) and ":" not in page:
                links.setdefault(words.casefold(), Link(words, page))
        offered = tuple(links.values())[:MAX_LINKS]
        return Page(key, reader.title or key.replace("_", " "), reader.text[:MAX_TEXT].strip(), offered)

    def draw(self, rng: RandomSource, nearest: int, farthest: int) -> tuple[str, str]:
        """As `LinkGraph.draw`, by a walk along links, so the target may be nearer than the walk was long."""
        for _ in range(TRIES):
            start = self._some_page(rng)
            if start is None:
                continue
            trail = [start]
            for _ in range(randint(rng, nearest, farthest)):
                ahead = [link.page for link in self.page(trail[-1]).links if link.page not in trail]
                if not ahead:
                    break
                trail.append(choice(rng, ahead))
            direct = {link.page for link in self.page(start).links}
            if len(trail) > nearest and (nearest < 2 or trail[-1] not in direct):
                return start, trail[-1]
        raise EnvironmentFailure(f"The kiwix server at {self.url} has no pages that are {nearest} links apart.")

    def _some_page(self, rng: RandomSource) -> str | None:
        """A page whose title begins with two letters drawn; the server's suggestions are the same each time."""
        term = "".join(choice(rng, "abcdefghijklmnoprstuvw") for _ in range(2))
        book = self.root.rpartition("/content/")[2].strip("/")
        answer = json.loads(self._get(f"suggest?{urlencode({'content': book, 'term': term, 'count': 50})}"))
        paths = sorted(item["path"] for item in answer if item.get("kind") == "path")
        paths = [path for path in paths if self.page(path).links]
        return choice(rng, paths) if paths else None


class _PageReader(HTMLParser):
    """Collects the title, the text of the paragraphs and the links in them."""

    def __init__(self) -> None:
        super().__init__()
        self.title = ""
        self.text = ""
        self.links: list[tuple[str, str]] = []
        self._inside: dict[str, int] = {"p": 0, "title": 0, "style": 0, "script": 0, "sup": 0}
        self._href: str | None = None
        self._words = ""

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        if tag in self._inside:
            self._inside[tag] += 1
        elif tag == "a" and self._inside["p"]:
            self._href, self._words = dict(attrs).get("href"), ""

    def handle_endtag(self, tag: str) -> None:
        if tag in self._inside:
            self._inside[tag] = max(0, self._inside[tag] - 1)
            if tag == "p":
                self.text += "\n"
        elif tag == "a" and self._href is not None:
            words = " ".join(self._words.split())
            if words and not set(words) & set("{}\\"):  # an action could not name it
                self.links.append((words, self._href))
            self._href = None

    def handle_data(self, data: str) -> None:
        if self._inside["style"] or self._inside["script"] or self._inside["sup"]:
            return
        if self._inside["title"]:
            self.title += data
        elif self._inside["p"]:
            self.text += data
            self._words += data
