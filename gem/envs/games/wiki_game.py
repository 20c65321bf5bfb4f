r"""Find the way from one page to another by following links.

Rules:
    You begin on one page of a small encyclopedia and have to reach another page, whose title you know. In each turn
    you see a page and its links, and follow one of them; you can only go back if a link leads back. A link that is not
    on the page uses up a turn. The shortest way has `min_distance` to `max_distance` links.

Actions:
    `\boxed{WORDS}` follows the link with these words, for example `\boxed{Europe}`. Upper and lower case do not
    matter.

Rewards:
    1 for reaching the target, 0 otherwise. -0.1 for an action that cannot be parsed, which ends the episode.

Pages:
    `graph="bundled"` is a graph of our own (`gem/data/wiki`); an episode on it is determined by its seed and actions.
    `graph="kiwix"` reads the kiwix server whose address is in the environment variable GEM_KIWIX_URL (and the book
    named in GEM_KIWIX_BOOK, if the server has several), and `graph=KiwixGraph(url)` reads any other kiwix server. Its
    book is then part of the episode's identity: an episode can be replayed with the same book only, it needs the
    server, and distances are those of a random walk.

Source:
    GEM (arXiv 2510.01051), `game:WikiGame-v0`; the game itself is older.
"""

from __future__ import annotations

import os
import re
from dataclasses import dataclass
from typing import Literal

from gem.core import State
from gem.data.wiki import LinkGraph, WikiPage, bundled
from gem.envs.game import Game, PlayResult
from gem.errors import InvalidArgument
from gem.registry import register
from gem.rng import SplitMix64, choice
from gem.views import Link, LinksView

URL_VARIABLE, BOOK_VARIABLE = "GEM_KIWIX_URL", "GEM_KIWIX_BOOK"
MAX_ECHO = 60
"""Characters of an unknown link that the observation repeats."""


@dataclass(frozen=True, slots=True)
class Config:
    """Distances are numbers of links on the shortest way."""

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
        self.max_turns = max_turns
        self.graph = _open(graph)
        self.data_hash = self.graph.data_hash
        self.page = WikiPage("", "", "", ())
        """The current page."""
        self.target = WikiPage("", "", "", ())
        self.trail: list[str] = []
        """The keys of the pages visited, in order, ending with the current page."""
        self._targets_by_words: dict[str, str] = {}
        """For each link of the current page, its words in lower case and the key of the page that it leads to."""
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

    def _show(self, page: WikiPage) -> None:
        self.page = page
        self._targets_by_words = {link.words.casefold(): link.page for link in page.links}
        links = ", ".join(link.words for link in page.links)
        self._text = f"{page.title}\n{page.text}\nLinks: {links}\nTarget: {self.target.title}\n{self.prompt}"

    def _instructions(self) -> str:
        return (
            f"You are on the page {self.page.title} of an encyclopedia. Reach the page {self.target.title} by "
            f"following links, in at most {self.max_turns} turns.\n"
            "Write the words of a link as they stand in the list of links, for example \\boxed{"
            f"{self.page.links[0].words}}}."
        )

    def _play(self, match: str) -> PlayResult:
        words = " ".join(match.split())
        target_key = self._targets_by_words.get(words.casefold())
        if target_key is None:
            return f"There is no link {words[:MAX_ECHO]!r} on the page {self.page.title}.", 0.0, "rule"
        self._enter(target_key)
        if target_key == self.target.key:
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
        """The current page and its links. A click on a link follows it."""
        visited = set(self.trail)
        links = [Link(text=page_link.words) for page_link in self.page.links]
        for view_link, page_link in zip(links, self.page.links, strict=True):
            if not self.over:
                view_link["act"] = f"\\boxed{{{page_link.words}}}"
            if page_link.page in visited:
                view_link["seen"] = True
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
    """The graph that the constructor's argument `graph` names.

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


register("game:WikiGame-v0", WikiGame, cost="fast")
register("game:WikiGame-v0-easy", WikiGame, cost="fast", max_turns=30, min_distance=2, max_distance=3)
register("game:WikiGame-v0-hard", WikiGame, cost="fast", max_turns=15, min_distance=5, max_distance=6)
