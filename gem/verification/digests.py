"""Digests of turns, episodes and rows: SHA-256 over canonical JSON.

They cover what a record says of the environment: which one it was, with which seed and data, what it was sent, and all
that it returned. They leave out who played, and what an agent says of itself (`TurnRecord.extra`: notes, tokens,
seconds).

They are not the digests of `tests/engine/golden.json` and `gem.check`, which pin what environments give and include no
identity; both stay as they are.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from hashlib import sha256
from itertools import groupby, pairwise
from operator import attrgetter
from typing import Any, NamedTuple, Self

from gem.errors import InvalidData
from gem.records import EpisodeRecord, Identity
from gem.verification import merkle
from gem.verification.canonical import canonical_json

EPISODE_FORMAT = "gemweb-episode-1"
"""The name of what an episode digest covers; it changes with that."""


def turn_digest(
    observation: str,
    info: dict[str, Any],
    *,
    action: str | None = None,
    reward: float = 0.0,
    seat: int | None = None,
    terminated: bool = False,
    truncated: bool = False,
) -> str:
    """Return the digest of a turn as 64 hexadecimal digits.

    Args:
        info: the recorded info. It has the board that the agent read, the rewards of all seats where there are several,
            and the tape: what tools and other outside sources gave.
        action: None for turn 0, which is the reset.
        terminated: whether the episode ended in this turn; the same for `truncated`.

    Raises:
        InvalidData: see `canonical_json`.
    """
    covered = {
        "action": action,
        "info": info,
        "observation": observation,
        "reward": float(reward),
        "seat": seat,
        "terminated": terminated,
        "truncated": truncated,
    }
    return sha256(canonical_json(covered)).hexdigest()


def turn_digests(record: EpisodeRecord) -> Iterator[str]:
    """Yield the digest of every turn, that of the reset first."""
    last = record.turn_count
    ends = record.terminated, record.truncated
    terminated, truncated = ends if last == 0 else (False, False)
    yield turn_digest(record.first_observation, record.first_info, terminated=terminated, truncated=truncated)
    for number, turn in enumerate(record.turns, start=1):
        terminated, truncated = ends if number == last else (False, False)
        yield turn_digest(
            turn.observation,
            turn.info,
            action=turn.action,
            reward=turn.reward,
            seat=turn.seat,
            terminated=terminated,
            truncated=truncated,
        )


def episode_digest(record: EpisodeRecord) -> str:
    """Return the digest of an episode as 64 hexadecimal digits.

    Raises:
        InvalidData: see `canonical_json`.
    """
    covered = {
        "cut": record.cut,
        "failed_by": record.failed_by,
        "format": EPISODE_FORMAT,
        "identity": covered_identity(record.identity),
        "max_turns": record.max_turns,
        "seat": record.seat,
        "success": record.success,
        "turns": list(turn_digests(record)),
    }
    return sha256(canonical_json(covered)).hexdigest()


def covered_identity(identity: Identity) -> dict[str, Any]:
    """Return what an episode digest covers of an identity."""
    return {
        "data_hash": identity.data_hash,
        "env_id": identity.env_id,
        "kwargs": identity.env_kwargs,
        "seed": identity.seed,
        "version": identity.env_version,
        "wrappers": list(identity.wrappers),
    }


# ------------------------------------------------------------------ rows


@dataclass(frozen=True, slots=True, order=True)
class Leaf:
    """An episode of a row. Leaves are sorted by their fields."""

    env_id: str
    index: int
    """The place of the episode in the row."""
    digest: str
    """The digest of the episode."""

    @property
    def key(self) -> tuple[str, int]:
        """What no two episodes of a row share: environment and index."""
        return self.env_id, self.index

    @property
    def hash(self) -> bytes:
        """The hash of the leaf in the tree: of `[env_id, index, digest]` as canonical JSON."""
        return merkle.leaf_hash(canonical_json([self.env_id, self.index, self.digest]))


class Inclusion(NamedTuple):
    """The proof that an episode belongs to a row."""

    place: int
    """The place of its leaf in the tree, from 0."""
    size: int
    """The number of leaves."""
    path: tuple[str, ...]
    """The hashes from beside the leaf to below the root, in hexadecimal digits."""

    @classmethod
    def read(cls, data: Mapping[str, Any]) -> Self:
        """Read a proof from plain data, such as `_asdict()` returns.

        Raises:
            InvalidData: if it is something else.
        """
        place, size, path = data.get("place"), data.get("size"), data.get("path")
        if type(place) is not int or type(size) is not int or not isinstance(path, list | tuple):
            raise InvalidData("A proof that an episode belongs to a row has a place, a size and a path.")
        return cls(place, size, tuple(map(str, path)))

    def shows(self, leaf: Leaf, row_digest: str) -> bool:
        """Whether the row with this digest has the leaf."""
        try:
            path = [bytes.fromhex(node) for node in self.path]
        except ValueError:
            return False
        found = merkle.root_from_proof(leaf.hash, self.place, self.size, path)
        return found is not None and found.hex() == row_digest


@dataclass(frozen=True, slots=True)
class RowDigests:
    """The digest of a row, and of the part of each environment, all as 64 hexadecimal digits.

    The parts say in which environment two rows differ; each is the root of a tree over the leaves of that environment.
    """

    row: str
    environments: dict[str, str]
    size: int
    """The number of episodes."""


def leaf_of(record: EpisodeRecord) -> Leaf:
    """Return the leaf of an episode.

    Raises:
        InvalidData: see `canonical_json`.
    """
    return Leaf(record.identity.env_id, record.index, episode_digest(record))


def row_digests(leaves: Iterable[Leaf]) -> RowDigests:
    """Return the digests of a row; the order of `leaves` does not matter.

    Raises:
        InvalidData: if two episodes of an environment have the same index.
    """
    ordered = _in_order(leaves)
    environments = {
        env_id: merkle.root(leaf.hash for leaf in part).hex() for env_id, part in groupby(ordered, attrgetter("env_id"))
    }
    return RowDigests(merkle.root(leaf.hash for leaf in ordered).hex(), environments, len(ordered))


def inclusions(leaves: Iterable[Leaf], wanted: Iterable[tuple[str, int]]) -> dict[tuple[str, int], Inclusion]:
    """Return the proofs of the wanted episodes, given by environment and index, that the row of all leaves has them.

    Raises:
        InvalidData: if the row does not have one of them, or has two with the same index.
    """
    ordered = _in_order(leaves)
    places = {leaf.key: place for place, leaf in enumerate(ordered)}
    tree = merkle.Tree(leaf.hash for leaf in ordered)
    found = {}
    for key in wanted:
        if key not in places:
            raise InvalidData(f"The row has no episode {key[1]} of {key[0]}.")
        path = tree.inclusion_proof(places[key])
        found[key] = Inclusion(places[key], len(ordered), tuple(node.hex() for node in path))
    return found


def _in_order(leaves: Iterable[Leaf]) -> Sequence[Leaf]:
    ordered = sorted(leaves)
    for leaf, following in pairwise(ordered):
        if leaf.key == following.key:
            raise InvalidData(f"The row has two episodes with the index {leaf.index} of {leaf.env_id}.")
    return ordered
