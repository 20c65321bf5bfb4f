"""WikiGame: breadth-first search through the pages, which are as open to it as an encyclopedia to a reader.

Where a graph is too large to search, it follows the link that shares the most words with the target.
"""

from __future__ import annotations

from gem.agents.agent import Decision
from gem.envs.games.wiki_game import WikiGame

MAX_PAGES = 400
"""How many pages a decision may open; the bundled graph has fewer."""


def search_links(env: WikiGame) -> Decision:
    """The first link of a shortest way to the target."""
    first = {link.page: link.words for link in reversed(env.page.links)}
    distance = dict.fromkeys(first, 1)
    queue = [link.page for link in env.page.links]
    for opened, key in enumerate(queue):
        if key == env.target.key:
            return _follow(first[key], _count(distance[key], env.target.title))
        if opened == MAX_PAGES:
            break
        for link in env.graph.page(key).links:
            if link.page not in first and link.page != env.page.key:
                first[link.page] = first[key]
                distance[link.page] = distance[key] + 1
                queue.append(link.page)
    wanted = set(f"{env.target.title} {env.target.text}".casefold().split())
    fresh = [link for link in env.page.links if link.page not in env.trail] or list(env.page.links)
    best = max(fresh, key=lambda link: len(wanted & set(link.words.casefold().split())))
    return _follow(best.words, f"No way to {env.target.title} is near; this link shares the most words with it.")


def _follow(words: str, note: str) -> Decision:
    return Decision(f"\\boxed{{{words}}}", note)


def _count(links: int, title: str) -> str:
    return f"{title} is one link away." if links == 1 else f"This is the first of {links} links to {title}."
