"""What streams of events say: every change once, the same however often one comes back, and no secret of a seat."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from django.contrib.auth.models import AnonymousUser
from django.db import transaction
from django.test import Client
from pytest_django.fixtures import Settings

from apps.accounts.models import User
from apps.agents.models import Agent
from apps.api.root import api
from apps.duels import operations as duels
from apps.episodes import operations as episodes
from apps.episodes.models import Batch, Episode
from apps.episodes.operations import Occupant
from apps.episodes.restore import restore
from apps.jobs import leases
from apps.jobs import operations as jobs
from apps.jobs.models import Job, JobEvent
from apps.live import streams
from apps.live.feed import BEGINNING
from apps.live.streams import STREAMS
from apps.play import operations as play
from apps.trainings import operations as trainings
from apps.visibility import Visibility
from gem.agents import make_agent
from gem.client.events import ENDINGS, EVENTS, Event, UnknownEvent, parse
from gem.evaluation.spec import EvaluationSpec
from gem.rollout import EpisodeRequest, rollout
from tests.apps.trainings.trainings import claimed, small, trained

pytestmark = pytest.mark.django_db
EASY = "game:GuessTheNumber-v0-easy"
VISITOR = "a" * 32


@pytest.fixture
def ada(db: None, settings: Settings, tmp_path: Path) -> User:
    """Somebody with room for jobs and trainings."""
    settings.RUNS_DIR = tmp_path
    return User.objects.create_user("ada")


def read(topic: str, key: str, after: int = BEGINNING, audience: str | None = None) -> list[Event]:
    """All events after an id, part by part, as a client reads them. Each is what its name promises."""
    found: list[Event] = []
    who = STREAMS[topic].audience_of(key, AnonymousUser(), "") if audience is None else audience
    while True:
        reading = STREAMS[topic].read(key, after, who)
        for message in reading.messages:
            event = parse(message.text)
            assert (event.event, event.seq) == (message.name, message.seq)
            assert after < event.seq <= reading.upto
            assert type(event) is EVENTS[event.event]
            after = event.seq
            found.append(event)
        after = reading.upto
        if after >= reading.top:
            assert (reading.top, reading.is_over) == STREAMS[topic].reach(key)
            return found


def names(events: list[Event]) -> list[str]:
    """Their names, without the kind of the row."""
    return [event.event.partition(".")[2] for event in events]


def agree_from_everywhere(topic: str, key: str, monkeypatch: pytest.MonkeyPatch) -> list[Event]:
    """All events; whoever comes back after any of them, and reads in parts of any size, gets the same."""
    everything = read(topic, key)
    for at_once in (1, 3):
        monkeypatch.setattr(streams, "MAX_EVENTS", at_once)
        monkeypatch.setattr(f"apps.{topic}s.events.MAX_EVENTS", at_once, raising=False)
        for after in range(BEGINNING, STREAMS[topic].reach(key)[0] + 1):
            assert read(topic, key, after) == [event for event in everything if event.seq > after]
    return everything


def guess(episode: Episode, number: int) -> None:
    with transaction.atomic():
        locked = episodes.lock(episode.pk)
        episodes.record_turn(locked, restore(locked), f"\\boxed{{{number}}}", extra_info={"note": "a guess"})


# ---------------------------------------------------------------- episodes


def begin(env_id: str = EASY) -> Episode:
    return episodes.begin(env_id, seed=1, seats=[Occupant(Agent.objects.get(slug="human"), visitor=VISITOR)])


def secret_of(episode: Episode) -> int:
    record = next(iter(rollout(make_agent("expert"), [EpisodeRequest(0, EASY, episode.seed)])))
    return int(record.turns[-1].action.strip("\\boxed{}"))


def test_an_episode_tells_its_reset_its_turns_and_its_end(monkeypatch: pytest.MonkeyPatch) -> None:
    episode = begin()
    secret = secret_of(episode)
    wrong = 1 if secret != 1 else 2
    guess(episode, wrong)
    episodes.touch(episodes.lock(episode.pk))  # a pause, for example, raises the seq and is no event
    guess(episode, secret)
    events = agree_from_everywhere("episode", episode.pk, monkeypatch)
    assert names(events) == ["started", "turn", "turn", "ended"]
    assert [event.seq for event in events] == [0, 1, 3, 4]
    first, second, last = (event.model_dump() for event in events[1:])
    assert (first["turn"], first["action"], first["extra"]) == (1, f"\\boxed{{{wrong}}}", {"note": "a guess"})
    assert (first["terminated"], second["terminated"], second["reward"]) == (False, True, 1.0)
    assert (last["outcome"], last["success"], last["turn_count"], last["seed"]) == ("won", True, 2, 1)


def test_an_undone_turn_ends_the_episode_and_names_the_branch_unless_it_is_private() -> None:
    episode = begin()
    guess(episode, 1 if secret_of(episode) != 1 else 2)
    branch = play.undo(episode.pk, user=AnonymousUser(), visitor=VISITOR)
    ended = read("episode", episode.pk)[-1].model_dump()
    assert (ended["outcome"], ended["goes_on_in"]) == ("abandoned", branch.pk)
    assert names(read("episode", branch.pk)) == ["started"]
    episodes.set_visibility(branch, Visibility.PRIVATE)
    assert read("episode", episode.pk)[-1].model_dump()["goes_on_in"] is None


def test_no_seat_reads_the_secrets_of_another_until_the_end() -> None:
    ada, bob = User.objects.create_user("ada"), User.objects.create_user("bob")
    human = Agent.objects.get(slug="human")
    episode = episodes.begin("duel:KuhnPoker-v0", seed=3, seats=[Occupant(human, user=ada), Occupant(human, user=bob)])
    with transaction.atomic():
        locked = episodes.lock(episode.pk)
        env = restore(locked)
        acting = locked.acting
        episodes.record_turn(locked, env, env.sample_random_action(), extra_info={"note": "a secret plan"})
    stream = STREAMS["episode"]
    seats = {stream.audience_of(episode.pk, user, ""): read("episode", episode.pk, audience=stream.audience_of(
        episode.pk, user, "")) for user in (ada, bob)}  # fmt: skip
    assert set(seats) == {"seat-0", "seat-1"}
    watched = read("episode", episode.pk, audience="watch")
    assert watched[0].model_dump()["seed"] is None
    assert [event.model_dump()["action"] is None for event in (seats[f"seat-{acting}"][1], watched[1])] == [False, True]
    for events in (watched, seats[f"seat-{1 - acting}"]):
        text = json.dumps([event.model_dump(mode="json") for event in events])
        assert "a secret plan" not in text
        assert events[1].model_dump()["reward"] is None
        own = 1 - acting if events is not watched else None
        for event in events:
            hidden = event.model_dump()["info"].get("seats", [])
            assert all(info is None for number, info in enumerate(hidden) if number != own)
    episodes.abandon(episode)
    revealed = read("episode", episode.pk, audience="watch")
    assert revealed[0].model_dump()["seed"] == 3
    assert revealed[1].model_dump()["extra"] == {"note": "a secret plan"}


# ---------------------------------------------------------------- duels


@pytest.fixture
def duel(db: None) -> Batch:
    """A duel of two agents of whom one has been taken away, and one has played to the end."""
    agents = [Agent.objects.get(slug=slug) for slug in ("expert", "random")]
    begun = duels.start(duels.DuelStart(EASY, 1), agents, user=AnonymousUser(), visitor=VISITOR)
    left, right = begun.episodes.order_by("slot")
    secret = secret_of(left)
    guess(left, 1 if secret != 1 else 2)
    guess(right, 2 if secret != 2 else 3)
    guess(left, secret)
    episodes.abandon(right)
    return begun


DUEL = ["started", "joined", "joined", "turn", "turn", "turn", "episode_ended", "episode_ended", "ended"]


def test_a_duel_tells_what_happens_in_all_its_episodes_in_one_order(
    duel: Batch, monkeypatch: pytest.MonkeyPatch
) -> None:
    events = agree_from_everywhere("duel", duel.pk, monkeypatch)
    assert names(events) == DUEL
    data = [event.model_dump() for event in events]
    assert [entry.get("slot") for entry in data] == [None, 0, 1, 0, 1, 0, 0, 1, None]
    assert [side["outcome"] for side in data[-1]["sides"]] == ["won", "abandoned"]
    duels.add(duel, Agent.objects.get(slug="expert"), user=AnonymousUser(), visitor=VISITOR)
    again = read("duel", duel.pk)
    assert again[: len(events)] == events, "what was said stays as it was"
    assert names(again[len(events) :]) == ["joined"]
    assert not STREAMS["duel"].reach(duel.pk)[1]


# ---------------------------------------------------------------- jobs


def evaluated(owner: User) -> Job:
    """An evaluation that a worker began, gave back, and finished."""
    spec = EvaluationSpec.model_validate({"agent": "random", "env_ids": [EASY], "episodes_per_env": 4})
    job = jobs.submit(owner, spec)
    claim = leases.claim()
    assert claim is not None
    leases.record_episodes(claim, list(rollout(make_agent("random"), claim.slots()[:1])))
    leases.release(claim)
    claim = leases.claim()
    assert claim is not None
    leases.record_episodes(claim, list(rollout(make_agent("random"), claim.slots())))
    return job


def test_a_job_tells_its_shards_its_episodes_and_its_result(ada: User, monkeypatch: pytest.MonkeyPatch) -> None:
    job = evaluated(ada)
    events = agree_from_everywhere("job", job.pk, monkeypatch)
    assert names(events) == [
        "queued", "shard_started", "episodes", "shard_requeued", "shard_started", "episodes", "ended"
    ]  # fmt: skip
    data = [event.model_dump() for event in events]
    assert [(entry["done"], entry["total"]) for entry in (data[2], data[5])] == [(1, 4), (4, 4)]
    told = [episode["id"] for entry in (data[2], data[5]) for episode in entry["episodes"]]
    assert sorted(told) == sorted(Episode.objects.filter(batch=job.batch).values_list("pk", flat=True))
    assert data[3]["reason"] == "its worker is stopping"
    assert (data[6]["state"], data[6]["result"]["done"], data[6]["result"]["errors"]) == ("done", 4, 0)
    assert data[6]["result"]["mean_return"] == pytest.approx(
        sum(episode["total_reward"] for entry in (data[2], data[5]) for episode in entry["episodes"]) / 4
    )
    episode = told[0]
    assert names(read("episode", episode))[-1] == "ended", "what was recorded at once has its turns too"
    agree_from_everywhere("episode", episode, monkeypatch)


def test_a_training_tells_its_updates_samples_checkpoints_and_its_end(
    ada: User, monkeypatch: pytest.MonkeyPatch
) -> None:
    job = trainings.submit(ada, small())
    trained(job)
    trainings.pause(job.pk, ada)
    trainings.resume(job.pk, ada)
    claimed(job)
    jobs.cancel(job.pk, ada)
    events = agree_from_everywhere("job", job.pk, monkeypatch)
    assert names(events) == [
        "queued", "started", "updates", "samples", "samples", "checkpoint", "paused", "resumed", "started", "ended"
    ]  # fmt: skip
    data = [event.model_dump() for event in events]
    assert [point["update"] for point in data[2]["points"]] == [1, 2, 3, 4]
    assert data[2]["points"][3]["success"] == 0.4
    assert [(entry["exam"], len(entry["episodes"])) for entry in data[3:5]] == [(False, 4), (True, 3)]
    assert (data[5]["update"], data[5]["agent"]) == (4, f"checkpoint-{job.pk}-4")
    assert (data[9]["state"], data[9]["update"]) == ("cancelled", 4)


def test_events_that_were_stored_without_data_keep_their_names(ada: User) -> None:
    evaluation = evaluated(ada)
    JobEvent.objects.filter(job=evaluation).update(data={})
    assert names(read("job", evaluation.pk))[-2:] == ["episodes", "ended"]


# ---------------------------------------------------------------- requests


def ask(path: str, last_id: str | None = None, **query: str) -> Any:
    headers = {} if last_id is None else {"Last-Event-ID": last_id}
    return Client().get(f"/api/v1/{path}/events", query, headers=headers)


def test_a_request_without_a_stream_behind_it_is_answered_as_the_beginning_of_one() -> None:
    response = ask(f"episodes/{begin().pk}")
    assert (response.status_code, response["Content-Type"]) == (200, "text/event-stream; charset=utf-8")
    assert (response["X-Accel-Buffering"], response["Cache-Control"]) == ("no", "no-store")
    assert response.content == b":\n\n", "a comment"


@pytest.mark.parametrize(
    "value", ["-1", "1.0", "x", "٣", "1 ", "0x1", "9" * 5000, "2147483648", "\x00", "1\r\n2", "17"]
)
def test_what_is_no_id_of_an_event_is_refused_in_a_sentence(value: str) -> None:
    path = f"episodes/{begin().pk}"
    for response in (ask(path, value), ask(path, after=value)):
        assert response.status_code == 422, value
        assert response.json()["errors"][0]["field"] in {"Last-Event-ID", "after"}


def test_nothing_is_left_of_what_is_over() -> None:
    episode = begin()
    episodes.abandon(episode)
    top, is_over = STREAMS["episode"].reach(episode.pk)
    assert is_over
    assert ask(f"episodes/{episode.pk}", str(top)).status_code == 204
    assert ask(f"episodes/{episode.pk}", str(top - 1)).status_code == 200
    assert ask(f"episodes/{episode.pk}").status_code == 200


def test_a_stream_is_only_at_the_address_of_its_kind(ada: User) -> None:
    job = evaluated(ada)
    assert ask(f"jobs/{job.pk}").status_code == 200
    for wrong in (f"trainings/{job.pk}", f"episodes/{job.pk}", f"duels/{job.pk}", "jobs/nothing"):
        assert ask(wrong).status_code == 404, wrong
    training = trainings.submit(ada, small())
    assert [ask(f"{kind}/{training.pk}").status_code for kind in ("jobs", "trainings")] == [200, 200]


# ---------------------------------------------------------------- the table


def test_every_event_is_in_the_openapi_document_and_on_the_page_about_events() -> None:
    document = api.get_openapi_schema()
    described = set()
    for kind in ("episodes/{episode_id}", "duels/{duel_id}", "jobs/{job_id}", "trainings/{job_id}"):
        operation = document["paths"][f"/api/v1/{kind}/events"]["get"]
        schema = operation["responses"][200]["content"]["text/event-stream"]["schema"]
        for reference in schema["oneOf"]:
            model = document["components"]["schemas"][reference["$ref"].rpartition("/")[2]]
            described.add(model["properties"]["event"]["const"])
    assert described == set(EVENTS) - {"webhook.test"}, "a test is sent, and in no stream"
    assert "WebhookTest" in document["components"]["schemas"]
    page = Path("docs/events.md").read_text("utf-8")
    for name, model in EVENTS.items():
        assert f"`{name}`" in page
        for field in model.model_fields.keys() - Event.model_fields.keys():
            assert f"`{field}`" in page, (name, field)
    assert {"episode.ended", "duel.ended", "job.ended", "training.ended"} == ENDINGS


def test_a_client_survives_events_and_fields_of_later_versions() -> None:
    event = parse('{"event": "job.moved", "seq": 3, "at": null, "job": "0123456789ab", "where": "elsewhere"}')
    assert type(event) is UnknownEvent
    assert (event.event, event.seq) == ("job.moved", 3)
