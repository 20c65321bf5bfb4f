r"""Escape sequences: colours are kept, nothing else has an effect."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gem.views.ansi import STYLES, plain, spans


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("plain", [("plain", "")]),
        ("\x1b[31mred\x1b[0m", [("red", "fg-1")]),
        ("\x1b[1;4;91;42mall\x1b[m", [("all", "bg-2 bold fg-9 underline")]),
        ("\x1b[31m\x1b[39mgone", [("gone", "")]),
        ("\x1b[1mb\x1b[22mn", [("b", "bold"), ("n", "")]),
        ("\x1b[38;5;196mx\x1b[48;5;4my", [("x", "fg-9"), ("y", "bg-4 fg-9")]),
        ("\x1b[38;2;0;0;0mx", [("x", "fg-0")]),
        ("\x1b[38;5mx", [("x", "")]),
        ("a\r\nb\rc", [("a\nbc", "")]),
        ("\x1b]0;title\x07t", [("t", "")]),
        ("\x1b]8;;http://x\x1b\\link\x1b]8;;\x1b\\", [("link", "")]),
        ("\x1b[2J\x1b[10;10Hx\x1b[?25l", [("x", "")]),
        ("\x1bPq#0\x1b\\x", [("x", "")]),
        ("\x9b31mx", [("x", "")]),
        ("a\x08\x00\x7fb", [("ab", "")]),
        ("\u202eevil\u2066", [("evil", "")]),
        ("\x1b[31", []),
        ("\x1b[99999999999mx", [("x", "")]),
        ("\x1b]0;never ended", []),
    ],
)
def test_only_colours_and_weights_are_kept(text: str, expected: list[tuple[str, str]]) -> None:
    assert spans(text) == expected


@given(st.text(alphabet=st.sampled_from("\x1b[]0123456789;:mHJKPq\\\x07\x9b\x9d\u202eab \n"), max_size=200))
def test_nothing_of_a_sequence_ever_gets_through(text: str) -> None:
    for part, style in spans(text):
        assert part
        assert not set(part) & set("\x1b\x07\x9b\x9d\u202e\x00")
        assert set(style.split()) <= set(STYLES)
    assert plain(plain(text)) == plain(text)
