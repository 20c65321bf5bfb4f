"""Profiles of agents, and rows of the duel board."""

from __future__ import annotations

from typing import Any

from apps.agents.models import Agent
from apps.standings.boards import RatingRow
from gem.client import schemas


def rating(row: RatingRow) -> schemas.Rating:
    """A row of the duel board."""
    return schemas.Rating(
        agent=row.agent.slug,
        name=row.agent.name,
        rank=row.rank,
        rating=row.rating.mean,
        low=row.rating.low,
        high=row.rating.high,
        won=row.won,
        tied=row.tied,
        lost=row.lost,
    )


def profile(agent: Agent, context: dict[str, Any]) -> schemas.AgentProfile:
    """The profile of an agent, from what its page shows (`apps.standings.pages.profile_of`)."""
    labels = [version["label"] for version in context["versions"]]
    cells = [
        (line, label, cell)
        for line in context["lines"]
        for label, cell in zip(labels, line.cells, strict=True)
        if cell is not None
    ]
    return schemas.AgentProfile(
        agent=agent.slug,
        results=[
            schemas.ProfileCell(
                env_id=line.env_id,
                version=label,
                setting=line.setting,
                job=cell.job_id,
                episodes=cell.measured.n,
                seeds=cell.measured.seeds,
                errors=cell.measured.errors,
                solved=cell.measured.solved[0],
                solved_low=cell.measured.solved[1],
                solved_high=cell.measured.solved[2],
                mean_return=cell.measured.returns[0],
                turns=cell.measured.turns,
                tokens_per_solved=cell.measured.tokens_per_solved,
            )
            for line, label, cell in cells
        ],
        boards=[
            schemas.BoardPlace(
                benchmark=place.row.score.benchmark,
                row=place.row.score.pk,
                score=place.row.score.mean,
                low=place.row.score.low,
                high=place.row.score.high,
                rank=place.row.rank,
                of=place.of,
                tier=place.standing.tier,
            )
            for place in context["boards"]
        ],
        rating=rating(context["rating"]) if context["rating"] is not None else None,
        computed=context["profile_computed"],
    )
