"""What others wrote cannot steer the terminal in which it is printed."""

from __future__ import annotations

import pytest

from gem import cli
from gem.cli import envs
from gem.cli.output.tables import table
from gem.cli.output.terminal import printable
from gem.client.errors import api_error


def test_cells_keep_their_lines_and_columns(capsys: pytest.CaptureFixture[str]) -> None:
    table(["agent", "answer"], [["a\x1b[2Jb", "two\nlines"], ["\u202eba", "\x9b1m\ttab"]])
    assert capsys.readouterr().out.splitlines() == [
        "agent      answer",
        "a\ufffd[2Jb  two lines",
        "\ufffdba       \ufffd1m tab",
    ]


def test_ordinary_text_stays_as_it_is() -> None:
    text = "Zwölf − 5 µ\n\t日本語 \u0645\u0631\u062d\u0628\u0627 👩\u200d🔬"
    assert printable(text) == text


def test_an_error_of_a_server_cannot_clear_the_screen(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def refuse(**_: object) -> int:
        raise api_error(403, b"\x1b[2J\x1b[31mall is well")

    monkeypatch.setattr(envs, "run", refuse)
    assert cli.main(["envs"]) == 2
    said = capsys.readouterr().err
    assert "\x1b" not in said
    assert "all is well" in said
