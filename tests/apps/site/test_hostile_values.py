"""Hostile values at every address and in every parameter: none of them is an error of the site.

The addresses are those of the table, and the parameters are found: a request shows which keys a view reads from its
query and its body, and which fields its form has. So new addresses and parameters are in these tests by themselves.
"""

from __future__ import annotations

import logging
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from html.parser import HTMLParser
from typing import Any
from urllib.parse import quote, urlsplit

import pytest
from django import forms
from django.db import transaction
from django.http import QueryDict
from django.test import Client
from django.urls import reverse

from apps.accounts.models import User
from apps.agents.forms import EndpointForm
from tests.apps.site.addresses import TABLE
from tests.apps.site.roles import Address

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


@dataclass
class Attack:
    """Requests of one person, of which nothing stays; `failures` are those that were answered 5xx."""

    person: User | None
    monkeypatch: pytest.MonkeyPatch
    failures: list[str] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.client = Client(raise_request_exception=False)
        if self.person is not None:
            self.client.force_login(self.person)
        self.cookies = self.client.cookies.output(header="", sep=";")

    def ask(self, path: str, values: dict[str, bytes], *, post: bool, label: str) -> tuple[int, str, Reads]:
        """Send a request, and note a failure. Returns the status, the page and what was read."""
        text = "&".join(f"{quote(name)}={quote(value)}" for name, value in values.items())
        with transaction.atomic(), watched(self.monkeypatch) as reads:
            self.client.cookies.load(self.cookies)
            if post:
                answer = self.client.post(path, text, content_type="application/x-www-form-urlencoded")
            else:
                answer = self.client.get(path, QUERY_STRING=text)
            page = "" if answer.streaming else answer.content.decode(errors="replace")
            transaction.set_rollback(True)
        if answer.status_code >= 500 and not path.startswith("/health"):
            cause = getattr(answer, "exc_info", None)
            self.failures.append(
                f"{'POST' if post else 'GET'} {path[:80]} {label}: {cause[1]!r:.300}" if cause else label
            )
        return answer.status_code, page, reads


def encoded(address: Address) -> dict[str, bytes]:
    """What the table sends to an address."""
    return {name: value.encode() for name, value in address.sent.items()}


@dataclass
class Target:
    """An address with what is sent to it untouched, and the parameters that are known to be read there."""

    name: str
    path: str
    post: bool
    base: dict[str, bytes]
    parameters: set[str]


def find_targets(attack: Attack, objects: dict[str, Any]) -> list[Target]:
    """Every address by GET or by POST; what a page's form would send to it untouched is sent to it."""
    paths = {name: reverse(name, args=[objects[part] for part in TABLE[name].names]) for name in TABLE}
    sent: dict[str, dict[str, bytes]] = {}
    targets = []
    for name, path in paths.items():
        if TABLE[name].post and name.startswith("api:"):
            continue  # tests/apps/api/test_hostile_bodies.py sends JSON to these
        base = encoded(TABLE[name])
        status, page, reads = attack.ask(path, base, post=False, label="as it is")
        if status == 405:
            continue
        targets.append(Target(name, path, False, base, set(reads.names) | set(base)))
        for method, action, values in Forms(page).found if status == 200 and "<form" in page else ():
            if method == "post":
                sent.setdefault(urlsplit(action or path).path, {key: value.encode() for key, value in values.items()})
    for name, path in paths.items():
        if not name.startswith("api:") and (TABLE[name].post or path in sent):
            base = sent.get(path, {}) | encoded(TABLE[name])
            _, _, reads = attack.ask(path, base, post=True, label="as it is")
            targets.append(Target(name, path, True, base, set(reads.names) | set(base) - {""}))
    return targets


def attack_parameters(attack: Attack, target: Target, values: dict[str, bytes]) -> None:
    """Put each value into each parameter of an address, also into those that only an attack shows."""
    waiting = sorted(target.parameters)
    while waiting:
        name = waiting.pop()
        for kind, value in values.items():
            sent = target.base | {name: value}
            _, _, reads = attack.ask(target.path, sent, post=target.post, label=f"{name}={kind}")
            waiting += [new for new in reads.names if new not in target.parameters]
            target.parameters |= set(reads.names)


def attack_path(attack: Attack, target: Target, objects: dict[str, Any], values: dict[str, bytes]) -> None:
    """Put each value into each part of an address that names an object."""
    for name in TABLE[target.name].names:
        part = quote(str(objects[name]))
        for kind, value in values.items():
            hostile = target.path.replace(f"/{part}", f"/{quote(value, safe='')}", 1)
            attack.ask(hostile, target.base, post=target.post, label=f"{name}={kind}")


def attack_everything(
    attack: Attack, objects: dict[str, Any], values: dict[str, bytes], ids: tuple[str, ...]
) -> list[Target]:
    """Each value in each parameter and each part of each address; and ids of another kind than an address expects."""
    others = {f"the id of a {kind}": str(objects[kind]).encode() for kind in ids}
    targets = find_targets(attack, objects)
    for target in targets:
        attack_parameters(attack, target, values)
        attack_path(attack, target, objects, values | others)
    return targets


@pytest.fixture
def attack(people: dict[str, User | None], monkeypatch: pytest.MonkeyPatch) -> Iterator[Attack]:
    """The owner of everything, whom no permission stops; the log does not repeat the refusals."""
    logging.disable(logging.CRITICAL)
    yield Attack(people["the owner"], monkeypatch)
    logging.disable(logging.NOTSET)


def test_no_address_fails_over_a_nul_or_an_id_of_another_kind(attack: Attack, objects: dict[str, Any]) -> None:
    targets = attack_everything(attack, objects, {"NUL": VALUES["NUL"]}, ids=("training",))
    assert attack.failures == []
    found = {target.name: target.parameters for target in targets if not target.post}
    assert {"q", "page", "sort", "kind"} <= found["catalog:list"]
    assert {"parent", "parent_update", "recipe"} <= found["trainings:train"]


@pytest.mark.long
def test_no_address_fails_over_any_value(attack: Attack, objects: dict[str, Any]) -> None:
    attack_everything(attack, objects, VALUES | IN_JSON, ids=("training", "job", "episode", "duel", "agent"))
    assert attack.failures == []


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
