"""The expert for PrisonersDilemma: tit for tat, which won both of Axelrod's tournaments."""

from __future__ import annotations

from gem.agents.agent import Decision
from gem.envs.duels.prisoners_dilemma import PrisonersDilemma


def repay(env: PrisonersDilemma) -> Decision:
    """Stay silent in the first round; then repeat the other player's last choice."""
    if not env.rounds:
        return Decision("\\boxed{silent}", "Begin with trust.")
    last_choice = env.rounds[-1][1 - env.to_act[0]]
    return Decision(f"\\boxed{{{last_choice}}}", f"The other chose {last_choice} in the last round.")
