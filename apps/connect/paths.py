"""The addresses of connections; known before Django is."""

import re

LINE = re.compile(r"/agents/(?P<slug>[-a-zA-Z0-9_]+)/line/?")
"""The socket of a remote agent."""
CHAT = re.compile(r"/e/(?P<episode>[0-9a-z]{1,40})/v1/(?P<what>.*?)/?")
"""Chat completions for one episode, and what else programs ask a model for."""


def is_line(path: str) -> bool:
    """Whether this is the socket of a remote agent, to which programs connect."""
    return LINE.fullmatch(path) is not None
