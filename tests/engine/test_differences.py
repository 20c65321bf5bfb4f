"""Where our rules differ from GEM's on purpose (docs/differences-from-gem.md)."""

import pytest

import gem
from gem.errors import InvalidArgument


def test_a_guess_of_zero_is_out_of_range_and_the_episode_goes_on() -> None:
    env = gem.make("game:GuessTheNumber-v0-easy")
    env.reset(seed=1)
    _, reward, terminated, truncated, info = env.step("\\boxed{0}")
    assert (reward, terminated, truncated, info["error"]) == (0.0, False, False, "rule")


def test_minesweeper_is_solved_without_flags() -> None:
    env = gem.make("game:Minesweeper-v0-easy")
    env.reset(seed=1)
    total, terminated = 0.0, False
    order = [12, *(cell for cell in range(25) if cell != 12)]
    for cell in order:
        if env.mines is not None and (cell in env.mines or env.visible_cells[cell] != "."):
            continue
        _, reward, terminated, _, info = env.step(f"\\boxed{{reveal {cell // 5} {cell % 5}}}")
        total += reward
    assert terminated
    assert info["success"] is True
    assert total == pytest.approx(1.0)
    assert "F" not in env.visible_cells


def test_more_mines_than_fit_are_refused() -> None:
    with pytest.raises(InvalidArgument, match="from 1 to 16"):
        gem.make("game:Minesweeper-v0-easy", num_mines=17)
    env = gem.make("game:Minesweeper-v0-easy", num_mines=16)
    env.reset(seed=1)
    *_, info = env.step("\\boxed{reveal 2 2}")
    assert info["success"] is True


def test_a_flag_keeps_a_safe_cell_shut_and_does_not_protect_from_a_mine() -> None:
    env = gem.make("game:Minesweeper-v0-easy")
    env.reset(seed=1)
    env.step("\\boxed{flag 0 0}")
    _, reward, terminated, _, info = env.step("\\boxed{reveal 0 0}")
    assert (reward, terminated, info["error"]) == (0.0, False, "rule")
    mine = min(env.mines)
    env.step(f"\\boxed{{flag {mine // 5} {mine % 5}}}")
    _, reward, terminated, _, info = env.step(f"\\boxed{{reveal {mine // 5} {mine % 5}}}")
    assert (reward, terminated, info["success"]) == (0.0, True, False)


def test_random_sokoban_draws_both_sizes() -> None:
    env = gem.make("game:Sokoban-v0-random")
    drawn = set()
    for seed in range(30):
        env.reset(seed=seed)
        drawn.add((len(env.view()["rows"]), env.boxes, env.max_turns))
    assert drawn == {(6, 2, 20), (8, 5, 50)}
    with pytest.raises(InvalidArgument, match="takes no argument 'room_size'"):
        gem.make("game:Sokoban-v0-random", room_size=(6, 6))


def test_the_turn_limit_keeps_the_last_answer() -> None:
    env = gem.make("game:GuessTheNumber-v0-easy")
    env.reset(seed=1)
    wrong = 1 if env.secret != 1 else 2
    for _ in range(3):
        env.step(f"\\boxed{{{wrong}}}")
    observation, reward, terminated, truncated, info = env.step(f"\\boxed{{{wrong}}}")
    assert "guessed" in observation
    assert "turn limit" in observation
    assert (terminated, truncated, info["success"]) == (False, True, False)
    assert reward == pytest.approx(1 - abs(wrong - env.secret) / 9)
