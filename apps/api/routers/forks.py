"""The tree of an episode: its branches, several continuations at once, and its data for training.

Its addresses are below those of an episode.
"""

from __future__ import annotations

from typing import Annotated, Literal

from django.http import HttpRequest, HttpResponseBase
from ninja import Query, Router, Status

from apps.accounts import visitors
from apps.api import answers
from apps.api.callers import account, player, visitor
from apps.downloads import jsonl
from apps.episodes.errors import Sealed
from apps.episodes.models import Episode
from apps.episodes.views import find
from apps.play.shows import continuing
from apps.play.starting import from_forms, limits
from apps.play.tree import exporting
from apps.play.tree.reading import Tree, tree_of, why_closed
from gem.client import schemas

router = Router(tags=["forks"])


@router.get("/{episode_id}/forks", response=schemas.ForkTree)
def get_forks(request: HttpRequest, episode_id: str) -> schemas.ForkTree:
    """The tree of an episode: its ancestors, all their branches that lists show you, and where they part."""
    tree = _tree(request, find(request, episode_id))
    summaries = answers.episode_summaries(request, [branch.episode for branch in tree.branches])
    return schemas.ForkTree(
        root=tree.root.episode.pk,
        branches=[
            schemas.Branch(
                episode=summary,
                parent=branch.parent.episode.pk if branch.parent else None,
                fork_turn=branch.fork_turn,
                shares_with=branch.line.episode.pk if branch.line else None,
                shared_turns=branch.parts_at,
            )
            for branch, summary in zip(tree.branches, summaries, strict=True)
        ],
        left_out=tree.left_out,
    )


@router.post("/{episode_id}/forks", auth=player, response={201: schemas.Forks})
def continue_episode(request: HttpRequest, episode_id: str, sent: schemas.NewForks) -> Status[schemas.Forks]:
    """Let an agent continue an episode live after a turn, in one or several branches at once."""
    row = find(request, episode_id)
    agent = from_forms.agent_to_finish(request.user, sent.agent)
    limits.check_start(request)
    branches = continuing.continue_with(
        row,
        sent.turn,
        agent,
        count=sent.count,
        pace=sent.pace,
        user=account(request),
        address=visitors.address(request),
    )
    keys = [branch.pk for branch in branches]
    rows = {each.pk: each for each in answers.summarized(Episode.objects.filter(pk__in=keys))}
    return Status(201, schemas.Forks(episodes=answers.episode_summaries(request, [rows[key] for key in keys])))


@router.get("/{episode_id}/forks.jsonl", response=bytes, openapi_extra={"x-media-type": "application/jsonl"})
def export_forks(
    request: HttpRequest,
    episode_id: str,
    kind: Annotated[
        Literal["pairs", "turns", "episodes"],
        Query("pairs", alias="as", description="Preference pairs, states with all actions taken in them, or episodes."),
    ] = "pairs",
    gap: Annotated[
        float, Query(exporting.USUAL_GAP, ge=0, lt=1e9, description="Of pairs: the least difference of mean returns.")
    ] = exporting.USUAL_GAP,
    end: Annotated[
        list[str] | None, Query(None, max_length=64, description="The branches to use; all if it is left out.")
    ] = None,
) -> HttpResponseBase:
    """The branches of a tree as data for training, as JSON Lines."""
    row = find(request, episode_id)
    tree = _tree(request, row)
    lines = exporting.lines(tree, kind, tree.chosen(end or ()), gap, request.user, visitor(request))
    return jsonl(request, lines, f"{kind}-{row.pk}.jsonl")


def _tree(request: HttpRequest, row: Episode) -> Tree:
    """The tree of an episode.

    Raises:
        Sealed: if it has none yet.
    """
    if closed := why_closed(row):
        raise Sealed(closed)
    return tree_of(row, request.user, visitor(request))
