"""The pages of endpoint agents: storing, changing, deleting, trying; and what nobody but the owner sees."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from django.core.cache import cache
from django.test import Client
from django.urls import reverse
from pytest_django.fixtures import Settings

from apps.accounts.models import User
from apps.agents import operations
from apps.agents.models import Agent, Endpoint
from apps.agents.seal import unseal
from apps.api.operations import make_token
from apps.visibility import Visibility
from gem.agents.endpoint import EndpointSpec
from tests.model_server import KEY, ModelServer

MakeAgent = Callable[..., Agent]


def filled(server: ModelServer, **more: Any) -> dict[str, Any]:
    """The form as somebody fills it in."""
    return {
        "name": "My Qwen", "url": server.url, "model": "bisect", "template": "{observation}", "style": "text",
        "timeout": "5", "patience": "5", "tries": "2", "on_failure": "retry", "concurrency": "4", "stream": "on",
        **more,
    }  # fmt: skip


def stored() -> Endpoint:
    return Endpoint.objects.select_related("agent").get()


def test_all_that_is_wrong_is_named_at_once(client: Client, ada: User, server: ModelServer) -> None:
    client.force_login(ada)
    sent = filled(server, url="not an address", temperature="hot", more="{bad", key="sk-1", top_p="7", name="")
    answer = client.post(reverse("agents:new"), sent)
    assert answer.status_code == 422
    assert set(answer.context["form"].errors) == {"url", "temperature", "more", "top_p", "name"}
    page = answer.content.decode()
    assert "Enter it once more." in page, "or the next try would store the agent without its key"
    assert "sk-1" not in page
    assert not Agent.objects.filter(owner=ada).exists()


def test_an_agent_is_stored_with_everything_that_was_entered(client: Client, ada: User, server: ModelServer) -> None:
    client.force_login(ada)
    more = {"temperature": "0.6", "max_tokens": "512", "stop": "\\n\\n\r\nEND", "more": '{"top_k": 20}', "key": "sk-1",
            "history": "3", "price_in": "0.5", "system": "Be brief.\r\nAlways."}  # fmt: skip
    answer = client.post(reverse("agents:new"), filled(server, **more), follow=True)
    assert answer.status_code == 200
    endpoint = stored()
    assert (endpoint.agent.name, endpoint.agent.owner, endpoint.agent.visibility) == ("My Qwen", ada, "private")
    assert endpoint.agent.slug.startswith("my-qwen-")
    spec = endpoint.spec
    assert (spec["temperature"], spec["max_tokens"], spec["history"]) == (0.6, 512, 3)
    assert (spec["stop"], spec["more"], spec["system"]) == (["\n\n", "END"], {"top_k": 20}, "Be brief.\nAlways.")
    assert spec["prices"] == {"tokens_in": 0.5, "tokens_out": 0.0}
    assert "sk-1" not in answer.content.decode() + endpoint.sealed_key + str(spec)


def test_the_form_shows_what_is_stored_and_never_the_key(client: Client, ada: User, agent_of: MakeAgent) -> None:
    agent = agent_of(key="sk-very-secret", temperature=0.25, stop=("END",), more={"top_k": 20})
    client.force_login(ada)
    page = client.get(reverse("agents:edit", args=[agent.slug])).content.decode()
    for words in ("0.25", "END", "top_k", "A key for 127.0.0.1"):
        assert words in page
    for address in ("agents:edit", "agents:agent"):
        assert "sk-very-secret" not in client.get(reverse(address, args=[agent.slug])).content.decode()


@pytest.mark.parametrize(("field", "value", "words"), [
    ("url", "ftp://x", "An address begins with http:// or https://"),
    ("url", "http://user:pw@x/v1", "Leave user and password out"),
    ("temperature", "hot", "Enter a number, for example 0.6."),
    ("temperature", "9", "Temperature has to be at most 2, not 9"),
    ("template", "no observation", "The template has to contain {observation}"),
    ("more", "{", "This is not JSON"),
    ("more", '{"messages": []}', "messages cannot be set here"),
    ("stop", "a\nb\nc\nd\ne", "at most 4 entries"),
    ("name", "", "Give it a name"),
    ("concurrency", "0", "Concurrency has to be at least 1, not 0."),
])  # fmt: skip
def test_what_is_wrong_stands_at_its_field(
    client: Client, ada: User, server: ModelServer, field: str, value: str, words: str
) -> None:
    client.force_login(ada)
    answer = client.post(reverse("agents:new"), filled(server, **{field: value}))
    assert answer.status_code == 422
    assert words in " ".join(answer.context["form"].errors[field])
    assert not Endpoint.objects.exists()


def test_changing_keeps_the_key_and_raises_the_version_if_the_model_is_asked_something_else(
    client: Client, ada: User, server: ModelServer, agent_of: MakeAgent
) -> None:
    agent = agent_of(key="sk-1")
    client.force_login(ada)
    edit = reverse("agents:edit", args=[agent.slug])
    client.post(edit, filled(server, timeout="7"))
    assert (stored().version, stored().spec["timeout"]) == (2, 7)  # the form's system message is empty
    client.post(edit, filled(server, timeout="8"))
    assert stored().version == 2
    client.post(edit, filled(server, temperature="1"))
    assert stored().version == 3
    assert unseal(stored().sealed_key).get_secret_value() == "sk-1"  # type: ignore[union-attr]


@pytest.mark.parametrize("url", ["http://localhost:9/v1", "https://127.0.0.1/v1", "http://evil.example/v1"])
def test_the_key_is_gone_when_the_server_changes(
    client: Client, ada: User, server: ModelServer, agent_of: MakeAgent, url: str
) -> None:
    agent = agent_of(key="sk-1")
    client.force_login(ada)
    answer = client.post(reverse("agents:edit", args=[agent.slug]), filled(server, url=url), follow=True)
    assert stored().sealed_key == ""
    assert "The stored key was deleted." in answer.content.decode()


def test_another_path_on_the_same_server_keeps_the_key_and_a_new_one_replaces_it(
    client: Client, ada: User, server: ModelServer, agent_of: MakeAgent
) -> None:
    agent = agent_of(key="sk-1")
    client.force_login(ada)
    edit = reverse("agents:edit", args=[agent.slug])
    client.post(edit, filled(server, url=f"{server.url}/other"))
    assert unseal(stored().sealed_key).get_secret_value() == "sk-1"  # type: ignore[union-attr]
    client.post(edit, filled(server, url="http://elsewhere.example/v1", key="sk-2"))
    assert unseal(stored().sealed_key).get_secret_value() == "sk-2"  # type: ignore[union-attr]
    client.post(edit, filled(server, url="http://elsewhere.example/v1", forget_key="on"))
    assert stored().sealed_key == ""


def test_only_its_owner_sees_a_private_agent_and_nobody_else_changes_a_shared_one(
    client: Client, ada: User, bob: User, agent_of: MakeAgent
) -> None:
    private, shared = agent_of("bisect"), agent_of("lost", shared=True)
    client.force_login(bob)
    assert client.get(private.get_absolute_url()).status_code == 404
    bob.is_staff = True
    bob.save()
    page = client.get(private.get_absolute_url())
    assert page.status_code == 200
    assert "127.0.0.1" not in page.content.decode(), "those who run the site see the agent, and no address either"
    page = client.get(shared.get_absolute_url())
    assert page.status_code == 200
    assert "127.0.0.1" not in page.content.decode(), "the address is its owner's business"
    for name in ("agents:edit", "agents:delete"):
        for agent in (private, shared):
            assert client.post(reverse(name, args=[agent.slug])).status_code == 404
    assert "127.0.0.1" not in client.get(reverse("agents:list")).content.decode()
    for address in ("/search/?q=my", "/episodes/", "/jobs/new/", "/play/watch/new/"):
        page = client.get(address).content.decode()
        assert "my lost" in page
        assert "my bisect" not in page, address
    assert set(Agent.objects.selectable_by(bob).endpoints()) == {shared}
    assert set(Agent.objects.selectable_by(ada).endpoints()) == {private, shared}
    client.logout()
    from django.contrib.auth.models import AnonymousUser

    assert not Agent.objects.selectable_by(AnonymousUser()).endpoints()
    assert client.get(reverse("agents:edit", args=[shared.slug])).status_code == 404


def test_one_person_has_a_limited_number(client: Client, ada: User, server: ModelServer, settings: Settings) -> None:
    settings.ENDPOINTS_PER_USER = 1
    client.force_login(ada)
    assert client.post(reverse("agents:new"), filled(server)).status_code == 302
    answer = client.post(reverse("agents:new"), filled(server))
    assert answer.status_code == 422
    assert "the most that one person may have" in answer.content.decode()


def test_deleting_leaves_no_key_and_no_prompt_and_the_name_on_what_it_played(
    client: Client, ada: User, agent_of: MakeAgent
) -> None:
    from apps.play.shows import operations as shows

    idle, busy = agent_of("lost", key="sk-1"), agent_of("bisect", key="sk-2")
    episode = shows.start("game:GuessTheNumber-v0-easy", busy, seed=1, user=ada)
    client.force_login(ada)
    for agent in (idle, busy):
        assert client.post(reverse("agents:delete", args=[agent.slug])).status_code == 302
        assert client.get(agent.get_absolute_url()).status_code == 404
    assert not Endpoint.objects.exists()
    assert list(Agent.objects.filter(kind="endpoint")) == [busy]
    assert "my bisect" in client.get(episode.get_absolute_url()).content.decode()
    assert not Agent.objects.selectable_by(ada).endpoints()


def test_trying_sends_one_message_and_says_what_came_back(client: Client, ada: User, server: ModelServer) -> None:
    client.force_login(ada)
    page = client.post(reverse("agents:trial"), filled(server, model="lost", name="")).content.decode()
    for words in ("The server answers.", "200", "lost-2026", "4 out", "I do not know."):
        assert words in page
    assert len(server.requests) == 1
    assert not Endpoint.objects.exists()


@pytest.mark.parametrize(("model", "words"), [
    ("500", "The server answered 500. It failed."), ("garbage", "not a chat completion"),
    ("unheard-of", "There is no such model"), ("says-secret", "The server answered 500. It failed."),
])  # fmt: skip
def test_trying_says_in_words_what_is_wrong(
    client: Client, ada: User, server: ModelServer, settings: Settings, model: str, words: str
) -> None:
    settings.LOCAL_MODE = False
    client.force_login(ada)
    page = client.post(reverse("agents:trial"), filled(server, model=model)).content.decode()
    assert "The agent cannot play with these settings." in page
    assert words in page
    assert "internal page" not in page
    assert "fault 500" not in page, "what a server writes into its errors is not shown"


def test_on_ones_own_machine_trying_shows_what_the_server_says(client: Client, ada: User, server: ModelServer) -> None:
    client.force_login(ada)
    page = client.post(reverse("agents:trial"), filled(server, model="unheard-of")).content.decode()
    assert "There is no such model or address: The model `unheard-of` does not exist." in page
    locked = client.post(reverse("agents:trial"), filled(server, model="locked", key="sk-wrong")).content.decode()
    assert "It does not accept the key: Incorrect key: Bearer [key]." in locked


def test_trying_uses_the_stored_key_for_its_own_server_only(
    client: Client, ada: User, bob: User, server: ModelServer, agent_of: MakeAgent
) -> None:
    agent = agent_of("locked", key=KEY)
    client.force_login(ada)
    asked = filled(server, model="locked", agent=agent.slug)
    assert "The server answers." in client.post(reverse("agents:trial"), asked).content.decode()
    elsewhere = asked | {"url": server.url.replace("127.0.0.1", "localhost")}
    assert "It does not accept the key" in client.post(reverse("agents:trial"), elsewhere).content.decode()
    assert "authorization" not in server.headers_seen[-1]
    assert "It does not accept the key" in client.post(reverse("agents:trial"), asked | {"key": "x"}).content.decode()
    client.force_login(bob)
    assert client.post(reverse("agents:trial"), asked).status_code == 404


def test_a_program_tries_an_endpoint_like_the_page(
    ada: User, bob: User, server: ModelServer, agent_of: MakeAgent, settings: Settings
) -> None:
    agent, spec = agent_of("locked", key=KEY), {"url": server.url, "model": "locked"}

    def ask(person: User, **more: Any) -> Any:
        header = {"Authorization": f"Bearer {make_token(person, 'program', ['manage'])[1]}"}
        sent = {"spec": spec, "agent": agent.slug} | more
        return Client().post("/api/v1/trials", sent, content_type="application/json", headers=header)

    answer = ask(ada).json()
    assert (answer["sentence"], answer["status"], answer["model"]) == ("", 200, "locked-2026")
    elsewhere = ask(ada, spec=spec | {"url": server.url.replace("127.0.0.1", "localhost")}).json()
    assert "It does not accept the key" in elsewhere["sentence"]
    assert "authorization" not in server.headers_seen[-1]
    wrong = ask(ada, spec={"url": "nowhere", "model": "m"})
    assert (wrong.status_code, wrong.json()["errors"][0]["field"]) == (422, "spec.url")
    assert ask(bob).status_code == 404
    settings.ENDPOINT_TRIALS_PER_MINUTE = 1
    cache.clear()
    assert [ask(ada).status_code for _ in range(2)] == [200, 429]


def test_trying_reaches_nothing_inside_unless_it_is_on_the_list(
    client: Client, ada: User, server: ModelServer, settings: Settings
) -> None:
    settings.PRIVATE_ENDPOINTS = []
    client.force_login(ada)
    page = client.post(reverse("agents:trial"), filled(server)).content.decode()
    assert "does not have a public address" in page
    assert server.requests == []
    settings.PRIVATE_ENDPOINTS = [f"127.0.0.1/32:{server.server_address[1]}"]
    assert "The server answers." in client.post(reverse("agents:trial"), filled(server)).content.decode()


def test_trying_is_for_people_with_an_account_and_limited(
    client: Client, ada: User, server: ModelServer, settings: Settings
) -> None:
    assert client.post(reverse("agents:trial"), filled(server)).status_code == 302
    settings.ENDPOINT_TRIALS_PER_MINUTE = 1
    client.force_login(ada)
    assert client.post(reverse("agents:trial"), filled(server, model="lost")).status_code == 200
    answer = client.post(reverse("agents:trial"), filled(server, model="lost"))
    assert answer.status_code == 429
    assert "Try again in" in answer.content.decode()
    assert len(server.requests) == 1


def test_an_agent_that_is_closed_while_its_set_up_changes_stays_closed(
    ada: User, agent_of: Callable[..., Agent]
) -> None:
    agent = agent_of(shared=True)
    spec = EndpointSpec.model_validate({**agent.endpoint.spec, "temperature": 0.5})
    operations.set_visibility(Agent.objects.get(pk=agent.pk), Visibility.PRIVATE)  # by another request
    changed = operations.change(agent, agent.name, spec)
    assert changed.visibility == Agent.objects.get(pk=agent.pk).visibility == Visibility.PRIVATE
