"""Private, unlisted and public objects at every address, and in what other people can find.

The addresses are those of the table, so a new one is in these tests by itself. What other people can find is crawled:
every page that can be reached by links and lists is searched for the names and ids of somebody else's objects.
"""

from __future__ import annotations

import os
import random
import re
from collections.abc import Iterator
from html import unescape

import pytest
from django.db import transaction
from django.test import Client
from django.urls import reverse

from apps.accounts.models import User
from apps.agents.models import Agent
from apps.duels import operations as duels
from apps.episodes.models import Episode
from apps.jobs import operations as jobs
from apps.jobs.models import Job
from apps.leaderboard.models import Score
from apps.play import operations as play
from apps.play.shows import operations as shows
from apps.trainings import operations as trainings
from gem.evaluation.spec import EvaluationSpec
from gem.training.spec import read_spec
from tests.apps.site.addresses import TABLE, requests
from tests.apps.site.objects import SCORE, objects_of
from tests.apps.site.roles import ENV_ID, OTHERS, Asker

pytestmark = pytest.mark.django_db

SAME_KIND = {"episode": ("job_episode", "duel_episode"), "show": ("job_episode",)}
"""Other objects that an address can name; whatever belongs to a private job or duel is as private."""


def client_of(person: User | None) -> Client:
    client = Client()
    if person is not None:
        client.force_login(person)
    return client


@pytest.mark.parametrize("role", OTHERS)
def test_every_address_of_something_private_answers_others_as_if_it_were_not_there(
    role: str, people: dict[str, User | None]
) -> None:
    """The other cases are in test_addresses.py, also of guests whom the API asks for a token before it looks."""
    objects, asker = objects_of(people, "private"), Asker(people[role])
    about = [
        (name, address)
        for name, address in requests()
        if address.names_owned and address.status(role, "private") != 401
    ]
    assert len(about) > 40
    answers = {(name, address.method): asker.status(name, address, objects) for name, address in about}
    assert answers == {(name, address.method): address.status(role, "private") for name, address in about}


def test_what_belongs_to_a_private_job_or_duel_is_as_private(people: dict[str, User | None]) -> None:
    objects = objects_of(people, "private")
    objects["duel_episode"] = Episode.objects.filter(batch=objects["duel"]).first().id  # type: ignore[union-attr]
    draw, askers = random.Random(os.environ["SHUFFLE"]), {role: Asker(people[role]) for role in OTHERS}
    for name, address in TABLE.items():
        for part in set(address.names) & set(SAME_KIND):
            for role, other in zip(draw.sample(OTHERS, 2), SAME_KIND[part], strict=False):  # other pairs in other runs
                answer = askers[role].status(name, address, {**objects, part: objects[other]})
                assert answer == address.status(role, "private"), (name, other, role)
    for role in ("the owner", "staff"):
        client = client_of(people[role])
        for other in ("duel_episode", "job_episode"):
            assert client.get(reverse("episodes:episode", args=[objects[other]])).status_code == 200


# ------------------------------------------------------------------ what other people can find

MARK = "Zebrafish"
"""A part of every name below, which nothing else has."""
FIRST_PAGES = (
    *(name for name, address in TABLE.items() if not address.names and not address.post),
    "catalog:environment",
)
QUERIES = (
    f"/search/?q={MARK[:6]}",
    "/episodes/?source=all",
    "/episodes/?source=jobs",
    "/episodes/?source=all&mine=on",
    f"/episodes/?source=all&env_id={ENV_ID}&seed=77",
    *(f"/jobs/?state={state}" for state in ("queued", "running", "done")),
    "/jobs/?whose=mine",
    f"/leaderboard/?benchmark=games&env_id={ENV_ID}",
    "/leaderboard/?benchmark=games&row={score}",
    f"/play/duel/new/?env_id={ENV_ID}",
    "/api/v1/episodes?source=all",
    f"/api/v1/episodes?source=all&env_id={ENV_ID}&seed=77",
    "/api/v1/episodes?source=all&mine=true",
    "/api/v1/jobs?mine=true",
    "/api/v1/leaderboard/games",
    "/api/v1/leaderboard/rows/{score}",
)
LINK = re.compile(r"""(?:href|src|hx-get|data-url)="(/[^"#]*)""")
NOT_FOLLOWED = re.compile(r"^/(docs|static|account/log|environments|live|health|ready)|\.(png|svg|css|js)$")
MAX_PAGES = 90


def hide_everything(owner: User, visibility: str) -> dict[str, str]:
    """One object of each kind with this visibility, and what its pages are recognized by."""
    agent = Agent.objects.create(
        slug="zebrafish-agent", name=f"{MARK} agent", kind="random", owner=owner, colour=1, visibility=visibility
    )
    own = {"user": owner, "visitor": "", "visibility": visibility}
    episode = play.begin(ENV_ID, seed=77, **own)
    show = shows.start(ENV_ID, agent, seed=77, user=owner, visibility=visibility)
    duel = duels.start(duels.DuelStart(ENV_ID, 77), [agent, agent], **own)
    training = trainings.submit(owner, read_spec({"env_id": ENV_ID}), name=f"{MARK} training", visibility=visibility)
    waiting, done = (
        jobs.submit(owner, EvaluationSpec(agent=agent.slug, benchmark="games"), name=f"{MARK} {name}",
                    visibility=visibility)
        for name in ("waiting", "done")
    )  # fmt: skip
    Job.objects.filter(pk=done.pk).update(state=Job.State.DONE, parent=training)
    Score.objects.create(job=done, agent=agent, **SCORE)
    Score.objects.create(job=done, agent=agent, **SCORE, env_id=ENV_ID)
    own_in_job = Episode.objects.filter(batch=duel).first()
    assert own_in_job is not None
    of_job = play.begin(ENV_ID, seed=77, **own)
    Episode.objects.filter(pk__in=[of_job.pk, episode.pk]).update(status="ended", success=True)
    Episode.objects.filter(pk=of_job.pk).update(batch=done.batch, slot=0, of_job=True, visibility="public")
    kept = {"episode": episode, "show": show, "duel": duel, "training": training, "waiting": waiting, "done": done}
    return {name: row.pk for name, row in kept.items()} | {"in duel": own_in_job.pk, "of job": of_job.pk}


def show_beside(owner: User, hidden: dict[str, str]) -> None:
    """Public objects of the same owner that come from hidden ones."""
    random = Agent.objects.get(slug="random")
    fork = play.begin(ENV_ID, seed=77, user=owner, visitor="", visibility="public")
    Episode.objects.filter(pk=fork.pk).update(parent=hidden["episode"], parent_turn=0, status="ended", success=False)
    training = trainings.submit(owner, read_spec({"env_id": ENV_ID, "seed": 9}), name="open training")
    job = jobs.submit(owner, EvaluationSpec(agent="random", benchmark="games"), name="open job")
    Job.objects.filter(pk__in=[training.pk, job.pk]).update(parent=hidden["training"])
    Job.objects.filter(pk=hidden["waiting"]).update(parent=training)
    Score.objects.create(job=job, agent=random, **SCORE)
    shows.start(ENV_ID, random, seed=77, user=owner, visibility="public")


def crawl(client: Client, first: Iterator[str]) -> Iterator[tuple[str, str]]:
    """The pages that somebody reaches from these addresses by links: address and text."""
    waiting, seen, pages = list(first), set[str](), 0
    while waiting and pages < MAX_PAGES:
        path = waiting.pop(0)
        if path in seen:
            continue
        seen.add(path)
        with transaction.atomic():
            answer = client.get(path, follow=True)
            transaction.set_rollback(True)
        if answer.streaming or answer.status_code != 200:
            continue
        pages += 1
        text = answer.content.decode(errors="replace")
        yield path, unescape(text)
        links = [unescape(link) for link in LINK.findall(text)]
        waiting.extend(link for link in links if not NOT_FOLLOWED.search(link))


def first_pages(score: int) -> Iterator[str]:
    for name in FIRST_PAGES:
        yield reverse(name, args=[ENV_ID] if TABLE[name].names else [])
    for query in QUERIES:
        yield query.format(score=score)


@pytest.mark.parametrize(
    ("visibility", "role"), [("private", "somebody else"), pytest.param("unlisted", "nobody", marks=pytest.mark.long)]
)
def test_nobody_else_finds_it_by_any_link_list_search_or_export(
    visibility: str, role: str, people: dict[str, User | None]
) -> None:
    owner = people["the owner"]
    assert owner is not None
    hidden = hide_everything(owner, visibility)
    show_beside(owner, hidden)
    score = Score.objects.exclude(agent__slug="random").first()
    assert score is not None
    for path, text in crawl(client_of(people[role]), first_pages(score.pk)):
        if visibility == "unlisted" and ("row=" in path or "/rows/" in path):
            continue  # whoever has the address of an unlisted row may read it
        assert MARK not in text, path
        assert not [name for name, key in hidden.items() if key in text], path
    if visibility == "private":
        missing = {**hidden, "agent": f"{MARK} agent"}
        for _, text in crawl(client_of(owner), first_pages(score.pk)):
            missing = {name: key for name, key in missing.items() if key not in text}
            if not missing:
                break
        assert not missing, "the crawl itself finds everything that there is to find"
