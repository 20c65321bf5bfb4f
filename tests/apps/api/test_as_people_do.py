"""What people do on the pages, a program does with a token: take a seat by its link, report, choose visibilities."""

from __future__ import annotations

from typing import Any

import pytest
from django.test import override_settings

from apps.accounts.models import User
from apps.episodes.models import Episode
from apps.moderation.models import Report
from gem import benchmarks
from gem.client.resources.episodes import SEAT_LINK
from tests.apps.api.conftest import Program

pytestmark = pytest.mark.django_db
DUEL = {"env_id": "duel:TicTacToe-v0", "opponent": "person", "seat": 0, "visibility": "private"}


def seat_of(link: str) -> str:
    """The address of the API for a link to a seat."""
    found = SEAT_LINK.search(link)
    assert found is not None
    return "episodes/{}/seats/{}/{}".format(*found.groups())


def test_two_programs_play_against_each_other_through_a_link(program: Program, program_of: Any, guest: Program) -> None:
    friend, stranger = (program_of(User.objects.create_user(name)) for name in ("grace", "eve"))
    begun = program.post("episodes", DUEL).json()
    (link,) = begun["invitations"]
    assert friend.get(f"episodes/{begun['id']}").status_code == 404, "it is private"
    assert guest.post(seat_of(link)).status_code == 401
    assert friend.post(f"{seat_of(link)[:-2]}xx").status_code == 404, "a link that was cut off"
    joined = friend.post(seat_of(link))
    assert (joined.status_code, [seat["mine"] for seat in joined.json()["seats"]]) == (200, [False, True])
    assert joined.json()["invitations"] == []
    assert friend.post(seat_of(link)).status_code == 200, "nothing changes if the seat is theirs already"
    taken = stranger.post(seat_of(link))
    assert (taken.status_code, taken.json()["title"]) == (409, "This seat is taken")
    assert program.post(seat_of(link)).status_code == 409
    now = program.get(f"episodes/{begun['id']}").json()
    first = program.post(f"episodes/{begun['id']}/turns", {"action": "\\boxed{1}", "expected_seq": now["seq"]})
    assert first.status_code == 201
    seq = first.json()["episode"]["seq"]
    assert friend.post(
        f"episodes/{begun['id']}/turns", {"action": "\\boxed{2}", "expected_seq": seq}
    ).status_code == 201  # fmt: skip


def test_only_players_are_told_the_link(program: Program, guest: Program) -> None:
    begun = program.post("episodes", {**DUEL, "visibility": "unlisted"}).json()
    assert len(program.get(f"episodes/{begun['id']}").json()["invitations"]) == 1
    assert guest.get(f"episodes/{begun['id']}").json()["invitations"] == []


@override_settings(REPORTS_PER_HOUR=2)
def test_a_report_of_a_program_is_like_one_of_the_page(owner: User, program: Program) -> None:
    key = program.post("episodes", {"env_id": "game:GuessTheNumber-v0-easy"}).json()["id"]
    assert program.post(f"reports/episode/{key}", {"reason": "It shows a secret."}).status_code == 204
    report = Report.objects.get()
    assert (report.kind, report.key, report.reason, report.reporter) == ("episode", key, "It shows a secret.", owner)
    empty = program.post(f"reports/episode/{key}", {"reason": " "})
    assert (empty.status_code, empty.json()["errors"][0]["field"]) == (422, "reason")
    assert program.post("reports/episode/000000000000", {"reason": "x"}).status_code == 404
    assert program.post(f"reports/nothing/{key}", {"reason": "x"}).status_code == 404
    assert program.post(f"reports/episode/{key}", {"reason": "again"}).status_code == 204
    refused = program.post(f"reports/episode/{key}", {"reason": "and again"})
    assert refused.status_code == 429
    assert int(refused["Retry-After"]) > 0


def test_default_visibilities_are_chosen_one_by_one(owner: User, program: Program) -> None:
    answer = program.send("PUT", "account/visibility", {"default_visibility": "private"}).json()
    assert (answer["default_visibility"], answer["agent_visibility"]) == ("private", owner.agent_visibility)
    answer = program.send("PUT", "account/visibility", {"agent_visibility": "unlisted"}).json()
    assert (answer["default_visibility"], answer["agent_visibility"]) == ("private", "unlisted")


def test_a_ranked_seed_is_new_to_the_account(program: Program) -> None:
    env_id = benchmarks.load("games").env_ids[0]
    begun = [program.post("leaderboard/games/episodes", {"env_id": env_id}).json() for _ in range(2)]
    assert {each["env_id"] for each in begun} == {env_id}
    assert len({each["seed"] for each in begun}) == 2
    assert program.post("leaderboard/games/episodes", {"env_id": "game:Nothing-v0"}).status_code == 404
    assert Episode.objects.count() == 2
