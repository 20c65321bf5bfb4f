"""RuleTaker: read the facts and rules, and derive until nothing new follows.

It reads the sentences of our own generator, which are forms of RuleTaker's; a sentence that it does not know it
leaves out, and then it may be wrong.
"""

from __future__ import annotations

import re

from gem.agents.agent import Decision
from gem.datasets.ruletaker import Rule, derive
from gem.envs.problems.logic import LogicEnv

FACT = re.compile(r"(?P<who>[A-Z]\w*) is (?P<denied>not )?(?P<what>\w+)")
IF = re.compile(r"If (?P<who>someone|\w+) is (?P<parts>.+?) then (?:they are|\w+ is) (?P<gives>\w+)")
ALL = re.compile(r"(?:All )?(?P<parts>\w+(?:, \w+)*) people are (?P<gives>\w+)")


def derive_statement(env: LogicEnv) -> Decision:
    """Whether the statement follows from what the problem says."""
    world, _, statement = env.question.rpartition("Statement:")
    facts, rules = set(), []
    for sentence in re.split(r"\.\s*", world):
        if found := FACT.fullmatch(sentence):
            if not found["denied"]:
                facts.add((found["who"], found["what"]))
        elif found := IF.fullmatch(sentence):
            parts = found["parts"].split(" and ")
            lacks = tuple(part[4:] for part in parts if part.startswith("not "))
            needs = tuple(part for part in parts if not part.startswith("not "))
            rules.append(Rule(needs, lacks, found["gives"], "" if found["who"] == "someone" else found["who"]))
        elif found := ALL.fullmatch(sentence):
            rules.append(Rule(tuple(found["parts"].lower().split(", ")), (), found["gives"]))
    asked = FACT.search(statement)
    if asked is None:
        return Decision("\\boxed{False}", "I cannot read the statement, and most do not follow.")
    atom = (asked["who"], asked["what"])
    known = derive(facts, rules, sorted({person for person, _ in (*facts, atom)}))
    steps, follows = known.get(atom), (atom in known) != bool(asked["denied"])
    how = "cannot be derived" if steps is None else "is given" if steps == 0 else f"follows in {steps} steps"
    return Decision(f"\\boxed{{{follows}}}", f"That {atom[0]} is {atom[1]} {how}.")
