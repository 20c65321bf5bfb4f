"""The expert for RuleTaker: it reads the facts and rules, and derives facts until nothing new follows.

It understands the sentences of our own generator, which are forms of RuleTaker's. It skips a sentence that it does not
understand, and may then be wrong.
"""

from __future__ import annotations

import re

from gem.agents.agent import Decision
from gem.datasets.ruletaker import Implication, derive
from gem.envs.problems.logic import LogicEnv

FACT = re.compile(r"(?P<who>[A-Z]\w*) is (?P<denied>not )?(?P<what>\w+)")
IF = re.compile(r"If (?P<who>someone|\w+) is (?P<parts>.+?) then (?:they are|\w+ is) (?P<gives>\w+)")
ALL = re.compile(r"(?:All )?(?P<parts>\w+(?:, \w+)*) people are (?P<gives>\w+)")


def derive_statement(env: LogicEnv) -> Decision:
    """Say whether the statement follows from the facts and rules of the problem."""
    world, _, statement = env.question.rpartition("Statement:")
    facts, rules = set(), []
    for sentence in re.split(r"\.\s*", world):
        if match := FACT.fullmatch(sentence):
            if not match["denied"]:
                facts.add((match["who"], match["what"]))
        elif match := IF.fullmatch(sentence):
            conditions = match["parts"].split(" and ")
            negated_conditions = tuple(condition[4:] for condition in conditions if condition.startswith("not "))
            positive_conditions = tuple(condition for condition in conditions if not condition.startswith("not "))
            rules.append(
                Implication(
                    positive_conditions,
                    negated_conditions,
                    match["gives"],
                    "" if match["who"] == "someone" else match["who"],
                )
            )
        elif match := ALL.fullmatch(sentence):
            rules.append(Implication(tuple(match["parts"].lower().split(", ")), (), match["gives"]))
    statement_match = FACT.search(statement)
    if statement_match is None:
        return Decision("\\boxed{False}", "I cannot read the statement, and most do not follow.")
    atom = (statement_match["who"], statement_match["what"])
    derived = derive(facts, rules, sorted({person for person, _ in (*facts, atom)}))
    steps, follows = derived.get(atom), (atom in derived) != bool(statement_match["denied"])
    explanation = "cannot be derived" if steps is None else "is given" if steps == 0 else f"follows in {steps} steps"
    return Decision(f"\\boxed{{{follows}}}", f"That {atom[0]} is {atom[1]} {explanation}.")
