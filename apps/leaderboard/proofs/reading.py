"""What pages and the API say of the proof of a row."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from django.conf import settings
from django.http import Http404

import gem
from apps.accounts import quotas
from apps.accounts.models import Viewer
from apps.jobs.models import Job
from apps.jobs.ranked.tries import tries_with_any_agent
from apps.leaderboard.challenges.tries import challenges_of, tries_of
from apps.leaderboard.models import Reexecution, Score
from apps.leaderboard.proofs.certificates import digests_of, leaves_of
from apps.leaderboard.proofs.episodes import stored_episodes
from gem import registry
from gem.errors import UnknownEnvironment
from gem.records import episode_files
from gem.verification.digests import inclusions, leaf_of

MAX_ID = 2**63


@dataclass(frozen=True, slots=True)
class Standing:
    """How far a row is proved: a word with an icon, and one sentence."""

    word: str
    icon: str
    sentence: str
    tone: str = ""
    tier: str = ""


REPRODUCED = Standing(
    "Reproduced",
    "twice",
    "Our workers played an agent that this site holds, and a second execution repeated every reward and every action.",
    "win",
    "reproduced",
)
HOSTED = Standing(
    "Hosted",
    "lock",
    "Our workers played on hidden seeds, and a second execution repeated every reward; who or what chose the actions "
    "is not proved.",
    "win",
    "hosted",
)
VERIFIED = Standing(
    "Verified",
    "verified",
    "Played elsewhere on seeds that this site drew for it, and every episode was executed again here; studying the "
    "seeds before playing cannot be ruled out.",
    "win",
    "verified",
)
BY_TIER = {each.tier: each for each in (REPRODUCED, HOSTED, VERIFIED)}
WAITING = Standing(
    "Being verified",
    "clock",
    "Its episodes are being executed again. It ranks when all of them agree.",
)
DIFFERS = Standing(
    "Not verified",
    "cross",
    "When executed again, an episode did not match its record. The row does not rank; nothing was deleted.",
    "loss",
)
UNKNOWN = Standing(
    "Cannot be verified",
    "warn",
    "Its episodes cannot be executed again here, so the row does not rank. Nothing was deleted.",
    "warn",
)
PUBLIC_SEEDS = Standing(
    "Published seeds",
    "info",
    "Played by our workers on public seeds. Such rows are not executed again and have no certificate.",
)
STANDINGS = (REPRODUCED, HOSTED, VERIFIED, WAITING, DIFFERS, UNKNOWN, PUBLIC_SEEDS)
"""All of them, for pages that explain each in place."""
_BY_STATE = {
    Reexecution.State.WAITING: WAITING,
    Reexecution.State.DIFFERS: DIFFERS,
    Reexecution.State.UNKNOWN: UNKNOWN,
}


def standing_of(job: Job) -> Standing:
    """How far the row of a job is proved."""
    row = getattr(job, "reexecution", None)
    if row is None:
        return WAITING if job.plays_hidden_seeds else PUBLIC_SEEDS
    if row.state == Reexecution.State.VERIFIED:
        return BY_TIER.get(row.tier, HOSTED)
    return _BY_STATE[Reexecution.State(row.state)]


def difference_of(job: Job) -> str:
    """The first difference of a row that is not verified. What it quotes is closed while the season runs."""
    row: Reexecution | None = getattr(job, "reexecution", None)
    if row is None or row.state not in _BY_STATE or row.state == Reexecution.State.WAITING:
        return ""
    if not row.place:
        return row.difference
    place = f"First difference: {row.place}{f', in its {row.field}' if row.field else ''}."
    if job.is_closed:
        return f"{place} The difference is hidden until the season is over."
    return f"{place} {row.difference}"


def find(viewer: Viewer, score_id: int) -> Score:
    """A row that this person may see.

    Raises:
        Http404: there is none.
    """
    rows = Score.objects.of_jobs(Job.objects.visible_to(viewer))
    rows = rows.select_related("agent__weights", "job__agent", "job__owner", "job__batch__season", "job__reexecution")
    found = rows.filter(pk=score_id).first() if score_id < MAX_ID else None
    if found is None:
        raise Http404("There is no such row.")
    return found


def find_verified(viewer: Viewer, score_id: int) -> Reexecution:
    """The re-execution of a verified row that this person may see.

    Raises:
        Http404: there is none.
    """
    row: Reexecution | None = getattr(find(viewer, score_id).job, "reexecution", None)
    if row is None or row.certificate is None:
        raise Http404("This row has no certificate: it is not verified.")
    return row


def digests(row: Reexecution) -> dict[str, Any]:
    """The digest of every episode of a verified row, with the proof that the row has it. They are public at once."""
    leaves = sorted(leaves_of(row))
    proofs = inclusions(leaves, [leaf.key for leaf in leaves])
    return {
        "row_digest": digests_of(row).row,
        "episodes": [
            {
                "env_id": leaf.env_id,
                "index": leaf.index,
                "digest": leaf.digest,
                "inclusion": proofs[leaf.key]._asdict(),
            }
            for leaf in leaves
        ],
    }


def episode_lines(row: Reexecution) -> Iterator[str]:
    """The episodes of a verified row as lines that `gemweb verify` reads. As in its certificate, they have no set-up of
    an agent whose page is private.

    Raises:
        Http404: their season runs, so nobody may read them.
    """
    job = row.job
    if job.is_closed:
        raise Http404("The episodes of this row are closed while its season runs. Their digests are public.")
    opponent, set_up = str(job.spec.get("opponent") or ""), job.set_up if job.agent.is_open else None
    return (
        episode_files.episode_line(
            stored.record,
            job.agent.slug,
            opponent,
            set_up,
            digest=leaf_of(stored.record).digest,
            engine_version=stored.engine_version,
        )
        for stored in stored_episodes(job)
    )


def page_of(score: Score, viewer: Viewer) -> dict[str, Any]:
    """What the page of a row says of its proof. Only its owner reads that it waits for their quota."""
    job = score.job
    row: Reexecution | None = getattr(job, "reexecution", None)
    certificate = (row.certificate or {}).get("certificate") if row else None
    return {
        "row": row,
        "standing": standing_of(job),
        "difference": difference_of(job),
        "why_it_waits": quotas.why_checks_wait(job.owner) if job.owner and job.owner == viewer else "",
        "certificate": certificate,
        "certified": {one["env_id"]: one for one in certificate["environments"]} if certificate else {},
        "signature": row.certificate["signature"] if row and row.certificate else None,
        "season": job.batch.season,
        "is_closed": job.is_closed,
        "tries": tries_of(job),
        "account_tries": tries_with_any_agent(job),
        "unanswered": sum(one["unanswered"] for one in certificate["environments"]) if certificate else 0,
        "broken": sum(one["failed"] for one in certificate["environments"]) if certificate else 0,
        "older": older_parts(certificate) if certificate else [],
        "engine": gem.__version__,
        "site": settings.SITE_URL,
        "address": score.get_absolute_url(),
        "number": str(score.pk),
        "was_elsewhere": job.agent.kind == job.agent.Kind.OUTSIDE,
        "challenges": challenges_of(job.owner_id, job.batch.season),
        "is_endpoint": job.agent.is_asked,
        "weights": getattr(job.agent, "weights", None),
    }


def older_parts(certificate: dict[str, Any]) -> list[str]:
    """The environments of a certificate whose version here is another one by now: executed again, they could differ."""
    return [
        one["env_id"] for one in certificate["environments"] if _installed(one["env_id"]) not in (None, one["version"])
    ]


def _installed(env_id: str) -> int | None:
    try:
        return registry.spec(env_id).version
    except UnknownEnvironment:
        return None
