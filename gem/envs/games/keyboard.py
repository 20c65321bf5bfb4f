"""The letters in the order of a keyboard, for the views of games in which letters are typed."""

from __future__ import annotations

from collections.abc import Mapping

from gem.views import Key, Tone

ROWS = ("QWERTYUIOP", "ASDFGHJKL", "ZXCVBNM")


def draw_keyboard(
    marks: Mapping[str, str], tones: Mapping[str, tuple[Tone, str]], *, playable: bool
) -> list[list[Key]]:
    """The rows of keys.

    Args:
        marks: the mark of each letter about which something is known.
        tones: for each mark its tone and a description in words.
        playable: whether a click on a key types its letter.
    """
    return [[_key(letter, marks, tones, playable) for letter in row] for row in ROWS]


def _key(letter: str, marks: Mapping[str, str], tones: Mapping[str, tuple[Tone, str]], playable: bool) -> Key:
    key = Key(text=letter, label=letter)
    if letter in marks:
        key["tone"], in_words = tones[marks[letter]]
        key["label"] = f"{letter}, {in_words}"
    if playable:
        key["part"] = letter
    return key
