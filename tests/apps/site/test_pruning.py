"""What grows for ever unless somebody deletes it: ended sessions by themselves, old episodes of nobody on request."""

from datetime import timedelta
from io import StringIO

import pytest
from django.contrib.auth.models import AnonymousUser
from django.contrib.sessions.models import Session
from django.core.management import CommandError, call_command
from django.utils import timezone

from apps.accounts import personal_data
from apps.accounts.models import User, Viewer
from apps.agents.models import Agent
from apps.episodes.models import Batch, Episode, Turn
from apps.play.operations import begin, begin_against, fork, join, take_turn
from apps.play.shows import operations as shows
from workers.reap import tidy

pytestmark = pytest.mark.django_db

ENV_ID = "game:GuessTheNumber-v0-easy"


def prune(*arguments: str) -> str:
    said = StringIO()
    call_command("prune", *arguments, stdout=said)
    return said.getvalue().strip()


def begun(days: int, user: User | None = None, visitor: str = "") -> Episode:
    """An episode that somebody began so many days ago, with a turn."""
    who: Viewer = user or AnonymousUser()
    episode = begin(ENV_ID, seed=1, user=who, visitor=visitor)
    take_turn(episode.pk, r"\boxed{5}", expected_seq=0, user=who, visitor=visitor)
    Episode.objects.filter(pk=episode.pk).update(created=timezone.now() - timedelta(days=days))
    return Episode.objects.get(pk=episode.pk)


def left() -> set[str]:
    return set(Episode.objects.values_list("pk", flat=True))


def test_old_episodes_of_visitors_and_shows_of_nobody_are_deleted_with_their_turns() -> None:
    old, young = begun(91, visitor="v"), begun(89, visitor="v")
    show = shows.start(ENV_ID, Agent.objects.get(kind=Agent.Kind.EXPERT, owner=None))
    Episode.objects.filter(pk=show.pk).update(created=timezone.now() - timedelta(days=91))
    assert prune("--days", "90", "--dry-run") == "Episodes that would be deleted: 2."
    assert old.pk in left()
    assert prune("--days", "90") == "Episodes deleted: 2."
    assert left() == {young.pk}
    assert set(Turn.objects.values_list("episode", flat=True)) == {young.pk}


def test_what_belongs_to_somebody_or_to_something_stays() -> None:
    anna = User.objects.create_user("anna")
    hers = begun(400, user=anna)
    shown = shows.start(ENV_ID, Agent.objects.get(kind=Agent.Kind.EXPERT, owner=None), user=anna)
    batch = Batch.objects.create(kind=Batch.Kind.EXAMPLE)
    example = begun(400, visitor="v")
    Episode.objects.filter(pk=example.pk).update(batch=batch)
    parent = begun(400, visitor="v")
    branch = fork(parent, 1, user=anna, visitor="")
    Episode.objects.update(created=timezone.now() - timedelta(days=400))
    assert prune("--days", "1") == "Episodes deleted: 0."
    assert left() == {hers.pk, shown.pk, example.pk, parent.pk, branch.pk}


def test_an_episode_of_two_people_goes_when_neither_has_an_account_any_more() -> None:
    anna, bert = (User.objects.create_user(name) for name in ("anna", "bert"))
    episode = begin_against("duel:TicTacToe-v0", None, seat=0, user=anna, visitor="")
    join(episode.pk, 1, user=bert, visitor="")
    for person, number in ((anna, 0), (bert, 1)):
        personal_data.close(person)
        personal_data.erase_closed()
        Episode.objects.update(created=timezone.now() - timedelta(days=400))
        assert prune("--days", "1") == f"Episodes deleted: {number}."


def test_days_are_a_number_above_nought() -> None:
    with pytest.raises(CommandError, match="1 or more"):
        prune("--days", "0")


def test_sessions_that_have_run_out_are_forgotten() -> None:
    for key, days in (("gone", -1), ("here", 1)):
        Session.objects.create(session_key=key, session_data="", expire_date=timezone.now() + timedelta(days=days))
    tidy()
    assert list(Session.objects.values_list("session_key", flat=True)) == ["here"]
