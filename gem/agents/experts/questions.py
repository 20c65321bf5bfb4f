"""Questions: look the words of the question up in the bundled pages, and read the answer there, page after page.

It knows the pages that WikiGame is played on and the forms of a few relations ("the capital of", "the country of",
"born first"). A question that it cannot take apart is answered with the title of the page that fits it best.
"""

from __future__ import annotations

import math
import re
from collections import Counter
from collections.abc import Callable, Mapping
from functools import cache
from typing import NamedTuple

from gem.agents.agent import Decision
from gem.data.wiki import WikiPage, bundled
from gem.envs.problems.qa import QaEnv

WORD = re.compile(r"\w+")
CAPITALIZED = re.compile(r"[A-Z][\w']*(?: (?:de |da |von )?[A-Z][\w']*)*")


class Found(NamedTuple):
    """Something read from a page."""

    answer: str
    page: str


def look_up(env: QaEnv) -> Decision:
    """Read the answer on the pages, or name the page that fits best."""
    question = env.question
    for form, read in FORMS.items():
        asked = re.search(form, question)
        found = read(asked) if asked else None
        if found:
            return Decision(f"<answer>{found.answer}</answer>", f"The page {found.page} says so.")
    best = retrieve(question)
    return Decision(f"<answer>{best.title}</answer>", f"The page {best.title} has most of the question's words.")


def retrieve(question: str) -> WikiPage:
    """The page whose words fit best, rare words counting more."""
    words = {word.lower() for word in WORD.findall(question)}
    counts, rarity = _index()
    scores = {
        title: sum(rarity[word] for word in words if word in count) / math.sqrt(len(count))
        for title, count in counts.items()
    }
    return bundled().page(max(sorted(scores), key=scores.__getitem__))


@cache
def _index() -> tuple[Mapping[str, Counter[str]], Mapping[str, float]]:
    """The words of every page, and how much a word tells."""
    counts = {page.title: Counter(WORD.findall(f"{page.title} {page.text}".lower())) for page in bundled().pages()}
    pages = Counter(word for count in counts.values() for word in count)
    return counts, {word: math.log(len(counts) / number) for word, number in pages.items()}


def _page(name: str) -> WikiPage | None:
    """The page of a name, which may stand with an article or a trade before it."""
    titles = {page.title.lower(): page for page in bundled().pages()}
    wanted = name.strip(" ?.").removeprefix("the ").lower()
    named = [*CAPITALIZED.findall(name)[::-1], f"{wanted} (element)"]
    return next((titles[text] for text in (wanted, *(one.lower() for one in named)) if text in titles), None)


def _read(name: str, pattern: str) -> Found | None:
    """The first group of a pattern on the page of a name."""
    page = _page(name)
    found = re.search(pattern, page.text) if page else None
    return Found(found[1], page.title) if page and found else None


def _country(name: str) -> str:
    """The country that a name leads to: itself, that of a capital, or that of a person."""
    for pattern in (r"is the capital of (?:the )?([A-Z][\w ]*?)\.", r" from (?:the )?([A-Z][\w ]*?)\."):
        found = _read(name, pattern)
        if found:
            return found.answer
    return name


def _of_country(pattern: str) -> Callable[[re.Match[str]], Found | None]:
    return lambda asked: _read(_country(_meant(asked[1])), pattern)


def _meant(phrase: str) -> str:
    """Who or what a phrase is about: of two people the one who was born first, else the last name in it."""
    names = [name for name in CAPITALIZED.findall(phrase) if _page(name)]
    return names[-1] if names else phrase


def _first_born(asked: re.Match[str]) -> Found | None:
    years = [(_read(name, r"\((\d+) to"), name) for name in (asked[1], asked[2])]
    known = [(int(year.answer), name) for year, name in years if year]
    return Found(min(known)[1], min(known)[1]) if len(known) == 2 else None


def _of_first_born(pattern: str) -> Callable[[re.Match[str]], Found | None]:
    def read(asked: re.Match[str]) -> Found | None:
        first = _first_born(asked)
        return _read(_country(first.answer), pattern) if first else None

    return read


def _larger(pattern: str) -> Callable[[re.Match[str]], Found | None]:
    def read(asked: re.Match[str]) -> Found | None:
        sizes = [(_read(name, pattern), name.removeprefix("the ")) for name in (asked[1], asked[2])]
        known = [(int(size.answer.replace(",", "")), name) for size, name in sizes if size]
        return Found(max(known)[1], max(known)[1]) if len(known) == 2 else None

    return read


def _of_page(pattern: str) -> Callable[[re.Match[str]], Found | None]:
    return lambda asked: _read(asked[1], pattern)


def _by_text(before: str, after: str) -> Callable[[re.Match[str]], Found | None]:
    """The title of the page that says so."""

    def read(asked: re.Match[str]) -> Found | None:
        said = re.compile(f"{re.escape(before)}{re.escape(asked[1])}{re.escape(after)}")
        page = next((page for page in bundled().pages() if said.search(page.text)), None)
        return Found(page.title.partition(" (")[0], page.title) if page else None

    return read


CAPITAL, SPEAK, CONTINENT = r"Its capital is ([\w ]+),", r"people speak (\w+)", r" is a country in ([\w ]+)\."
HEIGHT, LENGTH = r", ([\d,]+) metres high", r"about ([\d,]+) kilometres long"

FORMS: Mapping[str, Callable[[re.Match[str]], Found | None]] = {
    r"Of (.+) and (.+), take the one who was born first\. What is the capital": _of_first_born(CAPITAL),
    r"Of (.+) and (.+), take the one who was born first\. Which language": _of_first_born(SPEAK),
    r"Who was born first, (.+) or (.+)\?": _first_born,
    r"Which is higher, (.+) or (.+)\?": _larger(HEIGHT),
    r"Which is longer, the (.+) or the (.+)\?": _larger(LENGTH),
    r"^(.+) is the capital of which country": _of_page(r"is the capital of (?:the )?([A-Z][\w ]*?)\."),
    r"What is the capital of (.+)\?": _of_country(CAPITAL),
    r"[Oo]n which continent (.+)\?": _of_country(CONTINENT),
    r"Which language (.+)\?": _of_country(SPEAK),
    r"symbol of the chemical element (.+)\?": _of_page(r"number \d+, written (\w+),"),
    r"chemical element has the number (\d+)\?": _by_text("chemical element number ", ","),
    r"Which planet is the (\w+) from": _by_text("is the ", " planet"),
    r"In which year was (.+) born\?": _of_page(r"\((\d+) to"),
    r"When did (.+) die\?": _of_page(r"to (\d+)\)"),
    r"From which country did (.+) come": _of_page(r" from (?:the )?([A-Z][\w ]*?)\."),
    r"How many metres high is (.+)\?": _of_page(HEIGHT),
    r"how many kilometres long is the (.+)\?": _of_page(LENGTH),
}
"""How a question begins, and how its answer is read; the first that fits."""
