"""Nothing says a ranked seed while its season runs: no address, stream, log line or export, to any role.

The addresses are those of the table, so a new one is searched by itself. Searched for are the seeds of a ranked job, of
a person's ranked episode and of today's daily seed, the keys, and what their first observations have and those of
others do not.
"""

from __future__ import annotations

import json
import logging
import os
import random
import re
from dataclasses import dataclass, field
from html import unescape
from typing import Any

import pytest
from django.contrib.auth.models import AnonymousUser
from django.core.serializers.json import DjangoJSONEncoder
from django.db import transaction
from django.test import Client
from django.urls import reverse

from apps.accounts.models import User
from apps.daily import days
from apps.episodes.models import Episode
from apps.episodes.replays.downloads import records_of
from apps.jobs import leases
from apps.jobs.leases.tries import discard
from apps.jobs.models import Job, JobEvent
from apps.jobs.personal_data import PART
from apps.leaderboard import ranked_play
from apps.leaderboard.operations import record_scores
from apps.leaderboard.proofs import checks
from apps.leaderboard.seasons import reveal
from apps.live.feed import BEGINNING
from apps.live.streams import STREAMS
from apps.live.topics import TOPICS
from apps.play import operations as play
from apps.seasons import operations as seasons
from apps.seasons.models import Season
from gem import benchmarks
from gem.agents import make_agent
from gem.rollout import rollout
from tests.apps.seasons import ENV_IDS, NAME, end, shorten, submit
from tests.apps.site.addresses import requests
from tests.apps.site.objects import objects_of
from tests.apps.site.roles import ROLES, Address

PLAYER = "somebody else"
"""The role of the person who plays a ranked episode. The ranked job is the owner's."""
QUERIES = (
    *("/jobs/{job}/results/?part=" + part for part in ("failures", "seeds", "replays", "groups", "distributions")),
    *("/jobs/{job}/export/" + table for table in ("turns.csv", "turns.jsonl", "scores.csv", "episodes.jsonl")),
    *("/api/v1/jobs/{job}/exports/" + table for table in ("turns.jsonl", "episodes.csv")),
    *("/episodes/?source=" + which for which in ("all", "jobs", "all&mine=on")),
    "/daily/{day}/",
    "/jobs/{job}/episodes/?outcome=error",
    "/jobs/{job}/lines/?q=seed",
    "/compare/?job={job}&job={other}",
    "/api/v1/episodes?source=all",
    "/leaderboard/?benchmark=games-easy&row={score}",
    "/api/v1/leaderboard/games-easy",
    "/search/?q={job_episode}",
)


@dataclass
class Ranked:
    """A running season in which somebody has played."""

    season: Season
    people: dict[str, User | None]
    objects: dict[str, Any]
    """Ranked objects in the places of the objects of the table."""
    jobs: list[Job]
    episode: Episode
    """The player's."""
    seeds: set[str] = field(default_factory=set)
    day: Season | None = None
    """Today, whose seed the owner has played."""
    lines: set[str] = field(default_factory=set)
    """What is in their first observations and in no other."""

    @property
    def secrets(self) -> set[str]:
        """What nobody may be told."""
        return {*self.seeds, *self.lines, *self.keys}

    @property
    def keys(self) -> set[str]:
        """The keys in hexadecimal digits."""
        return {season.key.hex() for season in (self.season, self.day) if season is not None}

    def client(self, role: str) -> Client:
        """A client of somebody in this role."""
        client, person = Client(raise_request_exception=False), self.people[role]
        if person is not None:
            client.force_login(person)
        return client


@pytest.fixture
def ranked(people: dict[str, User | None], monkeypatch: pytest.MonkeyPatch) -> Ranked:
    """Two ranked jobs of the owner, with an episode that failed and says why, and a ranked episode of the player."""
    shorten(monkeypatch)
    owner, player = people["the owner"], people[PLAYER]
    assert owner is not None
    assert player is not None
    monkeypatch.setattr(days, "ENVIRONMENTS", (ENV_IDS[1],))
    objects = objects_of(people, "public")
    Job.objects.exclude(pk=objects["training"]).update(state=Job.State.CANCELLED)
    jobs = [submit(owner), submit(owner, "expert")]
    _play_all()
    Job.objects.filter(pk__in=[job.pk for job in jobs]).update(state=Job.State.DONE)
    record_scores(jobs[0].pk)
    assert checks.check_next()
    assert jobs[0].reexecution.certificate
    episode = ranked_play.begin(benchmarks.load(NAME), player, "", env_id=ENV_IDS[1])
    play.take_turn(episode.pk, "\\boxed{one}", expected_seq=0, user=player, visitor="", as_written=True)
    of_jobs = Episode.objects.filter(batch__in=[job.batch_id for job in jobs])
    objects |= {
        "job": jobs[0].pk,
        "other": jobs[1].pk,
        "job_episode": of_jobs.filter(batch=jobs[0].batch, env_id=ENV_IDS[1]).order_by("slot")[0].pk,
        "score": jobs[0].scores.get(env_id="").pk,
        "benchmark": NAME,
    }
    found = Ranked(seasons.current(benchmarks.load(NAME)), people, objects, jobs, episode)
    for each in [*of_jobs, episode]:
        found.seeds.add(str(each.played_seed))
        found.lines |= _own_lines(each)
    assert len(found.seeds) == 7
    assert len(found.lines) == 4
    found.day = days.today()
    found.seeds.add(str(days.seed_of(found.day)))
    found.lines |= _own_lines(Episode.objects.get(pk=objects["daily_episode"]))
    assert len(found.lines) == 5
    return found


def _play_all() -> None:
    """Play jobs as workers do; the first episode of each shard ends without an answer, and quotes what was asked."""
    while (claim := leases.claim()) is not None:
        records = sorted(rollout(make_agent(claim.agent.slug), claim.slots(), num_envs=4), key=lambda one: one.index)
        records[0].failure, records[0].failed_by = f"No answer to: {records[0].first_observation}", "agent"
        records[0].turns, records[0].terminated, records[0].truncated, records[0].success = [], False, False, None
        discard(claim, records[0])
        leases.record_episodes(claim, records)


def _own_lines(episode: Episode) -> set[str]:
    """What the first observation of an episode has, and that of an episode with another seed does not."""
    if episode.env_id == ENV_IDS[0]:
        return set()  # every game begins alike
    return set(re.findall(r"[A-Z]+(?:, [A-Z]+){4}", episode.first_observation))  # the words to search


RANKED = {"job", "job_episode", "episode", "score", "benchmark", "day", "daily_episode"}
"""The names of ranked objects in the table."""


WITHOUT_ROWS = {"site:docs", "site:doc", "site:picture", "api:openapi-json", "programs:rest"}
"""Documents, which know no episode."""


def searched(role: str) -> list[tuple[str, Address]]:
    """The addresses that name something ranked, and for staff, who may see most, all others that are read."""
    return [
        (name, address)
        for name, address in requests()
        if RANKED & set(address.names) or (role == "staff" and not address.post and name not in WITHOUT_ROWS)
    ]


def leaks(text: str, ranked: Ranked, *, seeds_only: bool = False) -> list[str]:
    """What of the secrets is in a text, which may be HTML or JSON."""
    secrets = {*ranked.seeds, *ranked.keys} if seeds_only else ranked.secrets
    plain = unescape(text)
    return [secret for secret in secrets if secret in plain]


def ask(client: Client, name: str, address: Address, objects: dict[str, Any]) -> tuple[int, str]:
    """The status and the text of an answer, of which nothing stays for the next one."""
    path = reverse(name, args=[objects[part] for part in address.names])
    with transaction.atomic():
        answer = address.ask(client, path)
        text = _text_of(answer)
        transaction.set_rollback(True)
    return answer.status_code, text


def _text_of(answer: Any) -> str:
    content = _streamed(answer) if getattr(answer, "streaming", False) else answer.content
    return content.decode(errors="replace") + " ".join(map(str, answer.headers.values()))


def _streamed(answer: Any) -> bytes:
    """What a response streams, or nothing if another thread reads it, which does not see what this test has written.

    Those are the files of an account and the lines of episodes, which are looked at in another test.
    """
    return b"" if answer.is_async else b"".join(answer.streaming_content)


@pytest.mark.parametrize(
    "role", ["staff", PLAYER, *(pytest.param(role, marks=pytest.mark.long) for role in ROLES[::2])]
)
def test_no_address_says_a_ranked_seed(role: str, ranked: Ranked, caplog: pytest.LogCaptureFixture) -> None:
    client, draw = ranked.client(role), random.Random(os.environ["SHUFFLE"])
    places = [("job_episode", ranked.objects["job_episode"]), ("episode", ranked.episode.pk)]
    with caplog.at_level(logging.INFO):
        for name, address in searched(role):
            some = places if role == PLAYER else draw.sample(places, 1)  # to staff both are somebody else's
            for part, key in some if {"episode", "job_episode"} & set(address.names) else places[:1]:
                objects = {**ranked.objects, part: key, "episode": key, "job_episode": key}
                status, text = ask(client, name, address, objects)
                assert status < 500 or status == address.status(role), (name, role)
                if (part == "episode" and role == PLAYER) or (role == "the owner" and "daily" in name):
                    assert leaks(text, ranked, seeds_only=True) == [], (name, role)
                    continue
                assert leaks(text, ranked) == [], (name, role)
                if "episode" in address.names and "content" not in address.names and name != "jobs:of_episode":
                    assert status in (404, 401), (name, role)
        for query in QUERIES:
            answer = client.get(query.format(**ranked.objects))
            assert answer.status_code < 500, query
            own = role == PLAYER
            assert leaks(_text_of(answer), ranked, seeds_only=own) == [], (query, role)
    assert leaks(caplog.text, ranked) == []


def test_no_stream_socket_event_or_export_of_an_account_says_one(ranked: Ranked) -> None:
    owner = ranked.people["the owner"]
    assert owner is not None
    batches = [*(job.batch_id for job in ranked.jobs), ranked.episode.batch_id]
    for job in ranked.jobs:
        said = [*STREAMS["job"].read(job.pk, BEGINNING, "other").messages]
        for audience in ("first", "other"):
            said += [event.html for event in TOPICS["job"].events(job.pk, 0, audience)]
        rows = list(JobEvent.objects.filter(job=job).values())
        assert len(rows) > 4
        assert leaks(json.dumps([*map(str, said), rows], cls=DjangoJSONEncoder), ranked) == []
    for role in ("the owner", "staff"):
        assert not Episode.objects.visible_to(ranked.people[role] or AnonymousUser()).filter(batch__in=batches).exists()
    exported = b"".join(part for file in PART.export(owner) for part in file.parts)
    assert ranked.jobs[0].pk.encode() in exported
    assert leaks(exported.decode(), ranked) == []
    read = records_of(Episode.objects.visible_to(owner).filter(batch__in=batches), owner)
    assert list(read) == []
    own = ranked.people[PLAYER]
    assert own is not None
    lines = json.dumps(list(records_of(Episode.objects.visible_to(own), own)), cls=DjangoJSONEncoder)
    assert leaks(lines, ranked, seeds_only=True) == []
    assert str(ranked.episode.seed) in lines


def test_everybody_derives_the_seeds_when_the_season_is_over(ranked: Ranked) -> None:
    of_season = Episode.objects.filter(seed__lt=0, batch__season=ranked.season)
    numbers = set(of_season.values_list("env_id", "seed"))
    assert len(numbers) == 7  # both jobs share theirs
    assert reveal(end(ranked.season))
    assert ranked.day is not None
    assert Episode.objects.filter(seed__lt=0).count() == 1  # the day is not over
    assert reveal(end(ranked.day))
    assert not Episode.objects.filter(seed__lt=0).exists()
    client = ranked.client("nobody")
    text = client.get(reverse("api:list_episodes_of_job", args=[ranked.jobs[0].pk])).content.decode()
    seeds = {str(row["seed"]) for row in json.loads(text)["items"]}
    assert seeds < ranked.seeds
    day = client.get(reverse("daily:day", args=[ranked.day.number])).content.decode()
    assert str(days.seed_of(ranked.day)) in day
    assert len(seeds) == 6
    for key in (ranked.objects["job_episode"], ranked.episode.pk):
        assert client.get(reverse("episodes:episode", args=[key])).status_code == 200
        verdict = client.post(reverse("api:verify_episode", args=[key])).json()
        assert verdict["holds"] is True, verdict
