"""The pages of a book (a ZIM file) on a kiwix server, such as a copy of Wikipedia.

The identity of the book is the graph's `data_hash`. An episode can be replayed wherever a server has the same book;
with another book the replay is refused.
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

from gem.data.wiki import WikiLink, WikiPage
from gem.errors import EnvironmentFailure, InvalidArgument
from gem.rng import RandomSource, choice, randint

TIMEOUT_SECONDS = 10.0
MAX_BYTES = 8 * 2**20
MAX_TEXT_CHARS = 1500
"""Characters of a page that are used."""
MAX_LINKS = 100
"""Links of a page that are used, from the beginning of the page."""
MAX_ATTEMPTS = 50
ATOM = "{http://www.w3.org/2005/Atom}"
NOT_A_PAGE = re.compile(r"\.(?:png|jpe?g|gif|svg|webp|ogg|ogv|webm|mp[34]|pdf|css|js)$", re.IGNORECASE)


class KiwixGraph:
    """The pages of one book of the server at `url`: the book named `book`, or by default the only one."""

    def __init__(self, url: str, book: str = "") -> None:
        if urlsplit(url).scheme not in {"http", "https"}:
            raise InvalidArgument(f"The address of a kiwix server begins with http:// or https://, not {url!r}.")
        self.url = url.rstrip("/") + "/"
        self.root, uuid = self._find_book(book)
        self.data_hash = f"kiwix:{uuid}"
        self.page = lru_cache(maxsize=512)(self._fetch)  # experts and replays request the same pages repeatedly

    def __reduce__(self) -> tuple[Any, ...]:
        return KiwixGraph, (self.url, self.root.rpartition("/content/")[2].strip("/"))

    def _find_book(self, book: str) -> tuple[str, str]:
        """The path of the book's pages and the identity of its file."""
        feed = ET.fromstring(self._get("catalog/v2/entries?count=-1"))  # noqa: S314 (the operator's own server)
        books = {}
        for entry in feed.iter(f"{ATOM}entry"):
            for link in entry.iter(f"{ATOM}link"):
                path = urlsplit(link.get("href", "")).path
                if link.get("type") == "text/html" and "/content/" in path:
                    name = path.rpartition("/content/")[2].strip("/")
                    books[name] = path.rstrip("/") + "/", entry.findtext(f"{ATOM}id", "").rpartition(":")[2]
        if book not in books and (book or len(books) != 1):
            raise InvalidArgument(f"The kiwix server has the books {', '.join(books) or 'none'}; name one of them.")
        return books[book] if book else next(iter(books.values()))

    def _get(self, path: str) -> bytes:
        try:
            with urllib.request.urlopen(urljoin(self.url, path), timeout=TIMEOUT_SECONDS) as response:  # noqa: S310
                content: bytes = response.read(MAX_BYTES)
        except (urllib.error.URLError, TimeoutError, ConnectionError) as error:
            raise EnvironmentFailure(f"The kiwix server at {self.url} did not answer for {path}: {error}.") from error
        return content

    def _fetch(self, key: str) -> WikiPage:
        reader = _PageReader()
        reader.feed(self._get(self.root + quote(key)).decode("utf-8", "replace"))
        base = self.root + quote(key)
        links_by_words: dict[str, WikiLink] = {}
        for words, href in reader.links:
            url = urlsplit(urljoin(base, href))
            page = unquote(url.path.removeprefix(self.root))
            is_in_book = not url.netloc and url.path.startswith(self.root) and page not in {"", key}
            if is_in_book and not NOT_A_PAGE.search(page) and ":" not in page:
                links_by_words.setdefault(words.casefold(), WikiLink(words, page))
        links = tuple(links_by_words.values())[:MAX_LINKS]
        return WikiPage(key, reader.title or key.replace("_", " "), reader.text[:MAX_TEXT_CHARS].strip(), links)

    def draw(self, rng: RandomSource, min_distance: int, max_distance: int) -> tuple[str, str]:
        """See `LinkGraph.draw`. The target is the end of a random walk, so the shortest way may be shorter."""
        for _ in range(MAX_ATTEMPTS):
            start = self._draw_page(rng)
            if start is None:
                continue
            trail = [start]
            for _ in range(randint(rng, min_distance, max_distance)):
                next_pages = [link.page for link in self.page(trail[-1]).links if link.page not in trail]
                if not next_pages:
                    break
                trail.append(choice(rng, next_pages))
            start_links = {link.page for link in self.page(start).links}
            if len(trail) > min_distance and (min_distance < 2 or trail[-1] not in start_links):
                return start, trail[-1]
        raise EnvironmentFailure(f"The kiwix server at {self.url} has no pages that are {min_distance} links apart.")

    def _draw_page(self, rng: RandomSource) -> str | None:
        """Draw two letters and a page with links that the server suggests for them; None if there is none."""
        term = "".join(choice(rng, "abcdefghijklmnoprstuvw") for _ in range(2))
        book = self.root.rpartition("/content/")[2].strip("/")
        suggestions = json.loads(self._get(f"suggest?{urlencode({'content': book, 'term': term, 'count': 50})}"))
        paths = sorted(item["path"] for item in suggestions if item.get("kind") == "path")
        paths = [path for path in paths if self.page(path).links]
        return choice(rng, paths) if paths else None


class _PageReader(HTMLParser):
    """Collects the title of a page, the text of its paragraphs and the links in them."""

    def __init__(self) -> None:
        super().__init__()
        self.title = ""
        self.text = ""
        self.links: list[tuple[str, str]] = []
        self._open_tags: dict[str, int] = {"p": 0, "title": 0, "style": 0, "script": 0, "sup": 0}
        self._href: str | None = None
        self._words = ""

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        if tag in self._open_tags:
            self._open_tags[tag] += 1
        elif tag == "a" and self._open_tags["p"]:
            self._href, self._words = dict(attrs).get("href"), ""

    def handle_endtag(self, tag: str) -> None:
        if tag in self._open_tags:
            self._open_tags[tag] = max(0, self._open_tags[tag] - 1)
            if tag == "p":
                self.text += "\n"
        elif tag == "a" and self._href is not None:
            words = " ".join(self._words.split())
            if words and not set(words) & set("{}\\"):  # such words cannot be written in an action
                self.links.append((words, self._href))
            self._href = None

    def handle_data(self, data: str) -> None:
        if self._open_tags["style"] or self._open_tags["script"] or self._open_tags["sup"]:
            return
        if self._open_tags["title"]:
            self.title += data
        elif self._open_tags["p"]:
            self.text += data
            self._words += data
