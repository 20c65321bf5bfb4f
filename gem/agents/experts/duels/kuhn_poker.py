"""The expert for KuhnPoker: a Nash equilibrium, against which nobody wins more in the long run than the game is worth.

Kuhn (1950) gives all equilibria. The first player bets a jack with probability a, bets a king with 3a and calls with
a queen with a + 1/3, for any a from 0 to 1/3; the second player has only one equilibrium strategy. Here a is 1/3.
"""

from __future__ import annotations

from collections.abc import Sequence

from gem.agents.agent import Decision
from gem.envs.duels.kuhn_poker import CARDS, KuhnPoker
from gem.rng import SplitMix64

JACK_BET_PROBABILITY = 1 / 3
JACK, QUEEN, KING = range(3)
_DRAW_ID = 0xCA2D
"""Makes this random draw independent of all other draws that follow from a seed."""


def play_equilibrium(env: KuhnPoker) -> Decision:
    """Bet or call with the probability of the equilibrium.

    The random draw depends on the seed and the turn, and not on hidden cards.
    """
    assert env.seed is not None
    passive, active = env.legal_actions() if "bet" not in env.history else env.legal_actions()[::-1]
    card = env.cards[env.to_act[0]]
    probability = aggressive_probability(card, env.history)
    keys = (env.draw_key, env.seed) if env.draw_key else (env.seed,)
    action = active if SplitMix64(*keys, env.turn, _DRAW_ID).random() < probability else passive
    return Decision(
        f"\\boxed{{{action}}}", f"With a {CARDS[card]} it is right to {active} with a chance of {probability:.0%}."
    )


def aggressive_probability(card: int, history: Sequence[str]) -> float:
    """The probability of a bet (or of a call, after a bet) with `card`, 0 (jack) to 2 (king)."""
    return {
        (): (JACK_BET_PROBABILITY, 0.0, 3 * JACK_BET_PROBABILITY),
        ("check",): (1 / 3, 0.0, 1.0),
        ("bet",): (0.0, 1 / 3, 1.0),
        ("check", "bet"): (0.0, JACK_BET_PROBABILITY + 1 / 3, 1.0),
    }[tuple(history)][card]
