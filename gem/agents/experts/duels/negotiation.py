"""The expert for Negotiation: it asks for what the other side values little, and concedes as the talks go on.

It infers the other side's values from its proposals: of all values that the other side may have, those under which
each of its proposals was worth much to it.
"""

from __future__ import annotations

from functools import lru_cache

from gem.agents.agent import Decision
from gem.envs.duels.negotiation import TOTAL, Division, Negotiation, divisions, in_words, valuations, worth

FIRST_DEMAND, LAST_DEMAND = 9, 5
"""The fewest points that the expert asks for in its first and in its last turn."""


def concede_slowly(env: Negotiation) -> Decision:
    """Accept an offer that is worth at least as much as the next proposal would be; otherwise make that proposal.

    In the very last turn of the talks, accept any offer that is worth something.
    """
    seat = env.to_act[0]
    own_values, offer = env.values[seat], env.offer(seat)
    turns_left = env.turns_left(seat)
    last_word = turns_left == 1 and env.turns_left(1 - seat) == 0
    proposals = tuple(turn.proposal for turn in env.talks if turn.seat != seat and turn.proposal is not None)
    proposal = best_proposal(env.counts, own_values, proposals, _demand(turns_left, env.config.rounds))
    offer_worth = 0 if offer is None else worth(offer, own_values)
    if offer is not None and (offer_worth >= worth(proposal, own_values) or (last_word and offer_worth > 0)):
        note_end = ", and this is the last word" if last_word else ""
        return Decision("\\boxed{accept}", f"The offer is worth {offer_worth} points{note_end}.")
    text = f"\\boxed{{propose {' '.join(map(str, proposal))}}}"
    return Decision(
        text,
        f"To take {in_words(proposal)} is worth {worth(proposal, own_values)} points and leaves much to the other.",
    )


def _demand(turns_left: int, rounds: int) -> int:
    """The fewest points to ask for with `turns_left` turns left."""
    progress = (rounds - turns_left) / max(1, rounds - 1)
    return round(FIRST_DEMAND - (FIRST_DEMAND - LAST_DEMAND) * progress)


@lru_cache(maxsize=4096)
def best_proposal(
    counts: Division, own_values: Division, other_proposals: tuple[Division, ...], demand: int
) -> Division:
    """Of the shares worth at least `demand`, the one that is likely to leave the most points to the other side."""
    candidates = likely_values(counts, other_proposals)

    def worth_to_other(share: Division) -> int:
        remainder = tuple(count - taken for count, taken in zip(counts, share, strict=True))
        return sum(worth(remainder, values) for values in candidates)

    shares = [share for share in divisions(counts) if worth(share, own_values) >= demand]
    return max(shares, key=lambda share: (worth_to_other(share), worth(share, own_values), share))


def likely_values(counts: Division, proposals: tuple[Division, ...]) -> list[Division]:
    """The values under which the other side's proposals are worth the most to it; all values if it made none."""
    all_values = valuations(counts)
    for threshold in range(TOTAL, 0, -1):
        likely = [values for values in all_values if all(worth(share, values) >= threshold for share in proposals)]
        if likely:
            return likely
    return all_values
