"""Visitors of a site under attack: each has an address of its own on loopback, and cookies if it keeps any."""

from __future__ import annotations

import asyncio
import itertools
import time
import urllib.parse
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field
from http.cookies import SimpleCookie
from typing import Any

import httpcore2 as httpcore

TIMEOUT_SECONDS = 120.0
BOUNDARY = "boundary-that-is-in-no-archive"
_numbers = itertools.count(2)


def next_address() -> str:
    """An address on loopback that no visitor has had; all of 127.0.0.0/8 is this machine."""
    number = next(_numbers)
    return f"127.{number >> 16 & 255}.{number >> 8 & 255}.{number & 255}"


@dataclass
class Site:
    """The site, and what it answered to everybody."""

    port: int
    statuses: Counter[int] = field(default_factory=Counter)
    """Number of answers by status; 0 stands for a connection without an answer."""

    def server_errors(self) -> int:
        """Number of answers of 500 and above."""
        return sum(count for status, count in self.statuses.items() if status >= 500)


@dataclass(frozen=True, slots=True)
class Answer:
    """What the site answered."""

    status: int
    location: str
    seconds: float
    body: bytes


class Visitor:
    """Somebody with a browser.

    Args:
        cookies: those that the visitor has already, such as a session.
        keeps_cookies: whether later requests carry the cookies of earlier answers.
    """

    def __init__(self, site: Site, cookies: Mapping[str, str] | None = None, *, keeps_cookies: bool = True) -> None:
        self.site, self.keeps_cookies = site, keeps_cookies
        self.cookies = dict(cookies or {})
        self.move_to(next_address())

    def move_to(self, address: str) -> None:
        """Come from this address from now on."""
        self.address = address
        self._pool = httpcore.AsyncConnectionPool(local_address=address, max_connections=4)

    async def get(self, path: str) -> Answer:
        """Ask for a page."""
        return await self._request("GET", path, b"", {})

    async def post(self, path: str, fields: Mapping[str, Any], page: str = "/account/login/") -> Answer:
        """Send a form, after asking for `page` if there is no token for forms yet."""
        if "csrftoken" not in self.cookies:
            kept, self.keeps_cookies = self.keeps_cookies, True
            await self.get(page)
            self.keeps_cookies = kept
        body = urllib.parse.urlencode(fields).encode()
        return await self._send(path, body, "application/x-www-form-urlencoded")

    async def upload(self, path: str, fields: Mapping[str, str], content: bytes) -> Answer:
        """Send a form with a file."""
        if "csrftoken" not in self.cookies:
            await self.get(path)
        parts = [
            f'--{BOUNDARY}\r\nContent-Disposition: form-data; name="{name}"\r\n\r\n{text}\r\n'
            for name, text in fields.items()
        ]
        disposition = 'Content-Disposition: form-data; name="file"; filename="c.zip"'
        head = "".join(parts) + f"--{BOUNDARY}\r\n{disposition}\r\nContent-Type: application/zip\r\n\r\n"
        body = head.encode() + content + f"\r\n--{BOUNDARY}--\r\n".encode()
        return await self._send(path, body, f"multipart/form-data; boundary={BOUNDARY}")

    async def close(self) -> None:
        """Close the connections."""
        await self._pool.aclose()

    async def _send(self, path: str, body: bytes, kind: str) -> Answer:
        headers = {"Content-Type": kind, "X-CSRFToken": self.cookies.get("csrftoken", "")}
        answer = await self._request("POST", path, body, headers)
        if not self.keeps_cookies:
            self.cookies.clear()
        return answer

    async def _request(self, method: str, path: str, body: bytes, headers: Mapping[str, str]) -> Answer:
        cookies = "; ".join(f"{name}={value}" for name, value in self.cookies.items())
        origin = f"http://127.0.0.1:{self.site.port}"
        sent = {"Host": f"127.0.0.1:{self.site.port}", "Cookie": cookies, "Origin": origin, **headers}
        began = time.perf_counter()
        try:
            answer = await self._pool.request(
                method,
                origin + path,
                content=body,
                headers=[*sent.items()],
                extensions={"timeout": dict.fromkeys(("connect", "read", "write", "pool"), TIMEOUT_SECONDS)},
            )
        except (httpcore.NetworkError, httpcore.ProtocolError, httpcore.TimeoutException):
            self.site.statuses[0] += 1
            await asyncio.sleep(0.1)
            return Answer(0, "", time.perf_counter() - began, b"")
        self.site.statuses[answer.status] += 1
        if self.keeps_cookies:
            self._keep(answer.headers)
        location = next((value.decode() for name, value in answer.headers if name.lower() == b"location"), "")
        return Answer(answer.status, location, time.perf_counter() - began, answer.content)

    def _keep(self, headers: list[tuple[bytes, bytes]]) -> None:
        for name, value in headers:
            if name.lower() == b"set-cookie":
                self.cookies |= {key: morsel.value for key, morsel in SimpleCookie(value.decode()).items()}
