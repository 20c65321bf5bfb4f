"""Is `gemweb learnable` right? Its verdicts beside the known ones: environments of ours, others broken on purpose, and
servers of OpenEnv.

python -m bench.learnability            # all of them; minutes of one core
python -m bench.learnability duel: http  # ids with one of these words

The exit code is 1 if a verdict is wrong.
"""

from __future__ import annotations

import logging
import sys
from collections.abc import Iterator
from contextlib import ExitStack
from typing import NamedTuple

from gem import learnability
from gem.agents import Request
from gem.learnability import Verdict
from gem.learnability.probing import Fixed
from gem.registry import REMOTE
from tests.engine.elsewhere.guessing_server import serving
from tests.engine.learnable_envs import BROKEN, KNOWN, Sum, Unreachable, expert_action, id_of, registered

ABOUT_THE_REWARD = ("broken", "without the task")
SERVERS = {"": (("has a signal",), ""), "seedless": (("broken",), "noisy"), "pays always": (("broken",), "ignores")}
"""Faults of a server of OpenEnv, with the verdicts that are right and words that have to be in the sentence."""


class Case(NamedTuple):
    """An environment with a known answer."""

    name: str
    env_id: str
    kinds: tuple[str, ...]
    """The verdicts that are right."""
    words: str
    """Words that the sentence has to have."""
    expert: Fixed | None = None
    seeds: int = 60

    def is_right(self, verdict: Verdict) -> bool:
        """Whether the verdict is right, and for the right reason."""
        return verdict.kind in self.kinds and self.words in verdict.sentence


def main(words: list[str]) -> int:
    """Print a line for each environment; the exit code."""
    logging.disable(logging.ERROR)  # some of them fail on purpose
    right = total = 0
    with registered(), ExitStack() as stack:
        for case in cases(stack):
            if words and not any(word in case.name for word in words):
                continue
            verdict = learnability.probe(case.env_id, seeds=case.seeds, tries=3, expert=case.expert).verdict
            is_right = case.is_right(verdict)
            right, total = right + is_right, total + 1
            known = " or ".join(case.kinds)
            print(f"{'right' if is_right else 'WRONG'}  {case.name:36} {known:26} {verdict.kind}", flush=True)
            if not is_right:
                print(f"       {verdict.sentence}")
    print(f"\n{right} of {total} verdicts are right.")
    return 0 if right == total else 1


def cases(stack: ExitStack) -> Iterator[Case]:
    """Everything with a known answer; servers are started when they are asked for."""
    expert = Fixed("expert", _expert)
    for env_id, kind in KNOWN.items():
        yield Case(env_id, env_id, (kind,), "")
    yield Case("Sum", id_of(Sum), ("has a signal",), "", expert)
    for cls, words in BROKEN.items():
        kinds = ("unreachable",) if cls is Unreachable else ABOUT_THE_REWARD
        yield Case(f"broken: {cls.__name__}", id_of(cls), kinds, words, expert)
    for fault, (kinds, words) in SERVERS.items():
        url = stack.enter_context(serving(fault))
        yield Case(f"http server {fault or 'that is right'}", f"{REMOTE}{url}", kinds, words, seeds=20)


def _expert(request: Request) -> str:
    return expert_action(request.env)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
