"""Episodes of people with an account are kept, exactly as they were played, and none is left half written."""

from __future__ import annotations

from datetime import timedelta

import pytest
from channels.db import database_sync_to_async as sync_to_async
from django.db import DatabaseError
from django.db.models.functions import Now

from apps.accounts.models import User
from apps.api import operations as tokens
from apps.api.models import Scope
from apps.episodes import operations
from apps.episodes.models import Episode, Seat, Turn
from apps.openenv import recording
from apps.openenv.models import UnwrittenEpisode
from apps.openenv.recording import LOST, Recorder, fail_lost
from apps.visibility import Visibility
from tests.apps.openenv.harness import GUESS, connected, request

pytestmark = pytest.mark.django_db(transaction=True)


@pytest.fixture
def secret(transactional_db: None) -> str:
    """The token of somebody who may play."""
    from apps.agents.models import Agent

    Agent.objects.get_or_create(slug="human", defaults={"name": "human", "kind": "human", "colour": 2})
    return tokens.make_token(User.objects.create_user("ada"), "trainer", [Scope.PLAY])[1]


@sync_to_async
def kept() -> list[Episode]:
    """All episodes, the oldest first."""
    return list(Episode.objects.order_by("created", "turn_count"))


async def test_an_episode_is_kept_as_it_was_played(secret: str, recorder: Recorder) -> None:
    async with connected(token=secret) as socket:
        await socket.ask("reset", {"seed": 7})
        for action in ("\\boxed{5}", "\\boxed{2}\0", "no number"):
            last = (await socket.ask("step", {"message": action}))["data"]
        await recorder.flush()
        (episode,) = await kept()
    assert last["observation"]["episode_id"] == episode.pk  # by which the client finds it
    assert (episode.status, episode.seed, episode.turn_count) == (Episode.Status.ENDED, 7, 3)
    assert (episode.visibility, episode.batch_id, episode.success) == (Visibility.PRIVATE, None, False)
    turns = await sync_to_async(lambda: list(Turn.objects.filter(episode=episode).order_by("number")))()
    assert turns[-1].observation == last["observation"]["messages"][0]["content"]
    assert [turn.reward for turn in turns][-1] == last["reward"]
    seat = await Seat.objects.select_related("user").aget(episode=episode)
    assert (seat.user.username if seat.user else "", seat.number) == ("ada", 0)
    assert await sync_to_async(operations.verify)(episode) is None


async def test_over_http_an_episode_is_found_by_what_comes_before_the_dot(secret: str, recorder: Recorder) -> None:
    base = f"/openenv/{GUESS}"
    begun = (await request("POST", f"{base}/reset", {"seed": 7}, token=secret))[1]
    key = begun["observation"]["episode_id"]
    turn = {"action": {"message": "no number"}, "episode_id": key}
    assert (await request("POST", f"{base}/step", turn, token=secret))[1]["done"] is True
    await recorder.flush()
    (episode,) = await kept()
    name, _, rest = key.partition(".")
    assert name == episode.pk
    assert len(rest) > 20  # whoever has the key can play on, so nobody may guess it


async def test_what_is_left_before_its_end_is_abandoned(secret: str, recorder: Recorder) -> None:
    async with connected("duel:TicTacToe-v0", token=secret) as socket:
        await socket.ask("reset", {"seed": 1})
        await socket.ask("step", {"message": "\\boxed{5}"})
        await socket.ask("reset", {"seed": 2})
    await recorder.flush()
    assert [(row.seed, row.status, row.turn_count) for row in await kept()] == [
        (2, Episode.Status.ABANDONED, 0),
        (1, Episode.Status.ABANDONED, 1),
    ]
    assert await Seat.objects.acount() == 4


async def test_visitors_and_those_who_say_so_leave_no_record(secret: str, recorder: Recorder) -> None:
    async with connected() as visitor, connected(token=secret) as socket:
        for client, data in ((visitor, {}), (socket, {"record": False})):
            await client.ask("reset", data)
            await client.ask("step", {"message": "no number"})
    await recorder.flush()
    assert await kept() == []


async def test_an_episode_of_a_process_that_died_is_marked_as_failed(secret: str, recorder: Recorder) -> None:
    async with connected(token=secret) as socket:
        await socket.ask("reset", {"seed": 7})
        await recorder.flush()
        assert await UnwrittenEpisode.objects.acount() == 1
        await sync_to_async(fail_lost)()
        assert await kept() == []
        await UnwrittenEpisode.objects.aupdate(leased_until=Now() - timedelta(seconds=1))
        await sync_to_async(fail_lost)()
        (lost,) = await kept()
        assert (lost.status, lost.failure, lost.seed) == (Episode.Status.FAILED, LOST, 7)
        await socket.ask("step", {"message": "no number"})
        await recorder.flush()
    (same,) = await kept()
    assert (same.status, same.turn_count, recorder.waiting) == (Episode.Status.FAILED, 0, 0)
    assert await UnwrittenEpisode.objects.acount() == 0


async def test_nothing_is_lost_while_the_database_is_away(
    secret: str, recorder: Recorder, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(*_: object) -> None:
        raise DatabaseError

    async with connected(token=secret) as socket:
        with monkeypatch.context() as away:
            away.setattr(recording, "_announce", refuse)
            await socket.ask("reset", {"seed": 7})
            with pytest.raises(DatabaseError):
                await recorder.flush()
            away.setattr(recording, "_write", refuse)
            await socket.ask("step", {"message": "no number"})
            with pytest.raises(DatabaseError):
                await recorder.flush()
            assert (recorder.waiting, await kept()) == (1, [])
        await recorder.flush()
    assert [row.turn_count for row in await kept()] == [1]


async def test_what_cannot_be_stored_does_not_keep_the_others(secret: str, recorder: Recorder) -> None:
    other = await sync_to_async(lambda: tokens.make_token(User.objects.create_user("bob"), "t", [Scope.PLAY])[1])()
    async with connected(token=secret) as socket, connected(token=other) as gone:
        for client in (socket, gone):
            await client.ask("reset", {"seed": 7})
            await client.ask("step", {"message": "no number"})
        await sync_to_async(User.objects.filter(username="bob").delete)()
        await recorder.flush()
    assert len(await kept()) == 1
    assert recorder.waiting == 0
