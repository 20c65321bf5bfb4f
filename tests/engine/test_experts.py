"""Experts play well, without seeing what is hidden, and say why."""

import random
from typing import Any

import pytest

import gem
from gem.agents import Request, has_expert, make_agent
from gem.agents.experts.games import minesweeper_counting, sokoban
from gem.agents.experts.games.minesweeper_end import list_arrangements
from gem.errors import InvalidArgument
from gem.rollout import EpisodeRequest, rollout

EXPERT = make_agent("expert")


def decide(env: gem.Env) -> gem.agents.Decision:
    return EXPERT.act([Request(env, "", {}, 1)])[0]


@pytest.mark.parametrize(
    ("env_id", "at_least"),
    [
        ("game:GuessTheNumber-v0-easy", 1.0),
        ("game:GuessTheNumber-v0-hard", 1.0),
        ("game:GuessTheNumber-v0-random", 1.0),
        ("game:Minesweeper-v0-easy", 0.7),
        ("game:Minesweeper-v0-hard", 0.7),
        ("game:Minesweeper-v0-random", 0.7),
        ("game:Sokoban-v0-easy", 1.0),
        ("game:Sokoban-v0-hard", 1.0),
        ("game:Sokoban-v0-random", 1.0),
    ],
)
def test_the_expert_solves_most_episodes_and_explains_every_action(env_id: str, at_least: float) -> None:
    assert has_expert(env_id)
    records = list(rollout(EXPERT, [EpisodeRequest(seed, env_id, seed) for seed in range(60)]))
    assert sum(bool(record.success) for record in records) >= at_least * 60
    for record in records:
        assert all("error" not in turn.info and turn.extra["note"].endswith(".") for turn in record.turns)


def test_minesweeper_is_lost_only_where_nothing_was_certain() -> None:
    slots = [EpisodeRequest(seed, "game:Minesweeper-v0-hard", seed) for seed in range(60)]
    lost = [record for record in rollout(EXPERT, slots) if not record.success]
    assert lost
    assert all("Nothing is certain" in record.turns[-1].extra["note"] for record in lost)


def test_other_mines_under_the_same_board_give_the_same_decision() -> None:
    env = gem.make("game:Minesweeper-v0-hard")
    compared = 0
    for seed in range(40):
        env.reset(seed=seed)
        while not env.over:
            decision = decide(env)
            for mines in other_mines(env):
                other = env.spawn()
                other.set_state({**env.get_state(), "mines": mines})
                assert other.visible_cells == env.visible_cells
                assert decide(other) == decision
                compared += 1
            env.step(decision.action)
    assert compared > 20


def other_mines(env: gem.Env) -> list[list[int]]:
    """Arrangements of mines that fit what is shown, if they are few enough to list."""
    board = minesweeper_counting.Board(env.rows, env.cols, env.num_mines, list(env.visible_cells))
    constraints = board.constraints()
    if not constraints:
        return []
    components = [
        minesweeper_counting.count_arrangements(*parts) for parts in minesweeper_counting.split_components(constraints)
    ]
    constrained = {cell for constraint in constraints for cell in constraint.cells}
    unconstrained = [cell for cell in board.hidden_cells if cell not in constrained]
    return [sorted(mines) for mines in list_arrangements(board, components, unconstrained) or []][:4]


def test_another_secret_with_the_same_answers_gives_the_same_guess() -> None:
    env = gem.make("game:GuessTheNumber-v0-hard")
    for seed in range(20):
        env.reset(seed=seed)
        env.step("\\boxed{25}")
        if env.over:
            continue
        low, high = env.bounds()
        decisions = set()
        for secret in range(low, high + 1):
            other = env.spawn()
            other.set_state({**env.get_state(), "secret": secret})
            decisions.add(decide(other))
        assert len(decisions) == 1


def test_the_minesweeper_expert_counts_all_arrangements() -> None:
    # 1 1 .    one mine in column 2 of rows 0 and 1 or in row 1; brute force over all placements of one mine
    # . . .    that fit gives each cell its share
    board = minesweeper_counting.Board(2, 3, 1, ["1", ".", ".", ".", ".", "."])
    components = [
        minesweeper_counting.count_arrangements(*parts)
        for parts in minesweeper_counting.split_components(board.constraints())
    ]
    risks = minesweeper_counting.mine_risks(board, components, [2, 5])
    assert risks == pytest.approx({1: 1 / 3, 3: 1 / 3, 4: 1 / 3, 2: 0, 5: 0})


def test_a_wrong_flag_is_taken_away_before_the_cell_is_opened() -> None:
    env = gem.make("game:Minesweeper-v0-easy")
    env.reset(seed=0)
    env.step("\\boxed{flag 2 2}")
    assert decide(env).action == "\\boxed{flag 2 2}"


def test_a_sokoban_plan_is_the_same_after_a_restart_and_a_detour() -> None:
    env = gem.make("game:Sokoban-v0-hard")
    for seed in range(8):
        env.reset(seed=seed)
        for turn in range(20):
            if env.over:
                break
            warm = decide(env)
            sokoban.solve.cache_clear()
            other = gem.make("game:Sokoban-v0-hard")
            other.set_state(env.get_state())
            assert decide(other) == warm
            env.step(env.sample_random_action() if turn % 5 == 1 else warm.action)


def test_a_sokoban_room_that_is_lost_is_said_to_be_lost() -> None:
    env = gem.make("game:Sokoban-v0-easy")
    env.reset(seed=0)
    room = "######\n#$-@-#\n#----#\n#-$-.#\n#---.#\n######\n"  # a box in a corner
    env.set_state({**env.get_state(), "room": room, "start": room, "path": ""})
    assert "cannot be solved" in decide(env).note
    total = 0.0
    while not env.over:
        _, reward, *_ = env.step(decide(env).action)
        total += reward
    assert total == 0.5


def test_the_work_for_a_move_in_a_large_sokoban_room_is_bounded(monkeypatch: pytest.MonkeyPatch) -> None:
    """Also if each move of the episode has left a plan, all of which another process has to find again."""
    pushes: list[int] = []

    def solve(room: sokoban.Room, turns: int) -> sokoban.SokobanPlan:
        search = sokoban.SokobanSearch(room, turns)
        plan = search.run()
        pushes.append(search.num_pushes_tried)
        return plan

    monkeypatch.setattr(sokoban, "solve", solve)
    env = gem.make("game:Sokoban-v0", dim_room=(10, 10), num_boxes=8, max_turns=60)
    env.reset(seed=4)
    rng = random.Random(0)
    while env.turn < 30:
        env.step(f"\\boxed{{{rng.choice(['up', 'down', 'left', 'right'])}}}")
    assert decide(env) == decide(env)
    most = sum(budget for _, budget in sokoban.SEARCHES) + sokoban.MAX_BEST_EFFORT_PUSHES
    assert max(pushes) < 1.01 * most  # a search ends with the state at which it has spent its budget
    assert sum(pushes) / 2 < 1.01 * (sokoban.MAX_REPLANNED_PUSHES + 2 * most)


@pytest.mark.parametrize(
    ("env_id", "arguments"),
    [
        ("game:Crosswords-v0", {"num_words": 8, "hardcore": True, "max_turns": 40}),
        ("game:FifteenPuzzle-v0", {"num_rows": 5, "max_turns": 40}),
        *[("game:Game2048-v0", {"board_size": size, "target_tile": 16}) for size in (2, 3, 5, 8)],
        ("game:GuessTheNumber-v0", {"min_number": 5, "max_number": 10**17, "max_turns": 60}),
        ("game:Hangman-v0", {"word_length": 12, "max_turns": 30}),
        ("game:Mastermind-v0", {"code_length": 5, "num_numbers": 12, "max_turns": 30}),
        ("game:Mastermind-v0", {"code_length": 1, "num_numbers": 2, "max_turns": 5}),
        ("game:Minesweeper-v0", {"rows": 2, "cols": 30, "num_mines": 6, "max_turns": 60}),
        ("game:Sokoban-v0", {"dim_room": (5, 12), "num_boxes": 3, "max_turns": 60}),
        ("game:Sudoku-v0", {"scale": 9, "clues": 30, "max_turns": 60}),
        ("game:TowerofHanoi-v0", {"num_disks": 6, "max_turns": 63}),
        ("game:WordSearch-v0", {"num_words": 12, "hardcore": True, "max_turns": 12}),
        ("game:Wordle-v0", {"word_length": 11, "max_turns": 8}),
        ("duel:KuhnPoker-v0", {}),
        ("duel:Negotiation-v0", {"rounds": 6}),
        ("duel:PrisonersDilemma-v0", {"rounds": 5}),
    ],
)
def test_an_expert_plays_boards_of_other_sizes(env_id: str, arguments: dict[str, Any]) -> None:
    env = gem.make(env_id, **arguments)
    for seed in range(2):
        env.reset(seed=seed)
        while not env.over and env.turn < 60:
            *_, info = env.step(decide(env).action)
            assert info.get("error") is None, info


def test_one_number_is_no_numbers() -> None:
    env = gem.make("game:GuessTheNumber-v0", min_number=1, max_number=4)
    env.reset(seed=0)
    assert decide(env).note == "1 to 4 is left; 2 is the middle, with 1 number below it and 2 above."


def test_an_environment_without_an_expert_is_named() -> None:
    with pytest.raises(InvalidArgument, match=r"no agent of kind 'experte'\. Did you mean expert"):
        make_agent("experte")
    with pytest.raises(InvalidArgument, match="no expert for GuessTheNumber"):
        decide(type(gem.make("game:GuessTheNumber-v0").unwrapped)())
