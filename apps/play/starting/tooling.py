"""Contact tools that depend on a server, such as MCP tools, before an episode begins. Servers may be slow or hang.

This happens within `TOOL_SECONDS`, before a transaction begins and without holding a database connection. The answer,
or that there was none, is cached for a while (`gem.tools.mcp.listings`), so that a hanging server delays only few
requests.
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
    """Prepare the tools of an episode that is about to begin.

    Raises:
        Refusal: a tool cannot be used now, or its server did not answer in time; nothing was started.
        gem.errors.UnknownEnvironment, gem.errors.InvalidArgument: the message is for the person.
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
