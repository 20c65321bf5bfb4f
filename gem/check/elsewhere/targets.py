"""What the argument of `gemweb check` names, if it is not an environment of this engine."""

from __future__ import annotations

from typing import Literal, NamedTuple, get_args

from gem.errors import InvalidArgument

Kind = Literal["gem", "gymnasium", "verifiers", "openenv"]
PACKAGES: tuple[Kind, ...] = ("gem", "gymnasium", "verifiers")
ALL = "all"
"""In the place of an id of a package for GEM: the package itself, and all its environments that need no downloads."""
PACKAGE = "package"
"""In the same place: the package itself alone."""
EXAMPLES = {"gem": "gem:game:Sokoban-v0-easy", "gymnasium": "gymnasium:FrozenLake-v1", "verifiers": "verifiers:my-env"}
assert set(PACKAGES) < set(get_args(Kind))


class Target(NamedTuple):
    """An environment of another package, or a server."""

    kind: Kind
    name: str
    """The id in its package, `ALL`, or the address of the server."""


def read_target(name: str) -> Target | None:
    """What a name stands for; None if it is an id of this engine.

    Raises:
        InvalidArgument: if it has a kind and nothing else.
    """
    if name.startswith(("http://", "https://")):
        return Target("openenv", name)
    kind, _, rest = name.partition(":")
    if kind == "openenv" and rest:
        return Target("openenv", rest.replace("+", "/"))
    for package in PACKAGES:
        if kind == package:
            if not rest:
                raise InvalidArgument(f"{package}: is followed by an id, for example {EXAMPLES[package]}.")
            return Target(package, rest)
    return None
