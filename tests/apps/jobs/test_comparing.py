"""The page that compares evaluations: what it says, and what it does not show."""

import re

import pytest
from django.test import Client

from apps.accounts.models import User
from apps.episodes.models import Episode
from apps.jobs import operations
from apps.jobs.models import Job
from apps.visibility import Visibility
from gem.evaluation.spec import EvaluationSpec
from tests.html import tight
from tests.workers.records import play_out

EASY = "game:GuessTheNumber-v0-easy"
PLAYED = pytest.mark.django_db(transaction=True)


def played(owner: User, agent: str, episodes: int = 15, **more: object) -> Job:
    request = {"agent": agent, "env_ids": [EASY], "episodes_per_env": episodes, **more}
    return play_out(operations.submit(owner, EvaluationSpec.model_validate(request)))


@PLAYED
def test_two_evaluations_are_compared_seed_by_seed(client: Client, ada: User) -> None:
    first, second = played(ada, "random"), played(ada, "expert", max_turns=3)
    page = tight(client.get("/compare/", {"job": [first.pk, second.pk]}).content.decode())
    assert "Two evaluations on the same seeds" in page
    assert "On 15 seeds, expert solves" in page
    assert "The environments were wrapped differently" in page
    assert "Side by side" not in page
    listed = 0
    for outcome in ("won", "tie", "lost"):
        answer = client.get("/compare/", {"job": [first.pk, second.pk], "outcome": outcome, "measure": "return"})
        listed += answer.content.decode().count('href="/episodes/')
    assert listed == 2 * 15
    three = tight(
        client.get(
            "/compare/", {"job": [first.pk, second.pk, played(ada, "random", 5).pk], "pair": "1"}
        ).content.decode()
    )
    assert "Three evaluations" in three
    assert "share 5 seeds that count in both, and it takes 10." in three


@PLAYED
def test_what_a_person_may_not_see_is_not_compared(client: Client, ada: User) -> None:
    first, second = played(ada, "random"), played(ada, "expert")
    hidden = Episode.objects.get(batch=first.batch_id, seed=3)
    Episode.objects.filter(pk=hidden.pk).update(hidden_reason="It shows a secret.")
    both = {"job": [first.pk, second.pk]}
    page = client.get("/compare/", both).content.decode()
    assert hidden.pk not in page
    assert "On 15 seeds" in page
    beside = re.findall(r"/play/side-by-side/[^\"]*", page)
    assert len(beside) == 14
    assert client.get(beside[0]).context["turn"] == 1
    operations.set_visibility(second, Visibility.PRIVATE)
    assert "Choose one more evaluation" in client.get("/compare/", both).content.decode()
    client.force_login(ada)
    assert "On 15 seeds" in client.get("/compare/", both).content.decode()


@pytest.mark.django_db
def test_nothing_or_nonsense_is_no_error(client: Client, ada: User) -> None:
    assert "No evaluations chosen" in client.get("/compare/").content.decode()
    odd = {"job": ["x", "y" * 300], "measure": "luck", "pair": "-1", "outcome": "?", "page": "nine"}
    assert client.get("/compare/", odd).status_code == 200
