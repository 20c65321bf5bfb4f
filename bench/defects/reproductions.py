"""Demonstrates each defect by itself, without the checker, in an interpreter that has GEM.

`python -P reproductions.py [NUMBERS]` prints a line of JSON for each: its number, whether it is there, what was seen.
It imports the standard library and, by name, what GEM brings.
"""

from __future__ import annotations

import importlib
import json
import os
import random
import re
import signal
import sys
import tempfile
import threading
import time
from collections.abc import Callable
from typing import Any

Seen = tuple[bool, object]
PROGRAM = {"problem": ["p"], "tests": ['{"inputs": ["1"], "outputs": ["1"]}']}
ECHO = "```python\nprint(input())\n```"
QUESTION = {"question": ["q"], "answer": ["True"]}

gem: Any = importlib.import_module("gem")
importlib.import_module("gem.envs")
Dataset: Any = importlib.import_module("datasets").Dataset


def box(action: object) -> str:
    return f"\\boxed{{{action}}}"


def game(name: str, seed: int = 0, **arguments: Any) -> Any:
    env = gem.make(f"game:{name}", **arguments)
    env.reset(seed=seed)
    return env


def error_of(act: Callable[[], Any], kind: type[BaseException] = Exception) -> Seen:
    """Whether a call raises such an error."""
    try:
        return False, act()
    except kind as error:
        return True, f"{type(error).__name__}: {error}"


def d01() -> Seen:
    text = importlib.import_module("importlib.metadata").metadata("gem-llm").get_payload() or ""
    names = set(re.findall(r'make\("([^"]+)"', text))
    return error_of(lambda: [gem.make(name) for name in sorted(names)], ValueError)


def d03() -> Seen:
    return error_of(lambda: gem.make("game:FifteenPuzzle-v0-random"), TypeError)


def d04() -> Seen:
    return error_of(lambda: gem.make("game:Crosswords-v0-random"), ValueError)


def d05() -> Seen:
    env = game("GuessTheNumber-v0-easy")
    numbers = []
    for _ in range(2):
        env.reset(seed=0)
        numbers.append(random.random())
    return numbers[0] == numbers[1], numbers


def d06() -> Seen:
    boards = []
    for is_disturbed in (False, True):
        other, env = game("GuessTheNumber-v0-easy"), game("Game2048-v0-easy", 3)
        for number in range(10):
            if is_disturbed:
                other.reset(seed=number)
            env.step(box(("left", "down", "right", "up")[number % 4]))
        boards.append(env.board)
    return boards[0] != boards[1], boards


def d25() -> Seen:
    return error_of(lambda: game("GuessTheNumber-v0-easy").spawn(), NotImplementedError)


def d27() -> Seen:
    return error_of(lambda: gem.make("rg:leg_counting").step(box(1)), AttributeError)


def d27b() -> Seen:
    env = gem.make("rg:leg_counting")
    env.reset()
    return error_of(env.sample_random_action, NotImplementedError)


def d28() -> Seen:
    env = gem.make("rg:leg_counting")
    first = env.reset(seed=1)[0]
    for number in range(600):
        env.reset(seed=number)
    return env.reset(seed=1)[0] != first, first


def d29() -> Seen:
    result = game("GuessTheNumber-v0-easy").step(box(0))
    return bool(result[2]), result[:4]


def minefield() -> Any:
    env = game("Minesweeper-v0-easy", 1)
    env.step(box("reveal 2 2"))
    return env


def d31() -> Seen:
    env, ended = minefield(), False
    for row in range(5):
        for column in range(5):
            if env.grid[row][column] != -1 and not env.revealed[row][column]:
                ended = bool(env.step(box(f"reveal {row} {column}"))[2])
    return not ended, f"ended: {ended}"


def d31b() -> Seen:
    env = minefield()
    row, column = next((row, column) for row in range(5) for column in range(5) if env.grid[row][column] == -1)
    env.step(box(f"flag {row} {column}"))
    result = env.step(box(f"reveal {row} {column}"))
    return bool(result[2]), result[:3]


def d31c() -> Seen:
    def expire(*_: Any) -> None:
        raise TimeoutError("it still loops after 2 s")

    signal.signal(signal.SIGPROF, expire)
    signal.setitimer(signal.ITIMER_PROF, 2)
    try:
        return error_of(
            lambda: gem.make("game:Minesweeper-v0-easy", num_mines=17).step(box("reveal 2 2")), TimeoutError
        )
    finally:
        signal.setitimer(signal.ITIMER_PROF, 0)


def d32() -> Seen:
    env = game("Hangman-v0-easy")
    results = [env.step(box(letter)) for letter in dict.fromkeys(env.secret_word)]
    return not results[-1][2], env.board


def d32b() -> Seen:
    text = gem.make("game:Hangman-v0-easy").reset(seed=0)[0]
    found = re.search(r"letter guesses[^\\]*\\boxed\{(\w+)\}", text)
    return found is not None and len(found.group(1)) > 1, found and found.group(0)


def d33() -> Seen:
    results = {}
    for name in ("FifteenPuzzle", "Crosswords", "WordSearch"):
        env = game(f"{name}-v0-easy")
        results[name] = env.step(env.sample_random_action())[1:3]
    return all(reward < 0 and ended for reward, ended in results.values()), results


def d34() -> Seen:
    env = game("Sudoku-v0-easy")
    for row in range(4):
        for column in range(4):
            for number in range(1, 5):
                if env.board[row][column] or number == env.full_grid[row][column]:
                    continue
                if env.is_safe(env.board, row, column, number):
                    said = env.step(box(f"{row + 1} {column + 1} {number}"))[0]
                    return "violates" in said, said
    return False, "no such number"


def d35() -> Seen:
    clues = gem.envs.registration.ENV_REGISTRY["game:Sudoku-v0-hard"].kwargs["clues"]
    filled = 81 - game("Sudoku-v0-hard").init_num_empty
    return filled != clues, f"clues={clues}, filled: {filled}"


def d36() -> Seen:
    env = gem.make("game:Mastermind-v0-easy")
    first, second = env.reset(seed=0)[1], env.step(box("1 2"))[4]
    return "suffix" in second and "suffix" not in first, (first, second)


def d37() -> Seen:
    said = game("Wordle-v0-easy").step(box("cat"))[0]
    return "['" in said, said


def d38() -> Seen:
    env = game("Wordle-v0-easy")
    result = env.step(box("zzz"))
    return "you guessed ZZZ\n" in result[0], result[0]


def d39() -> Seen:
    said = game("TowerofHanoi-v0-easy").step(box("A A"))[0]
    return "you moved" in said, said


def d40() -> Seen:
    env = game("GuessTheNumber-v0-easy")
    env.step("x")
    return not error_of(lambda: env.step(box(env.game_number)))[0], "accepted"


def d41() -> Seen:
    env = game("GuessTheNumber-v0-easy")
    wrong = [number for number in range(1, 11) if number != env.game_number]
    result = [env.step(box(number)) for number in wrong[:4]][-1]
    return bool(result[2] and result[3]), result[:4]


def d43() -> Seen:
    cls: Any = importlib.import_module("gem.envs.game_env.sokoban").SokobanEnv
    sizes = (((6, 6), 2), ((7, 7), 3))
    envs = [cls(dim_room=shape, num_boxes=boxes, max_turns=20) for shape, boxes in sizes]
    wrong: list[object] = []

    def play(env: Any, shape: tuple[int, int], boxes: int) -> None:
        for seed in range(40):
            try:
                env.reset(seed=seed)
            except Exception as error:  # noqa: BLE001 (whatever is raised is what was seen)
                wrong.append(repr(error)[:80])
                continue
            counted = int(((env.room_state == 3) | (env.room_state == 4)).sum())
            if env.room_state.shape != shape or counted != boxes or env.room_fixed.shape != env.room_state.shape:
                wrong.append((env.room_state.shape, counted))

    sys.setswitchinterval(1e-5)
    threads = [threading.Thread(target=play, args=(env, *size)) for env, size in zip(envs, sizes, strict=True)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    return bool(wrong), f"{len(wrong)} of 80 rooms wrong"


def d48() -> Seen:
    cls: Any = importlib.import_module("gem.envs.math_env").MathEnv
    env = cls(dataset=Dataset.from_dict({"problem": ["1+1"], "answer": ["2"]}), use_mp=False)
    env.reset()
    seen: list[Seen] = []
    thread = threading.Thread(target=lambda: seen.append(error_of(lambda: env.step(box(2)))))
    thread.start()
    thread.join()
    return seen[0]


def programs(row: dict[str, list[str]], **arguments: Any) -> Any:
    cls: Any = importlib.import_module("gem.envs.code_env").CodeEnv
    env = cls(dataset=Dataset.from_dict(row), **arguments)
    env.reset()
    return env


def d50() -> Seen:
    return error_of(lambda: programs(PROGRAM).step(ECHO), AssertionError)


def d50b() -> Seen:
    row = {**PROGRAM, "tests": ['{"inputs": [], "outputs": []}']}
    return error_of(lambda: programs(row, dataset_name="taco").step(ECHO), ValueError)


def d51() -> Seen:
    cls: Any = importlib.import_module("gem.envs.qa_env").QaEnv
    env = cls(dataset=Dataset.from_dict(QUESTION), extract_boxed=True)
    asks_for_tags = "<answer>" in env.reset()[0]
    try:
        reward = env.step("<answer>True</answer>")[1]
    except UnboundLocalError as error:
        return asks_for_tags, repr(error)
    return asks_for_tags and not reward, f"reward {reward}"


def d55() -> Seen:
    arguments = gem.envs.registration.ENV_REGISTRY["game:Sokoban-v0-random"].kwargs
    return "room_size" in arguments, arguments


def d56() -> Seen:
    env = game("GuessTheNumber-v0-easy")
    wrong = next(number for number in range(1, 11) if number != env.game_number)
    result = [env.step(box(wrong)) for _ in range(4)][-1]
    return 0 < result[1] < 1, result[:4]


def d59() -> Seen:
    cls: Any = importlib.import_module("gem.envs.math_visual_env").MathVisualEnv
    row = {"images": [["x"]], "problem": ["<image>1+1"], "answer": ["2"]}
    env = cls(dataset=Dataset.from_dict(row), use_mp=False)
    env.reset()
    return error_of(lambda: env.step(box(2)), AttributeError)


def d61() -> Seen:
    env, boards = gem.make("game:FifteenPuzzle-v0-easy"), set()
    for seed in range(500):
        env.reset(seed=seed)
        boards.add(str(env.board))
    return len(boards) == 2, f"{len(boards)} boards of 500 seeds"


def d62() -> Seen:
    env = gem.make("game:Game2048-v0-hard")
    most = 8 + 4 * env.max_turns
    return most < env.target_tile, f"sum of the tiles at most {most}, target {env.target_tile}"


def d64() -> Seen:
    env = game("Hangman-v0-easy", 1)
    said = [re.sub(r"\d", "", env.step(box("ZZZ"))[0]) for _ in range(2)]
    return said[0] == said[1], said


def d65() -> Seen:
    env, opened = game("WordSearch-v0-hard"), []
    sys.addaudithook(lambda event, args: opened.append(args[0]) if event == "open" else None)
    env.reset(seed=1)
    words = [name for name in opened if str(name).rpartition("corpora")[1]]
    return bool(words), words[:1]


def d67() -> Seen:
    env = programs(PROGRAM, dataset_name="taco", sandbox_type="none")
    began = time.monotonic()
    env.step("```python\nwhile True: pass\n```")
    seconds = time.monotonic() - began
    names = [name for name in vars(env) if "timeout" in name or "limit" in name]
    return not names and seconds > 5, f"{seconds:.0f} s"


def d70() -> Seen:
    env, told = gem.make("game:Crosswords-v0-easy"), 0
    for seed in range(300):
        env.reset(seed=seed)
        text = env.get_task_suffix().lower()
        told += any(re.search(rf"\b{word.lower()}", text) is not None for word in env.clues)
    return told > 0, f"{told} of 300 boards"


def main(numbers: list[str]) -> None:
    """Print what was seen of each defect; what the environments print goes to the standard error."""
    out = os.fdopen(os.dup(1), "w")
    os.dup2(2, 1)
    os.chdir(tempfile.mkdtemp())
    for name, demonstrate in list(globals().items()):
        number = name.removeprefix("d")
        if re.fullmatch(r"d\d\d[a-z]?", name) is None or (numbers and number not in numbers):
            continue
        is_there, seen = demonstrate()
        out.write(json.dumps({"number": number, "is_there": is_there, "seen": str(seen)[:200]}) + "\n")
        out.flush()
    os._exit(0)  # threads of the environments may go on


if __name__ == "__main__":
    main(sys.argv[1:])
