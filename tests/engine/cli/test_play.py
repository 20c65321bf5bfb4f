"""`gemweb play`: an episode in the terminal."""

import io

import pytest

import gem
from tests.engine.cli.conftest import Run

ENV_ID = "game:GuessTheNumber-v0-easy"


@pytest.fixture
def typed(monkeypatch: pytest.MonkeyPatch):
    """`typed("5", "quit")` is what the player types."""

    def type_lines(*lines: str) -> None:
        monkeypatch.setattr("sys.stdin", io.StringIO("".join(f"{line}\n" for line in lines)))

    return type_lines


def secret(seed: int) -> int:
    env = gem.make(ENV_ID)
    env.reset(seed=seed)
    return env.get_state()["secret"]


def test_a_bare_action_is_put_into_its_box(run: Run, typed) -> None:
    typed(str(secret(3)))
    code, out, _ = run("play", ENV_ID, "--seed", 3)
    assert code == 0
    assert "Solved after 1 turn, with a return of 1." in out
    assert "gemweb play game:GuessTheNumber-v0-easy --seed 3" in out


def test_an_action_in_its_box_is_taken_as_it_is(run: Run, typed) -> None:
    typed(f"I think \\boxed{{{secret(4)}}}")
    assert "Solved after 1 turn" in run("play", ENV_ID, "--seed", 4).out


def test_the_observation_is_followed_by_the_suffix_and_the_turn(run: Run, typed) -> None:
    typed("quit")
    out = run("play", ENV_ID, "--seed", 3).out
    env = gem.make(ENV_ID)
    observation, info = env.reset(seed=3)
    assert f"{observation}\n\n{info['suffix']}\n\nTurn 1 of 4. Your action: " in out
    assert out.endswith("You left after 0 turns with a return of 0.\n")
    assert "\x1b" not in out


def test_a_question_mark_shows_the_rules_and_takes_no_turn(run: Run, typed) -> None:
    typed("?", "", "quit")
    out = run("play", ENV_ID).out
    assert "Rewards:" in out
    assert "after 0 turns" in out


def test_a_hint_takes_no_turn(run: Run, typed) -> None:
    typed("hint", "quit")
    out = run("play", ENV_ID).out
    assert "The expert would write \\boxed{5}." in out
    assert "after 0 turns" in out


def test_the_end_of_the_input_leaves(run: Run, typed) -> None:
    typed()
    code, out, _ = run("play", ENV_ID)
    assert code == 0
    assert "You left after 0 turns" in out


def test_the_turn_limit_is_told_apart_from_a_loss(run: Run, typed) -> None:
    wrong = str(secret(3) % 10 + 1)
    typed(*[wrong] * 4)
    assert "The turn limit is reached after 4 turns" in run("play", ENV_ID, "--seed", 3).out
    typed("\\boxed{many}")
    assert "Not solved after 1 turn, with a return of -0.1." in run("play", ENV_ID, "--seed", 3).out


def test_it_plays_environments_of_other_modules(run: Run, typed, coin_row) -> None:
    typed("left", "left", "left", "left")
    code, out, _ = run("play", "game:CoinRow-v0", "--seed", 1, "--module", coin_row())
    assert code == 0
    assert "olved after 4 turns" in out
