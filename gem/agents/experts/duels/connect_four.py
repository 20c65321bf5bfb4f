"""The expert for ConnectFour: an alpha-beta search that is limited by a number of positions, never by time.

The discs of a side are the bits of one integer, with seven bits for each column, from the bottom to the top. The
topmost bit of a column is always 0, so four shifts find a line of four in any direction.
"""

from __future__ import annotations

from functools import lru_cache

from gem.agents.agent import Decision
from gem.envs.duels.connect_four import COLUMNS, ROWS, ConnectFour

MAX_NODES = 3000
"""Positions that the search for one decision may visit."""
COLUMN_BITS = ROWS + 1
COLUMNS_FROM_CENTRE = (3, 2, 4, 1, 5, 0, 6)
WIN_VALUE = 1000
FULL_BOARD = sum(((1 << ROWS) - 1) << (COLUMN_BITS * column) for column in range(COLUMNS))
MIDDLE_COLUMN = ((1 << ROWS) - 1) << (COLUMN_BITS * 3)


def search_deeper(env: ConnectFour) -> Decision:
    """Search one move deeper until `MAX_NODES` positions have been visited, and choose the best column found."""
    seat = env.to_act[0]
    own_discs, other_discs = (_bits(env, disc_seat) for disc_seat in (seat, 1 - seat))
    column, value, depth = choose(own_discs, other_discs)
    action = f"\\boxed{{{column + 1}}}"
    if value > WIN_VALUE // 2:
        return Decision(action, f"Column {column + 1} wins within {WIN_VALUE - value} discs.")
    if value < -WIN_VALUE // 2:
        return Decision(action, f"Every column loses against best play; {column + 1} holds out longest.")
    return Decision(action, f"Column {column + 1} is best, looking {depth} discs ahead.")


def _bits(env: ConnectFour, seat: int) -> int:
    return sum(
        1 << (COLUMN_BITS * column + row)
        for column, discs in enumerate(env.columns)
        for row, owner in enumerate(discs)
        if owner == seat
    )


@lru_cache(maxsize=20_000)
def choose(own_discs: int, other_discs: int) -> tuple[int, int, int]:
    """The best column for the side to move, its value, and the depth of the search."""
    search = AlphaBetaSearch()
    best = next(column for column in COLUMNS_FROM_CENTRE if _landing_bit(own_discs | other_discs, column))
    value = depth = 0
    for next_depth in range(1, ROWS * COLUMNS - (own_discs | other_discs).bit_count() + 1):
        try:
            best, value = search.root(own_discs, other_discs, next_depth, best)
        except _NodesExhausted:
            break
        depth = next_depth
        if abs(value) > WIN_VALUE // 2:
            break
    return best, value, depth


class _NodesExhausted(Exception):
    """The search has visited `MAX_NODES` positions."""


class AlphaBetaSearch:
    """The search for one decision. It counts positions and caches exact values."""

    def __init__(self) -> None:
        self.nodes = 0
        self.exact_values: dict[tuple[int, int, int], int] = {}

    def root(self, own_discs: int, other_discs: int, depth: int, first_column: int) -> tuple[int, int]:
        """The best column and its value. `first_column`, the best one so far, is searched first."""
        best, alpha = first_column, -2 * WIN_VALUE
        for column in (
            first_column,
            *(other_column for other_column in COLUMNS_FROM_CENTRE if other_column != first_column),
        ):
            disc = _landing_bit(own_discs | other_discs, column)
            if not disc:
                continue
            value = self._value_after_move(own_discs | disc, other_discs, depth, -2 * WIN_VALUE, -alpha)
            if value > alpha:
                best, alpha = column, value
        return best, alpha

    def _value_after_move(self, own_discs: int, other_discs: int, depth: int, alpha: int, beta: int) -> int:
        """The value of a position for the side that has just moved, whose discs are `own_discs`."""
        if _has_four(own_discs):
            return WIN_VALUE - 1
        value = -self._value(other_discs, own_discs, depth - 1, alpha, beta)
        return value - (value > WIN_VALUE // 2) + (value < -WIN_VALUE // 2)  # a later end is worth less

    def _value(self, own_discs: int, other_discs: int, depth: int, alpha: int, beta: int) -> int:
        self.nodes += 1
        if self.nodes > MAX_NODES:
            raise _NodesExhausted
        occupied = own_discs | other_discs
        if occupied == FULL_BOARD:
            return 0
        if depth == 0:
            return _estimate(own_discs, occupied) - _estimate(other_discs, occupied)
        key = (own_discs, other_discs, depth)
        if key in self.exact_values:
            return self.exact_values[key]
        initial_alpha, best = alpha, -2 * WIN_VALUE
        for column in COLUMNS_FROM_CENTRE:
            disc = _landing_bit(occupied, column)
            if disc:
                best = max(best, self._value_after_move(own_discs | disc, other_discs, depth, -beta, -max(alpha, best)))
                if best >= beta:
                    return best
        if best > initial_alpha:
            self.exact_values[key] = best
        return best


def _landing_bit(occupied: int, column: int) -> int:
    """The bit of the cell in which a disc dropped into the column lands; 0 if the column is full."""
    stack = ((1 << ROWS) - 1) << (COLUMN_BITS * column)
    return (occupied + (1 << (COLUMN_BITS * column))) & stack


def _has_four(discs: int) -> bool:
    for shift in (1, COLUMN_BITS - 1, COLUMN_BITS, COLUMN_BITS + 1):
        pairs = discs & (discs >> shift)
        if pairs & (pairs >> (2 * shift)):
            return True
    return False


def _estimate(own_discs: int, occupied: int) -> int:
    """A heuristic value: empty cells that would complete a line count most, discs in the middle column a little."""
    wins = (own_discs << 1) & (own_discs << 2) & (own_discs << 3)
    for shift in (COLUMN_BITS - 1, COLUMN_BITS, COLUMN_BITS + 1):
        pair = (own_discs << shift) & (own_discs << (2 * shift))
        wins |= pair & ((own_discs << (3 * shift)) | (own_discs >> shift))
        pair = (own_discs >> shift) & (own_discs >> (2 * shift))
        wins |= pair & ((own_discs >> (3 * shift)) | (own_discs << shift))
    return 6 * (wins & FULL_BOARD & ~occupied).bit_count() + (own_discs & MIDDLE_COLUMN).bit_count()
