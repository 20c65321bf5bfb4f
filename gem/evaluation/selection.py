"""Environments by pattern: `game:*`, `rg:*`, `game:*-v0-easy`. A pattern stands for the ids that it matches now."""

from __future__ import annotations

from collections.abc import Collection, Iterable
from fnmatch import fnmatchcase
from itertools import groupby
from operator import attrgetter

from gem import registry
from gem.errors import UnknownEnvironment
from gem.registry import EnvSpec

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
    tokens: list[str] = []
    for category, group in groupby(sorted(registry.specs(), key=attrgetter("category")), key=attrgetter("category")):
        tokens += _of_category(category, list(group), chosen)
    known = {spec.id for spec in registry.specs()}
    tokens += [env_id for env_id in ids if env_id not in known]
    places = {env_id: place for place, env_id in reversed(list(enumerate(ids)))}
    return sorted(tokens, key=lambda token: min(places[env_id] for env_id in matching(token, chosen) or [token]))


def _of_category(category: str, specs: list[EnvSpec], chosen: set[str]) -> list[str]:
    left = [spec for spec in specs if spec.id in chosen]
    if not left:
        return []
    ids = [spec.id for spec in specs]
    tokens: list[str] = []
    for pattern in [f"{category}:*", *_of_difficulties(category, left)]:
        matches = set(matching(pattern, ids))
        if len(matches) > 1 and matches <= {spec.id for spec in left}:
            tokens.append(pattern)
            left = [spec for spec in left if spec.id not in matches]
    return [*tokens, *(spec.id for spec in left)]


def _of_difficulties(category: str, specs: Iterable[EnvSpec]) -> list[str]:
    """Patterns for the ends of these ids, from the version on: `game:*-v0-easy`, or `game:*-v0`."""
    ends = dict.fromkeys(spec.id[spec.id.rindex("-v") :] for spec in specs if "-v" in spec.id)
    return [f"{category}:*{end}" for end in ends]
