"""Tools that have to ask elsewhere before an episode can begin: MCP servers, which may be slow or hang.

They are asked here, within `TOOL_SECONDS`, before a transaction is begun or a connection to the database is held. What
they said, and that one did not answer, is remembered for a while (`gem.tools.mcp.listings`), so that a server that
hangs costs one request a moment and not every one.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import closing
from typing import Any

from django.conf import settings
from django.db import connection

import gem
from apps.episodes.errors import Refusal
from gem.errors import EnvironmentFailure
from gem.wrappers import wrap


def ask_tools(env_id: str, wrappers: Sequence[Mapping[str, Any]] = ()) -> None:
    """Return once the tools of an episode that is about to begin can be described.

    Raises:
        Refusal: a tool cannot be used now, or did not say so in time; nothing was begun.
        gem.errors.UnknownEnvironment, gem.errors.InvalidArgument: with a sentence for the person.
    """
    if not wrappers and not gem.spec(env_id).tools:
        return
    with closing(wrap(gem.make(env_id), [dict(wrapper) for wrapper in wrappers])) as env:
        prepare = getattr(env, "prepare_tools", None)
        if prepare is None:
            return
        if not connection.in_atomic_block:
            connection.close()  # a slow server must not keep a connection of the pool
        try:
            prepare(settings.TOOL_SECONDS)
        except EnvironmentFailure as failure:
            raise Refusal(str(failure)) from failure
