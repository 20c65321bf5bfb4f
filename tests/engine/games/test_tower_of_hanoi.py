"""Tower of Hanoi: moves that are allowed, those that are not, and what counts at the limit."""

import pytest

import gem
from gem.envs.games.tower_of_hanoi import TowerOfHanoi


def make(num_disks: int = 3, max_turns: int = 10) -> TowerOfHanoi:
    env = gem.make("game:TowerofHanoi-v0", num_disks=num_disks, max_turns=max_turns).unwrapped
    assert isinstance(env, TowerOfHanoi)
    env.reset(seed=0)
    return env


@pytest.mark.parametrize("action", ["A C", "AC", "a,c", "a , C", "A\nC"])
def test_a_move_is_written_in_several_ways(action: str) -> None:
    env = make()
    env.step(f"\\boxed{{{action}}}")
    assert env.towers == {"A": "32", "B": "", "C": "1"}


@pytest.mark.parametrize(("action", "said"), [("B A", "empty"), ("A A", "to another"), ("A C", "larger")])
def test_moves_that_are_not_allowed_change_nothing(action: str, said: str) -> None:
    env = make()
    env.step("\\boxed{A C}")
    before = dict(env.towers)
    observation, reward, terminated, truncated, info = env.step(f"\\boxed{{{action}}}")
    assert said in observation
    assert (reward, terminated, truncated, info["error"]) == (0, False, False, "rule")
    assert env.towers == before


def test_the_limit_earns_the_share_of_disks_on_c() -> None:
    env = make(max_turns=2)
    env.step("\\boxed{A C}")
    _, reward, terminated, truncated, info = env.step("\\boxed{B A}")
    assert reward == pytest.approx(1 / 3)
    assert (terminated, truncated, info["success"]) == (False, True, False)


def test_all_disks_on_c_solve_it_in_the_last_turn_too() -> None:
    env = make(num_disks=1, max_turns=1)
    assert env.step("\\boxed{A C}")[1:4] == (1.0, True, False)


def test_random_moves_are_legal() -> None:
    env = make(max_turns=100)
    while not env.over:
        assert "error" not in env.step(env.sample_random_action())[4]
