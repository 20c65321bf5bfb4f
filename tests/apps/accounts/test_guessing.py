"""Guessing passwords: slowed down by name and by address, without locking anybody out or telling who has an account."""

from __future__ import annotations

import re
from concurrent.futures import ThreadPoolExecutor
from threading import Barrier, Lock

import pytest
from django.contrib.auth import hashers
from django.contrib.auth.hashers import PBKDF2PasswordHasher
from django.test import Client
from pytest_django import Settings

from apps.accounts import hashing, limits
from apps.accounts.models import User
from apps.live.publisher import client as redis_client
from tests.html import tight

pytestmark = pytest.mark.django_db

PASSWORD = "correct horse battery"
HERE = "198.51.100.7"
CSRF_TOKEN = re.compile(r"\b[A-Za-z0-9]{64}\b")


@pytest.fixture(autouse=True)
def nobody_has_tried() -> None:
    """Fill the buckets of all attempts to log in."""
    valkey = redis_client()
    for key in valkey.scan_iter("limit:login:*"):
        valkey.delete(key)


def try_to_log_in(name: str, password: str = "wrong", address: str = HERE) -> tuple[int, int, str]:
    """Status, seconds to wait and page of the answer."""
    answer = Client().post("/account/login/", {"username": name, "password": password}, REMOTE_ADDR=address)
    return answer.status_code, int(answer.get("Retry-After", 0)), tight(answer)


def test_one_name_is_tried_a_few_times_a_minute_from_one_address() -> None:
    User.objects.create_user("ada", password=PASSWORD)
    answers = [try_to_log_in("ada") for _ in range(9)]
    assert [status for status, _, _ in answers] == [200] * 8 + [429]
    status, wait, page = try_to_log_in("ADA", PASSWORD)
    assert status == 429
    assert 1 <= wait <= 8, "some seconds"
    assert "too many attempts to log in" in page
    assert 'value="ADA"' in page, "what was typed is still there"


def test_the_owner_gets_in_while_one_address_guesses(settings: Settings) -> None:
    settings.LOGINS_PER_MINUTE = 1
    User.objects.create_user("ada", password=PASSWORD)
    guesses = [try_to_log_in("ada", address=f"2001:db8:0:1::{number}")[0] for number in range(1, 21)]
    assert guesses == [200] + [429] * 19, "the network counts"
    assert try_to_log_in("ada", PASSWORD, address="203.0.113.9")[0] == 302


def test_one_name_is_tried_only_so_often_from_everywhere(settings: Settings) -> None:
    settings.LOGINS_PER_MINUTE = 1
    guesses = [try_to_log_in("ada", address=f"198.51.100.{number}")[0] for number in range(11)]
    assert guesses == [200] * 10 + [429]
    assert try_to_log_in("eve", address="198.51.100.11")[0] == 200


def test_a_browser_that_was_logged_in_before_has_attempts_of_its_own(settings: Settings) -> None:
    settings.LOGINS_PER_MINUTE = 1
    User.objects.create_user("ada", password=PASSWORD)
    browser, data = Client(REMOTE_ADDR=HERE), {"username": "Ada", "password": PASSWORD}
    assert browser.post("/account/login/", data | {"username": "ada"}).status_code == 302
    browser.post("/account/logout/")
    guesses = [try_to_log_in("ada", address=f"198.51.100.{number}")[0] for number in range(11)]
    assert guesses[-1] == 429, "from everywhere, and from its own address too"
    assert browser.post("/account/login/", data | {"password": "wrong"}).status_code == 200
    assert browser.post("/account/login/", data).status_code == 429, "it guesses no faster"
    other = browser.post("/account/login/", {"username": "eve", "password": "wrong"}, REMOTE_ADDR="198.51.100.20")
    assert other.status_code == 200
    known = browser.cookies[limits.KNOWN_BROWSER].value
    assert known.startswith(limits.name_key("ada"))
    forged = Client(REMOTE_ADDR="198.51.100.21")
    forged.cookies[limits.KNOWN_BROWSER] = known.rpartition(":")[0] + ":forged"
    assert forged.post("/account/login/", data).status_code == 429


def test_nobody_is_locked_out_for_long(settings: Settings) -> None:
    settings.LOGINS_PER_MINUTE = 1
    User.objects.create_user("ada", password=PASSWORD)
    assert [try_to_log_in("ada")[0] for _ in range(2)] == [200, 429]
    limits.take(f"login:of:{limits.name_key('ada')}:from:{HERE}/32", 2, 10**6)  # a moment later
    assert try_to_log_in("ada", PASSWORD)[0] == 302


def test_one_address_tries_many_names_only_so_often(settings: Settings) -> None:
    settings.LOGINS_PER_MINUTE = 1
    answers = [try_to_log_in(f"person-{number}")[0] for number in range(11)]
    assert answers == [200] * 10 + [429]
    assert try_to_log_in("person-11", address="203.0.113.9")[0] == 200


def test_a_name_that_nobody_has_is_answered_alike(monkeypatch: pytest.MonkeyPatch) -> None:
    User.objects.create_user("ada", password=PASSWORD)
    User.objects.create_user("eve", password=PASSWORD, is_active=False)
    User.objects.create_user("admin")  # has no password
    hashed: list[str] = []
    encode = PBKDF2PasswordHasher.encode

    def counted(self: PBKDF2PasswordHasher, password: str, salt: str, iterations: int | None = None) -> str:
        hashed.append(password)
        return encode(self, password, salt, iterations)

    monkeypatch.setattr(PBKDF2PasswordHasher, "encode", counted)
    answers, costs = set(), []
    for name in ("ada", "eve", "admin", "nobody", "x" * 300):
        before = len(hashed)
        status, wait, page = try_to_log_in(name)
        answers.add((status, wait, CSRF_TOKEN.sub("", page).replace(name, "NAME")))
        costs.append(len(hashed) - before)
    assert costs == [1] * 5, "the same work, so the same time"
    assert len(answers) == 1


def test_few_passwords_are_hashed_at_a_time(monkeypatch: pytest.MonkeyPatch) -> None:
    lock, running, most = Lock(), 0, 0
    started = Barrier(8)

    def encode(self: PBKDF2PasswordHasher, password: str, salt: str, iterations: int | None = None) -> str:
        nonlocal running, most
        with lock:
            running += 1
            most = max(most, running)
        derived = "".join(sorted(password * 20_000))  # some work, during which the others would begin
        with lock:
            running -= 1
        return derived[:10]

    monkeypatch.setattr(PBKDF2PasswordHasher, "encode", encode)

    def hash_one(number: int) -> str:
        started.wait()
        return hashing.FewAtATime().encode(f"{number}", "salt")

    with ThreadPoolExecutor(8) as pool:
        assert len(list(pool.map(hash_one, range(8)))) == 8
    assert most <= hashing.SLOTS


def test_who_cannot_be_served_is_told(client: Client, monkeypatch: pytest.MonkeyPatch, settings: Settings) -> None:
    settings.PASSWORD_HASHERS = ["apps.accounts.hashing.FewAtATime"]
    monkeypatch.setattr(hashing, "MAX_WAITING_SECONDS", 0.01)
    for _ in range(hashing.SLOTS):
        hashing._slots.acquire()
    try:
        answer = client.post("/account/signup/", {"username": "ada", "password": PASSWORD})
        status, wait, page = try_to_log_in("nobody")
    finally:
        for _ in range(hashing.SLOTS):
            hashing._slots.release()
    assert (answer.status_code, status) == (429, 429)
    assert wait == 1
    assert "Many people are logging in right now" in page
    assert not User.objects.exists()


def test_passwords_of_before_still_fit() -> None:
    stored = PBKDF2PasswordHasher().encode(PASSWORD, "salt", 10)
    assert hashers.get_hashers_by_algorithm()["pbkdf2_sha256"].verify(PASSWORD, stored)
    assert hashing.FewAtATime().verify(PASSWORD, stored)
