"""Webhooks send the events of live episodes and duels of their owner too, once each and only from now on."""

from __future__ import annotations

import json
from collections.abc import Callable
from datetime import timedelta

import pytest
from django.utils import timezone

from apps.accounts.models import User
from apps.agents.models import Agent
from apps.duels import operations as duels
from apps.episodes.models import Episode
from apps.jobs.models import Job
from apps.play import operations as play
from apps.webhooks import collecting, keeping, operations
from apps.webhooks.models import OFFERED, Delivery, Place, Webhook
from gem.client import events

pytestmark = pytest.mark.django_db
ENV_ID = "game:GuessTheNumber-v0-easy"
NOWHERE = "http://127.0.0.1:1/"
Submit = Callable[..., Job]


def begin(user: User) -> Episode:
    return play.begin(ENV_ID, seed=7, user=user, visitor="", visibility="private")


def guess(episode: Episode, number: int) -> Episode:
    user, seq = owner_of(episode), Episode.objects.get(pk=episode.pk).seq
    return play.take_turn(episode.pk, f"\\boxed{{{number}}}", expected_seq=seq, user=user, visitor="")


def owner_of(episode: Episode) -> User:
    user = episode.seats.get().user
    assert user is not None
    return user


def solve(episode: Episode) -> None:
    for number in range(1, 11):
        episode = guess(episode, number)
        if episode.over:
            return


def sent() -> list[tuple[str, str]]:
    return [(one.event, one.key) for one in Delivery.objects.order_by("topic", "key", "seq")]


def test_everything_in_the_table_of_events_can_be_chosen_but_the_test() -> None:
    assert set(OFFERED) == set(events.EVENTS) - {"webhook.test"}


def test_an_episode_is_sent_from_its_reset_to_its_end_once(ada: User) -> None:
    earlier, somebody_else = begin(ada), User.objects.create_user("somebody-else")
    guess(earlier, 10)
    operations.add(ada, NOWHERE, ["episode.started", "episode.turn", "episode.ended"])
    begin(somebody_else)
    assert collecting.collect() == 0
    guess(earlier, 9)
    collecting.collect()
    assert [(name, key) for name, key in sent() if name == "episode.turn"] == [("episode.turn", earlier.pk)]
    Delivery.objects.all().delete()
    episode = begin(ada)
    solve(episode)
    assert collecting.collect() > 2
    assert collecting.collect() == 0
    names = [name for name, key in sent() if key == episode.pk]
    assert (names[0], names[-1], set(names[1:-1])) == ("episode.started", "episode.ended", {"episode.turn"})
    body = json.loads(Delivery.objects.get(event="episode.ended", key=episode.pk).body)
    assert (body["episode"], body["seed"]) == (episode.pk, 7)


def test_a_duel_is_sent_and_so_is_what_joins_it_later(ada: User) -> None:
    operations.add(ada, NOWHERE, ["duel.started", "duel.joined", "duel.episode_ended"])
    agent = Agent.objects.get(slug="random")
    duel = duels.start(duels.DuelStart(ENV_ID, 7), [agent], plays=True, user=ada, visitor="", visibility="private")
    collecting.collect()
    assert [name for name, _ in sent()] == ["duel.started", "duel.joined", "duel.joined"]
    solve(duel.episodes.get(slot=0))
    collecting.collect()
    assert [name for name, _ in sent()][3:] == ["duel.episode_ended"]
    assert collecting.collect() == 0


def test_events_that_are_chosen_later_are_sent_from_then_on(ada: User, submit: Submit) -> None:
    webhook, _ = operations.add(ada, NOWHERE, ["job.ended"])
    solve(begin(ada))
    running = begin(ada)
    submit()
    webhook = operations.change(webhook, events=["episode.ended"], url="http://127.0.0.1:2/")
    assert (webhook.events, webhook.url) == (["episode.ended"], "http://127.0.0.1:2/")
    assert collecting.collect() == 0
    solve(running)
    assert collecting.collect() == 1
    operations.change(webhook, events=["job.ended"])
    solve(begin(ada))
    assert collecting.collect() == 0
    assert not Place.objects.exclude(topic="job").exists()


def test_what_happened_while_a_webhook_was_off_is_not_sent(ada: User) -> None:
    webhook, _ = operations.add(ada, NOWHERE, ["episode.ended"])
    running = begin(ada)
    collecting.collect()
    operations.turn_off(webhook)
    solve(begin(ada))
    guess(running, 10)
    operations.turn_on(Webhook.objects.get())
    assert collecting.collect() == 0
    solve(running)
    assert collecting.collect() == 1


def test_what_is_over_is_forgotten_after_days_and_not_sent_again(ada: User) -> None:
    operations.add(ada, NOWHERE, ["episode.ended"])
    over, running = begin(ada), begin(ada)
    solve(over)
    assert collecting.collect() == 1
    ago = timezone.now() - timedelta(days=5)
    Place.objects.update(read=ago)
    Webhook.objects.update(episodes_since=ago)
    Episode.objects.update(created=ago + timedelta(minutes=1))
    keeping.forget_old()
    assert [place.key for place in Place.objects.all()] == [running.pk]
    assert collecting.collect() == 0
    solve(running)
    assert collecting.collect() == 1
