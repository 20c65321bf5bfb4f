r"""Problems with formulas on pages: drawn on the board and in the replay, with the exact text behind them."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from django.test import Client
from django.utils.html import escape

from apps.agents.models import Agent
from apps.episodes import operations
from apps.episodes.models import Episode
from apps.episodes.templatetags.episodes import bare
from gem import replay
from gem.records import Identity
from tests.packages import skip_without

skip_without("math_core", "math_verify")
pytestmark = pytest.mark.django_db

QUESTION = r"Let $f(x) = \frac{x}{2}$. What is $f(3)$?"


@pytest.fixture
def episode(tmp_path: Path) -> Episode:
    """An episode in which a wrong answer was given."""
    file = tmp_path / "problems.jsonl"
    file.write_text(json.dumps({"problem": QUESTION, "answer": r"\frac{3}{2}"}) + "\n")
    seat = operations.Occupant(Agent.objects.get(slug="human"), visitor="x")
    begun = operations.begin("math:Math12K", seed=0, seats=[seat], env_kwargs={"dataset": str(file)})
    env = replay.make_env(Identity(**begun.identity()))
    env.reset(seed=0)
    operations.record_turn(begun, env, r"I think it is \boxed{\frac{2}{3}}.")
    return begun


def test_the_board_and_the_turns_are_drawn_with_the_text_behind_them(episode: Episode, client: Client) -> None:
    page = client.get(episode.get_absolute_url()).content.decode()
    assert "<mfrac><mi>x</mi><mn>2</mn></mfrac>" in page
    assert "<mfrac><mn>2</mn><mn>3</mn></mfrac>" in page, "the answer that was given"
    assert "<mfrac><mn>3</mn><mn>2</mn></mfrac>" in page, "the correct one"
    assert str(escape(QUESTION)) in page, "the exact text is there on request"
    assert "As the agent reads it" in page
    frames = client.get(f"/episodes/{episode.id}/frames/0/").content.decode()
    assert frames.count("<mfrac><mi>x</mi><mn>2</mn></mfrac>") >= 2


def test_nothing_changes_what_agents_get(episode: Episode, client: Client) -> None:
    record = client.get(f"/episodes/{episode.id}/episode.json").json()
    assert record["first_observation"] == QUESTION
    assert record["turns"][0]["observation"] == r"That is not correct. A correct answer: \frac{3}{2}"


def test_a_row_has_the_whole_of_a_nested_answer() -> None:
    assert bare(r"So \boxed{1} or \boxed{\frac{1}{2}}") == r"\frac{1}{2}"
    assert bare(r"\boxed{up}") == "up"
    assert bare("<bash>ls</bash>") == "ls"
    assert bare("no box\nat all") == "no box at all"
