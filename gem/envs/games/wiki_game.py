r"""Find the way from one page to another by following links.

Rules:
    You begin on one page of a small encyclopedia and have to reach another, of which you know the title. Each turn
    shows a page and its links, and you follow one of them; there is no way back but by links. A link that is not on
    the page uses up a turn. The shortest way has `min_distance` to `max_distance` links.

Actions:
    `\boxed{WORDS}` follows the link with these words, for example `\boxed{Europe}`; capital or small letters.

Rewards:
    1 for reaching the target, 0 otherwise. -0.1 for an action that cannot be parsed, which ends the episode.

Pages:
    `graph="bundled"` is a graph of our own (`gem/data/wiki`): episodes on it follow from seed and actions.
    `graph="kiwix"` reads the server whose address is in the environment variable GEM_KIWIX_URL (and the book named in
    GEM_KIWIX_BOOK, if it has several), and `graph=KiwixGraph(url)` any server: its book is part of the episode's
    identity, so episodes can be re-executed with the same book and are refused with another one, but they need the
    server, and distances are those of a random walk.

Source:
    GEM (arXiv 2510.01051), `game:WikiGame-v0`; the game is older than that.
"""

from __future__ import annotations

import os
import re
from dataclasses import dataclass
from typing import Literal

from gem.core import State
from gem.data.wiki import LinkGraph, Page, bundled
from gem.envs.game import Game, Played
from gem.errors import InvalidArgument
from gem.registry import register
from gem.rng import SplitMix64, choice
from gem.views import Link, LinksView

URL_VARIABLE, BOOK_VARIABLE = "GEM_KIWIX_URL", "GEM_KIWIX_BOOK"
MAX_ECHO = 60
"""Characters of an unknown link that are repeated in the answer."""


@dataclass(frozen=True, slots=True)
class Config:
    """Distances count links on the shortest way."""

    max_turns: int
    min_distance: int
    max_distance: int
    graph: Literal["bundled", "kiwix"] | LinkGraph


class WikiGame(Game):
    """See the module's documentation, which is also the catalog page."""

    pattern = re.compile(r"\\boxed{([^{}\w]*\w[^{}]*)}")
    prompt = "Which link do you follow?"

    def __init__(
        self,
        max_turns: int = 30,
        min_distance: int = 2,
        max_distance: int = 3,
        graph: Literal["bundled", "kiwix"] | LinkGraph = "bundled",
        seed: int | None = None,
    ) -> None:
        super().__init__(seed)
        if max_turns < 1:
            raise InvalidArgument(f"max_turns must be at least 1, not {max_turns}.")
        if not 1 <= min_distance <= max_distance:
            raise InvalidArgument(f"min_distance must be from 1 to max_distance, not {min_distance}.")
        self.config = Config(max_turns, min_distance, max_distance, graph)
        self.graph = _open(graph)
        self.data_hash = self.graph.data_hash
        self.page = Page("", "", "", ())
        """Where we are."""
        self.target = Page("", "", "", ())
        self.trail: list[str] = []
        """The keys of the pages visited, in order, the present one last."""
        self._ways: dict[str, str] = {}
        self._text = ""

    def _draw(self) -> None:
        self.max_turns = self.config.max_turns
        start, target = self.graph.draw(self.rng, self.config.min_distance, self.config.max_distance)
        self.target = self.graph.page(target)
        self.trail = []
        self._enter(start)

    def _enter(self, key: str) -> None:
        self.trail.append(key)
        self._show(self.graph.page(key))

    def _show(self, page: Page) -> None:
        self.page = page
        self._ways = {link.words.casefold(): link.page for link in page.links}
        links = ", ".join(link.words for link in page.links)
        self._text = f"{page.title}\n{page.text}\nLinks: {links}\nTarget: {self.target.title}\n{self.prompt}"

    def _instructions(self) -> str:
        return (
            f"You are on the page {self.page.title} of an encyclopedia. Reach the page {self.target.title} by "
            f"following links, in at most {self.max_turns} turns.\n"
            "Write the words of a link as they stand in the list of links, for example \\boxed{"
            f"{self.page.links[0].words}}}."
        )

    def _play(self, match: str) -> Played:
        words = " ".join(match.split())
        way = self._ways.get(words.casefold())
        if way is None:
            return f"There is no link {words[:MAX_ECHO]!r} on the page {self.page.title}.", 0.0, "rule"
        self._enter(way)
        if way == self.target.key:
            self.over = self.solved = True
            return f"You reached {self.page.title} with {len(self.trail) - 1} links.", 1.0, None
        return f"You are on the page {self.page.title}.", 0.0, None

    def _suffix(self) -> str:
        return self._text

    def _format_help(self) -> str:
        return "There is no link in your answer. Write its words as \\boxed{WORDS}. The episode ends."

    def _random_action(self, rng: SplitMix64) -> str:
        return f"\\boxed{{{choice(rng, self.page.links).words}}}"

    def _get_own_state(self) -> State:
        return {"target": self.target.key, "trail": list(self.trail)}

    def _set_own_state(self, state: State) -> None:
        self.target = self.graph.page(state["target"])
        self.trail = list(state["trail"])
        self._show(self.graph.page(self.trail[-1]))

    def view(self, seat: int = 0) -> LinksView:
        """The page and its links."""
        seen = set(self.trail)
        links = [Link(text=link.words) for link in self.page.links]
        for shown, link in zip(links, self.page.links, strict=True):
            if not self.over:
                shown["act"] = f"\\boxed{{{link.words}}}"
            if link.page in seen:
                shown["seen"] = True
        return LinksView(
            kind="links",
            name=f"Page {self.page.title}, {len(links)} links",
            title=self.page.title,
            text=self.page.text,
            links=links,
            trail=[self.graph.page(key).title for key in self.trail],
            goal=self.target.title,
            facts=[("Target", self.target.title), ("Links followed", str(len(self.trail) - 1))],
            legend=[("click", "follow a link"), ("Tab", "next link"), ("Enter", "follow it")],
        )


def _open(graph: Literal["bundled", "kiwix"] | LinkGraph) -> LinkGraph:
    """The graph an argument names.

    Raises:
        InvalidArgument: if there is no such graph, or no server is configured.
        EnvironmentFailure: if the server does not answer.
    """
    if graph == "bundled":
        return bundled()
    if not isinstance(graph, str):
        return graph
    if graph != "kiwix":
        raise InvalidArgument(f"graph must be 'bundled', 'kiwix' or a LinkGraph, not {graph!r}.")
    url = os.environ.get(URL_VARIABLE, "")
    if not url:
        raise InvalidArgument(f"graph='kiwix' needs the address of a kiwix server in {URL_VARIABLE}.")
    from gem.data.wiki.kiwix import KiwixGraph  # noqa: PLC0415 (imports urllib, which the bundled graph does not need)

    return KiwixGraph(url, os.environ.get(BOOK_VARIABLE, ""))


register("game:WikiGame-v0", WikiGame)
register("game:WikiGame-v0-easy", WikiGame, max_turns=30, min_distance=2, max_distance=3)
register("game:WikiGame-v0-hard", WikiGame, max_turns=15, min_distance=5, max_distance=6)
