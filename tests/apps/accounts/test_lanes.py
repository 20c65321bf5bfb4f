"""Lanes of the web process: few requests at a time, addresses in turn, pages apart from forms."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable

import pytest
from django.http import HttpRequest, HttpResponse
from django.test import RequestFactory
from django.urls import reverse

from apps.accounts.lanes import HASHING, READING, SIZES, WRITING, Lane, lane_of, lanes_middleware


async def settle() -> None:
    """Let every task run until it waits."""
    for _ in range(20):
        await asyncio.sleep(0)


class Holder:
    """Requests that stay in a lane until they are told to leave."""

    def __init__(self, lane: Lane) -> None:
        self.lane = lane
        self.admitted: list[str] = []
        self._leave: dict[str, asyncio.Event] = {}

    def ask(self, name: str, address: str) -> asyncio.Task[None]:
        self._leave[name] = asyncio.Event()
        return asyncio.create_task(self._hold(name, address))

    async def _hold(self, name: str, address: str) -> None:
        async with self.lane.place(address):
            self.admitted.append(name)
            await self._leave[name].wait()

    async def leave(self, name: str) -> None:
        self._leave[name].set()
        await settle()


def test_addresses_take_turns_whoever_asked_first() -> None:
    async def story() -> None:
        holder = Holder(Lane(2))
        tasks = [holder.ask(f"loud {number}", "1") for number in range(4)]
        await settle()
        tasks += [holder.ask("first", "2"), holder.ask("second", "3")]
        await settle()
        assert holder.admitted == ["loud 0", "first"], "one address has half of the places"
        await holder.leave("first")
        assert holder.admitted[2:] == ["second"]
        await holder.leave("loud 0")
        assert holder.admitted[3:] == ["loud 1"]
        for name in ("second", "loud 1", "loud 2", "loud 3"):
            await holder.leave(name)
        await asyncio.gather(*tasks)

    asyncio.run(story())


def test_somebody_who_goes_away_takes_no_place() -> None:
    async def story() -> None:
        holder = Holder(Lane(2))
        here, gone, last = holder.ask("here", "1"), holder.ask("gone", "1"), holder.ask("last", "1")
        await settle()
        gone.cancel()
        await settle()
        await holder.leave("here")
        assert holder.admitted == ["here", "last"]
        last.cancel()
        await settle()
        again = holder.ask("next", "1")
        await settle()
        assert holder.admitted[2:] == ["next"], "a place is free again after an error in it"
        await holder.leave("next")
        await asyncio.gather(here, again)

    asyncio.run(story())


def test_a_page_does_not_wait_for_forms_or_forms_for_passwords() -> None:
    async def story() -> None:
        held = asyncio.Event()

        async def answer(request: HttpRequest) -> HttpResponse:
            if request.method == "POST" and "turn" not in request.path:
                await held.wait()
            return HttpResponse(request.path)

        middleware: Callable[[HttpRequest], Awaitable[HttpResponse]] = lanes_middleware(answer)
        requests = RequestFactory()
        logins = [
            asyncio.ensure_future(middleware(requests.post(reverse("accounts:login"), REMOTE_ADDR=f"10.0.0.{number}")))
            for number in range(SIZES[HASHING] + 5)
        ]
        await settle()
        turn = await asyncio.wait_for(middleware(requests.post("/play/x/turn/")), 5)
        page = await asyncio.wait_for(middleware(requests.get(reverse("site:home"))), 5)
        assert (turn.status_code, page.status_code) == (200, 200)
        held.set()
        assert len(await asyncio.gather(*logins)) == SIZES[HASHING] + 5

    asyncio.run(story())


@pytest.mark.parametrize(
    ("method", "path", "lane"),
    [
        ("get", "/", READING),
        ("post", "/account/login/", HASHING),
        ("post", "/account/signup/", HASHING),
        ("post", "/play/new/", WRITING),
        ("post", "/nowhere/", WRITING),
        ("get", "/static/css/gemweb.css", ""),
    ],
)
def test_every_request_has_its_lane(method: str, path: str, lane: str) -> None:
    assert lane_of(getattr(RequestFactory(), method)(path)) == lane
