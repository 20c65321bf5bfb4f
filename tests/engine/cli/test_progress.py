"""The bar of downloads and jobs: on a terminal alone, and never in the output."""

from __future__ import annotations

import importlib.util
import io
import sys

import pytest

from gem.cli.server.progress import ProgressBar


class Terminal(io.StringIO):
    """A terminal that remembers what was written."""

    def isatty(self) -> bool:
        return True


def _move() -> None:
    with ProgressBar("Episodes", "episodes") as bar:
        bar(1, 4)
        print("a line of the log")
        bar(4, 4)


def test_elsewhere_nothing_is_shown(capsys: pytest.CaptureFixture[str]) -> None:
    _move()
    assert capsys.readouterr() == ("a line of the log\n", "")


def test_without_rich_it_is_a_line_of_text(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    terminal = Terminal()
    monkeypatch.setattr(sys, "stderr", terminal)
    monkeypatch.setattr(importlib.util, "find_spec", lambda _: None)
    _move()
    assert terminal.getvalue().split("\r") == ["", "Episodes: 1 of 4 episodes", "Episodes: 4 of 4 episodes\n"]
    assert capsys.readouterr().out == "a line of the log\n"


def test_with_rich_the_output_still_goes_where_it_was_sent(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    pytest.importorskip("rich")
    terminal = Terminal()
    monkeypatch.setattr(sys, "stderr", terminal)
    monkeypatch.setenv("TERM", "xterm")
    _move()
    assert "Episodes" in terminal.getvalue()
    assert "a line of the log" not in terminal.getvalue()
    assert capsys.readouterr().out == "a line of the log\n"
