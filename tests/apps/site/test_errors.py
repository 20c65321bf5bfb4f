"""The error pages: in the site's look, and without what has just failed."""

import pytest
from django.http import HttpRequest
from django.test import Client, RequestFactory

from apps.site import views

pytestmark = pytest.mark.django_db


def test_an_address_without_a_page(client: Client) -> None:
    answer = client.get("/nothing/here/")
    assert answer.status_code == 404
    assert "There is nothing at this address" in answer.content.decode()


def test_a_form_without_its_token_is_refused_with_a_reason() -> None:
    answer = Client(enforce_csrf_checks=True).post("/account/logout/")
    assert answer.status_code == 403
    assert "The form was too old" in answer.content.decode()


def test_a_fault_of_ours_needs_no_database(django_db_blocker: object, rf: RequestFactory) -> None:
    with django_db_blocker.block():  # type: ignore[attr-defined]
        answer = views.server_error(rf.get("/"))
    assert answer.status_code == 500
    assert "Something broke on our side" in answer.content.decode()


def test_forbidden_and_unreadable_requests_have_pages(rf: RequestFactory, client: Client) -> None:
    request: HttpRequest = client.get("/").wsgi_request
    assert "This is not for you to open" in views.permission_denied(request, Exception()).content.decode()
    assert "This could not be understood" in views.bad_request(request, Exception()).content.decode()


@pytest.mark.parametrize(
    ("form", "status"),
    [
        ({"env_id": "game:GuessTheNumber-v0-easy", "seed": "7", "act": "\\boxed{5}"}, 302),
        ({"env_id": "game:GuessTheNumber-v0-easy", "seed": "7"}, 302),
        ({"env_id": "game:GuessTheNumber-v0-easy", "seed": "not a number"}, 302),
        ({"env_id": "game:GuessTheNumber-v0-easy", "seed": "9" * 400}, 302),
        ({"env_id": "game:NoSuch-v0"}, 400),
        ({"env_id": ""}, 400),
        ({}, 400),
    ],
)
def test_the_first_turn_from_the_home_page(client: Client, form: dict[str, str], status: int) -> None:
    answer = client.post("/begin/", form)
    assert answer.status_code == status


def test_every_answer_carries_the_policy(client: Client) -> None:
    policy = client.get("/")["Content-Security-Policy"]
    assert "default-src 'none'" in policy
    assert "unsafe" not in policy
