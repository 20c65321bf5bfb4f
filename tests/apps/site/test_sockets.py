"""Who may listen to which topic as which audience. A topic that is not in the table fails: decide, and add it."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import pytest
from django.contrib.auth.models import AnonymousUser
from django.db import transaction
from pytest_django import DjangoDbBlocker

from apps.accounts.models import User
from apps.agents.models import Agent
from apps.duels import operations as duels
from apps.live.consumers import EventsConsumer, LiveConsumer
from apps.live.hub import FORBIDDEN, GONE, refusal
from apps.live.routing import websocket_urlpatterns
from apps.live.session_user import SessionUser
from apps.live.streams import STREAMS
from apps.live.topics import TOPICS
from apps.play import operations as play
from apps.play.shows.showcase import TOPIC as SHOWCASE
from apps.play.shows.showcase import present
from tests.apps.site.objects import objects_of, some_people
from tests.apps.site.roles import ENV_ID, ROLES

pytestmark = pytest.mark.django_db

EVERYBODY, NOBODY, ONLY_THE_OWNER = set(ROLES), set[str](), {"the owner"}
TABLE: dict[str, dict[str, set[str]]] = {
    "episode": {"watch": EVERYBODY, "home": EVERYBODY, "seat-0": ONLY_THE_OWNER, "seat-1": NOBODY},
    "duel": {"watch": EVERYBODY, "slot-0": ONLY_THE_OWNER, "slot-1": NOBODY, "slot-": NOBODY, "slot-9": NOBODY},
    "job": {"first": EVERYBODY, "other": EVERYBODY, "watch": NOBODY},
    SHOWCASE: {"home": EVERYBODY, "watch": NOBODY},
    "outside": {"watch": EVERYBODY, "home": NOBODY},
    "study": {"watch": EVERYBODY, "home": NOBODY},
}
"""By topic and audience, who may listen. Every topic is also asked for audiences that there are not."""
NO_AUDIENCES = ("", "seat", "seat-0 ", "seat--1", "seat-\u0660", "watch\0", "SEAT-0", "x" * 10_000)


@dataclass(frozen=True)
class World:
    """Somebody of each role, and the rows of each topic, which belong to the owner."""

    people: dict[str, User | None]
    keys: dict[str, list[str]]


@pytest.fixture(scope="module")
def world(request: pytest.FixtureRequest, django_db_setup: None, django_db_blocker: DjangoDbBlocker) -> Iterator[World]:
    """A world whose rows have the visibility that is asked for; no test here changes any."""
    with django_db_blocker.unblock(), transaction.atomic():
        people = some_people()
        yield World(people, keys_of(people, objects_of(people, request.param), request.param))
        transaction.set_rollback(True)


of_unlisted_rows = pytest.mark.parametrize("world", ["unlisted"], indirect=True)
of_private_rows = pytest.mark.parametrize("world", ["private"], indirect=True)


def keys_of(people: dict[str, User | None], objects: dict[str, Any], visibility: str) -> dict[str, list[str]]:
    """The rows of each topic with this visibility."""
    owner = people["the owner"]
    assert owner is not None
    expert = Agent.objects.get(slug="expert")
    duel = duels.start(duels.DuelStart(ENV_ID, 1), [expert], plays=True, user=owner, visitor="", visibility=visibility)
    who = {"user": owner, "visitor": "", "visibility": visibility}
    with_seats = play.begin_against("duel:TicTacToe-v0", expert, seat=0, seed=1, **who)
    return {
        "episode": [objects["episode"], with_seats.id],
        "duel": [duel.id],
        "job": [objects["job"], objects["training"]],
        SHOWCASE: [present().key],
        "outside": [objects["outside"]],
        "study": [objects["started"]],
    }


def session_of(person: User | None) -> SessionUser:
    """What the session of this person tells a socket."""
    return SessionUser(person or AnonymousUser(), "" if person else "f" * 32)


def test_every_topic_is_in_the_table() -> None:
    assert set(TABLE) == set(TOPICS)


def test_sockets_are_for_pages_and_for_events_only() -> None:
    consumers = [getattr(pattern.callback, "consumer_class", None) for pattern in websocket_urlpatterns]
    others = "a new consumer needs a table like this one; the last refuses the rest"
    assert consumers == [LiveConsumer, *[EventsConsumer] * 4, None], others


EVENTS_TABLE = {
    "episode": [dict.fromkeys(ROLES, "watch"), {**dict.fromkeys(ROLES, "watch"), "the owner": "seat-0"}],
    "duel": [dict.fromkeys(ROLES, "watch")],
    "job": [dict.fromkeys(ROLES, "other")] * 2,
}
"""By topic and row, as what audience each role follows its events. Rows with one seat have nothing to hide."""


@of_unlisted_rows
@pytest.mark.parametrize("topic", STREAMS)
def test_each_role_follows_events_as_it_may(topic: str, world: World) -> None:
    for key, audiences in zip(world.keys[topic], EVENTS_TABLE[topic], strict=True):
        for role, audience in audiences.items():
            person = session_of(world.people[role])
            assert STREAMS[topic].audience_of(key, person.viewer, person.visitor) == audience
            assert refusal(TOPICS[topic], key, audience, person) is None


@of_unlisted_rows
@pytest.mark.parametrize("topic", TABLE)
def test_each_role_hears_what_it_may(topic: str, world: World) -> None:
    sessions = {role: session_of(person) for role, person in world.people.items()}
    for key in world.keys[topic]:
        for audience, allowed in TABLE[topic].items():
            heard = {role for role in ROLES if refusal(TOPICS[topic], key, audience, sessions[role]) is None}
            assert heard == allowed, (key, audience)


@of_unlisted_rows
@pytest.mark.parametrize("topic", TABLE)
def test_what_is_not_there_is_not_heard(topic: str, world: World) -> None:
    for role in ROLES:
        somebody = session_of(world.people[role])
        assert refusal(TOPICS[topic], "nothing", next(iter(TABLE[topic])), somebody) == GONE
        for audience in NO_AUDIENCES:
            assert refusal(TOPICS[topic], world.keys[topic][0], audience, somebody) == FORBIDDEN, audience


@of_private_rows
@pytest.mark.parametrize("topic", TABLE)
def test_private_rows_are_not_there_for_others(topic: str, world: World) -> None:
    insiders = {"the owner", "staff"}
    for key in world.keys[topic]:
        for audience, allowed in TABLE[topic].items():
            for role in ROLES:
                is_there = topic == SHOWCASE or role in insiders
                expected = GONE if not is_there else None if role in allowed else FORBIDDEN
                assert refusal(TOPICS[topic], key, audience, session_of(world.people[role])) == expected, (
                    key,
                    audience,
                    role,
                )
