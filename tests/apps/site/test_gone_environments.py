"""What was played and trained stays readable when its environment is gone: a package uninstalled, an id renamed."""

from __future__ import annotations

import traceback
from collections.abc import Iterator
from typing import Any

import pytest
from django.apps import apps
from django.db import connection, models, transaction
from django.template import Context, Template
from django.test import Client
from django.urls import reverse
from django.utils.html import strip_tags

from apps.accounts.models import User
from apps.agents.models import Agent
from apps.episodes import operations as episodes
from apps.episodes.models import Episode
from apps.episodes.operations import Occupant
from apps.jobs import operations as jobs
from apps.jobs.models import Job
from apps.standings.refreshing import refresh
from gem.evaluation.spec import EvaluationSpec
from tests.apps.site.addresses import requests
from tests.apps.site.roles import ENV_ID, Address
from tests.html import tight
from tests.workers.records import play_out

pytestmark = pytest.mark.django_db(transaction=True)

GONE = "gone:Number-v0"
SAYS = f'There is no environment <span class="id">{GONE}</span> here any more: its package'
NOT_READY = {"site:health", "site:health_json"}
"""What answers 503 without workers."""


@pytest.fixture
def stored(people: dict[str, User | None], objects: dict[str, Any]) -> dict[str, Any]:
    """What addresses name, with two jobs that have ended, all of an environment that is gone by now."""
    owner = people["the owner"]
    ended = [
        play_out(jobs.submit(owner, EvaluationSpec(agent=agent, env_ids=(ENV_ID,), episodes_per_env=12)))
        for agent in ("random", "expert")
    ]
    let_it_go()
    return {**objects, "ended": ended[0].pk, "other": ended[1].pk}


def let_it_go(env_id: str = ENV_ID) -> None:
    """Write another id into every row that names this environment, as if the rows were of one that is gone."""
    with connection.cursor() as cursor:
        for model in apps.get_models():
            for field in model._meta.concrete_fields:
                if isinstance(field, models.CharField | models.TextField | models.JSONField):
                    kind = "::jsonb" if isinstance(field, models.JSONField) else ""
                    table, column = model._meta.db_table, field.column
                    cursor.execute(
                        f'UPDATE "{table}" SET "{column}" = replace("{column}"::text, %s, %s){kind} '
                        f'WHERE "{column}"::text LIKE %s',
                        [env_id, GONE, f"%{env_id}%"],
                    )


def more_requests() -> Iterator[tuple[str, Address]]:
    """Requests about what was stored that the table of addresses does not have."""
    for name in ("training", "ended"):
        yield "jobs:job", Address("", names=(name,))
        yield "jobs:spec", Address("", names=(name,))
        yield "jobs:resubmit", Address("", names=(name,), post=True)
        yield "jobs:resume", Address("", names=(name,), post=True)
    yield "jobs:results", Address("", names=("ended",))
    yield "api:resubmit_evaluation", Address("", names=("ended",), post=True)
    for do in ("pause", "resume", "extend", "evaluate"):
        yield "trainings:change", Address("", names=("training",), post=True, sent={"do": do, "updates": "5"})


def failures(client: Client, asked: Iterator[tuple[str, str, Address]]) -> dict[str, str]:
    """The addresses that answer with an error of the server, with what failed. Each is asked in the same session."""
    found, cookies = {}, client.cookies.output(header="", sep=";")
    for name, path, address in asked:
        client.cookies.clear()
        client.cookies.load(cookies)
        with transaction.atomic():
            answer = address.ask(client, path)
            transaction.set_rollback(True)
        if answer.status_code >= 500 and name not in NOT_READY:
            error = getattr(answer, "exc_info", None)
            found[f"{address.method} {path}"] = traceback.format_exception(*error)[-3:] if error else answer.status_code
    return found


def owner_of(people: dict[str, User | None]) -> Client:
    client = Client(raise_request_exception=False)
    assert people["the owner"] is not None
    client.force_login(people["the owner"])
    return client


def test_no_address_fails(people: dict[str, User | None], stored: dict[str, Any]) -> None:
    refresh()
    asked = [
        (name, reverse(name, args=[stored[part] for part in address.names]), address)
        for name, address in [*requests(), *more_requests()]
    ]
    two = f"job={stored['ended']}&job={stored['other']}"
    asked += [
        ("", path, Address(""))
        for path in (
            f"/compare/?{two}",
            "/compare/?agent=random&agent=expert",
            f"/compare/export/?{two}",
            f"/jobs/compare/?job={stored['training']}",
            f"/jobs/train/?parent={stored['training']}&parent_update=1",
            f"/leaderboard/?benchmark={stored['own_benchmark']}",
            "/agents/random/",
            "/jobs/?q=gone",
        )
    ]
    assert failures(owner_of(people), iter(asked)) == {}


def test_pages_say_what_is_gone(people: dict[str, User | None], stored: dict[str, Any]) -> None:
    client = owner_of(people)
    for path in (
        *(reverse("jobs:job", args=[stored[name]]) for name in ("job", "ended", "training")),
        reverse("jobs:results", args=[stored["ended"]]),
        reverse("studies:started", args=[stored["started"]]),
        reverse("leaderboard:row", args=[stored["score"]]),
    ):
        assert SAYS in tight(client.get(path)), path


def test_several_environments_that_are_gone_are_named_one_by_one() -> None:
    drawn = Template("{% gone ids %}").render(Context({"ids": [GONE, ENV_ID, "gone:Word-v0"]}))
    said = " ".join(strip_tags(drawn).split())
    assert said.startswith(f"These environments are not here any more: {GONE}, gone:Word-v0. Their packages")


def test_what_is_gone_is_not_played_again(people: dict[str, User | None], stored: dict[str, Any]) -> None:
    client, before = owner_of(people), Job.objects.count()
    again = client.post(reverse("jobs:resubmit", args=[stored["ended"]]), follow=True)
    assert "This job cannot be submitted again as it was." in again.content.decode()
    extended = client.post(
        reverse("trainings:change", args=[stored["training"]]), {"do": "extend", "updates": "5"}, follow=True
    )
    assert "No environment is registered as" in extended.content.decode()
    for name, address, sent in (
        ("training", "trainings:change", {"do": "resume"}),
        ("ended", "jobs:resume", {}),
        ("ended", "jobs:control", {"do": "resume"}),
    ):
        Job.objects.filter(pk=stored[name]).update(state=Job.State.PAUSED)
        resumed = client.post(reverse(address, args=[stored[name]]), sent, follow=True).content.decode()
        assert f"There is no environment {GONE} here any more, so this " in resumed, address
        assert Job.objects.get(pk=stored[name]).state == Job.State.PAUSED
    study = client.post(reverse("studies:change", args=[stored["started"]]), {"do": "resume"}, follow=True)
    assert "so this study cannot go on" in study.content.decode()
    for name in ("fork", "finish"):
        answer = client.post(reverse(f"play:{name}", args=[stored["episode"]]), {"turn": "0"})
        assert answer.status_code == 409
    assert client.post(reverse("duels:add", args=[stored["duel"]]), {"agent": "random"}).status_code == 409
    assert Job.objects.count() == before


def test_a_game_between_people_has_no_rematch(people: dict[str, User | None]) -> None:
    env_id, human = "duel:TicTacToe-v0", Agent.objects.get(slug="human")
    both = [Occupant(human, user=people[role]) for role in ("the owner", "staff")]
    episode = episodes.begin(env_id, seed=1, seats=both)
    with transaction.atomic():
        episodes.abandon(episodes.lock(episode.pk))
    let_it_go(env_id)
    answer = owner_of(people).post(reverse("play:rematch", args=[episode.pk]))
    assert answer.status_code == 409
    assert Episode.objects.count() == 1
