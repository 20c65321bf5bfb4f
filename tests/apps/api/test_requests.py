"""What holds for all requests: idempotency keys, ETags, pages of lists, rate limits, and other sites."""

from __future__ import annotations

import functools
import threading
from datetime import timedelta
from typing import Any

import pytest
from django.test import override_settings
from django.utils import timezone
from pytest_django import DjangoAssertNumQueries

from apps.accounts.models import User
from apps.api import idempotency, operations
from apps.api.models import IdempotentRequest
from apps.episodes.models import Episode
from apps.jobs import operations as jobs
from apps.jobs.models import Job
from apps.play import operations as play
from gem.evaluation.spec import EvaluationSpec
from tests.apps.api.conftest import Program
from tests.html import whole_of
from tests.networks import fresh_address

pytestmark = pytest.mark.django_db
ENV_ID = "game:GuessTheNumber-v0-easy"
NEW = {"env_id": ENV_ID, "seed": 3}


# ---------------------------------------------------------------- idempotency


def test_a_repeated_request_changes_nothing_and_gets_the_same_answer(program: Program) -> None:
    first = program.post("episodes", NEW, Idempotency_Key="k1")
    again = program.post("episodes", NEW, Idempotency_Key="k1")
    assert (first.status_code, again.status_code) == (201, 201)
    assert first.json() == again.json()
    assert again["Idempotent-Replayed"] == "true"
    assert not first.has_header("Idempotent-Replayed")
    assert Episode.objects.count() == 1
    assert program.post("episodes", NEW, Idempotency_Key="k2").json()["id"] != first.json()["id"]


def test_a_key_belongs_to_one_request_of_one_person(program: Program, program_of: Any) -> None:
    program.post("episodes", NEW, Idempotency_Key="k1")
    other_body = program.post("episodes", {**NEW, "seed": 4}, Idempotency_Key="k1")
    assert other_body.status_code == 422
    assert "another request" in other_body.json()["detail"]
    other = program_of(User.objects.create_user("grace"))
    assert other.post("episodes", NEW, Idempotency_Key="k1").status_code == 201
    assert program.post("episodes", NEW, Idempotency_Key="x" * 81).status_code == 422


def test_a_refused_request_may_be_sent_again_with_its_key(program: Program) -> None:
    assert program.post("episodes", {"env_id": "nope"}, Idempotency_Key="k1").status_code == 422
    assert program.post("episodes", NEW, Idempotency_Key="k1").status_code == 201


def test_a_request_that_is_being_answered_is_not_answered_twice(owner: User, program: Program) -> None:
    digest = "0" * 64
    row = IdempotentRequest.objects.create(user=owner, key="k1", digest=digest)
    assert program.post("episodes", NEW, Idempotency_Key="k1").status_code == 422  # another request has this key
    IdempotentRequest.objects.all().delete()
    program.post("episodes", NEW, Idempotency_Key="k1")
    row = IdempotentRequest.objects.get()
    IdempotentRequest.objects.update(status=None, body=None)
    assert program.post("episodes", NEW, Idempotency_Key="k1").status_code == 409
    IdempotentRequest.objects.update(created=timezone.now() - idempotency.GIVEN_UP_AFTER)
    assert program.post("episodes", NEW, Idempotency_Key="k1").status_code == 201
    row.refresh_from_db()
    assert row.status == 201


def test_answers_are_forgotten_after_a_day(owner: User, program: Program) -> None:
    program.post("episodes", NEW, Idempotency_Key="k1")
    operations.forget_repeats()
    assert IdempotentRequest.objects.count() == 1
    IdempotentRequest.objects.update(created=timezone.now() - operations.REPEATS_KEPT - timedelta(seconds=1))
    operations.forget_repeats()
    assert not IdempotentRequest.objects.exists()


def test_what_may_be_repeated_anyway_is_not_stored(program: Program) -> None:
    episode = program.post("episodes", NEW).json()["id"]
    for visibility in ("private", "unlisted", "unlisted"):  # each of them is answered anew, whatever its key
        answer = program.send("PUT", f"episodes/{episode}/visibility", {"visibility": visibility}, Idempotency_Key="k1")
        assert (answer.status_code, answer.json()["visibility"]) == (200, visibility)
    assert not IdempotentRequest.objects.exists()


def test_an_account_has_only_so_many_stored_answers(
    owner: User, program: Program, program_of: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    program_of(User.objects.create_user("grace")).post("episodes", NEW, Idempotency_Key="k0")
    monkeypatch.setattr(operations, "MAX_REPEATS", 3)
    for number in range(5):
        program.post("episodes", NEW, Idempotency_Key=f"k{number}")
    stored = IdempotentRequest.objects.filter(user=owner)
    assert sorted(stored.values_list("key", flat=True)) == ["k2", "k3", "k4"]
    size = max(len(bytes(row.body or b"")) for row in stored)
    monkeypatch.setattr(operations, "MAX_REPEATS_BYTES", 2 * size + size // 2)
    program.post("episodes", NEW, Idempotency_Key="k5")
    assert sorted(stored.values_list("key", flat=True)) == ["k4", "k5"]
    monkeypatch.setattr(operations, "MAX_REPEATS_BYTES", 1)
    first = program.post("episodes", NEW, Idempotency_Key="k6").json()["id"]
    assert program.post("episodes", NEW, Idempotency_Key="k6").json()["id"] == first, "the newest one stays"
    assert IdempotentRequest.objects.exclude(user=owner).count() == 1, "another account's answers are its own"


def test_a_job_is_submitted_once_even_if_the_answer_was_lost(owner: User, program: Program) -> None:
    body = {"spec": {"agent": "random", "env_ids": [ENV_ID], "episodes_per_env": 2}}
    first = program.post("jobs", body, Idempotency_Key="k1")
    IdempotentRequest.objects.all().delete()  # as if the process had been killed before it stored the answer
    assert program.post("jobs", body, Idempotency_Key="k1").json()["id"] == first.json()["id"]
    assert Job.objects.count() == 1


@pytest.mark.django_db(transaction=True)
def test_two_of_the_same_at_once_change_one_thing(owner: User, program_of: Any) -> None:
    programs = [program_of(owner), program_of(owner)]
    barrier, answers = threading.Barrier(2), []

    def send(each: Program) -> None:
        from django.db import connection

        barrier.wait()
        answers.append(each.post("episodes", NEW, Idempotency_Key="k1").status_code)
        connection.close()

    threads = [threading.Thread(target=send, args=[each]) for each in programs]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert sorted(answers) in ([201, 201], [201, 409])
    assert Episode.objects.count() == 1


# ---------------------------------------------------------------- reads


def test_an_answer_that_has_not_changed_is_not_sent_again(owner: User, program: Program) -> None:
    episode = play.begin(ENV_ID, seed=1, user=owner, visitor="")
    path = f"episodes/{episode.pk}"
    first = program.get(path)
    again = program.get(path, If_None_Match=first["ETag"])
    assert (again.status_code, again.content) == (304, b"")
    play.take_turn(episode.pk, "\\boxed{1}", expected_seq=0, user=owner, visitor="")
    assert program.get(path, If_None_Match=first["ETag"]).status_code == 200


def test_the_headers_of_an_answer_can_be_asked_for_alone(program: Program) -> None:
    whole, head = program.get("agents"), program.send("HEAD", "agents")
    assert (head.status_code, head.content) == (200, b"")
    assert head["ETag"] == whole["ETag"]
    assert head["Content-Length"] == whole["Content-Length"]
    assert program.send("HEAD", "agents/nobody").status_code == 404


def every_item(program: Program, path: str, limit: int) -> tuple[list[Any], int]:
    """All items of a list, and the number of its pages."""
    items: list[Any] = []
    cursor, pages = "", 0
    while cursor is not None:
        page = program.get(f"{path}{'&' if '?' in path else '?'}limit={limit}&cursor={cursor}").json()
        assert len(page["items"]) <= limit
        items, cursor, pages = items + page["items"], page["next"], pages + 1
    return items, pages


def test_pages_of_every_list_have_each_item_once_and_in_order(owner: User, program: Program) -> None:
    episodes = [play.begin(ENV_ID, seed=seed, user=owner, visitor="").pk for seed in range(7)]
    for _ in range(5):
        jobs.submit(owner, EvaluationSpec(agent="random", env_ids=(ENV_ID,), episodes_per_env=1))
    Episode.objects.update(created=timezone.now())  # all at once: only the key tells them apart
    Job.objects.update(created=timezone.now())
    listed, pages = every_item(program, "episodes", 3)
    assert (sorted(item["id"] for item in listed), pages) == (sorted(episodes), 3)
    listed, pages = every_item(program, "jobs?kind=evaluation", 2)
    assert (len({item["id"] for item in listed}), len(listed), pages) == (5, 5, 3)
    whole, _ = every_item(program, "agents", 200)
    assert [item["slug"] for item in every_item(program, "agents", 1)[0]] == [item["slug"] for item in whole]
    some, _ = every_item(program, "environments?q=sokoban", 2)
    assert len(some) == len({item["id"] for item in some}) > 2


def test_a_list_of_episodes_reads_what_it_shows_and_no_more(
    owner: User, program: Program, django_assert_max_num_queries: DjangoAssertNumQueries
) -> None:
    friend = User.objects.create_user("grace")
    for number in range(6):
        play.begin(ENV_ID, seed=number, user=owner, visitor="")
        played = play.begin_against("duel:TicTacToe-v0", None, seat=number % 2, user=owner, visitor="")
        play.join(played.pk, 1 - number % 2, user=friend, visitor="")
    with django_assert_max_num_queries(12) as queries:
        items = program.get("episodes").json()["items"]
    assert not any("first_observation" in query["sql"] for query in queries.captured_queries)
    assert len(items) == 12
    for item in items:
        whole = program.get(f"episodes/{item['id']}").json()
        assert item == {name: whole[name] for name in item}
        assert [seat["number"] for seat in item["seats"]] == list(range(len(item["seats"])))
        assert sum(seat["mine"] for seat in item["seats"]) == 1
        assert (item["seed"] is None) == (len(item["seats"]) == 2), "what is still hidden is not in the list either"


@pytest.mark.parametrize("path", ["episodes", "jobs", "agents", "trainings", "environments"])
@pytest.mark.parametrize("cursor", ["x", "-1", "1-", "99999999999999999999-abc", "1-'; drop", "1-%00"])
def test_a_cursor_that_no_page_has_given_is_refused(path: str, cursor: str, program: Program) -> None:
    answer = program.get(f"{path}?cursor={cursor}")
    assert answer.status_code in {400, 422}


@pytest.mark.django_db(transaction=True)
def test_turns_come_in_pages_and_as_lines(owner: User, program: Program, guest: Program) -> None:
    episode = play.begin("game:GuessTheNumber-v0-hard", seed=1, user=owner, visitor="", visibility="private")
    for number in range(1, 5):
        play.take_turn(episode.pk, f"\\boxed{{{number}}}", expected_seq=number - 1, user=owner, visitor="")
    turns, pages = every_item(program, f"episodes/{episode.pk}/turns", 3)
    assert ([turn["turn"] for turn in turns], pages) == ([1, 2, 3, 4], 2)
    lines = whole_of(program.get(f"episodes/{episode.pk}/turns.jsonl?after=1"))
    assert lines.count(b"\n") == 3
    assert b'"turn": 2' in lines
    record = program.get(f"episodes/{episode.pk}/record.json").json()
    whole = whole_of(program.get(f"episodes/{episode.pk}/record.jsonl")).splitlines()
    assert len(record["turns"]) == 4
    assert len(whole) == 5
    for address in ("turns", "turns.jsonl", "record.json", "record.jsonl", "turns/1", "verification"):
        assert guest.get(f"episodes/{episode.pk}/{address}").status_code == 404


# ---------------------------------------------------------------- limits and other sites


@override_settings(API_REQUESTS_PER_MINUTE=2, REQUESTS_PER_MINUTE=1000)
def test_each_token_has_a_limit_of_its_own_and_says_what_is_left(owner: User, program_of: Any) -> None:
    one, other = program_of(owner), program_of(owner)
    answers = [one.get("account") for _ in range(3)]
    assert [answer.status_code for answer in answers] == [200, 200, 429]
    assert [answer["RateLimit-Remaining"] for answer in answers] == ["1", "0", "0"]
    assert answers[0]["RateLimit-Limit"] == "2"
    assert int(answers[2]["Retry-After"]) > 0
    assert answers[2].json()["detail"].startswith("One API token can send 2 requests a minute")
    assert other.get("account").status_code == 200


def test_pages_of_other_sites_may_read_what_is_public(guest: Program) -> None:
    answer = guest.get("environments?limit=1", Origin="https://elsewhere.example")
    assert answer["Access-Control-Allow-Origin"] == "*"
    assert not answer.has_header("Access-Control-Allow-Credentials")
    assert "ETag" in answer["Access-Control-Expose-Headers"]
    preflight = guest.send("OPTIONS", "episodes", Access_Control_Request_Method="POST")
    assert preflight.status_code == 204
    assert preflight["Access-Control-Allow-Methods"] == "GET, HEAD"
    assert "authorization" not in preflight["Access-Control-Allow-Headers"].lower()


def test_a_form_with_a_key_is_refused_in_words(program: Program) -> None:
    for headers in ({}, {"Idempotency-Key": "k1"}):
        answer = program.client.post("/api/v1/jobs", {"a": "b"}, headers=program.headers | headers)
        assert answer.status_code in (400, 415, 422), headers
        assert answer["Content-Type"].startswith("application/problem+json")


def test_a_key_names_one_job_however_late_and_no_other(program: Program) -> None:
    one = {"spec": {"agent": "random", "env_ids": [ENV_ID], "episodes_per_env": 1}}
    other = {"spec": {"agent": "random", "env_ids": [ENV_ID], "episodes_per_env": 2}}
    first = program.post("jobs", one, Idempotency_Key="k1").json()["id"]
    IdempotentRequest.objects.all().delete()  # as after a day
    assert program.post("jobs", one, Idempotency_Key="k1").json()["id"] == first
    IdempotentRequest.objects.all().delete()
    assert program.post("jobs", other, Idempotency_Key="k1").json()["id"] != first


@override_settings(REQUESTS_PER_MINUTE=1)
def test_wrong_tokens_are_counted_for_their_address() -> None:
    wrong, address = Program("gw_wrong"), fresh_address()
    ask = functools.partial(wrong.client.get, "/api/v1/agents", headers=wrong.headers, REMOTE_ADDR=address)
    assert [ask().status_code for _ in range(5)] == [401] * 4 + [429]
