"""KuhnPoker: an equilibrium, against which nobody wins more in the long run than the game is worth.

Kuhn (1950) gives all equilibria: the first player bets a jack with a chance of a, a king with 3a and calls with a
queen with a + 1/3, for any a from 0 to 1/3; the second player's is the only one. Here a is 1/3.
"""

from __future__ import annotations

from collections.abc import Sequence

from gem.agents.agent import Decision
from gem.envs.duels.kuhn_poker import CARDS, KuhnPoker
from gem.rng import SplitMix64

ALPHA = 1 / 3
JACK, QUEEN, KING = range(3)
_DRAW = 0xCA2D
"""Sets this draw apart from all others that follow from a seed."""


def play_equilibrium(env: KuhnPoker) -> Decision:
    """Bet or call with the equilibrium's chance; the draw follows from the seed and the turn, not from hidden cards."""
    assert env.seed is not None
    passive, active = env.options() if "bet" not in env.history else env.options()[::-1]
    card = env.cards[env.to_act[0]]
    chance = aggression(card, env.history)
    action = active if SplitMix64(env.seed, env.turn, _DRAW).random() < chance else passive
    return Decision(
        f"\\boxed{{{action}}}", f"With a {CARDS[card]} it is right to {active} with a chance of {chance:.0%}."
    )


def aggression(card: int, history: Sequence[str]) -> float:
    """The chance of a bet (or of a call, after a bet) with `card`, 0 (jack) to 2 (king)."""
    return {
        (): (ALPHA, 0.0, 3 * ALPHA),
        ("check",): (1 / 3, 0.0, 1.0),
        ("bet",): (0.0, 1 / 3, 1.0),
        ("check", "bet"): (0.0, ALPHA + 1 / 3, 1.0),
    }[tuple(history)][card]
