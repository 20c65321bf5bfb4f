"""The credit lens: what algorithms would credit each turn with, and true advantages, which workers measure.

Its addresses are below those of an episode.
"""

from __future__ import annotations

from typing import Annotated

from django.http import Http404, HttpRequest
from ninja import Query, Router, Status

from apps.accounts import visitors
from apps.admission.models import name_of
from apps.api.callers import account, player, visitor
from apps.episodes.errors import Sealed
from apps.episodes.models import Episode
from apps.episodes.views import find
from apps.lens import asking, credit
from apps.lens.models import Truth
from apps.lens.views import state_in_words
from gem.analysis.true_advantage import true_advantage
from gem.client import schemas

router = Router(tags=["credit"])
Discount = Annotated[
    float,
    Query(
        credit.USUAL_DISCOUNT,
        ge=credit.LEAST_DISCOUNT,
        le=credit.MOST_DISCOUNT,
        description="γ of all rows but GRPO's.",
    ),
]


@router.get("/{episode_id}/credit", response=schemas.Credit)
def get_credit(request: HttpRequest, episode_id: str, discount: Discount = credit.USUAL_DISCOUNT) -> schemas.Credit:
    """The credit of every turn of an episode that is over, and the true advantages that were measured."""
    row = _open(request, episode_id)
    lens = credit.read(row, request.user, visitor(request))
    rows = credit.estimates(lens, discount)
    rows["return_to_go"] = rows.pop("togo")
    turns = [
        {"turn": turn.number, **{name: None if row is None else row[place] for name, row in rows.items()}}
        for place, turn in enumerate(lens.turns)
    ]
    return schemas.Credit.model_validate(
        {
            "episode": row.pk,
            "agent": lens.agent.slug,
            "discount": discount,
            "batch": [other.id for other in lens.batch],
            "group": [other.id for other in lens.group],
            "turns": turns,
            "truths": [_truth(truth, discount) for truth in lens.truths],
        }
    )


@router.post("/{episode_id}/truths", auth=player, response={201: schemas.Truth})
def measure_truth(request: HttpRequest, episode_id: str, sent: schemas.NewTruth) -> Status[schemas.Truth]:
    """Have a worker measure true advantages by forking the episode. Read the measurement until its state is `done`."""
    row = find(request, episode_id)
    truth = asking.ask(
        row,
        sent.agent,
        sent.continuations,
        sent.turn,
        user=account(request),
        person=name_of(account(request).pk),
        address=visitors.address(request),
    )
    return Status(201, _truth(truth, credit.USUAL_DISCOUNT))


@router.get("/{episode_id}/truths/{truth_id}", response=schemas.Truth)
def get_truth(
    request: HttpRequest, episode_id: str, truth_id: str, discount: Discount = credit.USUAL_DISCOUNT
) -> schemas.Truth:
    """One measurement, with the rewards of all its continuations."""
    truth = asking.truths_of(_open(request, episode_id)).filter(pk=truth_id).first()
    if truth is None:
        raise Http404(f"There is no measurement {truth_id} of this episode.")
    return _truth(truth, discount, whole=True)


@router.delete("/{episode_id}/truths/{truth_id}", auth=player, response=schemas.Truth)
def stop_truth(request: HttpRequest, episode_id: str, truth_id: str) -> schemas.Truth:
    """Stop a measurement of your own. What was measured stays."""
    row = find(request, episode_id)
    user = account(request)
    truth = asking.stop(row, truth_id, person=name_of(user.pk), is_staff=user.is_staff)
    return _truth(truth, credit.USUAL_DISCOUNT)


def _open(request: HttpRequest, episode_id: str) -> Episode:
    """The episode with this id, whose lens is open.

    Raises:
        Sealed: if it is not.
    """
    row = find(request, episode_id)
    if closed := asking.why_closed(row):
        raise Sealed(closed)
    return row


def _truth(truth: Truth, discount: float, *, whole: bool = False) -> schemas.Truth:
    turns = []
    for turn in truth.turns.all():
        found = true_advantage(turn.continuations, discount)
        outcomes = {"taken": turn.taken, "anew": turn.anew} if whole else {}
        turns.append({"turn": turn.number, **found._asdict(), "failed": turn.failed, **outcomes})
    return schemas.Truth.model_validate(
        {
            "id": truth.pk,
            "episode": truth.episode_id,
            "agent": truth.agent.slug,
            "continuations": truth.count,
            "first": truth.first,
            "last": truth.last,
            "state": truth.state,
            "detail": state_in_words(truth),
            "turns": turns,
        }
    )
