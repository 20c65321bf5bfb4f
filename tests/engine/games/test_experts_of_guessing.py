"""The experts of guessing games and towers: they solve what can be solved, and see no more than a player."""

from __future__ import annotations

import itertools
from collections import deque
from typing import Any

import pytest

import gem
from gem.agents import Request, make_agent
from gem.agents.experts.games.fifteen_puzzle import solve
from gem.envs.games.fifteen_puzzle import GAP, Board, goal, slide, slides

EXPERT = make_agent("expert")


def decide(env: gem.Env) -> tuple[str, str]:
    return EXPERT.act([Request(env, "", {}, env.unwrapped.turn + 1)])[0]  # type: ignore[attr-defined]


def finish(env: Any) -> bool:
    while not env.unwrapped.over:
        env.step(decide(env)[0])
    return bool(env.unwrapped.solved)


@pytest.mark.parametrize("game", ["Mastermind", "Wordle", "TowerofHanoi", "FifteenPuzzle"])
@pytest.mark.parametrize("difficulty", ["easy", "hard", "random"])
def test_every_episode_is_solved(game: str, difficulty: str) -> None:
    env = gem.make(f"game:{game}-v0-{difficulty}")
    for seed in range(5):
        env.reset(seed=seed)
        assert finish(env), seed


def test_hangman_is_nearly_always_solved() -> None:
    env = gem.make("game:Hangman-v0-easy")
    assert sum(finish(env) for seed in range(100) if env.reset(seed=seed)) >= 96


@pytest.mark.parametrize(
    ("env_id", "guess", "secrets"),
    [
        ("game:Mastermind-v0-hard", "1 2 3 4", {"code": [[5, 6, 7, 1], [6, 1, 5, 8]]}),
        ("game:Wordle-v0-hard", "trace", {"secret": ["PLAIN", "SHADY"]}),
        ("game:Hangman-v0-hard", "e", {"secret": ["AWKWARD", "NATURAL"]}),
    ],
)
def test_what_looks_alike_is_played_alike(env_id: str, guess: str, secrets: dict[str, list[Any]]) -> None:
    decisions = set()
    for name, values in secrets.items():
        for value in values:
            env = gem.make(env_id)
            env.reset(seed=0)
            env.set_state({**env.get_state(), name: value})
            env.step(f"\\boxed{{{guess}}}")
            decisions.add(decide(env))
    assert len(decisions) == 1


@pytest.mark.parametrize(
    ("env_id", "secret"),
    [("game:Wordle-v0-hard", "XYLYL"), ("game:Wordle-v0-hard", "QQQQQ"), ("game:Hangman-v0-hard", "ZYZZYVA")],
)
def test_a_word_on_no_list_is_found_by_its_letters(env_id: str, secret: str) -> None:
    env = gem.make(env_id, word_length=len(secret), max_turns=60)
    env.reset(seed=0)
    env.set_state({**env.get_state(), "secret": secret})
    assert finish(env)


@pytest.mark.parametrize("arguments", [{"code_length": 4, "num_numbers": 6}, {"code_length": 5, "num_numbers": 9}])
def test_codes_with_repeated_digits_are_found(arguments: dict[str, int]) -> None:
    env = gem.make("game:Mastermind-v0", duplicate_numbers=True, max_turns=12, **arguments)
    for seed in range(5):
        env.reset(seed=seed)
        assert finish(env)


def test_the_towers_are_moved_the_shortest_way_from_anywhere() -> None:
    env = gem.make("game:TowerofHanoi-v0", num_disks=4, max_turns=15)
    distances = hanoi_distances("4321")
    for towers, distance in distances.items():
        if distance == 0:
            continue
        env.reset(seed=0)
        env.set_state({**env.get_state(), "towers": dict(zip("ABC", towers, strict=True))})
        assert finish(env)
        assert env.unwrapped.turn == distance  # type: ignore[attr-defined]


def hanoi_distances(disks: str) -> dict[tuple[str, str, str], int]:
    """How many moves each position is from the goal, by breadth-first search."""
    distances = {("", "", disks): 0}
    queue = deque(distances)
    while queue:
        towers = queue.popleft()
        for a, b in itertools.permutations(range(3), 2):
            if towers[a] and (not towers[b] or towers[a][-1] < towers[b][-1]):
                after = list(towers)
                after[a], after[b] = towers[a][:-1], towers[b] + towers[a][-1]
                key = (after[0], after[1], after[2])
                if key not in distances:
                    distances[key] = distances[towers] + 1
                    queue.append(key)
    return distances


def test_small_boards_are_solved_the_shortest_way() -> None:
    start: Board = tuple(goal(2))
    distances, queue = {start: 0}, deque([start])
    while queue:
        board = queue.popleft()
        for source in slides(2)[board.index(GAP)].values():
            after = slide(board, source)
            if after not in distances:
                distances[after] = distances[board] + 1
                queue.append(after)
    assert len(distances) == 12
    assert max(distances.values()) == 6
    for board, distance in distances.items():
        assert distance == 0 or len(solve(board, 2)[0]) == distance


def test_the_hardest_board_of_three_rows_is_solved_the_shortest_way() -> None:
    path, note = solve((8, 6, 7, 2, 5, 4, 3, 0, 1), 3)  # 31 moves: Reinefeld 1993
    assert len(path) == 31
    assert "no way is shorter" in note
