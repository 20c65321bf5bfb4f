"""The error pages: in the site's look, and without what has just failed."""

import pytest
from django.core.exceptions import PermissionDenied
from django.http import HttpRequest
from django.test import Client, RequestFactory, override_settings

from apps.accounts.models import User
from apps.episodes.errors import TooFast
from apps.site import views

pytestmark = pytest.mark.django_db


def test_an_address_without_a_page(client: Client) -> None:
    answer = client.get("/nothing/here/")
    assert answer.status_code == 404
    assert "Page not found" in answer.content.decode()


def test_a_visitor_may_log_in_to_what_may_be_private(client: Client, django_user_model: type[User]) -> None:
    address = "/jobs/aaaaaaaaaaaa/?turn=3"
    link = 'href="/account/login/?next=/jobs/aaaaaaaaaaaa/%3Fturn%3D3"'
    words = "If it is private and you may see it, log in to open it."
    page = client.get(address).content.decode()
    assert words in page
    assert page.count(link) == 2  # in the bar, and below the words
    assert "Report this" not in page, "there is nothing to report"
    for public in ("/nothing/here/", "/docs/nothing/", "/environments/game:Nothing-v0/"):
        assert words not in client.get(public).content.decode()
    client.force_login(django_user_model.objects.create_user("ada"))
    assert words not in client.get(address).content.decode()


def test_a_form_without_its_token_is_refused_with_a_reason() -> None:
    answer = Client(enforce_csrf_checks=True).post("/account/logout/")
    assert answer.status_code == 403
    assert "This form has expired" in answer.content.decode()


def test_a_fault_of_ours_needs_no_database(django_db_blocker: object, rf: RequestFactory) -> None:
    with django_db_blocker.block():  # type: ignore[attr-defined]
        answer = views.server_error(rf.get("/"))
    assert answer.status_code == 500
    assert "Something went wrong on our side" in answer.content.decode()


def test_forbidden_and_unreadable_requests_have_pages(rf: RequestFactory, client: Client) -> None:
    request: HttpRequest = client.get("/").wsgi_request
    assert "You cannot open this page" in views.permission_denied(request, Exception()).content.decode()
    assert "This request could not be read" in views.bad_request(request, Exception()).content.decode()


def test_a_refusal_says_why_and_how_to_go_on(rf: RequestFactory, client: Client) -> None:
    request: HttpRequest = client.get("/").wsgi_request
    page = views.permission_denied(request, PermissionDenied("This job belongs to somebody else.")).content.decode()
    assert "This job belongs to somebody else." in page
    page = views.bad_request(request, TooFast("Try again in 3 s.", 3.0)).content.decode()
    assert "Too many requests" in page
    assert "Try again in 3 s." in page


@pytest.mark.parametrize(
    ("referer", "offered"),
    [("http://testserver/jobs/new/?a=1", True), ("https://example.com/", False), ("javascript:alert(1)", False)],
)
def test_an_old_form_leads_back_to_pages_of_this_site_only(referer: str, offered: bool) -> None:
    answer = Client(enforce_csrf_checks=True).post("/account/logout/", headers={"referer": referer})
    page = answer.content.decode()
    assert ("Open the page again</a>" in page) == offered
    assert (f'href="{referer}"' in page) == offered


@override_settings(STARTS_PER_MINUTE=2)
def test_the_home_page_starts_no_more_than_one_may(client: Client) -> None:
    form = {"env_id": "game:GuessTheNumber-v0-easy", "seed": "7"}
    assert [client.post("/begin/", form).status_code for _ in range(3)] == [302, 302, 429]


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
