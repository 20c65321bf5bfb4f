"""What the largest arguments of each game cost: the dearest reset, turn and decision of the expert.

    python -m bench.largest           # all games
    python -m bench.largest Sokoban   # only ids that contain the word

Arguments come from people: those of a training, and of whoever forks one of its episodes or asks for a hint in it. So
none may hold up a process for long. Each row plays random actions and, apart from that, the expert's; the expert plans
anew for every turn, as it does in a process that has not seen the episode before. Times are CPU time.
"""

from __future__ import annotations

import sys
import time
from collections.abc import Callable
from functools import partial
from typing import Any, NamedTuple, TypeVar

import gem
from gem.agents import Request, has_expert, make_agent
from gem.agents.experts.games import fifteen_puzzle, sokoban
from gem.errors import EnvironmentFailure

Result = TypeVar("Result")
SEEDS, TURNS = 3, 12
NO_LIMIT = 10**6
LARGEST: list[tuple[str, dict[str, Any]]] = [
    ("game:Crosswords-v0", {"num_words": 8, "hardcore": True, "max_turns": NO_LIMIT}),
    ("game:FifteenPuzzle-v0", {"num_rows": 2, "max_turns": NO_LIMIT}),
    ("game:FifteenPuzzle-v0", {"num_rows": 8, "max_turns": NO_LIMIT}),
    ("game:FifteenPuzzle-v0", {"num_rows": 8, "init_algo": "monte_carlo", "mc_rand_moves": 10_000}),
    ("game:Game2048-v0", {"target_tile": 2**17, "board_size": 8, "max_turns": NO_LIMIT}),
    ("game:GuessTheNumber-v0", {"max_number": 10**17, "max_turns": NO_LIMIT}),
    ("game:Hangman-v0", {"word_length": 12, "max_turns": NO_LIMIT}),
    ("game:Mastermind-v0", {"code_length": 8, "num_numbers": 20, "max_turns": NO_LIMIT}),
    ("game:Minesweeper-v0", {"rows": 40, "cols": 40, "num_mines": 320, "max_turns": NO_LIMIT}),
    ("game:Sokoban-v0", {"dim_room": (6, 6), "num_boxes": 2, "max_turns": NO_LIMIT}),
    ("game:Sokoban-v0", {"dim_room": (10, 10), "num_boxes": 10, "max_turns": NO_LIMIT}),
    ("game:Sokoban-v0", {"dim_room": (16, 16), "num_boxes": 6, "max_turns": 200}),
    ("game:Sokoban-v0", {"dim_room": (16, 16), "num_boxes": 20, "max_turns": NO_LIMIT}),
    ("game:Sokoban-v0", {"dim_room": (16, 16), "num_boxes": 32, "max_turns": NO_LIMIT}),
    ("game:Sudoku-v0", {"scale": 9, "clues": 20, "max_turns": NO_LIMIT}),
    ("game:TowerofHanoi-v0", {"num_disks": 9, "max_turns": NO_LIMIT}),
    ("game:WikiGame-v0", {"min_distance": 3, "max_turns": NO_LIMIT}),
    ("game:WordSearch-v0", {"num_words": 12, "hardcore": True, "max_turns": NO_LIMIT}),
    ("game:Wordle-v0", {"word_length": 12, "max_turns": NO_LIMIT}),
    ("duel:Negotiation-v0", {"rounds": 50}),
    ("duel:PrisonersDilemma-v0", {"rounds": 200}),
    ("duel:ConnectFour-v0", {}),
]
"""Environments with the largest arguments that they accept."""
REMEMBERED = (sokoban.solve, fifteen_puzzle.solve)
"""What experts remember between decisions."""


class Dearest(NamedTuple):
    """The dearest call of each kind, in milliseconds, and how many of the resets found a start."""

    reset: float
    turn: float
    decision: float
    started: int


def main(word: str = "") -> None:
    """Print one line for each row of `LARGEST`."""
    print(f"{'id':25} {'reset':>7} {'turn':>7} {'expert':>7} ms   {'started':>7}   arguments")
    for env_id, arguments in LARGEST:
        if word in env_id:
            found = measure(env_id, arguments)
            shown = ", ".join(f"{name}={value}" for name, value in arguments.items())
            print(
                f"{env_id:25} {found.reset:7.0f} {found.turn:7.1f} {found.decision:7.0f}      "
                f"{found.started:3} of {2 * SEEDS}   {shown}",
                flush=True,
            )


def measure(env_id: str, arguments: dict[str, Any]) -> Dearest:
    """Play `SEEDS` episodes with random actions and as many with the expert's."""
    resets, turns, decisions, started = [0.0], [0.0], [0.0], 0
    expert = make_agent("expert") if has_expert(env_id) else None
    for seed in range(SEEDS):
        for follows in (False, True):
            env = gem.make(env_id, **arguments)
            try:
                observation, info = timed(partial(env.reset, seed=seed), resets)
            except EnvironmentFailure:
                continue
            started += 1
            for number in range(1, TURNS + 1):
                action = env.sample_random_action()
                if expert is not None:
                    forget()
                    request = Request(env, observation, info, number, env.to_act[0])
                    decision = timed(partial(expert.act, [request]), decisions)[0]
                    action = decision.action if follows else action
                observation, _, terminated, truncated, info = timed(partial(env.step, action), turns)
                if terminated or truncated:
                    break
    return Dearest(max(resets), max(turns), max(decisions), started)


def timed(call: Callable[[], Result], times: list[float]) -> Result:
    """The result of a call, whose CPU time in milliseconds is noted also if it fails."""
    began = time.process_time()
    try:
        return call()
    finally:
        times.append((time.process_time() - began) * 1000)


def forget() -> None:
    """Make the process one that has not seen the episode."""
    for function in REMEMBERED:
        function.cache_clear()


if __name__ == "__main__":
    main(*sys.argv[1:])
