"""A search engine for agents: `<search>capital of Japan</search>`.

It asks a server, as GEM's does, or an index on this machine (see `gem.tools.search.index`), which needs no server.
"""

from __future__ import annotations

import os
from typing import Annotated, Any, ClassVar

from gem.errors import InvalidArgument, MissingDependency, ToolError
from gem.tools.search import index as search_index
from gem.tools.search import server as search_server
from gem.tools.search.passages import Passage
from gem.tools.tool import BaseTool, ToolOutput

TIMEOUT = 5.0
"""Seconds, as in GEM."""
TOPK = 3
AUTO = "auto"
MOST = 100


class SearchTool(BaseTool):
    """Finds passages that may answer a question, and gives back their titles and texts."""

    name: ClassVar[str] = "search"
    tool_type: ClassVar[str] = "search"

    def __init__(
        self,
        num_workers: int = 1,
        search_url: str | None = None,
        topk: int = TOPK,
        timeout: float = TIMEOUT,
        index: str | None = None,
    ) -> None:
        """Make the tool.

        Args:
            num_workers: accepted as GEM's scripts pass it; without effect.
            search_url: the address of a server.
            topk: passages in an answer.
            timeout: seconds for a server's answer.
            index: the name or folder of an index, instead of a server; "wikigame" comes with the package.

        Without `search_url` and `index`, those in the environment variables `SEARCH_URL` and `GEM_SEARCH_INDEX` are
        asked when an episode begins. With `index="auto"` too, and "wikigame" if neither is set: the built-in samples
        of question sets ask about its pages.

        Raises:
            InvalidArgument: if an argument is impossible, or both a server and an index are named.
        """
        super().__init__(num_workers)
        if search_url is not None and index is not None:
            raise InvalidArgument("Search a server (search_url) or an index, not both.")
        if not 1 <= topk <= MOST or timeout <= 0:
            raise InvalidArgument(f"topk is from 1 to {MOST}, and the timeout more than 0 s.")
        self.search_url = None if search_url is None else search_server.check_url(search_url)
        self.topk, self.timeout, self.index = topk, timeout, index
        self.repeatable = index is not None and not (index == AUTO and os.environ.get("SEARCH_URL"))

    def reset(self) -> None:
        """As `BaseTool.reset`: there has to be something to search."""
        url, index = self._engine()
        if url is None:
            self._open(index)

    def run(self, query: Annotated[str, "what to look for, in a few words"]) -> ToolOutput:
        """As `BaseTool.run`."""
        url, index = self._engine()
        if url is not None:
            return ToolOutput(_listed(search_server.ask(url, query, self.topk, self.timeout)))
        opened = self._open(index)
        return ToolOutput(_listed(opened.search(query, self.topk)), details={"index": opened.fingerprint})

    def format_output(self, output: str) -> str:
        """See `BaseTool.format_output`; in GEM's form."""
        return f"\n\n<information>{output}</information>\n\n"

    def instruction_string(self) -> str:
        """As `BaseTool.instruction_string`."""
        return (
            "Search: write a query between <search> and </search>, and the passages that fit it best come back between "
            "<information> and </information>. Search again with other words if they do not say what you need."
        )

    def settings(self) -> dict[str, Any]:
        """As `BaseTool.settings`; the server's address is left out, because it may be a secret of this machine."""
        settings = {"topk": self.topk, "timeout": self.timeout, "index": self.index}
        defaults = {"topk": TOPK, "timeout": TIMEOUT, "index": None}
        return {name: value for name, value in settings.items() if value != defaults[name]}

    def _engine(self) -> tuple[str | None, str]:
        """The server's address, or the index."""
        if self.index not in (None, AUTO):
            return None, str(self.index)
        url = self.search_url or os.environ.get("SEARCH_URL")
        index = os.environ.get("GEM_SEARCH_INDEX") or (search_index.BUNDLED if self.index == AUTO else "")
        if not url and not index:
            raise ToolError(
                "There is nothing to search: name an index or a search_url, or set GEM_SEARCH_INDEX or SEARCH_URL."
            )
        return url or None, index

    @staticmethod
    def _open(index: str) -> search_index.Index:
        try:
            return search_index.open_index(index)
        except (InvalidArgument, MissingDependency) as error:
            raise ToolError(str(error)) from error


def _listed(passages: list[Passage]) -> str:
    """The passages as GEM writes them."""
    if not passages:
        return "Nothing was found."
    return "".join(f"Doc {i}(Title: {title}) {text}\n" for i, (title, text, _) in enumerate(passages, 1))
