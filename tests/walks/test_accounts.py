"""Accounts: sign up, log in, log out, and what goes wrong on the way."""

import uuid

from playwright.sync_api import Page, expect

from apps.accounts.models import User
from tests.walks.conftest import PASSWORD, check_looks, log_in


def sign_up(page: Page, name: str, password: str) -> None:
    page.goto("/account/signup/")
    page.get_by_label("Name").fill(name)
    page.get_by_label("Password").fill(password)
    page.get_by_role("button", name="Create account").click()


def test_a_name_and_a_password_make_an_account(page: Page) -> None:
    name = f"ada-{uuid.uuid4().hex[:8]}"
    sign_up(page, name, PASSWORD)
    expect(page.get_by_text(f"Logged in as {name}")).to_be_attached()
    page.locator(".menu > summary").click()
    page.get_by_role("button", name="Log out").click()
    expect(page.get_by_role("status")).to_contain_text("You have logged out.")
    assert User.objects.get(username=name).check_password(PASSWORD)


def test_the_rules_stand_there_before_anybody_breaks_one(page: Page) -> None:
    page.goto("/account/signup/")
    check_looks(page)
    expect(page.locator("#password-rules")).to_contain_text("10 characters")
    sign_up(page, f"bob-{uuid.uuid4().hex[:8]}", "short")
    field = page.get_by_label("Password")
    expect(field).to_have_attribute("aria-invalid", "true")
    expect(page.locator(f"#{'id_password_error'}")).to_contain_text("10 characters")


def test_a_wrong_password_is_said_without_telling_which(page: Page, person: User) -> None:
    page.goto("/account/login/")
    check_looks(page)
    page.get_by_label("Name").fill(person.username)
    page.get_by_label("Password").fill("not the password")
    page.get_by_role("main").get_by_role("button", name="Log in").click()
    expect(page.get_by_role("alert")).to_contain_text("do not match")


def test_logging_in_goes_on_to_where_they_wanted_to_go(page: Page, person: User) -> None:
    page.goto("/environments/")
    page.get_by_role("banner").get_by_role("link", name="Log in").click()
    page.get_by_label("Name").fill(person.username.upper())
    page.get_by_label("Password").fill(PASSWORD)
    page.get_by_role("main").get_by_role("button", name="Log in").click()
    expect(page).to_have_url("/environments/")


def test_logging_in_never_leads_to_another_site(page: Page, person: User, base_url: str) -> None:
    page.goto("/account/login/?next=https://example.com/")
    page.get_by_label("Name").fill(person.username)
    page.get_by_label("Password").fill(PASSWORD)
    page.get_by_role("main").get_by_role("button", name="Log in").click()
    expect(page).to_have_url(f"{base_url}/")


def test_too_many_attempts_have_to_wait(page: Page, person: User, expected: list[str]) -> None:
    expected.append("status of 429")
    refusal = page.get_by_text("too many attempts to log in")
    page.goto("/account/login/")
    for _ in range(60):  # one every 7.5 seconds is allowed
        page.get_by_label("Name").fill(person.username)
        page.get_by_label("Password").fill("not the password")
        page.get_by_role("main").get_by_role("button", name="Log in").click()
        expect(page.get_by_role("main").get_by_role("alert").or_(refusal).first).to_be_visible()
        if refusal.is_visible():
            break
    expect(refusal).to_be_visible()
    expect(page.get_by_label("Name")).to_have_value(person.username)


def test_a_password_is_changed(page: Page, person: User) -> None:
    log_in(page, person.username)
    page.goto("/account/")
    check_looks(page)
    page.get_by_label("Current password").fill(PASSWORD)
    page.get_by_label("New password").fill("another horse altogether")
    page.get_by_role("button", name="Change password").click()
    expect(page.get_by_role("status")).to_contain_text("Password changed.")
    person.refresh_from_db()
    assert person.check_password("another horse altogether")


def test_what_was_played_before_goes_with_them(page: Page, person: User) -> None:
    page.goto("/")
    page.locator("#play-now [role=gridcell]").nth(12).click()
    page.wait_for_url("**/episodes/**")
    episode = page.url.rstrip("/").split("/")[-1]
    log_in(page, person.username)
    assert list(person.seats.values_list("episode_id", flat=True)) == [episode]
