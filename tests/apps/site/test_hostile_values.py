"""Hostile values at every address and in every parameter: none of them is an error of the site.

The addresses are those of the table, and the parameters are found: a request shows which keys a view reads from its
query and its body, and which fields its form has. So new addresses and parameters are in these tests by themselves.
Who asks is somebody whom the address does not refuse: a form to log in reads nothing that its owner of a session sends.
"""

from __future__ import annotations

import logging
import os
import random
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from html.parser import HTMLParser
from itertools import cycle
from typing import Any
from urllib.parse import quote, urlsplit

import pytest
from django import forms
from django.db import transaction
from django.http import QueryDict
from django.test import Client
from django.urls import reverse
from pytest_django.fixtures import Settings

from apps.accounts.models import User
from apps.agents.forms import EndpointForm
from tests.apps.site.addresses import FORMS, TABLE, requests
from tests.apps.site.roles import ROLES, Address
from tests.counts import Counted

pytestmark = pytest.mark.django_db

VALUES: dict[str, bytes] = {
    "NUL": b"a\0b",
    "surrogate": b"\xed\xa0\x80",
    "10 kB": b"x" * 10_000,
    "deep JSON": b'{"a":' * 900 + b"1" + b"}" * 900,
    "bare word": b"foo",
    "negative": b"-1",
    "2^63": str(2**63).encode(),
}
IN_JSON: dict[str, bytes] = {
    "escaped NUL": b'{"a": "\\u0000", "\\u0000": 1}',
    "escaped surrogate": b'{"a": "\\ud800", "\\ud800": 1}',
    "deeper JSON": b"[" * 8_000,
    "no number": b'{"a": NaN, "b": -Infinity, "c": 1e999}',
    "endless number": b"9" * 5_000,
}


@dataclass
class Reads:
    """The parameters that views read while they are watched."""

    names: dict[str, None] = field(default_factory=dict)


@contextmanager
def watched(monkeypatch: pytest.MonkeyPatch) -> Iterator[Reads]:
    """Record which keys are read from queries and bodies, and the fields of the forms that read them."""
    reads = Reads()
    getitem, getlist, contains = QueryDict.__getitem__, QueryDict.getlist, QueryDict.__contains__
    full_clean = forms.Form.full_clean

    def note(read: Any) -> Any:
        def noted(self: QueryDict, key: Any, *rest: Any, **more: Any) -> Any:
            if isinstance(key, str) and key != "csrfmiddlewaretoken":
                reads.names[key] = None
            return read(self, key, *rest, **more)

        return noted

    def noted_clean(form: forms.Form) -> None:
        if form.is_bound:
            reads.names.update(dict.fromkeys(map(form.add_prefix, form.fields)))
        full_clean(form)

    with monkeypatch.context() as patch:
        for name, read in (("__getitem__", getitem), ("getlist", getlist), ("__contains__", contains)):
            patch.setattr(QueryDict, name, note(read))
        patch.setattr(forms.Form, "full_clean", noted_clean)
        yield reads


class Forms(HTMLParser):
    """The forms of a page: where each leads, and what a browser would send from it untouched."""

    def __init__(self, page: str) -> None:
        super().__init__()
        self.found: list[tuple[str, str, dict[str, str]]] = []
        self.select = self.area = ""
        self.feed(page)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        """Read a form, or a field of the form that was opened last."""
        got = {name: value or "" for name, value in attrs}
        if tag == "form":
            self.found.append((got.get("method", "get").lower(), got.get("action") or got.get("hx-post", ""), {}))
        if not self.found:
            return
        values, name = self.found[-1][2], got.get("name", "")
        if tag == "select":
            self.select = name
        elif tag == "option" and ("selected" in got or self.select not in values):
            values[self.select] = got.get("value", "")
        elif tag == "textarea":
            self.area = name
            values[name] = ""
        elif tag == "input" and name and (got.get("type") not in {"checkbox", "radio"} or "checked" in got):
            values[name] = got.get("value", "")

    def handle_endtag(self, tag: str) -> None:
        """Note the end of a text area."""
        self.area = "" if tag == "textarea" else self.area

    def handle_data(self, data: str) -> None:
        """Read the text of a text area."""
        if self.area:
            self.found[-1][2][self.area] += data


@dataclass(frozen=True)
class Target:
    """An address with what is sent to it untouched, and the parameters that are known to be read there."""

    name: str
    path: str
    address: Address
    role: str
    """Who asks."""
    base: dict[str, bytes]
    parameters: set[str]


@dataclass
class Attack:
    """Requests of which nothing stays; `failures` are those that were answered 5xx."""

    people: dict[str, User | None]
    objects: dict[str, Any]
    monkeypatch: pytest.MonkeyPatch
    failures: list[str] = field(default_factory=list)
    asked: Counter[str] = field(default_factory=Counter)
    """How often each kind of value was sent."""
    past: set[tuple[str, str]] = field(default_factory=set)
    """Addresses with their method that answered somebody with more than a refusal."""

    def __post_init__(self) -> None:
        self.clients = {role: Client(raise_request_exception=False) for role in ROLES}
        for role, person in self.people.items():
            if person is not None:
                self.clients[role].force_login(person)
        self.cookies = {role: client.cookies.output(header="", sep=";") for role, client in self.clients.items()}

    def ask(self, target: Target, values: dict[str, bytes], kind: str, *, path: str = "") -> tuple[int, str]:
        """Send a request, and note a failure and what was read. Returns the status and the page."""
        text = "&".join(f"{quote(name)}={quote(value)}" for name, value in values.items())
        path = path or target.path
        client = self.clients[target.role]
        with transaction.atomic(), watched(self.monkeypatch) as reads:
            client.cookies.load(self.cookies[target.role])
            if target.address.post:
                answer = client.post(path, text, content_type="application/x-www-form-urlencoded")
            else:
                answer = client.get(path, QUERY_STRING=text)
            page = "" if answer.streaming else answer.content.decode(errors="replace")
            transaction.set_rollback(True)
        self.asked[kind] += 1
        target.parameters.update(reads.names)
        if answer.status_code >= 500 and not path.startswith("/health"):
            cause = getattr(answer, "exc_info", None)
            label = f"{target.address.method} {path[:80]} {kind} in {', '.join(values)[:200]}"
            self.failures.append(f"{label}: {cause[1]!r:.300}" if cause else label)
        elif answer.status_code not in REFUSALS and LOGIN not in answer.headers.get("Location", ""):
            self.past.add((target.name, target.address.method))
        return answer.status_code, page

    def targets(self, draw: random.Random | None = None) -> Iterator[Target]:
        """Every address by each of its methods; what a page's form would send to it untouched is sent to it."""
        sent: dict[str, dict[str, bytes]] = {}
        for name, address in of_this_test():
            path = reverse(name, args=[self.objects[part] for part in address.names])
            first, *others = not_refused(TABLE[name] if name in FORMS else address)
            role = first if address.post or draw is None else draw.choice([first, *others])
            base = {**sent.get(path, {}), **{key: value.encode() for key, value in address.sent.items()}}
            target = Target(name, path, address, role, base, set(base) - {""})
            status, page = self.ask(target, base, "as it is")
            for method, action, values in Forms(page).found if status == 200 and "<form" in page else ():
                if method == "post":
                    filled = {key: value.encode() for key, value in values.items()}
                    sent.setdefault(urlsplit(action or path).path, filled)
            yield target

    def hostile_path(self, target: Target, part: str, value: bytes) -> str:
        """The path with this value for one of its parts."""
        return target.path.replace(f"/{quote(str(self.objects[part]))}", f"/{quote(value, safe='')}", 1)


def of_this_test() -> Iterator[tuple[str, Address]]:
    """What the table has, but for the API's changes, to which tests/apps/api/test_hostile_bodies.py sends JSON."""
    for name, address in requests():
        if name != "api:api-root" and not (name.startswith("api:") and address.post):
            yield name, address


REFUSALS = {401, 403, 404, 405}
LOGIN = "/account/login/"


def not_refused(address: Address) -> list[str]:
    """Owner and guest, if they get a page; otherwise the first of owner, guest and staff who is not refused."""
    shown = [role for role in ("the owner", "nobody") if address.status(role) == 200]
    return (
        shown
        or [role for role in ("the owner", "nobody", "staff") if address.status(role) not in REFUSALS][:1]
        or ["the owner"]
    )


@pytest.fixture
def attack(
    people: dict[str, User | None], objects: dict[str, Any], monkeypatch: pytest.MonkeyPatch, settings: Settings
) -> Iterator[Attack]:
    """Attackers of each role; the log does not repeat the refusals."""
    settings.REPORTS_PER_HOUR = settings.ENDPOINT_TRIALS_PER_MINUTE = 10**6
    logging.disable(logging.CRITICAL)
    yield Attack(people, objects, monkeypatch)
    logging.disable(logging.NOTSET)


def test_no_address_fails_over_some_value(attack: Attack, counted: Counted) -> None:
    """In each run every address gets a request with another value, and every kind of value is sent somewhere."""
    draw = random.Random(os.environ["SHUFFLE"])
    values = VALUES | IN_JSON
    kinds = cycle(draw.sample(sorted(values), len(values)))
    found: dict[str, set[str]] = {}
    for target in attack.targets(draw):
        found[target.name] = target.parameters
        places = [place for place, there in (("parameter", target.parameters), ("path", target.address.names)) if there]
        place = draw.choice(places) if places else ""
        if place == "parameter":
            kind, one = next(kinds), draw.choice(sorted(target.parameters))
            attacked = draw.choice([[one], sorted(target.parameters)])
            attack.ask(target, target.base | dict.fromkeys(attacked, values[kind]), kind)
        elif place == "path":
            part, kind = draw.choice(target.address.names), draw.choice(["NUL", "of another kind", next(kinds)])
            value = values.get(kind, str(attack.objects["training"]).encode())
            attack.ask(target, target.base, kind, path=attack.hostile_path(target, part, value))
    assert attack.failures == []
    roles = ("the owner", "nobody", "staff")
    refused = {401, 403, 404, 405}
    there = {(name, address.method) for name, address in of_this_test() if not {*map(address.status, roles)} <= refused}
    there.remove(("leaderboard:push", "POST"))  # its form names a challenge, and nobody has the one that is sent
    assert attack.past == there, "files of a row are there only when it is verified; these are attacked all the same"
    assert set(attack.asked) >= set(values)
    counted("hostile values in addresses and parameters", attack.asked.total() - attack.asked["as it is"])
    assert {"q", "page", "sort", "kind"} <= found["catalog:list"]
    assert {"username", "password", "next"} <= found["accounts:login"]


@pytest.mark.long
def test_no_address_fails_over_any_value(attack: Attack, counted: Counted) -> None:
    values, ids = VALUES | IN_JSON, ("training", "job", "episode", "duel", "agent")
    others = {f"the id of a {kind}": str(attack.objects[kind]).encode() for kind in ids}
    for target in attack.targets():
        waiting, done = sorted(target.parameters), set[str]()
        while waiting:  # also those that only an attack shows
            name = waiting.pop()
            done.add(name)
            for kind, value in values.items():
                attack.ask(target, target.base | {name: value}, kind)
            waiting += sorted(target.parameters - done - set(waiting))
        for part in target.address.names:
            for kind, value in (values | others).items():
                attack.ask(target, target.base, kind, path=attack.hostile_path(target, part, value))
    assert attack.failures == []
    counted("hostile values in addresses and parameters", attack.asked.total() - attack.asked["as it is"])


ALONE = ("Authorization", "Cookie", "Host")
"""Headers with which a request may be refused before a view reads the others. Of `Content-Type` see `test_bodies`."""
TOGETHER = (
    "Accept", "Accept-Encoding", "Accept-Language", "HX-Boosted", "HX-Current-URL", "HX-Request", "HX-Target",
    "HX-Trigger", "If-Match", "If-Modified-Since", "If-None-Match", "If-Range", "Origin", "Range", "Referer",
    "User-Agent", "X-CSRFToken", "X-Forwarded-For", "X-Forwarded-Proto", "X-Requested-With",
)  # fmt: skip
IN_HEADERS = {
    "a charset": "text/plain; charset*=foo''bar",
    "an address": "http://[::1/?next=\xff",
    "cookies": 'sessionid="\\000"; csrftoken=\xff; messages=x; logged_in_before=a:b:c; =; ;',
    "ranges": "bytes=-1-,9" + "9" * 5000,
    "languages": "*;q=nan, x-" + "y" * 600 + ";q=1e999",
    "tags": 'W/"\xc3\xa9", "',
    "nothing": "",
}


@pytest.mark.parametrize("path", ["/account/login/", "/episodes/", "/static/favicon.svg"])
def test_no_header_is_an_error_of_the_site(path: str, people: dict[str, User | None]) -> None:
    client = Client(raise_request_exception=False)
    sets = [dict.fromkeys(TOGETHER, value) for value in IN_HEADERS.values()]
    sets += [{name: value} for name in ALONE for value in IN_HEADERS.values()]
    statuses = [(headers, client.get(path, headers=headers).status_code) for headers in sets]
    statuses += [(headers, client.post(path, {"a": "b"}, headers=headers).status_code) for headers in sets]
    assert [(headers, status) for headers, status in statuses if status >= 500] == []


def test_a_cookie_that_cannot_be_looked_up_is_no_cookie(client: Client) -> None:
    assert client.get("/agents/", HTTP_COOKIE='sessionid="abcdefghijkl\\000"').status_code == 200


@pytest.mark.parametrize(
    "more",
    ['{"a":' * depth + "1" + "}" * depth for depth in (21, 500, 950, 1300)] + [v.decode() for v in IN_JSON.values()],
)
def test_further_fields_that_cannot_be_stored_are_an_error_of_the_form(more: str) -> None:
    form = EndpointForm({"more": more})
    assert len(form.errors["more"]) == 1
    assert form.errors["more"][0].startswith("This is not JSON")


def test_a_training_is_no_evaluation(client: Client, objects: dict[str, Any], people: dict[str, User | None]) -> None:
    owner = people["the owner"]
    assert owner is not None
    client.force_login(owner)
    for answer in (
        client.get(f"/jobs/{objects['training']}/episodes/"),
        client.post(f"/jobs/{objects['training']}/resubmit/"),
    ):
        assert answer.status_code == 404
        assert "is a training" in answer.content.decode()
