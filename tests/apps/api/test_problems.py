"""Every error of the API is a problem (RFC 9457) whose sentences are those of the pages."""

from __future__ import annotations

from typing import Any
from urllib.parse import quote

import pytest
from django.test import override_settings
from django.urls import reverse

from apps.accounts.models import User
from apps.api.problems import CONTENT_TYPE
from apps.api.root import api
from apps.api.routers import environments
from apps.catalog.entries import CATEGORIES
from apps.play import operations as play
from gem.client import schemas
from tests.apps.api.conftest import Program

pytestmark = pytest.mark.django_db
ENV_ID = "game:GuessTheNumber-v0-easy"


def problem_of(answer: Any, status: int) -> schemas.Problem:
    """The problem that an answer is."""
    assert answer.status_code == status, answer.content
    assert answer["Content-Type"] == CONTENT_TYPE
    problem = schemas.Problem.model_validate_json(answer.content)
    assert problem.status == status
    assert problem.detail.endswith((".", "!", "?")), problem.detail
    return problem


@pytest.mark.parametrize(
    ("method", "path", "body", "status"),
    [
        ("GET", "nowhere", None, 404),
        ("GET", "episodes/zzzzzzzzzzzz", None, 404),
        ("GET", "environments/nope", None, 404),
        ("POST", "environments", {}, 405),
        ("DELETE", "jobs", None, 405),
        ("GET", "account", None, 401),
        ("POST", "episodes", {"env_id": ENV_ID}, 401),
        ("GET", "jobs?limit=1000&kind=x", None, 422),
    ],
)
def test_guests_get_problems(method: str, path: str, body: Any, status: int, guest: Program) -> None:
    problem_of(guest.send(method, path, body), status)


@pytest.mark.parametrize("body", [b"{", b"\xff", b'{"a": "\\u0000"}', b"[" * 9000, b"NaN"])
def test_a_body_that_is_no_json_is_named(body: bytes, program: Program) -> None:
    problem = problem_of(program.send("POST", "episodes", body), 400)
    assert problem.title == "The body is not JSON"


def test_a_body_that_is_missing_is_named(program: Program) -> None:
    problem = problem_of(program.send("POST", "episodes"), 422)
    assert [(error.field, error.detail) for error in problem.errors] == [("", "The body is missing.")]


@pytest.mark.parametrize(
    ("body", "field", "sentence"),
    [
        ([], "", "The body has to be an object, not []."),
        ({}, "env_id", "env_id is missing."),
        ({"env_id": 5}, "env_id", "env_id has to be a text, not 5."),
        ({"env_id": ENV_ID, "sed": 7}, "sed", "There is no setting sed. Did you mean seed?"),
        ({"env_id": ENV_ID, "seed": 2**63}, "seed", f"seed has to be at most {2**63 - 1:,}, not {2**63}."),
    ],
)
def test_a_field_is_named_as_it_was_sent(body: Any, field: str, sentence: str, program: Program) -> None:
    problem = problem_of(program.send("POST", "episodes", body), 422)
    assert [(error.field, error.detail) for error in problem.errors] == [(field, sentence)]


@pytest.mark.parametrize(
    ("path", "field", "sentence"),
    [
        ("jobs?stat=done", "stat", "There is no parameter stat. Did you mean state?"),
        (
            "environments?dificulty=easy&limit=1",
            "dificulty",
            "There is no parameter dificulty. Did you mean difficulty?",
        ),
        ("episodes?env=x", "env", "There is no parameter env. Did you mean env_id?"),
        ("environments/" + ENV_ID + "?q=x", "q", "There is no parameter q. This address has none."),
        ("jobs?limit=0&stat=done", "stat", "There is no parameter stat. Did you mean state?"),
        ("agents?colour=red", "colour", "There is no parameter colour. Choose one of kind, mine, cursor, limit."),
    ],
)
def test_a_parameter_that_an_address_does_not_have_is_refused(
    guest: Program, path: str, field: str, sentence: str
) -> None:
    problem = problem_of(guest.get(path), 422)
    assert [(error.field, error.detail) for error in problem.errors] == [(field, sentence)]


def test_the_filters_of_the_catalog_are_parameters_and_pages_ignore_what_they_do_not_know(guest: Program) -> None:
    found = guest.get(
        f"environments?kind={quote(CATEGORIES['duel'])}&seats=two%20or%20more&sort=played&limit=200"
    ).json()["items"]
    assert found
    assert {one["category"] for one in found} == {CATEGORIES["duel"]}
    several = guest.get("environments?difficulty=easy&difficulty=hard&limit=200").json()["items"]
    assert {one["difficulty"] for one in several} == {"easy", "hard"}
    for page in ("/environments/?dificulty=easy", "/jobs/?stat=done", "/episodes/?env=x"):
        assert guest.client.get(page).status_code == 200


def test_every_address_says_which_parameters_it_has() -> None:
    """Whatever an operation reads from the query, it declares: so it is documented, and what is not is refused."""
    document = api.get_openapi_schema()
    parameters = [
        (path, parameter["name"])
        for path, operations in document["paths"].items()
        for operation in operations.values()
        for parameter in operation.get("parameters", ())
        if parameter["in"] == "query"
    ]
    assert ("/api/v1/environments", "difficulty") in parameters
    assert ("/api/v1/environments", "filters") not in parameters


def test_a_body_that_is_too_large_is_refused(program: Program) -> None:
    problem_of(program.send("POST", "episodes", b" " * (1024 * 1024 + 1)), 413)


def test_an_error_of_the_site_is_a_problem_too(guest: Program, monkeypatch: pytest.MonkeyPatch) -> None:
    def fail() -> None:
        raise RuntimeError("a bug")

    monkeypatch.setattr(environments, "all_entries", fail)
    problem = problem_of(guest.get("environments"), 500)
    assert "a bug" not in problem.detail
    assert "Nothing that was saved before is lost" in problem.detail


@override_settings(REQUESTS_PER_MINUTE=1)
def test_the_rate_limit_is_a_problem_with_the_sentence_of_the_pages(owner: User, program: Program) -> None:
    assert program.get("account").status_code == 200
    answer = program.get("account")
    problem = problem_of(answer, 429)
    assert problem.detail.startswith("One account can send 1 requests a minute")
    assert int(answer["Retry-After"]) > 0
    assert answer["RateLimit-Remaining"] == "0"


def test_all_wrong_fields_are_listed_at_once(program: Program) -> None:
    spec = {"agent": "Random!", "env_ids": [ENV_ID, ENV_ID], "num_envs": 0, "colour": "red"}
    problem = problem_of(program.post("jobs", {"spec": spec, "name": 7}), 422)
    fields = {error.field for error in problem.errors}
    assert {"spec.agent", "spec.env_ids", "spec.num_envs", "spec.colour", "name"} <= fields
    sentences = {error.field: error.detail for error in problem.errors}
    assert sentences["spec.env_ids"] == "An environment is chosen twice."


@pytest.mark.parametrize("seed", ["7", "", True, False, 7.5, 7.0])
@pytest.mark.parametrize(
    ("path", "body", "field"),
    [
        ("episodes", {"env_id": ENV_ID}, "seed"),
        ("shows", {"env_id": ENV_ID, "agent": "random"}, "seed"),
        ("duels", {"env_id": ENV_ID, "agents": ["random", "random"]}, "seed"),
        ("remotes/any/chats", {"env_id": ENV_ID}, "seed"),
        ("jobs", {"agent": "random", "env_ids": [ENV_ID]}, "seed"),
        ("jobs/power", {"agent": "random", "env_ids": [ENV_ID]}, "seed"),
        ("trainings", {"spec": {"env_id": ENV_ID}}, "spec.seed"),
    ],
)
def test_a_seed_is_a_whole_number(program: Program, path: str, body: dict[str, Any], field: str, seed: Any) -> None:
    sent = {**body, "spec": {**body["spec"], "seed": seed}} if "spec" in body else {**body, "seed": seed}
    problem = problem_of(program.post(path, sent), 422)
    said = [(error.field, error.detail) for error in problem.errors]
    assert said == [(field, f"seed has to be a whole number, not {seed!r}.")]


@pytest.mark.parametrize(
    ("path", "body", "field", "value"),
    [
        ("jobs", {"agent": "random", "env_ids": [ENV_ID]}, "num_envs", "5"),
        ("jobs", {"agent": "random", "env_ids": [ENV_ID]}, "hidden_seeds", "true"),
        ("jobs", {"agent": "random", "env_ids": [ENV_ID]}, "max_turns", 5.0),
        ("trainings", {"spec": {"env_id": ENV_ID}}, "spec.updates", True),
        ("trainings", {"spec": {"env_id": ENV_ID}}, "spec.self_play", 1),
        ("trainings", {"spec": {"env_id": ENV_ID}}, "evaluate_best", "yes"),
        ("studies", {"study": "rebn"}, "seeds", "3"),
        ("episodes", {"env_id": ENV_ID}, "seat", "0"),
        ("duels", {"env_id": ENV_ID, "agents": ["random", "random"]}, "lock_step", 0),
    ],
)
def test_a_number_or_a_truth_value_is_no_text(
    program: Program, path: str, body: dict[str, Any], field: str, value: Any
) -> None:
    name = field.removeprefix("spec.")
    sent = {**body, "spec": {**body["spec"], name: value}} if field != name else {**body, name: value}
    problem = problem_of(program.post(path, sent), 422)
    kind = "true or false" if name in {"hidden_seeds", "self_play", "evaluate_best", "lock_step"} else "a whole number"
    assert [(error.field, error.detail) for error in problem.errors] == [
        (field, f"{name} has to be {kind}, not {value!r}.")
    ]


def test_the_sentences_are_those_of_the_forms(owner: User, program: Program) -> None:
    body = {"env_id": "game:Sokban-v0", "seat": 7, "tools": ["hammer"]}
    problem = problem_of(program.post("episodes", body), 422)
    program.client.force_login(owner)
    page = program.client.post(reverse("play:new"), {"env_id": "game:Sokban-v0", "seat": "7", "tool": "hammer"})
    on_page = {str(sentence) for errors in page.context["form"].errors.values() for sentence in errors}
    assert {error.detail for error in problem.errors} == on_page
    assert {error.field for error in problem.errors} == {"env_id", "seat", "tools"}


def test_refusals_keep_their_status_title_and_suggestion(owner: User, program: Program) -> None:
    episode = play.begin(ENV_ID, seed=1, user=owner, visitor="")
    unreadable = program.post(f"episodes/{episode.pk}/turns", {"action": "2", "expected_seq": 0})
    problem = problem_of(unreadable, 422)
    assert problem.suggestion == "\\boxed{2}"
    assert problem.title == "The environment cannot read this"
    late = program.post(f"episodes/{episode.pk}/turns", {"action": "\\boxed{2}", "expected_seq": 7})
    assert problem_of(late, 409).title == "The episode has moved on"


def test_a_form_of_a_browser_needs_its_csrf_token(owner: User) -> None:
    browser = Program()
    browser.client.handler.enforce_csrf_checks = True
    browser.client.force_login(owner)
    problem = problem_of(browser.post("episodes", {"env_id": ENV_ID}), 403)
    assert "CSRF" in problem.detail
    assert browser.get("account").json()["name"] == "ada"
    token = browser.client.get(reverse("accounts:account")).context["csrf_token"]
    assert browser.post("episodes", {"env_id": ENV_ID}, X_CSRFToken=str(token)).status_code == 201
