"""WikiGame: the bundled graph, the way through it, and a server that speaks as kiwix does."""

from __future__ import annotations

import hashlib
import json
import pickle
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from urllib.parse import parse_qs, unquote, urlsplit

import pytest

import gem
from gem.agents.experts.games.wiki_game import search_links
from gem.data import wiki
from gem.data.wiki import bundled
from gem.data.wiki.kiwix import KiwixGraph
from gem.envs.games.wiki_game import WikiGame
from gem.errors import EnvironmentFailure, InvalidArgument
from tools.wiki_pages import PAGES_FILE, pages


def distances(start: str) -> dict[str, int]:
    found, queue = {start: 0}, [start]
    for key in queue:
        for link in bundled().page(key).links:
            if link.page not in found:
                found[link.page] = found[key] + 1
                queue.append(link.page)
    return found


def test_the_pages_are_what_the_facts_say() -> None:
    written = [json.loads(line) for line in PAGES_FILE.read_text(encoding="utf-8").splitlines()]
    assert written == json.loads(json.dumps(pages()))
    assert hashlib.sha256(PAGES_FILE.read_bytes()).hexdigest().startswith(wiki.PAGES_HASH)


def test_every_page_can_be_reached_from_every_other() -> None:
    titles = [str(page["title"]) for page in pages()]
    assert len(titles) >= 200
    for title in titles[::10]:
        assert len(distances(title)) == len(titles)


@pytest.mark.parametrize(("env_id", "allowed"), [("game:WikiGame-v0-easy", {2, 3}), ("game:WikiGame-v0-hard", {5, 6})])
def test_the_target_is_as_far_away_as_the_difficulty_says(env_id: str, allowed: set[int]) -> None:
    env = gem.make(env_id).unwrapped
    assert isinstance(env, WikiGame)
    for seed in range(30):
        env.reset(seed=seed)
        assert distances(env.page.key)[env.target.key] in allowed


def test_links_are_read_without_regard_to_case_and_spaces() -> None:
    env = WikiGame()
    env.reset(seed=0)
    words = env.page.links[0].words
    env.step(f"I follow \\boxed{{  {words.upper()} }}")
    assert env.page.key == bundled().page(env.trail[0]).links[0].page


def test_a_link_that_is_not_there_uses_up_the_turn() -> None:
    env = WikiGame(max_turns=2)
    env.reset(seed=0)
    text, reward, terminated, truncated, info = env.step("\\boxed{nowhere at all}")
    assert (reward, terminated, truncated, info["error"]) == (0, False, False, "rule")
    assert "nowhere at all" in text
    assert env.step("\\boxed{nowhere at all}")[3]


def test_an_environment_with_the_bundled_graph_travels_without_it() -> None:
    env = WikiGame()
    env.reset(seed=0)
    packed = pickle.dumps(env)
    assert len(packed) < 20_000
    assert pickle.loads(packed).graph is bundled()


# ---------------------------------------------------------------- a kiwix server of four pages

BOOK = {
    "Abc": "<p>First. <a href='Second_page'>second</a>, <a href='./Third'>third</a>, <a href='x.png'>image</a>, "
    "<a href='https://elsewhere.example/'>out</a>, <a href='#top'>top</a></p>",
    "Second_page": "<p>Second. <a href='Third'>three {braces}</a> <a href='Third'>Third one</a></p>",
    "Third": "<p>Third. <a href='Fourth'>four</a></p><style>.p{}</style>",
    "Fourth": "<p>Fourth. <a href='Abc'>first</a></p>",
}
CATALOG = """<feed xmlns="http://www.w3.org/2005/Atom"><entry><id>urn:uuid:1234-5678</id>
<link type="text/html" href="/content/tiny_book"/></entry></feed>"""


class Kiwix(BaseHTTPRequestHandler):
    def do_GET(self) -> None:
        address = urlsplit(self.path)
        page = BOOK.get(unquote(address.path.removeprefix("/content/tiny_book/")))
        if address.path == "/catalog/v2/entries":
            self.answer(CATALOG)
        elif address.path == "/suggest":
            term = parse_qs(address.query)["term"][0]
            found = [{"value": t, "kind": "path", "path": t} for t in BOOK if t.lower().startswith(term[0])]
            self.answer(json.dumps(found))
        elif page is not None:
            self.answer(f"<html><head><title>{address.path[-5:]}</title></head><body>{page}</body></html>")
        else:
            self.send_error(404)

    def answer(self, text: str) -> None:
        self.send_response(200)
        self.end_headers()
        self.wfile.write(text.encode())

    def log_message(self, *args: object) -> None:
        """Quiet."""


@pytest.fixture
def server() -> Iterator[str]:
    httpd = ThreadingHTTPServer(("127.0.0.1", 0), Kiwix)
    threading.Thread(target=httpd.serve_forever, args=(0.02,), daemon=True).start()
    yield f"http://127.0.0.1:{httpd.server_port}"
    httpd.shutdown()
    httpd.server_close()


def test_pages_of_a_kiwix_book_are_read(server: str) -> None:
    graph = KiwixGraph(server)
    assert graph.data_hash == "kiwix:1234-5678"
    assert graph.page("Abc").links == (("second", "Second_page"), ("third", "Third"))
    assert [link.words for link in graph.page("Second_page").links] == ["Third one"]
    assert graph.page("Third").text == "Third. four"


def test_a_kiwix_episode_is_played_and_replayed(server: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("GEM_KIWIX_URL", server)
    arguments = {"graph": "kiwix", "min_distance": 2, "max_distance": 3}
    first, second = (gem.make("game:WikiGame-v0-easy", **arguments) for _ in range(2))
    assert first.reset(seed=5) == second.reset(seed=5)
    for _ in range(10):
        action = search_links(first.unwrapped).action
        turn = first.step(action)
        assert second.step(action) == turn
        if turn[2]:
            break
    assert turn[4]["success"] is True


def test_a_server_that_does_not_answer_is_the_environments_fault(server: str) -> None:
    with pytest.raises(EnvironmentFailure, match="did not answer"):
        KiwixGraph(server).page("Nothing")


def test_graphs_that_are_none_are_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("GEM_KIWIX_URL", raising=False)
    with pytest.raises(InvalidArgument, match="GEM_KIWIX_URL"):
        gem.make("game:WikiGame-v0-easy", graph="kiwix")
    with pytest.raises(InvalidArgument, match="bundled"):
        gem.make("game:WikiGame-v0-easy", graph="wikipedia")
    with pytest.raises(InvalidArgument, match="http"):
        KiwixGraph("file:///etc/passwd")
