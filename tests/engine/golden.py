"""What the environments gave when their version was set, so that a change cannot go unseen.

python -m tests.engine.golden             # write golden.json, golden_arguments.json and playthroughs/ anew
python -m tests.engine.golden --print     # print digests of two episodes each, for the tests
"""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Collection
from pathlib import Path
from typing import Any

import gem
from gem.agents import has_expert
from tests.engine import ids
from tests.engine.episodes import digest, transcript

FILE = Path(__file__).parent / "golden.json"
ARGUMENTS_FILE = FILE.with_name("golden_arguments.json")
PLAYTHROUGHS = Path(__file__).parent / "playthroughs"
SEEDS = range(20)
FEW_SEEDS = range(2)
FEWER = {"rg": range(3)}
"""Categories with hundreds of environments that share one class."""

OTHER_ARGUMENTS: list[tuple[str, dict[str, Any]]] = [
    ("game:Crosswords-v0", {"num_words": 4, "max_turns": 30}),
    ("game:FifteenPuzzle-v0", {"num_rows": 5, "max_turns": 40}),
    ("game:FifteenPuzzle-v0", {"num_rows": 3, "init_algo": "monte_carlo", "mc_rand_moves": 30}),
    ("game:Game2048-v0", {"target_tile": 128, "board_size": 5}),
    ("game:GuessTheNumber-v0", {"max_number": 1000, "max_turns": 12}),
    ("game:Hangman-v0", {"word_length": 9, "max_turns": 12}),
    ("game:Mastermind-v0", {"code_length": 5, "num_numbers": 7}),
    ("game:Minesweeper-v0", {"rows": 7, "cols": 12, "num_mines": 9}),
    ("game:Sokoban-v0", {"dim_room": (5, 6), "num_boxes": 1, "max_turns": 30}),
    ("game:Sokoban-v0", {"dim_room": (6, 6), "num_boxes": 2, "max_turns": 100}),
    ("game:Sokoban-v0", {"dim_room": (7, 9), "num_boxes": 3, "max_turns": 60}),
    ("game:Sokoban-v0", {"dim_room": (9, 9), "num_boxes": 4, "max_turns": 1000}),
    ("game:Sudoku-v0", {"scale": 9, "clues": 40}),
    ("game:TowerofHanoi-v0", {"num_disks": 6, "max_turns": 100}),
    ("game:WikiGame-v0", {"min_distance": 2, "max_turns": 15}),
    ("game:WordSearch-v0", {"num_words": 7, "max_turns": 12}),
    ("game:Wordle-v0", {"word_length": 7, "max_turns": 9}),
    ("duel:Negotiation-v0", {"rounds": 9, "opponent": "random"}),
    ("duel:PrisonersDilemma-v0", {"rounds": 9, "opponent": "random"}),
]
"""Arguments that no registered id has, as people give them in trainings and evaluations: their episodes too must be
re-executable for as long as the version stays."""
SEEDS_OF_ARGUMENTS = range(6)


def digests(seeds: range, env_ids: Collection[str] | None = None) -> dict[str, dict[str, int | str]]:
    """Version and digest of every registered environment, or of `env_ids`, by id."""
    return {
        spec.id: {"version": spec.version, "digest": digest(spec.id, seeds_of(spec.category, seeds))}
        for spec in gem.registry.specs()
        if spec.replay == "exact" and (env_ids is None or spec.id in env_ids)
    }


def argument_digests() -> list[dict[str, Any]]:
    """Version and digest for each of `OTHER_ARGUMENTS`."""
    return [
        {
            "id": env_id,
            "arguments": json.loads(json.dumps(arguments)),
            "version": gem.spec(env_id).version,
            "digest": digest(env_id, SEEDS_OF_ARGUMENTS, **arguments),
        }
        for env_id, arguments in OTHER_ARGUMENTS
    ]


def seeds_of(category: str, seeds: range = SEEDS) -> range:
    """The seeds that are digested: all of `seeds` where that is quick."""
    return seeds[: len(FEWER.get(category, seeds))]


def playthroughs() -> dict[str, str]:
    """File name to text: the expert's episode in the default difficulty of each environment with one, seed 0."""
    return {
        f"{spec.family}.txt": transcript(spec.id, "expert", 0)
        for spec in gem.registry.specs()
        if not spec.difficulty and spec.replay == "exact" and has_expert(spec.id)
    }


def main() -> None:
    """Write the files, unless a digest changed under the same version."""
    os.environ["GEM_DATA_FROM"] = "sample"  # as in the tests
    if "--print" in sys.argv:
        print(json.dumps(digests(FEW_SEEDS, ids.kinds())))
        return
    before = json.loads(FILE.read_text()) if FILE.exists() else {}
    now = digests(SEEDS)
    for env_id, entry in now.items():
        old = before.get(env_id)
        if old and old["version"] == entry["version"] and old["digest"] != entry["digest"]:
            sys.exit(f"{env_id} gives other turns than before: raise `version` in its register() call first.")
    now_with_arguments = argument_digests()
    for old in json.loads(ARGUMENTS_FILE.read_text()) if ARGUMENTS_FILE.exists() else []:
        for entry in now_with_arguments:
            if [entry[key] == old[key] for key in ("id", "arguments", "version", "digest")] == [True] * 3 + [False]:
                sys.exit(f"{old['id']} gives other turns than before with {old['arguments']}: raise `version` first.")
    FILE.write_text(json.dumps(now, indent=2) + "\n")
    ARGUMENTS_FILE.write_text(json.dumps(now_with_arguments, indent=2) + "\n")
    PLAYTHROUGHS.mkdir(exist_ok=True)
    for name, text in playthroughs().items():
        (PLAYTHROUGHS / name).write_text(text)


if __name__ == "__main__":
    main()
