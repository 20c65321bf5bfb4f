"""Generates small worlds of facts and rules, with statements that follow from them or not.

Every number gives another problem. What cannot be derived is false. A rule negates only properties that no rule
concludes, so the order of derivation does not matter. Worlds of this kind were introduced by Clark, Tafjord and
Richardson (arXiv 2002.05867); the words, forms and proportions here are our own.
"""

from __future__ import annotations

import hashlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from itertools import pairwise

from gem.datasets.dataset import Dataset, Row, Table
from gem.rng import SplitMix64, choice, randbelow, randint, sample, shuffle

VERSION = 1
"""Increased whenever a number would give another problem than before."""
ROWS = 70_000
"""The number of problems of each depth, as in GEM's version of RuleTaker."""
DEPTHS = (0, 1, 2, 3, 5)

NAMES = ("Anne", "Bob", "Charlie", "Dora", "Erin", "Fiona", "Gary", "Harry", "Ines", "Jonas")
PROPERTIES = (
    "big", "blue", "calm", "clever", "cold", "funny", "furry", "gentle", "green", "kind", "nice", "quiet", "red",
    "rough", "round", "rich", "smart", "tall", "white", "young",
)  # fmt: skip

Atom = tuple[str, str]
"""A person and a property."""


@dataclass(frozen=True, slots=True)
class Implication:
    """A rule: a person with all of `conditions` and none of `negated_conditions` also has `conclusion`.

    If `person` is not empty, the rule is about this person alone.
    """

    conditions: tuple[str, ...]
    negated_conditions: tuple[str, ...]
    conclusion: str
    person: str = ""


class Worlds(Table):
    """The problems of one depth. A row never changes."""

    def __init__(self, depth: int) -> None:
        self.depth = depth

    def __len__(self) -> int:
        return ROWS

    def row(self, index: int) -> Row:
        """See `problem`."""
        return problem(self.depth, index)


@cache
def worlds(depth: int) -> Dataset:
    """All problems whose statement needs at most `depth` steps. The hash depends only on `VERSION` and `depth`."""
    name = f"gemweb worlds of facts and rules, version {VERSION}, depth {depth}"
    digest = hashlib.sha256(name.encode()).hexdigest()
    return Dataset(Worlds(depth), "sample", f"built-in generator ruletaker-d{depth}", digest, (worlds, (depth,)))


def problem(depth: int, number: int) -> Row:
    """The problem with this number: its text, the answer ("True" or "False") and the number of steps that it needs."""
    rng = SplitMix64(VERSION, depth, number)
    people = sample(rng, NAMES, randint(rng, 3, 4))
    levels = _levels(rng, depth)
    rules = _rules(rng, levels, people)
    facts = {(person, name) for person in people for name in levels[0] if randbelow(rng, 2)}
    steps_by_atom = derive(facts, rules, people)
    statement, truth, steps = _statement(rng, people, levels, steps_by_atom, randbelow(rng, depth + 1))
    sentences = [f"{person} is {name}." for person, name in sorted(facts)] + [_sentence(rng, rule) for rule in rules]
    shuffle(rng, sentences)
    question = f"{' '.join(sentences)}\n\nStatement: {statement}"
    return {"question": question, "answer": str(truth), "depth": steps}


def derive(facts: set[Atom], rules: Sequence[Implication], people: Sequence[str]) -> dict[Atom, int]:
    """Everything that can be derived, with the smallest number of steps; a fact needs none."""
    steps_by_atom = dict.fromkeys(sorted(facts), 0)
    num_steps = 0
    while True:
        num_steps += 1
        new_atoms = {
            (person, rule.conclusion)
            for rule in rules
            for person in people
            if rule.person in ("", person)
            and (person, rule.conclusion) not in steps_by_atom
            and all((person, name) in steps_by_atom for name in rule.conditions)
            and not any((person, name) in steps_by_atom for name in rule.negated_conditions)
        }
        if not new_atoms:
            return steps_by_atom
        steps_by_atom |= dict.fromkeys(sorted(new_atoms), num_steps)


def _levels(rng: SplitMix64, depth: int) -> list[list[str]]:
    """Draw properties in levels. Rules conclude a property of a level from properties of the level before it."""
    names = sample(rng, PROPERTIES, len(PROPERTIES))
    levels = [names[:5]]
    num_used = 5
    for _ in range(max(1, depth)):
        width = randint(rng, 1, 2)
        levels.append(names[num_used : num_used + width])
        num_used += width
    return levels


def _rules(rng: SplitMix64, levels: Sequence[Sequence[str]], people: Sequence[str]) -> list[Implication]:
    rules = []
    for lower_level, level in pairwise(levels):
        for conclusion in level:
            first_condition = choice(rng, lower_level)
            other_conditions = [name for name in (*levels[0], *lower_level) if name != first_condition]
            conditions, negated_conditions, form = [first_condition], [], randbelow(rng, 5)
            if form == 0:
                conditions.append(choice(rng, other_conditions))
            elif form == 1:
                negated_conditions = [choice(rng, [name for name in levels[0] if name != first_condition])]
            person = choice(rng, people) if form == 2 and randbelow(rng, 2) else ""
            rules.append(Implication(tuple(conditions), tuple(negated_conditions), conclusion, person))
            if randbelow(rng, 2):  # a second rule with the same conclusion
                rules.append(Implication((choice(rng, lower_level),), (), conclusion))
    return list(dict.fromkeys(rules))


def _statement(
    rng: SplitMix64,
    people: Sequence[str],
    levels: Sequence[Sequence[str]],
    steps_by_atom: Mapping[Atom, int],
    steps: int,
) -> tuple[str, bool, int]:
    """Draw a statement; return it, whether it is true, and the number of steps to it or to its opposite."""
    atoms = [(person, name) for person in people for level in levels for name in level]
    holds = [atom for atom in atoms if atom in steps_by_atom]
    fails = [atom for atom in atoms if atom not in steps_by_atom]
    truth, is_negated = bool(randbelow(rng, 2)), bool(randbelow(rng, 3) == 0)
    candidates = holds if truth != is_negated else fails
    if not candidates:
        truth, candidates = not truth, holds or fails
    deepest = max((steps_by_atom[atom] for atom in holds), default=0)
    exact = [atom for atom in candidates if steps_by_atom.get(atom, steps) == min(steps, deepest)] or candidates
    person, name = choice(rng, exact)
    return (
        f"{person} is {'not ' if is_negated else ''}{name}.",
        truth,
        steps_by_atom.get((person, name), min(steps, deepest)),
    )


def _sentence(rng: SplitMix64, rule: Implication) -> str:
    conditions = [*rule.conditions, *(f"not {name}" for name in rule.negated_conditions)]
    if rule.person:
        return f"If {rule.person} is {' and '.join(conditions)} then {rule.person} is {rule.conclusion}."
    form = randbelow(rng, 3)
    if form == 0 and not rule.negated_conditions:
        return f"All {', '.join(conditions)} people are {rule.conclusion}."
    if form == 1 and not rule.negated_conditions:
        return f"{', '.join(conditions).capitalize()} people are {rule.conclusion}."
    return f"If someone is {' and '.join(conditions)} then they are {rule.conclusion}."
