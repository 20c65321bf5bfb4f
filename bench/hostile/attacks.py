"""The attacks: what each hostile visitor does until the attack is over.

They come from a process of their own (`attackers`), whose work does not hold up the honest visitor's clock.
"""

from __future__ import annotations

import asyncio
import contextlib
import functools
import io
import itertools
import json
import re
import sys
import zipfile
from collections import Counter
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass
from pathlib import Path

from bench.hostile.client import Site, Visitor, next_address
from gem.training.built_in_policies import policy_location

PAUSE_SECONDS = 1.0
"""How long a hostile visitor waits whose request was refused; a real one would not wait at all, but the machine that
attacks here is the machine that is attacked."""
BOMBS = (
    r"\boxed{9^{9^{9^{9}}}}",
    r"\boxed{((10^6)!)!}",
    r"\boxed{\sum_{k=1}^{10^9} k^{k^k}}",
    r"\boxed{" + r"\sqrt{" * 500 + "2" + "}" * 500 + "}",
    r"\boxed{" + "9" * 100_000 + "^{" + "9" * 1000 + "}}",
    r"\boxed{(x+1)^{100000}(y-1)^{99999}}",
)
ENDLESS = "```python\nwhile True:\n    pass\n```"
LOOP = "{% for i in range(99999) %}{% for j in range(99999) %}{% endfor %}{% endfor %}"
VARIANTS = {name: {"title": name, "settings": {"entropy_bonus": bonus}} for name, bonus in (("a", 0.01), ("b", 0.02))}
BODY_BYTES = 1_000_000
DRIP_SECONDS = 5.0
"""Interval at which an unfinished body gets another byte."""


@dataclass(frozen=True, slots=True)
class Attack:
    """One kind of attack."""

    visitors: int
    what: str
    act: Callable[[Visitor, int], Awaitable[None]]
    """What a visitor does again and again; the number counts from 0."""
    needs_accounts: bool = False
    keeps_cookies: bool = True
    shares_address: bool = False
    """Whether all of them have the same address."""


async def _answer(visitor: Visitor, env_id: str, answer: str, seed: int) -> None:
    """Begin an episode and send one turn."""
    begun = await visitor.post("/play/new/", {"env_id": env_id, "seed": seed}, page="/play/new/")
    found = re.match(r"/play/(\w+)/|/episodes/(\w+)/", begun.location)
    if not found:
        await asyncio.sleep(PAUSE_SECONDS)
        return
    episode = found[1] or found[2]
    turn = await visitor.post(f"/play/{episode}/turn/", {"action": answer, "expected_seq": 0, "as_written": "1"})
    if turn.status not in (200, 202, 302):
        await asyncio.sleep(PAUSE_SECONDS)


async def bomb(visitor: Visitor, number: int) -> None:
    """Answer a problem of mathematics with a formula that would take hours."""
    await _answer(visitor, "eval:MATH500", BOMBS[number % len(BOMBS)], number % 5)


async def endless_program(visitor: Visitor, number: int) -> None:
    """Answer a programming problem with a program that does not end."""
    await _answer(visitor, "code:CodeContest", ENDLESS, number % 5)


async def looping_upload(visitor: Visitor, number: int) -> None:
    """Upload a checkpoint whose chat template does not end."""
    answer = await visitor.upload("/agents/upload/", {"name": f"loop {number}"}, looping_checkpoint())
    if answer.status != 302:
        await asyncio.sleep(PAUSE_SECONDS)


async def login(visitor: Visitor, number: int) -> None:
    """Guess a password."""
    answer = await visitor.post("/account/login/", {"username": f"person-{number % 3}", "password": f"guess {number}"})
    if answer.status == 429:
        await asyncio.sleep(PAUSE_SECONDS)


async def show(visitor: Visitor, number: int) -> None:
    """Start an agent, as somebody whom the site has never seen."""
    fields = {"env_id": "game:Minesweeper-v0-hard", "agent": "random", "seed": number, "pace": "0.1"}
    answer = await visitor.post("/play/watch/new/", fields, page="/play/watch/new/")
    if answer.status != 302:
        await asyncio.sleep(PAUSE_SECONDS)


async def costly_plan(visitor: Visitor, number: int) -> None:
    """Ask what a study costs whose environments take long to make, or much memory."""
    environments = {
        f"e{place}": {
            "env_id": "rg:count_primes",
            "updates": 2,
            "env_kwargs": {"config": {"min_n": 1, "max_n": (10**7 if place % 2 else 10**9) + 1000 * number + place}},
        }
        for place in range(20)
    }
    plan = {"title": "t", "question": "q?", "seeds": 2, "environments": environments, "variants": VARIANTS}
    fields = {"study": "own", "plan": json.dumps(plan), "seeds": 2}
    answer = await visitor.post("/studies/estimate/", fields, page="/studies/new/")
    if answer.status == 429:
        await asyncio.sleep(PAUSE_SECONDS)


async def unfinished_body(visitor: Visitor, _number: int) -> None:
    """Announce a form and send a byte of it now and then."""
    head = (
        f"POST /account/login/ HTTP/1.1\r\nHost: 127.0.0.1:{visitor.site.port}\r\n"
        f"Content-Type: application/x-www-form-urlencoded\r\nContent-Length: {BODY_BYTES}\r\n\r\n"
    )
    try:
        reader, writer = await asyncio.open_connection("127.0.0.1", visitor.site.port, local_addr=(visitor.address, 0))
    except OSError:
        await asyncio.sleep(PAUSE_SECONDS)
        return
    try:
        writer.write(head.encode())
        for _ in range(BODY_BYTES):
            writer.write(b"a")
            await writer.drain()
            with contextlib.suppress(TimeoutError):
                line = await asyncio.wait_for(reader.readline(), DRIP_SECONDS)
                found = re.match(rb"HTTP/1.1 (\d+)", line)
                visitor.site.statuses[int(found[1]) if found else 0] += 1
                break
    except OSError:
        visitor.site.statuses[0] += 1
    finally:
        writer.close()


ATTACKS: Mapping[str, Attack] = {
    "nobody": Attack(0, "nobody attacks", login),
    "bombs": Attack(36, "guests answer mathematics with towers of powers", bomb),
    "programs": Attack(16, "guests send programs that do not end", endless_program),
    "uploads": Attack(20, "people upload checkpoints whose template loops", looping_upload, needs_accounts=True),
    "logins": Attack(30, "guess passwords at the same time", login),
    "shows": Attack(14, "guests without cookies start agents, from one address", show, False, False, True),
    "shows-apart": Attack(14, "guests without cookies start agents, from 14 addresses", show, False, False),
    "plans": Attack(20, "guests ask what studies cost whose environments take long to make", costly_plan),
    "bodies": Attack(800, "send bodies that never end, from one address", unfinished_body, shares_address=True),
}


@functools.cache
def looping_checkpoint() -> bytes:
    """The base policy as a model for chats, with a template that loops, in a zip archive."""
    file = io.BytesIO()
    with zipfile.ZipFile(file, "w", zipfile.ZIP_DEFLATED) as bundle:
        for path in Path(policy_location("nano-base")).iterdir():
            content = path.read_bytes()
            if path.name == "tokenizer.json":
                content = content.replace(b"<act>", b"<say>")
            if path.name == "tokenizer_config.json":
                content = json.dumps({**json.loads(content), "chat_template": LOOP}).encode()
            bundle.writestr(path.name, content)
    return file.getvalue()


async def attack(site: Site, kind: Attack, sessions: list[str], seconds: float) -> int:
    """Attack for some seconds; the number of finished acts.

    Args:
        sessions: keys of the sessions of people with accounts, for attacks that need them.
    """
    acts = itertools.count()
    visitors = [
        Visitor(site, {"sessionid": sessions[index]} if kind.needs_accounts else None, keeps_cookies=kind.keeps_cookies)
        for index in range(kind.visitors)
    ]
    if kind.shares_address:
        address = next_address()
        for visitor in visitors:
            visitor.move_to(address)

    async def go_on(visitor: Visitor, index: int) -> None:
        for number in itertools.count(index, max(1, kind.visitors)):
            await kind.act(visitor, number)
            next(acts)

    tasks = [asyncio.create_task(go_on(visitor, index)) for index, visitor in enumerate(visitors)]
    await asyncio.sleep(seconds)
    for task in tasks:
        task.cancel()
    results = await asyncio.gather(*tasks, return_exceptions=True)
    for visitor in visitors:
        with contextlib.suppress(Exception):
            await visitor.close()
    failures = [result for result in results if isinstance(result, Exception)]
    if failures:
        raise failures[0]
    return next(acts)


class Attackers:
    """All visitors of an attack, in a process of their own: `asyncio` here is the honest visitor's."""

    def __init__(self, name: str, port: int, sessions: list[str], seconds: float) -> None:
        self._order = json.dumps([name, port, sessions, seconds]).encode()

    async def run(self) -> tuple[int, Counter[int]]:
        """Attack; the number of finished acts, and of answers by their status.

        Raises:
            RuntimeError: if the attackers failed.
        """
        command = (sys.executable, "-m", "bench.hostile.attacks")
        pipe = asyncio.subprocess.PIPE
        process = await asyncio.create_subprocess_exec(*command, stdin=pipe, stdout=pipe)
        output, _ = await process.communicate(self._order)
        if process.returncode:
            raise RuntimeError("The attackers failed: their error is above.")
        acts, statuses = json.loads(output)
        return acts, Counter({int(status): count for status, count in statuses.items()})


def main() -> None:
    """Attack as the order on standard input says, and print what came of it."""
    name, port, sessions, seconds = json.load(sys.stdin)
    site = Site(port)
    acts = asyncio.run(attack(site, ATTACKS[name], sessions, seconds))
    json.dump([acts, site.statuses], sys.stdout)


if __name__ == "__main__":
    main()
