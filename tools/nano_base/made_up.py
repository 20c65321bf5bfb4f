"""Questions and pages of words in any order, from which random queries and answers are copied.

Whoever predicts these has to learn how to copy: what comes next cannot be known from what the words mean, or from which
of them often stand side by side.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from functools import cache
from pathlib import Path

import gem.data.words
from gem.data import wiki
from gem.factory import make_wrapped
from gem.rng import SplitMix64, choice, randbelow, randint
from gem.training.policy.prompts import observation_text
from tools.nano_base.source import Piece
from tools.nano_base.spans import TOKEN, WORD, draw_words
from tools.nano_base.tool_use import SEARCH

MOST_ACTIONS = 5
"""After a page; so the same page is copied from several times."""
HIGHEST_NUMBER = 3000
BEGINNINGS = (*"bcdfghklmnprstvwz", "br", "ch", "cl", "dr", "gr", "kr", "pl", "sh", "st", "th", "tr")
VOWELS = (*"aeiou", "ai", "ea", "ou")
ENDINGS = ("", "n", "r", "s", "l")


def page_texts() -> list[str]:
    """The text of each bundled page, with its title before it."""
    lines = Path(wiki.__file__).with_name("pages.jsonl").read_text(encoding="utf-8").splitlines()
    pages = map(json.loads, lines)
    return [f"(Title: {page['title']}) {page['text']}" for page in pages]


@cache
def page_words() -> tuple[str, ...]:
    """The words of all bundled pages; names three times."""
    words = sorted({word for text in page_texts() for word in WORD.findall(text)})
    return (*words, *(word for word in words if word[0].isupper() for _ in range(2)))


@cache
def common_words() -> tuple[str, ...]:
    """Common English words."""
    return tuple(Path(gem.data.words.__file__).with_name("common.txt").read_text(encoding="utf-8").lower().split())


def made_up_pages(count: int, seed: int) -> Iterator[Piece]:
    """So many pieces: a question, a query, a page, and random queries and answers after it."""
    env = make_wrapped("qa:NaturalQuestions", {"dataset": "sample:wiki-questions"}, [dict(pairs) for pairs in SEARCH])
    instructions = observation_text(*env.reset(seed=0)).partition("\n")[2]
    env.close()
    for number in range(count):
        draw = SplitMix64(seed, number)
        task = f"{_sentence(draw, '', 3)}?"
        query = draw_words(task, draw, 2, TOKEN)
        title = query.capitalize() if randbelow(draw, 2) else _word(draw).capitalize()
        page = f"{title}) {' '.join(f'{_sentence(draw, query, 2)}.' for _ in range(randint(draw, 1, 3)))}"
        information = f"\n\n<information>Doc 1(Title: {page}\n</information>\n{instructions.splitlines()[-1]}\n"
        piece = [f"{task}\n{instructions}", f"<search>{query}</search>", information]
        for _ in range(randint(draw, 1, MOST_ACTIONS)):
            piece += [_action(task, page, draw), "\n"]
        yield [*piece[:-1], ""]


def _action(task: str, page: str, draw: SplitMix64) -> str:
    if randbelow(draw, 4) == 0:
        return f"<search>{draw_words(task, draw, 2, TOKEN)}</search>"
    return f"<answer>{draw_words(page if randbelow(draw, 8) else task, draw, 2, TOKEN)}</answer>"


def _sentence(draw: SplitMix64, query: str, numbers: int) -> str:
    """Some words in any order; one of `numbers` sentences has a number, and every other one the query, if there is one.

    It begins with a capital.
    """
    words = [_word(draw) for _ in range(randint(draw, 4, 10))]
    if randbelow(draw, numbers) == 0:
        words[randbelow(draw, len(words))] = str(randbelow(draw, HIGHEST_NUMBER))
    if query and randbelow(draw, 2) == 0:
        words[randbelow(draw, len(words))] = query
    sentence = " ".join(words)
    return sentence[0].upper() + sentence[1:]


def _word(draw: SplitMix64) -> str:
    """A word of a page, a common word, or one that does not exist."""
    kind = randbelow(draw, 8)
    if kind < 5:
        return choice(draw, page_words())
    if kind < 7:
        return choice(draw, common_words())
    word = "".join(choice(draw, BEGINNINGS) + choice(draw, VOWELS) for _ in range(randint(draw, 1, 3)))
    word += choice(draw, ENDINGS)
    return word.capitalize() if randbelow(draw, 3) else word
