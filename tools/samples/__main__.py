"""See the package."""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Iterator, Mapping, Sequence
from itertools import count
from pathlib import Path

from gem.datasets.samples import FOLDER
from gem.rng import SplitMix64, shuffle
from tools.samples import contest, olympiad, school, science, words
from tools.samples.problem import Template
from tools.samples.programs.functions import FUNCTIONS
from tools.samples.programs.lists import LISTS
from tools.samples.programs.numbers import NUMBERS
from tools.samples.programs.problem import Function, Program
from tools.samples.programs.texts import TEXTS
from tools.samples.questions import questions

ROWS = 60
NAME = re.compile(r"[A-Z][a-z]{2,}( [A-Z][a-z]+)*")
EVERY_PAGES = 5
"""One page of so many is held out."""
EASY_WORDS, WORDS = words.ONE_STEP, words.SEVERAL_STEPS
SCHOOL = (*school.EASY, *school.HARD)

MATH: Mapping[str, Sequence[Template]] = {
    "asdiv2k": EASY_WORDS,
    "gsm8k": WORDS,
    "math12k": SCHOOL,
    "math8k": school.HARD,
    "orz57k": (*WORDS, *school.HARD, *contest.ALL),
    "deepscaler40k": (*contest.ALL, *school.HARD),
    "math500": SCHOOL,
    "amc": contest.UP_TO_999,
    "aime24": contest.UP_TO_999,
    "minerva": science.ALL,
    "olympiad-bench": olympiad.ALL,
}
"""Sample to the templates that its problems come from, in turn."""
QA: Mapping[str, str] = {
    "natural-questions": "single", "natural-questions-eval": "single", "qa-open": "single", "triviaqa": "single",
    "popqa": "single", "hotpotqa": "double", "hotpotqa-eval": "double", "2wiki": "double", "bamboogle": "double",
    "musique": "triple",
}  # fmt: skip
OF_PAGES: Mapping[str, Mapping[str, bool]] = {
    "wiki-questions": {"held_out": False},
    "wiki-names": {"held_out": False, "with_names": True},
    "wiki-names-eval": {"held_out": True, "with_names": True},
}
"""Samples of questions that are split by page (see `of_pages`)."""


def mathematics(name: str) -> Iterator[dict[str, object]]:
    """The rows of a sample, no problem twice."""
    templates, seen = MATH[name], set[str]()
    for number in count():
        if len(seen) == ROWS:
            return
        made = templates[number % len(templates)](SplitMix64(_key(name), number))
        if made.problem in seen:
            continue
        seen.add(made.problem)
        row = made.row()
        yield {**row, "answer": float(str(row["answer"]))} if name == "amc" else _of_aime(name, row)


def _of_aime(name: str, row: dict[str, object]) -> dict[str, object]:
    return {**row, "answer": f"{int(str(row['answer'])):03d}"} if name == "aime24" else row


def asked(name: str) -> list[dict[str, object]]:
    """The rows of a sample of questions."""
    rows = [question.row() for question in questions(QA[name])]
    shuffle(SplitMix64(_key(name)), rows)
    return rows[:ROWS]


def of_pages(*, held_out: bool, with_names: bool = False) -> list[dict[str, object]]:
    """All questions that one page answers: of every fifth page, which are held out, or of the others.

    Args:
        with_names: only those whose answer is a name.
    """
    found = questions("single")
    pages = sorted({question.pages[0] for question in found})
    shuffle(SplitMix64(_key("wiki-questions")), pages)
    wanted = {page for place, page in enumerate(pages) if (place % EVERY_PAGES == 0) == held_out}
    found = [question for question in found if not with_names or NAME.fullmatch(question.answers[0])]
    rows = [question.row() for question in found if question.pages[0] in wanted]
    shuffle(SplitMix64(_key("wiki-questions")), rows)
    return rows


def drawn() -> Iterator[dict[str, object]]:
    """The rows of the sample with drawings."""
    from tools.samples import drawings  # noqa: PLC0415 (Pillow is needed for these alone)

    seen = set[str]()
    for number in count():
        if len(seen) == ROWS:
            return
        made, address = drawings.ALL[number % len(drawings.ALL)](SplitMix64(_key("geometry3k"), number))
        if address not in seen:
            seen.add(address)
            yield {**made.row(), "images": [address]}


def programming() -> list[dict[str, object]]:
    """The rows of the sample of programming problems, with their tests and a solution each."""
    problems: list[Program | Function] = [*NUMBERS, *TEXTS, *LISTS, *FUNCTIONS]
    rows = [made.row(_key("code") + place) for place, made in enumerate(problems)]
    shuffle(SplitMix64(_key("code")), rows)
    return rows


def _key(name: str) -> int:
    return int(hashlib.sha256(name.encode()).hexdigest()[:12], 16)


def main(folder: Path = FOLDER) -> None:
    """Write every file."""
    for name in MATH:
        _write(folder / f"{name}.jsonl", mathematics(name))
    for name in QA:
        _write(folder / f"{name}.jsonl", asked(name))
    for name, choice in OF_PAGES.items():
        _write(folder / f"{name}.jsonl", of_pages(**choice))
    _write(folder / "geometry3k.jsonl", drawn())
    _write(folder / "code.jsonl", programming())


def _write(path: Path, rows: Iterator[dict[str, object]] | list[dict[str, object]]) -> None:
    path.write_text("".join(json.dumps(row, ensure_ascii=False) + "\n" for row in rows), encoding="utf-8")


if __name__ == "__main__":
    main()
