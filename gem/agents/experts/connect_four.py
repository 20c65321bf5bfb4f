"""ConnectFour: alpha-beta search that stops on a number of positions, never on seconds.

A side's discs are the bits of one integer: seven bits for each column from the bottom, the topmost always empty, so
that a line is found by four shifts.
"""

from __future__ import annotations

from functools import lru_cache

from gem.agents.agent import Decision
from gem.envs.duels.connect_four import COLUMNS, ROWS, ConnectFour

NODES = 3000
"""Positions looked at for one decision."""
HEIGHT = ROWS + 1
CENTRE_FIRST = (3, 2, 4, 1, 5, 0, 6)
WIN = 1000
FULL = sum(((1 << ROWS) - 1) << (HEIGHT * column) for column in range(COLUMNS))
MIDDLE = ((1 << ROWS) - 1) << (HEIGHT * 3)


def search_deeper(env: ConnectFour) -> Decision:
    """Search one move deeper until the positions are used up, and take the best column found."""
    seat = env.to_act[0]
    own, other = (_bits(env, one) for one in (seat, 1 - seat))
    column, value, depth = choose(own, other)
    action = f"\\boxed{{{column + 1}}}"
    if value > WIN // 2:
        return Decision(action, f"Column {column + 1} wins within {WIN - value} discs.")
    if value < -WIN // 2:
        return Decision(action, f"Every column loses against best play; {column + 1} holds out longest.")
    return Decision(action, f"Column {column + 1} is best, looking {depth} discs ahead.")


def _bits(env: ConnectFour, seat: int) -> int:
    return sum(
        1 << (HEIGHT * column + row)
        for column, discs in enumerate(env.columns)
        for row, owner in enumerate(discs)
        if owner == seat
    )


@lru_cache(maxsize=20_000)
def choose(own: int, other: int) -> tuple[int, int, int]:
    """The best column for the side to move, its value and how deep the search went."""
    search = _Search()
    best = next(column for column in CENTRE_FIRST if _lands(own | other, column))
    value = depth = 0
    for deeper in range(1, ROWS * COLUMNS - (own | other).bit_count() + 1):
        try:
            best, value = search.root(own, other, deeper, best)
        except _UsedUp:
            break
        depth = deeper
        if abs(value) > WIN // 2:
            break
    return best, value, depth


class _UsedUp(Exception):
    """All positions are looked at that may be."""


class _Search:
    """One decision: counts positions and remembers exact values."""

    def __init__(self) -> None:
        self.nodes = 0
        self.known: dict[tuple[int, int, int], int] = {}

    def root(self, own: int, other: int, depth: int, first: int) -> tuple[int, int]:
        """The best column and its value; `first` is tried first."""
        best, alpha = first, -2 * WIN
        for column in (first, *(one for one in CENTRE_FIRST if one != first)):
            disc = _lands(own | other, column)
            if not disc:
                continue
            value = self._after(own | disc, other, depth, -2 * WIN, -alpha)
            if value > alpha:
                best, alpha = column, value
        return best, alpha

    def _after(self, own: int, other: int, depth: int, alpha: int, beta: int) -> int:
        """What a position is worth to the side that has just moved to it (`own`)."""
        if _has_four(own):
            return WIN - 1
        value = -self._value(other, own, depth - 1, alpha, beta)
        return value - (value > WIN // 2) + (value < -WIN // 2)  # a later end is worth less

    def _value(self, own: int, other: int, depth: int, alpha: int, beta: int) -> int:
        self.nodes += 1
        if self.nodes > NODES:
            raise _UsedUp
        taken = own | other
        if taken == FULL:
            return 0
        if depth == 0:
            return _promise(own, taken) - _promise(other, taken)
        key = (own, other, depth)
        if key in self.known:
            return self.known[key]
        low, best = alpha, -2 * WIN
        for column in CENTRE_FIRST:
            disc = _lands(taken, column)
            if disc:
                best = max(best, self._after(own | disc, other, depth, -beta, -max(alpha, best)))
                if best >= beta:
                    return best
        if best > low:
            self.known[key] = best
        return best


def _lands(taken: int, column: int) -> int:
    """The bit where a disc dropped into the column comes to lie; 0 if it is full."""
    stack = ((1 << ROWS) - 1) << (HEIGHT * column)
    return (taken + (1 << (HEIGHT * column))) & stack


def _has_four(discs: int) -> bool:
    for shift in (1, HEIGHT - 1, HEIGHT, HEIGHT + 1):
        pairs = discs & (discs >> shift)
        if pairs & (pairs >> (2 * shift)):
            return True
    return False


def _promise(own: int, taken: int) -> int:
    """A rough worth: empty places that would complete a line count most, discs in the middle a little."""
    wins = (own << 1) & (own << 2) & (own << 3)
    for shift in (HEIGHT - 1, HEIGHT, HEIGHT + 1):
        pair = (own << shift) & (own << (2 * shift))
        wins |= pair & ((own << (3 * shift)) | (own >> shift))
        pair = (own >> shift) & (own >> (2 * shift))
        wins |= pair & ((own >> (3 * shift)) | (own << shift))
    return 6 * (wins & FULL & ~taken).bit_count() + (own & MIDDLE).bit_count()
