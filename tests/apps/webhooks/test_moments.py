"""What happens while events are read, or while somebody changes a webhook, is sent as it was, and only once."""

from __future__ import annotations

import json
from typing import Any

import pytest

from apps.accounts.models import User
from apps.agents.models import Agent
from apps.api import operations as tokens
from apps.api.models import Scope
from apps.duels import operations as duels
from apps.webhooks import collecting, operations
from apps.webhooks.models import Delivery, Webhook
from tests.apps.api.conftest import Program
from tests.apps.meanwhile import MOST_QUERIES, meanwhile
from tests.apps.webhooks.test_live_events import ENV_ID, NOWHERE, begin, guess, solve

pytestmark = pytest.mark.django_db
OF_EPISODES = ["episode.turn", "episode.ended"]
OF_DUELS = ["duel.turn", "duel.episode_ended", "duel.ended"]


def bodies() -> list[dict[str, Any]]:
    """What is sent, in its order; the next test of a loop begins without it."""
    found = [json.loads(one.body) for one in Delivery.objects.order_by("seq")]
    Delivery.objects.all().delete()
    return found


def test_the_last_turn_of_an_episode_says_that_it_is_the_last(ada: User) -> None:
    operations.add(ada, NOWHERE, OF_EPISODES)
    for before in range(1, MOST_QUERIES):
        episode = guess(begin(ada), 10)  # three turns are left
        with meanwhile(before, lambda episode=episode: solve(episode)) as ended:
            collecting.collect()
        collecting.collect()
        if not ended.happened:
            break
        *turns, end = bodies()
        assert [turn["truncated"] for turn in turns] == [False, False, False, True], before
        assert end["outcome"] == "limit"
    assert not ended.happened


def test_a_duel_ends_with_the_results_of_its_episodes(ada: User) -> None:
    operations.add(ada, NOWHERE, OF_DUELS)
    agent = Agent.objects.get(slug="random")
    for before in range(1, MOST_QUERIES):
        duel = duels.start(duels.DuelStart(ENV_ID, 7), [agent], plays=True, user=ada, visitor="", visibility="private")
        mine, other = duel.episodes.order_by("slot")
        guess(mine, 10)

        def end(mine: Any = mine, other: Any = other) -> None:
            duels.shows.stop(other.pk)
            solve(mine)

        with meanwhile(before, end) as ended:
            collecting.collect()
        collecting.collect()
        if not ended.happened:
            break
        *_, turn, over, whole = bodies()
        assert (turn["event"], turn["truncated"]) == ("duel.turn", True), before
        assert (over["event"], over["outcome"]) == ("duel.episode_ended", "limit"), before
        assert [side["outcome"] for side in whole["sides"]] == ["limit", "abandoned"], before
    assert not ended.happened


def test_an_episode_that_begins_while_a_webhook_is_added_is_sent(ada: User) -> None:
    begin(ada)
    for before in range(1, MOST_QUERIES):
        begun = []
        with meanwhile(before, lambda begun=begun: begun.append(begin(ada))) as it:
            webhook, _ = operations.add(ada, NOWHERE, ["episode.ended"])
        if not it.happened:
            break
        solve(begun[0])
        collecting.collect()
        assert [body["episode"] for body in bodies()] == [begun[0].pk], before
        webhook.delete()
    assert not it.happened


def test_a_webhook_that_is_changed_and_turned_on_at_once_sends_what_was_chosen(ada: User) -> None:
    _, secret = tokens.make_token(ada, "program", Scope.values)
    webhook, _ = operations.add(ada, NOWHERE, ["job.ended"])
    operations.turn_off(webhook)
    sent = {"events": ["episode.ended"], "on": True}
    assert Program(secret).send("PATCH", f"webhooks/{webhook.pk}", sent).status_code == 200
    solve(begin(ada))
    collecting.collect()
    assert [body["event"] for body in bodies()] == ["episode.ended"]


def test_two_changes_of_a_webhook_at_once_are_both_kept(ada: User) -> None:
    _, secret = tokens.make_token(ada, "program", Scope.values)
    webhook, _ = operations.add(ada, NOWHERE, ["job.ended"])
    with meanwhile("FOR UPDATE", lambda: operations.change(webhook, events=["training.ended"])) as it:
        Program(secret).send("PATCH", f"webhooks/{webhook.pk}", {"url": "http://127.0.0.1:2/"})
    assert it.happened
    kept = Webhook.objects.get()
    assert (kept.url, kept.events) == ("http://127.0.0.1:2", ["training.ended"])
