"""How templates are read: without the indentation, which serves their authors only.

It is a third of a page's bytes, and live events go to every socket as they are, not packed.
"""

from __future__ import annotations

import re

from django.template import Origin
from django.template.loaders import filesystem

_VERBATIM = re.compile(r"(<(pre|textarea)\b.*?</\2>)", re.DOTALL)
_INDENTATION = re.compile(r"\n[ \t]+")


class Loader(filesystem.Loader):
    """Reads templates from the folders of `DIRS`. Lines stay lines, so an error names the right one."""

    def get_contents(self, origin: Origin) -> str:
        """A template's text without the white space that its lines begin with."""
        return unindented(super().get_contents(origin))


def unindented(text: str) -> str:
    """A text whose lines begin at the margin, but for those within `pre` and `textarea`."""
    parts = _VERBATIM.split(text)
    parts[::3] = [_INDENTATION.sub("\n", part) for part in parts[::3]]
    del parts[2::3]  # the names of the elements that stay as they are
    return "".join(parts)
