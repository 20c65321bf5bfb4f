"""PrisonersDilemma: tit for tat, which won both of Axelrod's tournaments."""

from __future__ import annotations

from gem.agents.agent import Decision
from gem.envs.duels.prisoners_dilemma import PrisonersDilemma


def repay(env: PrisonersDilemma) -> Decision:
    """Begin in silence, then do what the other did last."""
    if not env.rounds:
        return Decision("\\boxed{silent}", "Begin with trust.")
    last = env.rounds[-1][1 - env.to_act[0]]
    return Decision(f"\\boxed{{{last}}}", f"The other chose {last} in the last round.")
