"""Writes `pages.jsonl`, the bundled link graph, from the facts: `python -m tools.wiki_pages`."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from pathlib import Path

from gem.data import wiki

FACTS_FILE = Path(__file__).parent / "wiki_facts.txt"
PAGES_FILE = Path(wiki.__file__).parent / "pages.jsonl"
LINK = re.compile(r"\[\[([^\]|]+)(?:\|([^\]]+))?\]\]")
FIELDS = {
    "physicist": "[[physics]]", "physicist and chemist": "[[physics]] and [[chemistry]]", "chemist": "[[chemistry]]",
    "astronomer": "[[astronomy]]", "naturalist": "[[biology]]", "mathematician": "[[mathematics]]",
    "composer": "[[music]]", "painter and engineer": "[[painting]]", "printer": "[[printing]]",
    "nurse": "[[medicine]]",
}  # fmt: skip

WOMEN = {"Marie Curie", "Ada Lovelace", "Florence Nightingale"}


def read_facts() -> dict[str, list[list[str]]]:
    """The rows of every section of the file, split into columns; "-" is an empty one."""
    sections: dict[str, list[list[str]]] = {}
    for line in FACTS_FILE.read_text(encoding="utf-8").splitlines():
        if line.startswith("== "):
            rows = sections.setdefault(line[3:].partition(":")[0], [])
        elif line and not line.startswith("#"):
            rows.append(["" if column == "-" else column for column in line.split(" | ")])
    return sections


def articles() -> Iterator[tuple[str, str]]:
    """Title and text of every page, links in double brackets."""
    facts = read_facts()
    homes = {capital: name for name, _, capital, *_ in facts["countries"]}
    for name, continent, capital, languages, neighbours, more in facts["countries"]:
        yield name, _country(name, continent, capital, languages, neighbours, more)
    for name, more in facts["capitals"]:
        yield name, f"{name} is the [[capital]] of {_the(homes[name])}. {more}"
    for name, more in facts["languages"]:
        countries = [f"[[{row[0]}]]" for row in facts["countries"] if name in row[3].split()]
        spoken = f" It is spoken in {_listed(countries[:4])}." if countries else ""
        yield name, f"{name} is a [[language]].{spoken} {more}"
    yield from _nature(facts)
    for name, years, country, role, more in facts["people"]:
        yield name, _person(name, years, country, role, more)
    yield from map(_pair, facts["topics"])


def _pair(row: list[str]) -> tuple[str, str]:
    title, text = row
    return title, text


def _nature(facts: dict[str, list[list[str]]]) -> Iterator[tuple[str, str]]:
    for name, symbol, number, kind, more in facts["elements"]:
        sort = kind if kind == "solid" else f"[[{kind}]]"
        shown = name.partition(" (")[0]
        yield name, f"{shown} is the [[chemical element]] number {number}, written {symbol}, a {sort}. {more}"
    for name, place, more in facts["planets"]:
        yield name, f"{name} is the {place} [[planet]] from the [[Sun]]. {more}"
    for name, kind, where, food, more in facts["animals"]:
        article = "an" if kind[0] in "aeiou" else "a"
        yield name, f"The {name[0].lower()}{name[1:]} is {article} [[{kind}]] of {where}. It eats {food}. {more}"
    for name, where, length, more in facts["rivers"]:
        yield name, f"The {name} is a [[river]] of {where}, about {int(length):,} kilometres long. {more}"
    for name, where, height, more in facts["mountains"]:
        yield name, f"{name} is a [[mountain]] in {where}, {int(height):,} metres high. {more}"


def _person(name: str, years: str, country: str, role: str, more: str) -> str:
    many = role.endswith("s")
    what = f"were {role}" if many else f"was {'an' if role[0] in 'aeiou' else 'a'} {role}"
    subject = "They" if many else "She" if name in WOMEN else "He"
    work = f" {subject} worked in {FIELDS[role]}." if role in FIELDS else ""
    return f"{name} ({years}) {what} from {_the(country)}.{work} {more}"


def _country(name: str, continent: str, capital: str, languages: str, neighbours: str, more: str) -> str:
    spoken = _listed([f"[[{language}]]" for language in languages.split()])
    borders = [f"[[{other}]]" for other in _names(neighbours)]
    text = f"{name} is a [[country]] in [[{continent}]]. Its [[capital]] is [[{capital}]], and people speak {spoken}."
    return f"{text}{f' It borders {_listed(borders)}.' if borders else ''} {more}"


def _names(neighbours: str) -> list[str]:
    """The countries in a list that is separated by spaces; "United States" is the only one with a space."""
    names = neighbours.replace("United States", "United_States").split()
    return [name.replace("_", " ") for name in names]


def _the(country: str) -> str:
    return f"the [[{country}]]" if country in {"United Kingdom", "United States", "Netherlands"} else f"[[{country}]]"


def _listed(items: list[str]) -> str:
    return items[0] if len(items) == 1 else f"{', '.join(items[:-1])} and {items[-1]}"


def pages() -> list[dict[str, object]]:
    """Every page as the file has it: title, text and the links on it as pairs of shown words and title.

    Raises:
        ValueError: if a link leads nowhere, or one wording leads to two pages.
    """
    written = dict(articles())
    titles = {title.casefold(): title for title in written}
    rows: list[dict[str, object]] = []
    for title, text in sorted(written.items()):
        links: dict[str, str] = {}
        for target, shown in LINK.findall(text):
            page = titles.get(target.casefold())
            if page is None:
                raise ValueError(f"{title} links to {target}, which is no page")
            words = shown or target
            if page != title and page not in links.values():
                if words.casefold() in map(str.casefold, links):
                    raise ValueError(f"{title} links to two pages as {words}")
                links[words] = page
        shown_text = LINK.sub(lambda match: match[2] or match[1], text)
        rows.append({"title": title, "text": shown_text, "links": list(links.items())})
    return rows


def write() -> None:
    """Write the file anew."""
    PAGES_FILE.write_text("".join(json.dumps(page, ensure_ascii=False) + "\n" for page in pages()), encoding="utf-8")


if __name__ == "__main__":
    write()
