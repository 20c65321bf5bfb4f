"""Boards as text and in colour."""

import importlib.util
import io
import os
import pty
import subprocess
import sys
from pathlib import Path
from typing import get_args

import pytest

import gem
from gem import views
from gem.agents import Request, has_expert, make_agent
from gem.cli.output.screen import STYLES, styled
from gem.views.plain_text import EXTRA_TONES, draw, text_of
from tests.engine.ids import kinds

ROOT = Path(__file__).parents[2]


@pytest.mark.parametrize("env_id", kinds())
def test_every_environment_is_drawn_at_every_turn(env_id: str) -> None:
    env = gem.make(env_id)
    observation, info = env.reset(seed=2)
    player = make_agent("expert" if has_expert(env_id) else "random")
    pictures = [text_of(env.view())]
    for turn in range(1, 6):
        action = player.act([Request(env, observation, info, turn)])[0].action
        observation, _, terminated, truncated, info = env.step(action)
        pictures.append(text_of(env.view()))
        if terminated or truncated:
            break
    assert all(picture.strip() for picture in pictures)
    assert len(set(pictures)) >= len(pictures) - 1  # the last turn may only end the episode
    tones = {span.tone for line in draw(env.view()) for span in line}
    assert tones <= set(STYLES) | {""}


def test_every_tone_has_a_style() -> None:
    assert set(STYLES) == {*get_args(views.Tone), *get_args(views.Piece), *EXTRA_TONES}


def test_a_grid_shows_pieces_indices_and_texts() -> None:
    def cell(**more: object) -> views.Cell:
        return views.Cell(tone="floor", label="a", **more)  # type: ignore[typeddict-item]

    rows = [[cell(piece="box", target=True), cell(piece="player")], [cell(target=True), cell(text="12")]]
    grid = views.GridView(kind="grid", name="g", rows=rows, coords=True, origin=1, facts=[("Left", "3")])
    assert text_of(grid).splitlines() == ["   1  2", "1  *  @", "2  . 12", "Left: 3"]


def test_towers_and_links_and_letters_are_drawn() -> None:
    env = gem.make("game:TowerofHanoi-v0-easy")
    env.reset(seed=0)
    assert text_of(env.view()).splitlines()[:4] == [
        "   ▄      │      │", "  ▄▄▄     │      │", " ▄▄▄▄▄    │      │", "   A      B      C"
    ]  # fmt: skip
    env = gem.make("game:WikiGame-v0-easy")
    env.reset(seed=0)
    view = env.view()
    text = text_of(view)
    assert view["kind"] == "links"
    assert view["links"][0]["text"] in text
    assert f"goal: {view['goal']}" in text
    env = gem.make("game:Wordle-v0-easy")
    env.reset(seed=0)
    env.step(env.sample_random_action())
    assert "Q W E R T Y" in text_of(env.view()).upper()


def test_a_kind_that_is_new_shows_its_text_or_name_and_a_chat_its_messages() -> None:
    assert text_of({"kind": "new", "name": "A new one"}) == "A new one"  # type: ignore[arg-type,typeddict-item]
    chat = {"kind": "chat", "name": "c", "messages": [{"who": "Ada", "text": "Hello"}]}
    assert text_of(chat) == "Ada: Hello"  # type: ignore[arg-type]


@pytest.mark.skipif(importlib.util.find_spec("rich") is None, reason="colours come from rich")
def test_a_board_has_colours() -> None:
    from rich.console import Console

    env = gem.make("game:Sokoban-v0-easy")
    env.reset(seed=1)
    out = io.StringIO()
    console = Console(file=out, force_terminal=True, color_system="standard", width=100)
    for line in draw(env.view()):
        console.print(styled(line))
    assert "\x1b[1;36m@" in out.getvalue()


@pytest.mark.parametrize(("options", "coloured"), [([], True), (["--plain"], False)])
def test_a_terminal_shows_the_board_unless_plain_text_is_asked_for(options: list[str], coloured: bool) -> None:
    ours, theirs = pty.openpty()
    command = [sys.executable, "-m", "gem.cli", "play", "game:Sokoban-v0-easy", "--seed", "1", *options]
    environment = {**os.environ, "TERM": "xterm-256color"}
    environment.pop("NO_COLOR", None)
    process = subprocess.Popen(command, cwd=ROOT, env=environment, stdin=subprocess.PIPE, stdout=theirs)
    os.close(theirs)
    process.communicate(b"quit\n", timeout=60)
    shown = b""
    while True:
        try:
            part = os.read(ours, 65536)
        except OSError:  # the other end is closed
            break
        if not part:
            break
        shown += part
    os.close(ours)
    assert process.returncode == 0
    assert b"You left after 0 turns" in shown
    assert (b"\x1b[" in shown) == (coloured and importlib.util.find_spec("rich") is not None)
