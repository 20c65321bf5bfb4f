"""The addresses at which people play: see `tests.apps.site.addresses`."""

from __future__ import annotations

from tests.apps.site.roles import Address

PLAY_TABLE: dict[str, Address] = {
    "play:index": Address("302"),
    "play:new": Address("200"),
    "play:mine": Address("200"),
    "play:name": Address("302", post=True, sent={"name": "Ada"}),
    "play:lobby": Address("200"),
    "play:watch_new": Address("200"),
    "play:tv": Address("200"),
    "play:take_turn": Address(
        "403 403 302 403", names=("episode",), post=True, sent={"action": "\\boxed{2}", "expected_seq": "1"}
    ),
    "play:place": Address("200", names=("episode",)),
    "play:hint": Address("200", names=("episode",)),
    "play:try_out": Address("403 403 400 403", post=True, names=("episode",), sent={"program": "print(1)"}),
    "play:trial": Address("404 404 200 404", names=("episode",)),
    "play:actions": Address("404 404 200 404", names=("episode",)),
    "play:still_here": Address("403 403 204 403", post=True, names=("episode",)),
    "play:rematch": Address("403 403 400 403", post=True, names=("episode",)),
    "play:join": Address("200 200 302 200", names=("invitation", "one", "seat_token")),
    "play:undo": Address("403 403 302 403", names=("episode",), post=True),
    "play:abandon": Address("403 403 302 403", names=("episode",), post=True),
    "play:fork": Address("302", names=("episode",), post=True, sent={"turn": "0"}),
    "play:finish": Address("302", names=("episode",), post=True),
    "play:take_seat": Address("403 403 302 302", names=("show",), post=True),
    "play:leave_note": Address("403", names=("show",), post=True, sent={"text": "Look left."}),
    "play:hand_back": Address("403", names=("show",), post=True),
    "play:control": Address("403 403 302 302", names=("show", "pause"), post=True),
}
