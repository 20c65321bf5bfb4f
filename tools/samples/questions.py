"""Questions about the pages of our WikiGame: of one page, and of two or three that have to be put together."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from itertools import combinations, pairwise
from typing import NamedTuple

from tools.wiki_pages import read_facts

Facts = dict[str, list[list[str]]]
ON_TWO_CONTINENTS = {"Russia", "Turkey", "Egypt", "Indonesia"}


class Asked(NamedTuple):
    """A question, the answers that count, and the pages that have them."""

    question: str
    answers: list[str]
    pages: list[str]

    def row(self) -> dict[str, object]:
        """As it is stored."""
        return {"question": self.question, "answer": self.answers, "supporting_titles": self.pages}


def _the(name: str) -> str:
    return f"the {name}" if name in {"United Kingdom", "United States", "Netherlands"} else name


def single(facts: Facts) -> Iterator[Asked]:
    """Questions that one page answers."""
    for name, continent, capital, languages, *_ in facts["countries"]:
        if name != "South Africa":  # it has three
            yield Asked(f"What is the capital of {_the(name)}?", [capital], [name])
        yield Asked(f"{capital} is the capital of which country?", [name], [capital])
        if name not in ON_TWO_CONTINENTS:
            yield Asked(f"On which continent does {_the(name)} lie?", [continent], [name])
        if " " not in languages:
            yield Asked(f"Which language do people speak in {_the(name)}?", [languages], [name])
    yield from _of_nature(facts)
    for name, years, country, role, _ in facts["people"]:
        born, _, died = years.partition(" to ")
        if role.endswith("s"):
            continue
        if born.isdigit():
            yield Asked(f"In which year was the {role} {name} born?", [born], [name])
        yield Asked(f"When did {name} die?", [died, f"in {died}"], [name])
        yield Asked(f"From which country did {name} come?", [country], [name])


def _of_nature(facts: Facts) -> Iterator[Asked]:
    for name, symbol, number, *_ in facts["elements"]:
        shown = name.partition(" (")[0]
        yield Asked(f"What is the symbol of the chemical element {shown.lower()}?", [symbol], [name])
        yield Asked(f"Which chemical element has the number {number}?", [shown], [name])
    for name, place, _ in facts["planets"]:
        yield Asked(f"Which planet is the {place} from the Sun?", [name], [name])
    for name, _, height, _ in facts["mountains"]:
        metres = int(height)
        yield Asked(
            f"How many metres high is {name}?",
            [f"{metres:,}", str(metres), f"{metres:,} metres", f"{metres} m"],
            [name],
        )
    for name, _, length, _ in facts["rivers"]:
        long = int(length)
        answers = [f"{long:,}", str(long), f"{long:,} kilometres", f"{long} km"]
        yield Asked(f"About how many kilometres long is the {name}?", answers, [name])


def double(facts: Facts) -> Iterator[Asked]:
    """Questions that take two pages."""
    capitals = {name: capital for name, _, capital, *_ in facts["countries"]}
    languages = {row[0]: row[3] for row in facts["countries"]}
    continents = {row[0]: row[1] for row in facts["countries"]}
    for name, _, country, role, _ in facts["people"]:
        if role.endswith("s") or country not in capitals:
            continue
        yield Asked(
            f"What is the capital of the country that the {role} {name} came from?",
            [capitals[country]],
            [name, country],
        )
        if " " not in languages[country]:
            yield Asked(f"Which language is spoken in the country of {name}?", [languages[country]], [name, country])
        if country not in ON_TWO_CONTINENTS:
            yield Asked(f"On which continent lies the home of {name}?", [continents[country]], [name, country])
    for country, capital in capitals.items():
        if " " not in languages[country]:
            yield Asked(
                f"Which language is spoken in the country whose capital is {capital}?",
                [languages[country]],
                [capital, country],
            )
        if country not in ON_TWO_CONTINENTS:
            asked = f"On which continent is the country of which {capital} is the capital?"
            yield Asked(asked, [continents[country]], [capital, country])
    yield from _compared(facts)


def _compared(facts: Facts) -> Iterator[Asked]:
    """Which of two is older, higher or longer."""
    people = [row for row in facts["people"] if not row[3].endswith("s")]
    for one, other in pairwise(people):
        first, second = one[1].partition(" to ")[0], other[1].partition(" to ")[0]
        if first.isdigit() and second.isdigit() and first != second:
            older = one[0] if int(first) < int(second) else other[0]
            yield Asked(f"Who was born first, {one[0]} or {other[0]}?", [older], [one[0], other[0]])
    for kind, asked, place in (
        ("mountains", "Which is higher, {} or {}?", 2),
        ("rivers", "Which is longer, the {} or the {}?", 2),
    ):
        rows = facts[kind]
        for one, other in pairwise(rows):
            if one[place] != other[place]:
                more = one[0] if int(one[place]) > int(other[place]) else other[0]
                yield Asked(asked.format(one[0], other[0]), [more], [one[0], other[0]])


def triple(facts: Facts) -> Iterator[Asked]:
    """Questions that take three pages: two people, and the country of the one who was born first."""
    countries = {row[0]: row for row in facts["countries"]}
    people = [row for row in facts["people"] if not row[3].endswith("s") and row[2] in countries]
    born = {row[0]: row[1].partition(" to ")[0] for row in people}
    for one, other in combinations(people, 2):
        if one[2] == other[2] or not (born[one[0]].isdigit() and born[other[0]].isdigit()):
            continue
        first = one if int(born[one[0]]) < int(born[other[0]]) else other
        country = countries[first[2]]
        pages = [one[0], other[0], country[0]]
        who = f"Of {one[0]} and {other[0]}, take the one who was born first."
        yield Asked(f"{who} What is the capital of the country of that person?", [country[2]], pages)
        if " " not in country[3]:
            yield Asked(f"{who} Which language is spoken in the country of that person?", [country[3]], pages)


KINDS: dict[str, Callable[[Facts], Iterator[Asked]]] = {"single": single, "double": double, "triple": triple}


def questions(kind: str) -> list[Asked]:
    """All of a kind, each once."""
    facts = read_facts()
    made = {asked.question: asked for asked in KINDS[kind](facts) if asked.answers[0]}
    return list(made.values())
