"""Whether the episodes in a file are those of a certificate, and whether its numbers follow from them."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field

from gem.errors import InvalidData
from gem.records import EpisodeRecord, StoredEpisode
from gem.verification.certificates import Certificate, CertifiedEnvironment, NotProved
from gem.verification.digests import Inclusion, Leaf, leaf_of, row_digests
from gem.verification.reexecution import Finding, reexecute

SAME = 1e-9
"""Means that differ by less, relative to their size, are equal."""

Episodes = Callable[[], Iterable[StoredEpisode]]
"""Begins to read the episodes, from the first one on."""
Locate = Callable[[Iterable[StoredEpisode]], Iterable[Finding]]
"""Executes episodes again."""


@dataclass(slots=True)
class _Sums:
    """The results of one environment, summed up."""

    episodes: int = 0
    failed: int = 0
    unanswered: int = 0
    solved: int = 0
    returns: list[float] = field(default_factory=list)
    seeds: set[int] = field(default_factory=set)

    def add(self, record: EpisodeRecord, unanswered_return: float | None) -> None:
        self.episodes += 1
        self.failed += record.failed_by == "environment"
        self.unanswered += record.failed_by == "agent"
        if record.failed_by == "environment":
            return
        if record.failed_by == "agent":
            if unanswered_return is None:
                return
            self.returns.append(unanswered_return)
        else:
            self.returns.append(record.total_reward)
            self.solved += bool(record.success)
        self.seeds.add(record.identity.seed)


def check_episodes(certificate: Certificate, episodes: Episodes, locate: Locate = reexecute) -> int:
    """Compare the episodes with the certificate and return their number.

    They are either all episodes of the row, in any order, or some with a proof of inclusion each. About 200 bytes are
    kept of an episode.

    Args:
        certificate: a verified one.
        episodes: is called once, and a second time if a digest differs.
        locate: finds the first wrong episode where the digest says only that there is one.

    Raises:
        NotProved: at the first difference, which is its message.
        InvalidData: if an episode has something that no JSON has, or a malformed proof.
    """
    environments = {one.env_id: one for one in certificate.environments}
    leaves: list[Leaf] = []
    sums: dict[str, _Sums] = {}
    with_proof = 0
    for stored in episodes():
        own = _environment_of(stored, environments)
        leaf = leaf_of(stored.record)
        if stored.digest and stored.digest != leaf.digest:
            raise NotProved(
                f"{_name(stored)}: the file says that the digest is {stored.digest[:12]}…, and the digest of the "
                f"episode is {leaf.digest[:12]}…. The episode was changed after its digest was written."
            )
        if stored.inclusion is not None:
            if not Inclusion.read(stored.inclusion).shows(leaf, certificate.row_digest):
                raise NotProved(f"{_name(stored)}: the proof does not show that the row has this episode.")
            with_proof += 1
        leaves.append(leaf)
        sums.setdefault(leaf.env_id, _Sums()).add(stored.record, own.unanswered_return)
    if with_proof == len(leaves) > 0 and len(leaves) < certificate.episodes:
        return len(set(leaves))
    _check_row(certificate, leaves, episodes, locate)
    for env_id, certified in environments.items():
        _check_numbers(certified, sums.get(env_id) or _Sums())
    return len(leaves)


def _environment_of(stored: StoredEpisode, environments: dict[str, CertifiedEnvironment]) -> CertifiedEnvironment:
    identity = stored.record.identity
    certified = environments.get(identity.env_id)
    if certified is None:
        raise NotProved(f"{_name(stored)}: the certificate has no episodes of {identity.env_id}.")
    for name, own, expected in (
        ("version", identity.env_version, certified.version),
        ("data hash", identity.data_hash, certified.data_hash),
    ):
        if own != expected:
            raise NotProved(
                f"{_name(stored)}: the episode has the {name} {own or 'none'}, and the certificate "
                f"{expected or 'none'} for {identity.env_id}."
            )
    return certified


def _check_row(certificate: Certificate, leaves: Sequence[Leaf], episodes: Episodes, locate: Locate) -> None:
    try:
        found = row_digests(leaves)
    except InvalidData as error:
        raise NotProved(str(error)) from error
    counts: dict[str, int] = {}
    for leaf in leaves:
        counts[leaf.env_id] = counts.get(leaf.env_id, 0) + 1
    for one in certificate.environments:
        count = counts.get(one.env_id, 0)
        if count != one.episodes:
            raise NotProved(f"The file has {count:,} episodes of {one.env_id}, and the certificate {one.episodes:,}.")
    for one in certificate.environments:
        if one.episodes and found.environments[one.env_id] != one.digest:
            raise NotProved(_first_wrong(one, episodes, locate))
    if found.row != certificate.row_digest:
        raise NotProved(
            f"The digest of all episodes is {found.row[:12]}…, and the certificate has {certificate.row_digest[:12]}…, "
            "although those of each environment are equal. The certificate contradicts itself."
        )


def _first_wrong(certified: CertifiedEnvironment, episodes: Episodes, locate: Locate) -> str:
    """Say which episode of an environment is not that of the certificate, as far as re-execution tells."""

    def own() -> Iterator[StoredEpisode]:
        return (stored for stored in episodes() if stored.record.identity.env_id == certified.env_id)

    beginning = f"The digest of the episodes of {certified.env_id} is not that of the certificate."
    wrong = next((finding for finding in locate(own()) if finding.status == "differs"), None)
    if wrong is not None:
        return f"{beginning} {wrong.name}: {wrong.sentence}"
    return (
        f"{beginning} Each of them gives again what it says, as far as it can be executed here, so at least one was "
        "replaced by another episode, has other actions, or has another index."
    )


def _check_numbers(certified: CertifiedEnvironment, sums: _Sums) -> None:
    names = ("failed", "unanswered", "solved")
    numbers = [(name, getattr(certified, name), getattr(sums, name)) for name in names]
    for name, claimed, found in [*numbers, ("seeds", certified.seeds, len(sums.seeds))]:
        if claimed != found:
            raise NotProved(f"{certified.env_id}: the certificate says {name} {claimed:,}, and the episodes {found:,}.")
    mean = math.fsum(sums.returns) / len(sums.returns) if sums.returns else None
    claimed_mean = certified.mean_return.mean if certified.mean_return else None
    if (mean is None) != (claimed_mean is None) or (
        mean is not None and not math.isclose(mean, claimed_mean or 0.0, rel_tol=SAME, abs_tol=SAME)
    ):
        raise NotProved(
            f"{certified.env_id}: the certificate says that the mean return is {claimed_mean}, and the episodes have "
            f"{mean}."
        )


def _name(stored: StoredEpisode) -> str:
    identity = stored.record.identity
    return f"{stored.name}, {identity.env_id}, seed {identity.seed}"
