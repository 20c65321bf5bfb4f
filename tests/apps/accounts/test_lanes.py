"""Lanes of the web process: few requests at a time, addresses in turn, pages apart from forms."""

from __future__ import annotations

import asyncio
import threading

import pytest
from django.http import HttpRequest, HttpResponse
from django.test import RequestFactory
from django.urls import reverse

from apps.accounts.lanes import HASHING, READING, SIZES, WRITING, Lane, Lanes, lane_of
from gemweb.handler import SiteHandler


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
        held, lanes, requests = asyncio.Event(), Lanes(), RequestFactory()

        async def log_in(number: int) -> None:
            async with lanes.place(requests.post(reverse("accounts:login"), REMOTE_ADDR=f"10.0.0.{number}")):
                await held.wait()

        logins = [asyncio.create_task(log_in(number)) for number in range(SIZES[HASHING] + 5)]
        await settle()
        async with asyncio.timeout(5):
            async with lanes.place(requests.post("/play/x/turn/")), lanes.place(requests.get(reverse("site:home"))):
                assert not any(login.done() for login in logins)
        held.set()
        await asyncio.gather(*logins)

    asyncio.run(story())


def test_a_request_keeps_its_place_until_its_thread_ends() -> None:
    began, may_end = threading.Event(), threading.Event()

    class Handler(SiteHandler):
        def get_response(self, request: HttpRequest) -> HttpResponse:
            began.set()
            may_end.wait(20)
            return HttpResponse("done")

    async def story() -> None:
        handler = Handler()
        handler._lanes._lanes[WRITING] = Lane(1)
        gone = asyncio.create_task(handler.get_response_async(RequestFactory().post("/play/new/")))
        while not began.is_set():
            await asyncio.sleep(0.001)
        gone.cancel()
        began.clear()
        late = asyncio.create_task(handler.get_response_async(RequestFactory().post("/play/new/")))
        await settle()
        assert not gone.done(), "its thread still runs"
        assert not began.is_set()
        may_end.set()
        assert (await late).content == b"done"
        with pytest.raises(asyncio.CancelledError):
            await gone

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
        ("get", "/health/live", ""),
    ],
)
def test_every_request_has_its_lane(method: str, path: str, lane: str) -> None:
    assert lane_of(getattr(RequestFactory(), method)(path)) == lane
