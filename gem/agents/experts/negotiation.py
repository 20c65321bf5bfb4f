"""Negotiation: ask for what is worth little to the other side, and concede as the talks go on.

What the other side values is inferred from its proposals: of all values that it may have, those in which each of its
proposals was worth much to it.
"""

from __future__ import annotations

from functools import lru_cache

from gem.agents.agent import Decision
from gem.envs.duels.negotiation import TOTAL, Division, Negotiation, divisions, listed, valuations, worth

FIRST_DEMAND, LAST_DEMAND = 9, 5
"""The fewest points asked for in the first and in the last own turn; to the last word anything beats nothing."""


def concede_slowly(env: Negotiation) -> Decision:
    """Accept an offer as good as the own next proposal, otherwise propose."""
    seat = env.to_act[0]
    own, offer = env.values[seat], env.offer(seat)
    left = env.turns_left(seat)
    last_word = left == 1 and env.turns_left(1 - seat) == 0
    asked = tuple(entry.proposal for entry in env.talks if entry.seat != seat and entry.proposal is not None)
    proposal = best_proposal(env.counts, own, asked, _demand(left, env.config.rounds))
    offered = 0 if offer is None else worth(offer, own)
    if offer is not None and (offered >= worth(proposal, own) or (last_word and offered > 0)):
        last = ", and this is the last word" if last_word else ""
        return Decision("\\boxed{accept}", f"The offer is worth {offered} points{last}.")
    text = f"\\boxed{{propose {' '.join(map(str, proposal))}}}"
    return Decision(
        text, f"To take {listed(proposal)} is worth {worth(proposal, own)} points and leaves much to the other."
    )


def _demand(left: int, rounds: int) -> int:
    """The fewest points to ask for with so many turns left."""
    gone = (rounds - left) / max(1, rounds - 1)
    return round(FIRST_DEMAND - (FIRST_DEMAND - LAST_DEMAND) * gone)


@lru_cache(maxsize=4096)
def best_proposal(counts: Division, own: Division, asked: tuple[Division, ...], demand: int) -> Division:
    """Of the shares worth at least `demand`, the one that leaves most to the other side as far as it is known."""
    candidates = likely_values(counts, asked)

    def left_over(share: Division) -> int:
        rest = tuple(count - number for count, number in zip(counts, share, strict=True))
        return sum(worth(rest, values) for values in candidates)

    good = [share for share in divisions(counts) if worth(share, own) >= demand]
    return max(good, key=lambda share: (left_over(share), worth(share, own), share))


def likely_values(counts: Division, asked: tuple[Division, ...]) -> list[Division]:
    """The values under which the other side's proposals are worth most to it; all if it has proposed nothing."""
    every = valuations(counts)
    for least in range(TOTAL, 0, -1):
        fitting = [values for values in every if all(worth(share, values) >= least for share in asked)]
        if fitting:
            return fitting
    return every
