"""Write the files of our benchmarks, `gem/benchmarks/files/*.json`, from the plans below and from what was measured.

python -m bench.benchmark_files              # all; one that changes gets the next version, and its former one is kept
python -m bench.benchmark_files duel         # this one
python -m bench.benchmark_files math --real --licence MIT    # on the real data, where they are on this machine
python -m bench.benchmark_files --rewrite    # keeps the versions: for files that nobody has played yet

References come from `gem/benchmarks/baselines.json` (`python -m bench.baselines`), labels from
`gem/benchmarks/starts.json` (`python -m bench.starts`). On real data the random agent is measured here.
"""

from __future__ import annotations

import argparse
import json
import os
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import gem
from bench.baselines import measure
from gem import benchmarks
from gem.agents import has_expert
from gem.benchmarks import BEST_POSSIBLE, document
from gem.check import benchmark_file
from gem.datasets import Dataset
from gem.datasets.names import NAMED_DATASETS

FOLDER = Path(gem.__file__).parent / "benchmarks" / "files"
HIDDEN = 50
MAX_ROWS = 500
"""The most rows of a dataset that are played."""
RANDOM_EPISODES = 500
OWN_LICENCE = "Apache-2.0"
WORDS_LICENCE = "SCOWL licence"
GAMES = (
    "Crosswords", "FifteenPuzzle", "Game2048", "GuessTheNumber", "Hangman", "Mastermind", "Minesweeper", "Sokoban",
    "Sudoku", "TowerofHanoi", "WikiGame", "WordSearch", "Wordle",
)  # fmt: skip
DATA: Mapping[str, tuple[str, str]] = {
    "Crosswords": ("words and clues that come with gemweb", OWN_LICENCE),
    "Hangman": ("words of SCOWL", WORDS_LICENCE),
    "WikiGame": ("pages that come with gemweb", OWN_LICENCE),
    "WordSearch": ("words of SCOWL", WORDS_LICENCE),
    "Wordle": ("words of SCOWL", WORDS_LICENCE),
}
"""The data of games, by family, and their licence."""
REASONING = (
    "ab", "base_conversion", "binary_alternation", "calendar_arithmetic", "chain_sum", "countdown", "course_schedule",
    "dice", "graph_color", "knights_knaves", "letter_counting", "maze", "mini_sudoku", "number_sorting",
    "polynomial_equations", "prime_factorization", "propositional_logic", "shortest_path", "sokoban", "spell_backward",
)  # fmt: skip


@dataclass(frozen=True)
class Plan:
    """What a benchmark has, before anything is measured."""

    title: str
    summary: str
    env_ids: tuple[str, ...] = ()
    practice: tuple[int, int] = (1000, 1049)
    hidden: int = HIDDEN
    tools: tuple[tuple[str, ...], ...] | None = None
    members: tuple[str, ...] = ()


PLANS: Mapping[str, Plan] = {
    "games-easy": Plan(
        "Games, easy",
        "Thirteen games of deduction, planning and words in their easy sizes.",
        tuple(f"game:{name}-v0-easy" for name in GAMES),
    ),
    "games-hard": Plan(
        "Games, hard",
        "The same thirteen games in their hard sizes. Of 2048 it has the version with 400 turns, because 512 cannot be "
        "reached in the 50 turns of the older one.",
        tuple(f"game:{name}-{'v1' if name == 'Game2048' else 'v0'}-hard" for name in GAMES),
    ),
    "reasoning": Plan(
        "Reasoning",
        "Twenty sets of ReasoningGym: arithmetic, algebra, logic, graphs, letters and puzzles, one answer to each.",
        tuple(f"rg:{name}" for name in REASONING),
    ),
    "math": Plan(
        "Mathematics",
        "Five test sets of mathematics, from competitions of schools to university problems. Every row is played once.",
        ("eval:AIME24", "eval:AMC", "eval:MATH500", "eval:Minerva", "eval:OlympiadBench"),
    ),
    "math-drawn": Plan(
        "Mathematics, drawn",
        "Word problems of three levels whose names and numbers are drawn from the seed, so that nobody has a list of "
        "them.",
        tuple(f"math:Drawn-v0-{level}" for level in ("easy", "medium", "hard")),
    ),
    "code": Plan(
        "Programming",
        "Problems of programming contests, whose programs run against tests. Every row is played once.",
        ("eval:CodeContest",),
    ),
    "qa": Plan(
        "Questions",
        "Seven test sets of questions about the world, many of which take two facts or more. Every row is played once.",
        ("eval:2Wiki", "eval:Bamboogle", "eval:HotpotQA", "eval:Musique", "eval:NaturalQuestions", "eval:PopQA",
         "eval:TriviaQA"),
    ),
    "tools": Plan(
        "Tools",
        "The same problems of mathematics and the same questions without tools, with Python, with search and with an "
        "MCP server. Every choice of tools is a row of its own.",
        ("math:GSM8K", "math:Math12K", "qa:HotpotQA", "qa:NaturalQuestions"),
        tools=((), ("python",), ("search:wikigame",), ("mcp",)),
    ),
    "duel": Plan(
        "Duels",
        "Four games with two seats against the random agent and against the expert. Left out is what cannot tell an "
        "expert from a random agent in so few episodes: Kuhn Poker, and the prisoner's dilemma against random.",
        ("duel:ConnectFour-v0-vs-random", "duel:ConnectFour-v0-vs-expert", "duel:Negotiation-v0-vs-random",
         "duel:Negotiation-v0-vs-expert", "duel:PrisonersDilemma-v0-vs-expert", "duel:TicTacToe-v0-vs-random",
         "duel:TicTacToe-v0-vs-expert"),
        hidden=100,
    ),
    "dialogue": Plan(
        "Dialogue",
        "Customers of a shop who want something, to be served under its policy, easy and hard.",
        ("dialogue:Retail-v0-easy", "dialogue:Retail-v0-hard"),
        hidden=100,
    ),
    "terminal": Plan(
        "Terminal",
        "Tasks in a shell inside a sandbox, easy, medium and hard; a checker looks at what is there afterwards.",
        ("terminal:Shell-v0-easy", "terminal:Shell-v0-medium", "terminal:Shell-v0-hard"),
        (1000, 1019),
        hidden=25,
    ),
    "gem-suite": Plan(
        "GEM's suite",
        "The kinds of environments on which GEM evaluates: games, reasoning, mathematics, programming, questions, "
        "tools and the terminal.",
        members=("games-easy", "games-hard", "reasoning", "math", "math-drawn", "code", "qa", "tools", "terminal"),
    ),
}  # fmt: skip


def main() -> None:
    """Write the files that are asked for."""
    parser = argparse.ArgumentParser(description="Write the files of our benchmarks.")
    parser.add_argument("name", nargs="*", help="these benchmarks alone")
    parser.add_argument("--real", action="store_true", help="on the real data, not on the built-in samples")
    parser.add_argument("--licence", default="", help="of the real data")
    parser.add_argument("--rewrite", action="store_true", help="keep the versions of files that change")
    arguments = parser.parse_args()
    os.environ["GEM_DATA_FROM"] = "folder" if arguments.real else "sample"
    for name in arguments.name or PLANS:
        data = as_document(name, PLANS[name], arguments.licence)
        print(f"{data['name']} v{write(data, rewrite=arguments.rewrite)}", flush=True)
        for sentence in benchmark_file.problems(data):
            print(f"  {sentence}")


def as_document(name: str, plan: Plan, licence: str = "") -> dict[str, Any]:
    """The document of a plan, with version 1.

    Raises:
        SystemExit: if something has not been measured, or the licence of real data is not given.
    """
    if plan.members:
        present = {each.removesuffix(document.SAMPLE_SUFFIX): each for each in benchmarks.names()}
        members = [present[each] for each in plan.members]
        body: dict[str, Any] = {
            "members": [{"name": each, "version": benchmarks.load(each).version} for each in members]
        }
        is_sample = any(each.endswith(document.SAMPLE_SUFFIX) for each in members)
    else:
        entries = [_entry(gem.spec(env_id), plan, licence) for env_id in plan.env_ids]
        is_sample = any("stands_in_for" in entry.get("data", {}) for entry in entries)
        body = {"entries": entries}
    sample_note = " Here it is played on problems of ours, which stand in for the real ones." if is_sample else ""
    return {
        "name": name + document.SAMPLE_SUFFIX * is_sample,
        "version": 1,
        "title": plan.title + ", sample" * is_sample,
        "summary": plan.summary + sample_note,
        "score": "clipped",
        **({} if plan.tools is None else {"tools": [list(choice) for choice in plan.tools]}),
        **body,
    }


def _entry(spec: gem.registry.EnvSpec, plan: Plan, licence: str) -> dict[str, Any]:
    env = gem.make(spec.id)
    env.reset(seed=0)
    dataset = getattr(env.unwrapped, "dataset", None)
    dataset = dataset if isinstance(dataset, Dataset) else None
    rows = min(benchmark_file.listed_rows(dataset), MAX_ROWS)
    random, anchor = _references(spec, "" if dataset is None else dataset.source)
    entry: dict[str, Any] = {
        "env_id": spec.id,
        "version": spec.version,
        "max_turns": env.max_turns,
        "practice_seeds": [0, rows - 1] if rows else list(plan.practice),
        "hidden_seeds": 0 if rows else plan.hidden,
        "random": random,
        "anchor": anchor,
        **_data(spec, env.data_hash, dataset, licence),
    }
    env.close()
    label = benchmark_file.open_set_label(spec.id, spec.version, has_fixed_data=bool(rows))
    return {**entry, **({"open_set": label} if label else {})}


def _references(spec: gem.registry.EnvSpec, source: str) -> tuple[dict[str, Any], dict[str, Any]]:
    """The references of an environment: measured once, or here if it is played on other data."""
    rows: dict[str, dict[str, Any]] = {}
    for agent in ["random", *(["expert"] if has_expert(spec.id) else [])]:
        known = benchmarks.baseline(spec.id, agent, spec.version)
        if source and (known is None or known.data != source):
            rows[agent] = measure(spec, agent, RANDOM_EPISODES)
        elif known is None:
            raise SystemExit(f"python -m bench.baselines {spec.id} has to measure {agent} first.")
        else:
            rows[agent] = {name: getattr(known, name) for name in ("mean_return", "low", "high", "n")}
    random, *experts = (
        {"mean": row["mean_return"], "low": row["low"], "high": row["high"], "n": row["n"]} for row in rows.values()
    )
    return random, {"by": "expert", **experts[0]} if experts else {"by": BEST_POSSIBLE, "mean": 1.0}


def _data(spec: gem.registry.EnvSpec, data_hash: str, dataset: Dataset | None, licence: str) -> dict[str, Any]:
    """The data of an environment, if it has any."""
    if dataset is not None and spec.id not in NAMED_DATASETS and dataset.kind == "sample":
        data = {"name": dataset.source, "hash": data_hash, "licence": OWN_LICENCE}
    elif dataset is not None and dataset.kind == "sample":
        real = NAMED_DATASETS[spec.id].repository
        data = {"name": dataset.source, "hash": data_hash, "licence": OWN_LICENCE, "stands_in_for": real}
    elif dataset is not None:
        if not licence:
            raise SystemExit(f"{spec.id} is played on the real data: say under which licence with --licence.")
        data = {"name": dataset.source, "hash": data_hash, "licence": licence}
    elif not data_hash:
        return {}
    elif spec.category == "rg":
        data = {"name": data_hash, "hash": data_hash, "licence": OWN_LICENCE}
    else:
        name, its_licence = DATA[spec.family]
        data = {"name": name, "hash": data_hash, "licence": its_licence}
    return {"data": data}


def write(data: dict[str, Any], *, rewrite: bool = False) -> int:
    """Write a document and return its version: the next one if it changes, and the former file is kept."""
    file = FOLDER / f"{data['name']}.json"
    if file.exists():
        former = json.loads(file.read_text("utf-8"))
        data["version"] = former["version"]
        if former != data and not rewrite:
            earlier = FOLDER / "earlier" / f"{data['name']}-v{former['version']}.json"
            earlier.parent.mkdir(exist_ok=True)
            earlier.write_text(file.read_text("utf-8"), "utf-8")
            data["version"] += 1
    file.write_text(as_text(data), "utf-8")
    for cached in (benchmarks._load, benchmarks._earlier):  # noqa: SLF001 (a file has changed)
        cached.cache_clear()
    return int(data["version"])


def as_text(data: Mapping[str, Any]) -> str:
    """The document as text, a line for each environment."""
    lines = [f"  {json.dumps(name)}: {_value(value)}" for name, value in data.items()]
    return "{\n" + ",\n".join(lines) + "\n}\n"


def _value(value: Any) -> str:
    if isinstance(value, list) and value and isinstance(value[0], dict):
        return "[\n" + ",\n".join(_lines(value)) + "\n  ]"
    return json.dumps(value, ensure_ascii=False)


def _lines(objects: Iterable[dict[str, Any]]) -> Iterable[str]:
    return (f"    {json.dumps(each, ensure_ascii=False)}" for each in objects)


if __name__ == "__main__":
    main()
