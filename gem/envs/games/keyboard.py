"""The letters as they lie on a keyboard, for games in which letters are typed."""

from __future__ import annotations

from collections.abc import Mapping

from gem.views import Key, Tone

ROWS = ("QWERTYUIOP", "ASDFGHJKL", "ZXCVBNM")


def draw_keyboard(
    known: Mapping[str, str], tones: Mapping[str, tuple[Tone, str]], *, playable: bool
) -> list[list[Key]]:
    """The rows of keys; `known` gives each known letter its mark, `tones` each mark its tone and words."""
    return [[_key(letter, known, tones, playable) for letter in row] for row in ROWS]


def _key(letter: str, known: Mapping[str, str], tones: Mapping[str, tuple[Tone, str]], playable: bool) -> Key:
    key = Key(text=letter, label=letter)
    if letter in known:
        key["tone"], in_words = tones[known[letter]]
        key["label"] = f"{letter}, {in_words}"
    if playable:
        key["part"] = letter
    return key
