"""Agents of others, whose owners pay for them: nobody asks one again for whom it does not play."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

import pytest
from django.test import Client
from pydantic import SecretStr

from apps.agents import operations as agents
from apps.agents.models import Agent
from apps.episodes.models import Episode
from apps.jobs import operations as jobs
from apps.jobs.models import Job
from apps.play.shows import operations as shows
from gem.agents.endpoint import EndpointSpec
from gem.evaluation.spec import EvaluationSpec
from tests.apps.agents import built_in
from tests.apps.play.people import Person
from tests.apps.play.seats import act_for_agents

if TYPE_CHECKING:
    from apps.accounts.models import User

TICTACTOE = "duel:TicTacToe-v0"
Become = Callable[[Agent], object]


def becomes_private(agent: Agent) -> None:
    Agent.objects.filter(pk=agent.pk).update(visibility="private")


def is_deleted(agent: Agent) -> None:
    Agent.objects.filter(pk=agent.pk).update(retired=True)


def is_hidden(agent: Agent) -> None:
    Agent.objects.filter(pk=agent.pk).update(hidden_reason="Reported.")


def agent_of(owner: User, visibility: str) -> Agent:
    spec = EndpointSpec(url="http://127.0.0.1:9/v1", model="costly")
    return agents.create(owner, "Costly", spec, SecretStr("a key"), visibility=visibility)


@pytest.fixture
def agent(ada: User) -> Agent:
    """An agent of Ada's that plays for everybody with an account."""
    return agent_of(ada, "public")


@pytest.fixture
def public(agent: Agent, ada: User) -> Episode:
    """A public episode of the past in which Ada's agent has the second seat, and the random agent the first."""
    episode = shows.start(TICTACTOE, built_in("random"), opponent=agent, user=ada, visibility="public")
    shows.stop(episode.pk)
    return episode


def bobs(bob: User) -> Person:
    person = Person(Client())
    person.client.force_login(bob)
    return person


def slugs(episode: Episode) -> list[str]:
    return [seat.agent.slug for seat in episode.seats.select_related("agent").order_by("number")]


@pytest.mark.parametrize("changed", [becomes_private, is_deleted, is_hidden])
@pytest.mark.parametrize(
    ("door", "expected"), [("fork", ["human", "expert"]), ("finish", ["random", "expert"])]
)  # fmt: skip
def test_a_branch_has_a_stand_in_and_says_so(
    door: str, expected: list[str], changed: Become, agent: Agent, public: Episode, bob: User
) -> None:
    person = bobs(bob)
    changed(agent)
    answer = person.client.post(f"/play/{public.pk}/{door}/", {"turn": "0", "agent": "random"})
    branch = Episode.objects.get(parent=public)
    assert answer["Location"] == branch.get_absolute_url()
    assert slugs(branch) == expected
    assert f"{agent.name} is not available to you, so expert plays in its seat here." in person.page(branch)


@pytest.mark.parametrize("door", ["fork", "finish"])
def test_a_visitor_gets_a_stand_in_for_any_agent_that_has_an_owner(door: str, agent: Agent, public: Episode) -> None:
    Person().client.post(f"/play/{public.pk}/{door}/", {"turn": "0", "agent": "random"})
    assert agent.slug not in slugs(Episode.objects.get(parent=public))


@pytest.mark.parametrize("door", ["fork", "finish"])
def test_who_may_choose_it_keeps_it(door: str, agent: Agent, public: Episode, ada: User, bob: User) -> None:
    bobs(bob).client.post(f"/play/{public.pk}/{door}/", {"turn": "0", "agent": "random"})
    assert slugs(Episode.objects.get(parent=public))[1] == agent.slug, "everybody with an account may choose it"
    becomes_private(agent)
    own = Person()
    own.client.force_login(ada)
    page = own.client.post(f"/play/{public.pk}/{door}/", {"turn": "0", "agent": "random"}, follow=True)
    assert slugs(Episode.objects.latest("created"))[1] == agent.slug, "it is hers"
    assert "not available" not in page.content.decode()


@pytest.mark.parametrize("changed", [becomes_private, is_deleted, is_hidden])
def test_nothing_is_undone_against_an_agent_that_is_gone(changed: Become, agent: Agent, bob: User) -> None:
    person = bobs(bob)
    episode = person.begin(TICTACTOE, 5, opponent="random", seat="0")
    episode.seats.filter(number=1).update(agent=agent)
    person.send(episode, "\\boxed{5}")
    changed(agent)
    refused = person.client.post(f"/play/{episode.pk}/undo/")
    assert "not available to you now" in refused.content.decode()
    assert not Episode.objects.filter(parent=episode).exists()
    assert Episode.objects.get(pk=episode.pk).status == Episode.Status.RUNNING


@pytest.mark.parametrize("verb", ["resume", "one-turn"])
def test_a_show_does_not_ask_it_again(verb: str, agent: Agent, bob: User) -> None:
    episode = shows.start(TICTACTOE, agent, user=bob)
    shows.pause(episode.pk)
    control = f"/play/{episode.pk}/control/{verb}/"
    becomes_private(agent)
    assert bobs(bob).client.post(control).status_code == 400
    episode.show.refresh_from_db()
    assert (episode.show.paused, episode.show.turns_due) == (True, 0)
    Agent.objects.filter(pk=agent.pk).update(visibility="public")
    assert bobs(bob).client.post(control).status_code == 302


def test_forms_begin_nothing_with_it(ada: User, bob: User) -> None:
    secret, person = agent_of(ada, "private"), bobs(bob)
    for address, fields in [
        ("/play/new/", {"env_id": TICTACTOE, "opponent": secret.slug}),
        ("/play/watch/new/", {"env_id": TICTACTOE, "agent": "random", "opponent": secret.slug}),
        ("/play/duel/new/", {"env_id": "game:Sokoban-v0-easy", "first": "random", "second": secret.slug}),
    ]:
        assert person.client.post(address, fields).status_code == 422, address
    assert not Episode.objects.exists()


def test_a_duel_gets_no_such_agent(ada: User, bob: User) -> None:
    person = bobs(bob)
    duel = person.client.post(
        "/play/duel/new/", {"env_id": "game:Sokoban-v0-easy", "first": "random", "second": "expert"}
    )["Location"]  # fmt: skip
    assert person.client.post(f"{duel}add/", {"agent": agent_of(ada, "private").slug}).status_code >= 400
    assert Episode.objects.count() == 2


@pytest.mark.parametrize("seat", ["agent", "opponent"])
def test_a_job_is_neither_submitted_again_nor_resumed(
    seat: str, agent: Agent, ada: User, bob: User, client: Client
) -> None:
    players = {"agent": "random", "opponent": "random", seat: agent.slug}
    spec = EvaluationSpec(env_ids=(TICTACTOE,), episodes_per_env=2, **players)
    theirs, own = jobs.submit(ada, spec, visibility="public"), jobs.submit(bob, spec)
    Job.objects.filter(pk=own.pk).update(state=Job.State.PAUSED)
    becomes_private(agent)
    client.force_login(bob)
    for address in (f"{theirs.get_absolute_url()}resubmit/", f"{own.get_absolute_url()}resume/"):
        page = client.post(address, follow=True)
        assert f"There is no agent &#x27;{agent.slug}&#x27; that you can evaluate" in page.content.decode()
    assert Job.objects.count() == 2
    assert Job.objects.get(pk=own.pk).state == Job.State.PAUSED


def test_a_link_to_a_seat_seats_no_agent(agent: Agent, bob: User) -> None:
    host = bobs(bob)
    episode = host.begin(TICTACTOE, opponent="person", seat="0")
    Person().sit_down(host.link(episode))
    act_for_agents(episode)
    assert slugs(episode) == ["human", "human"]
