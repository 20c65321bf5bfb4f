"""Small worlds of facts and rules, and statements that follow from them or not, made without end from a number.

What cannot be derived is false. "not" stands in rules before properties alone that no rule concludes, so that the order
of derivation does not matter. Worlds of this kind are Clark, Tafjord and Richardson's (arXiv 2002.05867); the words,
forms and proportions here are our own.
"""

from __future__ import annotations

import hashlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise

from gem.datasets.dataset import Dataset, Row, Table
from gem.rng import SplitMix64, choice, randbelow, randint, sample, shuffle

VERSION = 1
"""Raised when a number would give another problem."""
ROWS = 70_000
"""As many as RuleTaker has of each depth in GEM's version."""
DEPTHS = (0, 1, 2, 3, 5)

NAMES = ("Anne", "Bob", "Charlie", "Dora", "Erin", "Fiona", "Gary", "Harry", "Ines", "Jonas")
PROPERTIES = (
    "big", "blue", "calm", "clever", "cold", "funny", "furry", "gentle", "green", "kind", "nice", "quiet", "red",
    "rough", "round", "rich", "smart", "tall", "white", "young",
)  # fmt: skip

Atom = tuple[str, str]
"""Somebody and a property."""


@dataclass(frozen=True, slots=True)
class Rule:
    """Whoever has all of `needs` and none of `lacks` has `gives`; `who` is a name where it is about one alone."""

    needs: tuple[str, ...]
    lacks: tuple[str, ...]
    gives: str
    who: str = ""


class Worlds(Table):
    """Problems of one depth: row i is the same for ever."""

    def __init__(self, depth: int) -> None:
        self.depth = depth

    def __len__(self) -> int:
        return ROWS

    def row(self, index: int) -> Row:
        """See `problem`."""
        return problem(self.depth, index)


def worlds(depth: int) -> Dataset:
    """All problems whose statement needs at most `depth` steps; the hash is that of the generator's version."""
    name = f"gemweb worlds of facts and rules, version {VERSION}, depth {depth}"
    digest = hashlib.sha256(name.encode()).hexdigest()
    return Dataset(Worlds(depth), "sample", f"built-in generator ruletaker-d{depth}", digest, (worlds, (depth,)))


def problem(depth: int, number: int) -> Row:
    """The problem with this number: its text, "True" or "False", and how many steps it needs."""
    rng = SplitMix64(VERSION, depth, number)
    people = sample(rng, NAMES, randint(rng, 3, 4))
    levels = _levels(rng, depth)
    rules = _rules(rng, levels, people)
    facts = {(person, name) for person in people for name in levels[0] if randbelow(rng, 2)}
    derived = derive(facts, rules, people)
    statement, truth, steps = _statement(rng, people, levels, derived, randbelow(rng, depth + 1))
    sentences = [f"{person} is {name}." for person, name in sorted(facts)] + [_sentence(rng, rule) for rule in rules]
    shuffle(rng, sentences)
    question = f"{' '.join(sentences)}\n\nStatement: {statement}"
    return {"question": question, "answer": str(truth), "depth": steps}


def derive(facts: set[Atom], rules: Sequence[Rule], people: Sequence[str]) -> dict[Atom, int]:
    """Everything that holds, with the fewest steps to it; a fact needs none."""
    found = dict.fromkeys(sorted(facts), 0)
    step = 0
    while True:
        step += 1
        fresh = {
            (person, rule.gives)
            for rule in rules
            for person in people
            if rule.who in ("", person)
            and (person, rule.gives) not in found
            and all((person, name) in found for name in rule.needs)
            and not any((person, name) in found for name in rule.lacks)
        }
        if not fresh:
            return found
        found |= dict.fromkeys(sorted(fresh), step)


def _levels(rng: SplitMix64, depth: int) -> list[list[str]]:
    """Properties by level: rules conclude those of a level from those of the one before."""
    names = sample(rng, PROPERTIES, len(PROPERTIES))
    levels = [names[:5]]
    used = 5
    for _ in range(max(1, depth)):
        width = randint(rng, 1, 2)
        levels.append(names[used : used + width])
        used += width
    return levels


def _rules(rng: SplitMix64, levels: Sequence[Sequence[str]], people: Sequence[str]) -> list[Rule]:
    rules = []
    for before, level in pairwise(levels):
        for gives in level:
            first = choice(rng, before)
            others = [name for name in (*levels[0], *before) if name != first]
            needs, lacks, kind = [first], [], randbelow(rng, 5)
            if kind == 0:
                needs.append(choice(rng, others))
            elif kind == 1:
                lacks = [choice(rng, [name for name in levels[0] if name != first])]
            who = choice(rng, people) if kind == 2 and randbelow(rng, 2) else ""
            rules.append(Rule(tuple(needs), tuple(lacks), gives, who))
            if randbelow(rng, 2):  # another way to the same
                rules.append(Rule((choice(rng, before),), (), gives))
    return list(dict.fromkeys(rules))


def _statement(
    rng: SplitMix64, people: Sequence[str], levels: Sequence[Sequence[str]], derived: Mapping[Atom, int], steps: int
) -> tuple[str, bool, int]:
    """A statement, whether it follows, and how many steps say so (those of its opposite, where that is derived)."""
    everything = [(person, name) for person in people for level in levels for name in level]
    holds = [atom for atom in everything if atom in derived]
    fails = [atom for atom in everything if atom not in derived]
    truth, denied = bool(randbelow(rng, 2)), bool(randbelow(rng, 3) == 0)
    wanted = holds if truth != denied else fails
    if not wanted:
        truth, wanted = not truth, holds or fails
    deepest = max((derived[atom] for atom in holds), default=0)
    exact = [atom for atom in wanted if derived.get(atom, steps) == min(steps, deepest)] or wanted
    person, name = choice(rng, exact)
    return f"{person} is {'not ' if denied else ''}{name}.", truth, derived.get((person, name), min(steps, deepest))


def _sentence(rng: SplitMix64, rule: Rule) -> str:
    parts = [*rule.needs, *(f"not {name}" for name in rule.lacks)]
    if rule.who:
        return f"If {rule.who} is {' and '.join(parts)} then {rule.who} is {rule.gives}."
    form = randbelow(rng, 3)
    if form == 0 and not rule.lacks:
        return f"All {', '.join(parts)} people are {rule.gives}."
    if form == 1 and not rule.lacks:
        return f"{', '.join(parts).capitalize()} people are {rule.gives}."
    return f"If someone is {' and '.join(parts)} then they are {rule.gives}."
