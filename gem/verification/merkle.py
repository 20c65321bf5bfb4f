"""Merkle trees as in RFC 6962 (B. Laurie, A. Langley, E. Kasper, Certificate Transparency, 2013), with SHA-256.

The root depends on every leaf and on their order. A leaf is shown to be in the tree with about log2(n) hashes, without
the other leaves. Leaves and nodes are hashed with different prefixes, so that neither can be taken for the other.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from hashlib import sha256

from gem.errors import InvalidArgument

EMPTY_ROOT = sha256(b"").digest()
"""The root of a tree without leaves."""


def leaf_hash(data: bytes) -> bytes:
    """Return the hash of a leaf."""
    return sha256(b"\0" + data).digest()


def node_hash(left: bytes, right: bytes) -> bytes:
    """Return the hash of a node from the hashes below it."""
    return sha256(b"\1" + left + right).digest()


def root(leaf_hashes: Iterable[bytes]) -> bytes:
    """Return the root of a tree; only about log2(n) hashes are kept at a time."""
    peaks: list[tuple[int, bytes]] = []  # the height and the root of each full subtree, from left to right
    for leaf in leaf_hashes:
        height, node = 0, leaf
        while peaks and peaks[-1][0] == height:
            node = node_hash(peaks.pop()[1], node)
            height += 1
        peaks.append((height, node))
    if not peaks:
        return EMPTY_ROOT
    _, node = peaks.pop()
    while peaks:
        node = node_hash(peaks.pop()[1], node)
    return node


class Tree:
    """A tree with all its nodes, which takes one hash for each leaf; then a proof takes none."""

    def __init__(self, leaf_hashes: Iterable[bytes]) -> None:
        self._levels = [list(leaf_hashes)]
        """The nodes from the leaves up. The last one of an odd number stands in the next level as it is."""
        while len(below := self._levels[-1]) > 1:
            pairs = zip(below[::2], below[1::2], strict=False)
            self._levels.append([node_hash(*pair) for pair in pairs] + below[len(below) & ~1 :])

    def inclusion_proof(self, place: int) -> list[bytes]:
        """Return the hashes that lead from a leaf to the root, beginning beside the leaf: `PATH(m, D[n])` of the RFC.

        Args:
            place: the place of the leaf, from 0.

        Raises:
            InvalidArgument: if there is no such leaf.
        """
        size = len(self._levels[0])
        if not 0 <= place < size:
            raise InvalidArgument(f"The tree has {size} leaves, so there is none with the place {place}.")
        besides = ((level, (place >> height) ^ 1) for height, level in enumerate(self._levels))
        return [level[beside] for level, beside in besides if beside < len(level)]


def root_from_proof(leaf: bytes, place: int, size: int, path: Sequence[bytes]) -> bytes | None:
    """Return the root to which a proof leads (RFC 9162, section 2.1.3.2); None if it does not fit place and size."""
    if not 0 <= place < size:
        return None
    node, position, last = leaf, place, size - 1
    for beside in path:
        if last == 0:
            return None
        if position & 1 or position == last:
            node = node_hash(beside, node)
            while position and not position & 1:
                position >>= 1
                last >>= 1
        else:
            node = node_hash(node, beside)
        position >>= 1
        last >>= 1
    return node if last == 0 else None
