"""Rows for tests: played episodes, and the certificate that a site would issue for them."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import UTC, datetime

from gem.agents import make_agent
from gem.records import EpisodeRecord, StoredEpisode, episode_files
from gem.rollout import EpisodeRequest, rollout
from gem.verification.certificates import (
    Certificate,
    CertifiedAgent,
    CertifiedEngine,
    CertifiedEnvironment,
    CertifiedScore,
    statement,
)
from gem.verification.digests import leaf_of, row_digests

ENV_IDS = ("game:Minesweeper-v0-easy", "game:GuessTheNumber-v0-easy", "duel:TicTacToe-v0")
SITE = "https://gemweb.example"
NOON = datetime(2026, 6, 1, 12, tzinfo=UTC)


def play(
    env_ids: Sequence[str] = ENV_IDS, seeds: int = 4, first_seed: int = 100, agent: str = "random"
) -> list[EpisodeRecord]:
    player = make_agent(agent)
    requests = [
        EpisodeRequest(place * seeds + number, env_id, first_seed + number)
        for place, env_id in enumerate(env_ids)
        for number in range(seeds)
    ]
    return sorted(rollout(player, requests, opponent=player), key=lambda record: record.index)


def stored(records: Sequence[EpisodeRecord]) -> list[StoredEpisode]:
    return [StoredEpisode(f"line {number}", "random", record) for number, record in enumerate(records, start=1)]


def lines(records: Sequence[EpisodeRecord]) -> str:
    return "".join(episode_files.episode_line(record, "random") for record in records)


def certify(records: Sequence[EpisodeRecord], **changes: object) -> Certificate:
    """Return the certificate of a row that has all these episodes."""
    digests = row_digests(map(leaf_of, records))
    environments = []
    for env_id, digest in digests.environments.items():
        own = [record for record in records if record.identity.env_id == env_id]
        counted = [record for record in own if not record.failure]
        environments.append(
            CertifiedEnvironment(
                env_id=env_id,
                version=own[0].identity.env_version,
                data_hash=own[0].identity.data_hash,
                episodes=len(own),
                seeds=len({record.identity.seed for record in counted}),
                failed=sum(record.failed_by == "environment" for record in own),
                unanswered=sum(record.failed_by == "agent" for record in own),
                mean_return=CertifiedScore(mean=sum(record.total_reward for record in counted) / len(counted)),
                solved=sum(bool(record.success) for record in own),
                digest=digest,
            )
        )
    fields = {
        "site": SITE,
        "row": "r1",
        "tier": "hosted",
        "proves": statement("hosted"),
        "agent": CertifiedAgent(name="random", kind="program"),
        "submitter": "ada",
        "specification": {"env_ids": list(digests.environments)},
        "score": CertifiedScore(mean=0.25, low=0.125, high=0.5),
        "environments": tuple(environments),
        "episodes": len(records),
        "tries": 1,
        "row_digest": digests.row,
        "engine": CertifiedEngine(version="0.1.0"),
        "played_from": NOON,
        "played_to": NOON,
        "issued": NOON,
    }
    return Certificate(**{**fields, **changes})
