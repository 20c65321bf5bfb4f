"""Environments by pattern: `game:*`, `rg:*`, `game:*-v0-easy`. A pattern stands for the ids that it matches now."""

from __future__ import annotations

from collections.abc import Collection, Iterable
from fnmatch import fnmatchcase

from gem import registry
from gem.errors import UnknownEnvironment

WILDCARD = "*"
MAX_PATTERN = 120
"""The longest pattern. No id is longer."""


def expand(patterns: Iterable[str]) -> list[str]:
    """Return the ids that the patterns match, each once, in the order of the patterns and of the registry.

    An entry without a wildcard is an id and stays as it is, also if it is unknown or is written twice.

    Raises:
        UnknownEnvironment: if a pattern matches nothing.
    """
    ids: list[str] = []
    written: set[str] = set()
    for pattern in patterns:
        if WILDCARD not in pattern:
            if pattern not in ids or pattern in written:
                ids.append(pattern)
            written.add(pattern)
            continue
        matches = matching(pattern)
        if not matches:
            raise UnknownEnvironment(f"No environment matches {pattern[:MAX_PATTERN]!r}.")
        ids += [env_id for env_id in matches if env_id not in ids]
    return ids


def matching(pattern: str, among: Iterable[str] | None = None) -> list[str]:
    """The registered ids, or those `among` these, that a pattern or an id matches."""
    ids = [spec.id for spec in registry.specs()] if among is None else among
    if len(pattern) > MAX_PATTERN or pattern.count(WILDCARD) > 2:
        return []
    if WILDCARD not in pattern:
        return [env_id for env_id in ids if env_id == pattern]
    plain = pattern.replace("[", "[[]").replace("?", "[?]")  # only the wildcard has a meaning
    return [env_id for env_id in ids if fnmatchcase(env_id, plain)]


def compact(ids: Collection[str]) -> list[str]:
    """Return a shortest list of patterns and ids for these ids: whole categories, and whole difficulties of one.

    `expand` of it gives the same ids. What has the first of the ids comes first.
    """
    chosen = set(ids)
    by_category: dict[str, list[str]] = {}
    prefixes = tuple({f"{env_id.partition(':')[0]}:" for env_id in chosen if ":" in env_id})
    for spec in registry.specs():
        if spec.id.startswith(prefixes) or ":" not in spec.id:
            by_category.setdefault(spec.category, []).append(spec.id)
    tokens: dict[str, list[str]] = {}
    for category, all_ids in sorted(by_category.items()):
        tokens |= _of_category(category, all_ids, [env_id for env_id in all_ids if env_id in chosen])
    known = {env_id for all_ids in by_category.values() for env_id in all_ids}
    tokens |= {env_id: [env_id] for env_id in ids if env_id not in known}
    places = {env_id: place for place, env_id in reversed(list(enumerate(ids)))}
    return sorted(tokens, key=lambda token: min(places[env_id] for env_id in tokens[token]))


def _of_category(category: str, ids: list[str], chosen: list[str]) -> dict[str, list[str]]:
    """Patterns and ids for the chosen ids of a category, each with all that it matches."""
    left = chosen
    tokens: dict[str, list[str]] = {}
    for pattern in [f"{category}:*", *_of_difficulties(category, left)] if left else []:
        matches = matching(pattern, ids)
        if len(matches) > 1 and set(matches) <= set(left):
            tokens[pattern] = matches
            left = [env_id for env_id in left if env_id not in matches]
    return {**tokens, **{env_id: [env_id] for env_id in left}}


def _of_difficulties(category: str, ids: Iterable[str]) -> list[str]:
    """Patterns for the ends of these ids, from the version on: `game:*-v0-easy`, or `game:*-v0`."""
    ends = dict.fromkeys(env_id[env_id.rindex("-v") :] for env_id in ids if "-v" in env_id)
    return [f"{category}:*{end}" for end in ends]
