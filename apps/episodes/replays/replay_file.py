"""One HTML file with the whole replay of an episode: its boards, styles and player. It needs no network and no server.

Its only script is our own player, named by its hash in the file's security policy, so that nothing that an agent or an
environment wrote can run.
"""

from __future__ import annotations

import hashlib
import re
from base64 import b64encode
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import Any

from django.conf import settings
from django.template.loader import render_to_string
from django.templatetags.static import static

from apps.episodes.replays.replay_frames import replay_frames
from apps.episodes.snapshot import Snapshot

MAX_TURNS = 2_000
"""A file with more turns would be too large for a browser to open comfortably."""
FRAMES_IN_A_PIECE = 25
_STATIC = Path(settings.BASE_DIR) / "static"
_SCRIPTS = ("messages.js", "transport.js", "jumps.js", "replay_file.js")
"""The modules of the player, in the order in which they need one another."""
_IMPORT = re.compile(r"^import .*;\n", re.MULTILINE)
_EXPORT = re.compile(r"^export ", re.MULTILINE)
_FONT = re.compile(r"^@font-face .*\n", re.MULTILINE)
_STYLE_IMPORT = re.compile(r"^@import .*\n", re.MULTILINE)


def pieces(shot: Snapshot) -> Iterator[str]:
    """The file in pieces, from the viewpoint of the snapshot."""
    episode = shot.episode
    frames = replay_frames(episode, 0, episode.turn_count, shot.viewpoint)
    context: dict[str, Any] = {
        "episode": episode,
        "shot": shot,
        "seats": shot.seats,
        "seat": shot.seat,
        "standings": shot.standings,
        "several": episode.seat_count > 1,
        "moment": frames[0],
        "address": f"{settings.SITE_URL}{episode.get_absolute_url()}",
    }
    script = _script()
    digest = b64encode(hashlib.sha256(script.encode()).digest()).decode()
    head, foot = render_to_string("episodes/replay_file.html", {**context, "digest": digest}).split("<!--frames-->")
    yield _offline(head).replace("<!--styles-->", f"<style>{_styles()}</style>").replace("<!--icons-->", _icons())
    for first in range(0, len(frames), FRAMES_IN_A_PIECE):
        part = {**context, "moments": frames[first : first + FRAMES_IN_A_PIECE]}
        yield _offline(render_to_string("episodes/frames.html", part))
    yield _offline(foot).replace("<!--script-->", f'<script type="module">{script}</script>')


def _offline(html: str) -> str:
    """The same HTML with its icons from the file itself."""
    return html.replace(f"{static('icons.svg')}#", "#")


@cache
def _script() -> str:
    """The modules of the player as one script."""
    texts = [(_STATIC / "js" / name).read_text() for name in _SCRIPTS]
    return "\n".join(_EXPORT.sub("", _IMPORT.sub("", text)) for text in texts)


@cache
def _styles() -> str:
    """The stylesheets as one, with the fonts of the system."""
    tokens, main, boards = ((_STATIC / "css" / f"{name}.css").read_text() for name in ("tokens", "gemweb", "boards"))
    first, rest = _STYLE_IMPORT.sub("", main).split(";\n", 1)  # the order of the layers comes before all of them
    return f"{first};\n{_FONT.sub('', tokens)}\n@layer boards {{\n{boards}\n}}\n{rest}"


@cache
def _icons() -> str:
    """The symbols of all icons and pieces."""
    return (_STATIC / "icons.svg").read_text()
