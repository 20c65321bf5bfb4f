"""Remote agents in this process: questions and answers, what the page says, tokens that connect, chats."""

from __future__ import annotations

import json
from datetime import datetime, timedelta
from typing import Any
from uuid import uuid4

import pytest
from django.db.models.functions import Now
from django.test import Client
from django.urls import reverse
from django.utils import timezone

import gem
from apps.accounts.models import User
from apps.agents.models import Agent
from apps.agents.players import Place
from apps.api import operations as tokens
from apps.api.models import ApiToken
from apps.jobs import operations as jobs
from apps.remote import answering, asking, chats, operations
from apps.remote.asking import RemoteAgent, Standing, why_given_up
from apps.remote.chats import NotAccepted
from apps.remote.models import EpisodeKey, Question, Remote
from gem.agents import Exchange, Request
from gem.evaluation.spec import EvaluationSpec

pytestmark = pytest.mark.django_db

GUESS = "game:GuessTheNumber-v0-easy"


@pytest.fixture
def owner() -> User:
    """Whose the agent is."""
    return User.objects.create_user("ada")


@pytest.fixture
def agent(owner: User) -> Agent:
    """A remote agent with two seats."""
    return operations.create(owner, "laptop", seats=2)


def question_of(agent: Agent, turn: int = 1, episode: str = "", place: str = "abcd") -> Question:
    """A question that a worker has written."""
    env = gem.make(GUESS)
    text, info = env.reset(seed=7)
    past = [Exchange(text, info, "\\boxed{1}")] * (turn - 1)
    request = Request(env, text, info, turn, past=past)
    question = RemoteAgent(agent, Place(episode or place, "live episode"))._question(request)
    return Question.objects.get(pk=asking.write(question))


def test_turns_are_sent_in_order_while_seats_are_free_and_each_once(agent: Agent) -> None:
    first, second, third = (question_of(agent, episode=name) for name in ("a", "b", "c"))
    holder = uuid4()
    assert answering.take_over(agent.pk, holder, "laptop") == 2
    assert answering.next_turns(agent.pk, holder).new == [first, second]
    again = answering.next_turns(agent.pk, holder)
    assert (again.new, again.open_ids) == ([], {first.pk, second.pk})
    assert answering.answer(first.pk, "\\boxed{5}\0", {"note": "why", "other": 1})
    assert not answering.answer(first.pk, "again", {})
    assert answering.next_turns(agent.pk, holder).new == [third]
    found = asking.look([first.pk], renews=True)[first.pk]
    assert (found.answer, found.extra) == ("\\boxed{5}\u2400", {"note": "why"})
    agent.remote.refresh_from_db()
    assert agent.remote.turn_seconds is not None


def test_whoever_comes_back_is_sent_what_waits_and_the_older_connection_ends(agent: Agent) -> None:
    question = question_of(agent, turn=3)
    old, new = uuid4(), uuid4()
    answering.take_over(agent.pk, old, "laptop")
    assert answering.next_turns(agent.pk, old).new == [question]
    answering.take_over(agent.pk, new, "desktop")
    assert not answering.next_turns(agent.pk, old).is_current
    assert answering.next_turns(agent.pk, new).new == [question]
    answering.leave(agent.pk, old)
    assert answering.is_connected(agent)
    assert [action for _, action in question.past] == ["\\boxed{1}", "\\boxed{1}"]
    assert "seed" not in json.dumps(question.info)


def test_a_worker_that_goes_on_finds_what_was_answered_meanwhile(agent: Agent) -> None:
    question = question_of(agent, turn=2)
    answering.answer(question.pk, "\\boxed{3}", {})
    assert question_of(agent, turn=2).pk == question.pk
    assert asking.look([question.pk], renews=False)[question.pk].answer == "\\boxed{3}"
    asking.delete(question.pk)
    assert not Question.objects.exists()


def test_every_try_at_an_episode_of_a_job_has_a_key_of_its_own(agent: Agent) -> None:
    env = gem.make(GUESS)
    text, info = env.reset(seed=7)
    player = RemoteAgent(agent, Place("j0bj0bj0bj0b", "job J0BJ"))
    asked = [player._question(Request(env, text, info, turn, episode=4)) for turn in (1, 2, 1)]
    keys = [question.episode for question in asked]
    assert keys[0] == keys[1] != keys[2]
    assert (asked[0].place, asked[0].address) == ("job J0BJ, episode 5", "/jobs/j0bj0bj0bj0b/")


@pytest.mark.parametrize(
    ("asked", "sent", "alive", "sentence"),
    [
        (599, None, None, ""),
        (601, None, None, "did not connect within 600 s"),
        (700, None, -1, ""),
        (59, 59, -1, ""),
        (61, 61, -1, "took more than 60 s"),
        (100, 95, 89, ""),
        (100, 95, 91, "was lost, and it did not come back within 90 s"),
        (601, None, 602, "did not connect within 600 s"),
    ],
)
def test_how_long_a_turn_waits(asked: int, sent: int | None, alive: int | None, sentence: str) -> None:
    now = timezone.now()

    def ago(seconds: int | None) -> datetime | None:
        return None if seconds is None else now - timedelta(seconds=seconds)

    found = why_given_up(Standing(None, {}, now - timedelta(seconds=asked), ago(sent), ago(alive), now))
    assert sentence in found
    assert bool(found) == bool(sentence)


def test_a_deleted_agent_is_asked_nothing_and_connects_no_longer(client: Client, owner: User, agent: Agent) -> None:
    holder = uuid4()
    answering.take_over(agent.pk, holder, "laptop")
    jobs.submit(owner, EvaluationSpec(agent=agent.slug, env_ids=(GUESS,), episodes_per_env=1))
    client.force_login(owner)
    assert client.post(reverse("agents:delete", args=[agent.slug])).status_code == 302
    assert not answering.next_turns(agent.pk, holder).is_current
    with pytest.raises(gem.errors.AgentStopped, match="deleted by its owner"):
        question_of(agent)


# ------------------------------------------------------------------ pages and tokens


def strip(client: Client, agent: Agent) -> str:
    return client.get(reverse("connect:strip", args=[agent.slug])).content.decode()


def test_the_page_turns_live_and_says_when_the_connection_is_lost(client: Client, owner: User, agent: Agent) -> None:
    client.force_login(owner)
    page = client.get(reverse("connect:agent", args=[agent.slug])).content.decode()
    assert f"ws://testserver/agents/{agent.slug}/line" in page
    assert "Waiting for your agent" in page
    holder = uuid4()
    answering.take_over(agent.pk, holder, "my laptop")
    assert "Connected" in (connected := strip(client, agent))
    assert "my laptop" in connected
    question_of(agent)
    assert "waits" in strip(client, agent)
    answering.next_turns(agent.pk, holder)
    assert "1 of 2 seats taken" in strip(client, agent)
    Remote.objects.filter(agent=agent).update(alive_until=Now() - timedelta(seconds=1))
    assert "Connection lost" in strip(client, agent)
    answering.leave(agent.pk, holder)
    assert "Not connected" in strip(client, agent)


def test_a_token_of_an_agent_connects_it_and_does_nothing_else(client: Client, owner: User, agent: Agent) -> None:
    client.force_login(owner)
    page = client.post(reverse("connect:token", args=[agent.slug])).content.decode()
    secret = page.partition('id="token"')[2].partition('value="')[2].partition('"')[0]
    assert secret.startswith("gw_")
    assert secret not in client.get(reverse("connect:agent", args=[agent.slug])).content.decode()
    token = ApiToken.objects.get(agent=agent)
    assert token.scopes == ["answer"]
    assert f"connect {agent.name}" in client.get(reverse("programs:tokens")).content.decode()
    for path in ("/api/v1/account", f"/api/v1/agents/{agent.slug}", "/api/v1/environments"):
        assert Client().get(path, headers={"Authorization": f"Bearer {secret}"}).status_code == 401


def test_a_program_finds_its_agent_by_name(owner: User) -> None:
    _, secret = tokens.make_token(owner, "program", ["manage"])
    headers = {"Authorization": f"Bearer {secret}"}

    def add(**body: Any) -> Any:
        return Client().post("/api/v1/remotes", body, content_type="application/json", headers=headers)

    made, found = add(name="my-agent"), add(name="my-agent", seats=7)
    assert (made.status_code, found.status_code) == (201, 200)
    assert made.json()["slug"] == found.json()["slug"]
    assert (made.json()["seats"], found.json()["seats"], found.json()["connected"]) == (4, 7, False)
    assert add(name="random").status_code == 422


# ------------------------------------------------------------------ chats


def say(key: EpisodeKey, *texts: str, is_repeated: bool = False) -> str | None:
    """Send messages as a program does that keeps its history; the last text is the user's."""
    roles = ["user", "assistant"] * len(texts)
    messages = [{"role": role, "content": text} for role, text in zip(roles, texts, strict=False)]
    return chats.accept(key.pk, messages, is_repeated=is_repeated)


@pytest.fixture
def key(owner: User, agent: Agent) -> EpisodeKey:
    """The key of an episode that has begun."""
    Agent.objects.get_or_create(slug="random", defaults={"name": "random", "kind": "random", "colour": 8})
    return operations.begin_chat(agent, GUESS, user=owner, seed=7).key


def test_a_chat_answers_turns_and_plays_nothing_twice(agent: Agent, key: EpisodeKey) -> None:
    assert say(key, "Begin.") is None
    assert chats.next_reply(key.pk) is None
    first = question_of(agent, episode=key.pk)
    reply = chats.next_reply(key.pk)
    assert reply is not None
    assert (reply.text, reply.is_last) == (first.observation, False)
    assert say(key, "Begin.", is_repeated=True) == first.observation
    assert say(key, "Begin.", first.observation, "\\boxed{4}") is None
    first.refresh_from_db()
    assert first.answer == "\\boxed{4}"
    assert [message["content"] for message in first.extra["messages"]] == ["Begin.", "\\boxed{4}"]
    assert say(key, "Begin.", first.observation, "\\boxed{4}") is None  # still being played
    first.delete()
    second = question_of(agent, turn=2, episode=key.pk)
    chats.next_reply(key.pk)
    assert say(key, "Begin.", first.observation, "\\boxed{4}") == second.observation
    second.refresh_from_db()
    assert second.answered is None


def test_a_program_without_a_history_may_say_the_same_again(agent: Agent, key: EpisodeKey) -> None:
    say(key, "\\boxed{4}")
    for turn in (1, 2):
        question = question_of(agent, turn=turn, episode=key.pk)
        chats.next_reply(key.pk)
        assert say(key, "\\boxed{4}") is None
        question.refresh_from_db()
        assert question.answer == "\\boxed{4}"
        question.delete()
    with pytest.raises(NotAccepted, match="No turn"):
        say(key, "\\boxed{5}")


def test_the_questions_of_a_chat_are_not_sent_over_the_connection(agent: Agent, key: EpisodeKey) -> None:
    question_of(agent, episode=key.pk)
    holder = uuid4()
    answering.take_over(agent.pk, holder, "laptop")
    assert answering.next_turns(agent.pk, holder).new == []
    EpisodeKey.objects.update(expires=Now() - timedelta(seconds=1))
    assert len(answering.next_turns(agent.pk, holder).new) == 1
    assert chats.find(key.pk, "ep_wrong") is None
