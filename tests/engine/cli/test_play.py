"""`gemweb play`: an episode in the terminal."""

import io
import sys
from pathlib import Path

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


@pytest.mark.parametrize("form", ["{}", "<answer>{}</answer>", "\\boxed{{{}}}"])
def test_a_bare_answer_is_put_between_its_tags(form: str, run: Run, typed) -> None:
    env = gem.make("qa:NaturalQuestions")
    env.reset(seed=3)
    typed(form.format(env.problem["answer"][0]))
    assert "Solved after 1 turn, with a return of 1." in run("play", "qa:NaturalQuestions", "--seed", 3).out


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


def test_an_opponent_sits_in_the_other_seat(run: Run, typed) -> None:
    typed("quit")
    out = run("play", "duel:TicTacToe-v0", "--seat", 1, "--seed", 3).out
    assert "You are O.\nX takes cell 5." in out
    typed("1", "quit")
    out = run("play", "duel:TicTacToe-v0", "--opponent", "random", "--seed", 3).out
    assert "You are X." in out
    assert "X takes cell 1.\nO takes cell" in out


def test_two_people_play_at_one_terminal_and_each_reads_its_own_text(run: Run, typed) -> None:
    typed("bet", "fold")
    out = run("play", "duel:KuhnPoker-v0", "--opponent", "human", "--seed", 3).out
    _, first, second = out.split("\nSeat ", 2)
    assert first.startswith("0:")
    assert "You are the first player. Your card is the jack." in first
    assert second.startswith("1:")
    assert "Your card is the king." in second
    assert "Seat 0 succeeded after 2 turns, with a return of 0.5 and -0.5." in second
    assert "--seed 3 --opponent human" in second


def test_seats_that_there_are_not_are_refused_in_a_sentence(run: Run) -> None:
    for arguments, sentence in (
        ([ENV_ID, "--seat", 0], "has one seat"),
        (["duel:TicTacToe-v0", "--seat", 2], "The seats are 0 to 1"),
        (["duel:TicTacToe-v0", "--seat", 1, "--opponent", "human"], "leave --seat out"),
        (["duel:TicTacToe-v0", "--opponent", "exprt"], "Did you mean expert"),
    ):
        ran = run("play", *arguments)
        assert ran.code == 2
        assert sentence in ran.err


def test_a_tool_is_used_between_guesses(run: Run, typed) -> None:
    pytest.importorskip("bm25s")
    typed("<search>tea</search>", str(secret(3)))
    out = run("play", ENV_ID, "--seed", 3, "--tool", "search:wikigame", "--tool-uses", 2).out
    assert "Doc 1(Title: " in out
    assert "Solved after 2 turns" in out
    assert f"gemweb play {ENV_ID} --seed 3 --tool search:wikigame --tool-uses 2" in out


def test_tools_are_refused_where_there_are_tools_already(run: Run) -> None:
    assert "has tools of its own" in run("play", "math:GSM8K-python", "--tool", "python").err


def test_the_command_that_plays_it_again_names_the_module(
    run: Run, typed, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "own_guesses.py").write_text(
        "import gem\ngem.register('own:Guess-v0', 'gem.envs.games.guess_the_number:GuessTheNumber', max_turns=1)\n"
    )
    monkeypatch.chdir(tmp_path)
    typed("1")
    try:
        code, out, _ = run("play", "own:Guess-v0", "--module", "own_guesses", "--seed", 3)
    finally:
        gem.registry.ENV_REGISTRY.pop("own:Guess-v0", None)
        sys.modules.pop("own_guesses", None)
    assert code == 0
    assert out.endswith("gemweb play own:Guess-v0 --seed 3 --module own_guesses\n")
