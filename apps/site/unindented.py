"""A template loader that removes indentation.

Indentation makes up a third of the bytes of a page, and live events are sent to sockets without compression.
"""

from __future__ import annotations

import re

from django.template import Origin
from django.template.loaders import filesystem

_VERBATIM = re.compile(r"(<(pre|textarea)\b.*?</\2>)", re.DOTALL)
_INDENTATION = re.compile(r"\n[ \t]+")


class Loader(filesystem.Loader):
    """Reads templates from the folders in `DIRS`. Line breaks stay, so errors report the right line numbers."""

    def get_contents(self, origin: Origin) -> str:
        """The template source without indentation."""
        return unindented(super().get_contents(origin))


def unindented(text: str) -> str:
    """The text without the indentation of its lines, except inside `pre` and `textarea`."""
    parts = _VERBATIM.split(text)
    parts[::3] = [_INDENTATION.sub("\n", part) for part in parts[::3]]
    del parts[2::3]  # the element names that `_VERBATIM` captures
    return "".join(parts)
