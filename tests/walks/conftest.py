"""The walks: a person with a real browser on a real site. A walk fails on whatever the browser complains about."""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, Any

import pytest
from playwright.sync_api import Browser, BrowserContext, Page, expect

if TYPE_CHECKING:
    from pytest_django.plugin import DjangoDbBlocker

    from apps.accounts.models import User
    from tests.walks.site import Site

LOOKS = [(390, "light"), (390, "dark"), (1280, "dark"), (1280, "light")]
"""The widths and colour schemes in which every page has to look right; the last is how a walk goes on."""
PASSWORD = "correct horse battery"
PATIENCE_MS = 30_000
LATENCY_MS = int(os.environ.get("WALKS_LATENCY_MS", "0"))
"""How long each answer takes to reach the browser, and nothing is cached: what a walk must not depend on."""
expect.set_options(timeout=PATIENCE_MS)


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Whatever uses a page is a walk."""
    for item in items:
        if "page" in getattr(item, "fixturenames", ()):
            item.add_marker(pytest.mark.walk)


@pytest.fixture(scope="session")
def site(django_db_blocker: DjangoDbBlocker) -> Iterator[Site]:
    """A running site with demo data; one for all walks of a session, so name what you make apart."""
    from tests.databases import connected_to
    from tests.walks.site import running_site

    name = f"gemweb_walks_{os.getpid()}"
    with django_db_blocker.unblock(), running_site(name) as running, connected_to(name):
        yield running


@pytest.fixture(scope="session")
def base_url(site: Site) -> str:
    """Lets `page.goto("/jobs/")` do."""
    return site.url


@pytest.fixture(scope="session")
def browser_context_args(browser_context_args: dict[str, Any]) -> dict[str, Any]:
    """A laptop in London, whose owner wants nothing to move.

    What pulses for as long as something runs would be drawn all the time. Some walks let it `move`.
    """
    size = {"width": 1280, "height": 900}
    return {
        **browser_context_args, "viewport": size, "locale": "en-GB", "timezone_id": "UTC", "reduced_motion": "reduce",
    }  # fmt: skip


class Profiles:
    """The browser's profiles, for one person each. What they have loaded of the site's files stays for all walks."""

    def __init__(self, browser: Browser, arguments: dict[str, Any], site: Site) -> None:
        self._browser, self._arguments, self._site = browser, arguments, site
        self._all: list[BrowserContext] = []
        self._taken = 0

    def take(self) -> BrowserContext:
        """A profile as if it were new: nobody is logged in, nothing is stored, no page is open but an idle one."""
        if self._taken == len(self._all):
            opened = self._browser.new_context(**self._arguments)
            opened.new_page().goto("/static/favicon.svg")  # stays, so that the process that draws pages does
            self._all.append(opened)
        self._taken += 1
        return self._all[self._taken - 1]

    def clear(self) -> None:
        """Make those that were taken as good as new."""
        for profile in self._all[: self._taken]:
            idle, *left = profile.pages
            for page in left:
                page.close()
            profile.clear_cookies()
            profile.clear_permissions()
            tools = profile.new_cdp_session(idle)
            tools.send("Storage.clearDataForOrigin", {"origin": self._site.url, "storageTypes": "local_storage"})
            tools.detach()
        self._taken = 0

    def close(self) -> None:
        """Close all of them."""
        for profile in self._all:
            profile.close()


@pytest.fixture(scope="session")
def all_profiles(browser: Browser, browser_context_args: dict[str, Any], site: Site) -> Iterator[Profiles]:
    """Profiles for all walks of a session."""
    profiles = Profiles(browser, browser_context_args, site)
    yield profiles
    profiles.close()


@pytest.fixture
def profiles(all_profiles: Profiles) -> Iterator[Profiles]:
    """Profiles for one walk, cleared afterwards."""
    yield all_profiles
    all_profiles.clear()


@pytest.fixture
def context(profiles: Profiles) -> BrowserContext:
    """The profile of the person whose walk it is."""
    return profiles.take()


@pytest.fixture
def complaints() -> list[str]:
    """What the browser complained about so far."""
    return []


@pytest.fixture
def expected() -> list[str]:
    """Complaints that a walk provokes: `expected.append("status of 404")` before opening what is not there."""
    return []


@pytest.fixture
def page(context: BrowserContext, complaints: list[str], expected: list[str], site: Site) -> Iterator[Page]:
    """A page that fails the walk on a console error, a script error, a failed request or a breach of the policy."""
    opened = context.new_page()
    opened.set_default_timeout(PATIENCE_MS)
    listen(opened, complaints)
    yield opened
    opened.close()
    left = [said for said in complaints if not any(re.search(pattern, said) for pattern in expected)]
    assert not left, "the browser complained:\n" + "\n".join(left) + "\n\nthe site said:\n" + site.output()


@pytest.fixture
def second_page(profiles: Profiles, complaints: list[str], page: Page) -> Callable[[], Page]:
    """Opens a page of somebody else: another profile, another session, watched as closely."""

    def _open() -> Page:
        opened = profiles.take().new_page()
        listen(opened, complaints)
        return opened

    return _open


@pytest.fixture
def person(site: Site, request: pytest.FixtureRequest) -> User:
    """Somebody with an account of their own, logged out; the password is `PASSWORD`."""
    from apps.accounts.models import User

    name = re.sub(r"\W+", "-", request.node.name)[:30] + f"-{User.objects.count()}"
    return User.objects.create_user(name, password=PASSWORD)


@pytest.fixture
def logged_in(page: Page, person: User, site: Site) -> Page:
    """The page of `person`, whose session is made here: how one logs in is walked in `test_accounts.py`."""
    from django.conf import settings
    from django.test import Client

    client = Client()
    client.force_login(person)
    name = settings.SESSION_COOKIE_NAME
    page.context.add_cookies([{"name": name, "value": client.cookies[name].value, "url": site.url}])
    return page


@pytest.fixture
def slow_agent(person: User, site: Site) -> Iterator[str]:
    """The slug of an agent of `person` that waits for its model: a job of it lasts for minutes and takes no core."""
    from apps.agents import operations
    from gem.agents.endpoint.spec import EndpointSpec
    from tests.model_server import model_server

    with model_server() as server:
        server.delay = 0.2
        spec = EndpointSpec(url=server.url, model="bisect", stream=False)
        yield operations.create(person, "slow", spec).slug


def log_in(page: Page, name: str, password: str = PASSWORD) -> None:
    """Log in through the form."""
    page.goto("/account/login/")
    page.get_by_label("Name").fill(name)
    page.get_by_label("Password").fill(password)
    page.get_by_role("main").get_by_role("button", name="Log in").click()
    page.get_by_text(f"Logged in as {name[:10]}").wait_for(state="attached")


def listen(page: Page, complaints: list[str]) -> None:
    """Write down everything the browser complains about; on a slow network, if `LATENCY_MS` says so."""
    if LATENCY_MS:
        network = page.context.new_cdp_session(page)
        network.send("Network.enable")
        network.send("Network.setCacheDisabled", {"cacheDisabled": True})
        speed = {"offline": False, "latency": LATENCY_MS, "downloadThroughput": -1, "uploadThroughput": -1}
        network.send("Network.emulateNetworkConditions", speed)
    page.on("console", lambda said: _complain(complaints, said.type, said.text))
    page.on("pageerror", lambda error: complaints.append(f"script error: {error}"))
    page.on("requestfailed", lambda request: _lost(complaints, request.url, request.failure or ""))
    page.on("response", lambda answer: _answered(complaints, answer.status, answer.url))
    page.add_init_script(
        "document.addEventListener('securitypolicyviolation', (event) =>"
        " console.error(`policy: ${event.violatedDirective} ${event.blockedURI}`))"
    )


def move(page: Page) -> None:
    """Let things move on this page, as for most people."""
    page.emulate_media(reduced_motion="no-preference")


def in_every_look(page: Page) -> Iterator[str]:
    """Goes through both widths and both colour schemes: `for look in in_every_look(page): ...`."""
    before = (0, "")
    for width, scheme in LOOKS:
        if width != before[0]:
            page.set_viewport_size({"width": width, "height": 900})
        if scheme != before[1]:
            page.emulate_media(color_scheme=scheme)  # type: ignore[arg-type]
        before = (width, scheme)
        yield f"{width} px, {scheme}"


def check_looks(page: Page) -> None:
    """Nothing is wider than the window, faint, too small to hit or without a name, in every look.

    A colour scheme changes colours alone (`static/css/tokens.css`), so the rest is looked at once for each width.
    """
    from tests.walks.accessibility import NO_COMPLAINTS, complaints_about

    seen = set[str]()
    for look in in_every_look(page):
        width = look.partition(",")[0]
        complaints = complaints_about(page, only_colours=width in seen)
        assert complaints == NO_COMPLAINTS, f"{page.url} ({page.title()}) at {look}"
        seen.add(width)


def _complain(complaints: list[str], kind: str, text: str) -> None:
    if kind == "error":
        complaints.append(f"console {kind}: {text}")


def _lost(complaints: list[str], url: str, why: str) -> None:
    if "ERR_ABORTED" not in why:  # the page was left, or a newer request took its place
        complaints.append(f"request failed: {url} {why}")


def _answered(complaints: list[str], status: int, url: str) -> None:
    if status >= 500:
        complaints.append(f"answer {status}: {url}")
