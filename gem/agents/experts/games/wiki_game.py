"""The expert for WikiGame: a breadth-first search through the pages, which it may open as any reader may.

If the target is not among the first `MAX_PAGES` pages, it follows the link that shares the most words with the target.
"""

from __future__ import annotations

from gem.agents.agent import Decision
from gem.envs.games.wiki_game import WikiGame

MAX_PAGES = 400
"""The number of pages that the search for one decision may open; the bundled graph has fewer."""


def search_links(env: WikiGame) -> Decision:
    """Follow the first link of a shortest way to the target."""
    first_links = {link.page: link.words for link in reversed(env.page.links)}
    distances = dict.fromkeys(first_links, 1)
    queue = [link.page for link in env.page.links]
    for num_opened, key in enumerate(queue):
        if key == env.target.key:
            return _follow(first_links[key], _distance_note(distances[key], env.target.title))
        if num_opened == MAX_PAGES:
            break
        for link in env.graph.page(key).links:
            if link.page not in first_links and link.page != env.page.key:
                first_links[link.page] = first_links[key]
                distances[link.page] = distances[key] + 1
                queue.append(link.page)
    target_words = set(f"{env.target.title} {env.target.text}".casefold().split())
    new_links = [link for link in env.page.links if link.page not in env.trail] or list(env.page.links)
    best_link = max(new_links, key=lambda link: len(target_words & set(link.words.casefold().split())))
    return _follow(best_link.words, f"No way to {env.target.title} is near; this link shares the most words with it.")


def _follow(words: str, note: str) -> Decision:
    return Decision(f"\\boxed{{{words}}}", note)


def _distance_note(links: int, title: str) -> str:
    return f"{title} is one link away." if links == 1 else f"This is the first of {links} links to {title}."
