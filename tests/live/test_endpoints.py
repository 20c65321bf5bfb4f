"""Endpoint agents in live episodes: a real host asks a real server, and nobody waits for anybody else."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, Any

import pytest

from apps.play.shows import operations as shows
from tests.live.processes import Fleet, wait_for
from tests.model_server import ModelServer, model_server

if TYPE_CHECKING:
    from apps.agents.models import Agent
    from apps.episodes.models import Episode

ENV_ID = "game:GuessTheNumber-v0-hard"
MakeAgent = Callable[..., "Agent"]

pytestmark = pytest.mark.usefixtures("agents")


@pytest.fixture
def server() -> Iterator[ModelServer]:
    with model_server() as running:
        yield running


@pytest.fixture
def agent_of(transactional_db: None, server: ModelServer) -> MakeAgent:
    from pydantic import SecretStr

    from apps.accounts.models import User
    from apps.agents import operations
    from gem.agents.endpoint import EndpointSpec

    owner = User.objects.create_user("owner-of-endpoints")

    def _agent(model: str, key: str = "", **more: Any) -> Agent:
        spec = EndpointSpec(url=server.url, model=model, **{"timeout": 2, "patience": 2, "tries": 1, **more})
        return operations.create(owner, model, spec, SecretStr(key))

    return _agent


def over(episode: Episode) -> bool:
    episode.refresh_from_db()
    return episode.over


def turns(episode: Episode) -> int:
    return episode.turns.count()


def test_it_plays_to_the_end_and_its_turns_say_what_they_took(fleet: Fleet, agent_of: MakeAgent) -> None:
    agent = agent_of("bisect", temperature=0.5)
    episode = shows.start(ENV_ID, agent, seed=2, pace=0.1, visitor="a")
    fleet.host()
    wait_for(lambda: over(episode), "the show to end")
    assert episode.success
    for turn in episode.turns.all():
        assert turn.extra is not None
        assert turn.note.startswith("It is from")
        assert turn.extra["tokens_out"] == 11
        assert turn.extra["model"] == "bisect-2026"
        assert turn.extra["seconds"] > 0
    set_up = episode.seats.get().set_up
    assert (set_up["version"], set_up["temperature"], "url" in set_up) == (1, 0.5, False)


def test_a_server_that_hangs_holds_up_nobody_and_the_show_rests_with_a_sentence(
    fleet: Fleet, server: ModelServer, agent_of: MakeAgent
) -> None:
    hanging = [shows.start(ENV_ID, agent_of("hang"), seed=n, pace=0.1, visitor=str(n)) for n in range(20)]
    quick = shows.start(ENV_ID, agent_of("bisect", "a key of its own"), seed=2, pace=0.1, visitor="q")
    fleet.host()
    wait_for(lambda: over(quick), "the quick show to end")
    wait_for(lambda: all(rests(one) for one in hanging), "the others to rest")
    show = hanging[0].show
    show.refresh_from_db()
    assert "hang gave no answer at turn 1. The server did not answer within 2 s." in show.trouble
    assert show.trouble.endswith("The turn was not played, and nothing is lost.")
    assert not over(hanging[0])
    assert turns(hanging[0]) == 0


def rests(episode: Episode) -> bool:
    episode.show.refresh_from_db()
    return bool(episode.show.paused and episode.show.trouble)


def test_resuming_asks_again(fleet: Fleet, server: ModelServer, agent_of: MakeAgent) -> None:
    agent = agent_of("flaky-1-400")
    episode = shows.start(ENV_ID, agent, seed=2, pace=0.1, user=agent.owner)
    fleet.host()
    wait_for(lambda: rests(episode), "the show to rest")
    server.well = True
    shows.resume(episode.id)
    wait_for(lambda: over(episode), "the show to end")
    assert episode.success
    episode.show.refresh_from_db()
    assert episode.show.trouble == ""


def test_stopping_ends_the_episode_and_says_whose_fault_it_was(fleet: Fleet, agent_of: MakeAgent) -> None:
    episode = shows.start(ENV_ID, agent_of("500", on_failure="stop"), seed=2, pace=0.1, visitor="a")
    fleet.host()
    wait_for(lambda: over(episode), "the show to end")
    assert (episode.status, episode.failed_by) == ("failed", "agent")
    assert "answered 500" in episode.failure


def test_forfeiting_plays_the_empty_action(fleet: Fleet, agent_of: MakeAgent) -> None:
    episode = shows.start(ENV_ID, agent_of("500", on_failure="forfeit"), seed=2, pace=0.1, visitor="a")
    fleet.host()
    wait_for(lambda: over(episode), "the show to end")
    turn = episode.turns.get()
    assert (episode.status, episode.success, turn.action) == ("ended", False, "")
    assert turn.extra is not None
    assert "answered 500" in turn.extra["error"]


def test_another_host_goes_on_with_the_same_conversation(
    fleet: Fleet, server: ModelServer, agent_of: MakeAgent
) -> None:
    kwargs = {"min_number": 1, "max_number": 4000, "max_turns": 20}
    episode = shows.start(ENV_ID, agent_of("bisect"), seed=2, pace=0.4, visitor="a", env_kwargs=kwargs)
    first = fleet.host()
    wait_for(lambda: turns(episode) >= 3, "three turns")
    first.process.kill()
    first.process.wait()
    asked = len(server.requests)
    fleet.host()
    wait_for(lambda: turns(episode) >= 6, "three more")
    said = server.requests[asked]["messages"]
    assert [one["role"] for one in said] == ["system", *["user", "assistant"] * (len(said) // 2 - 1), "user"]
    assert len(said) // 2 >= 4
    actions = list(episode.turns.order_by("number").values_list("action", flat=True))
    assert [one["content"] for one in said if one["role"] == "assistant"] == actions[: len(said) // 2 - 1]


def test_a_change_does_not_reach_what_it_plays_already(fleet: Fleet, server: ModelServer, agent_of: MakeAgent) -> None:
    from apps.agents import operations
    from gem.agents.endpoint import EndpointSpec

    agent = agent_of("bisect")
    kwargs = {"min_number": 1, "max_number": 4000, "max_turns": 20}
    before = shows.start(ENV_ID, agent, seed=2, pace=0.1, visitor="a", env_kwargs=kwargs)
    operations.change(agent, "changed", EndpointSpec(url=server.url, model="lost"))
    after = shows.start(ENV_ID, agent, seed=2, pace=0.1, visitor="b")
    fleet.host()
    wait_for(lambda: over(before) and over(after), "both to end")
    assert {turn.extra["model"] for turn in before.turns.all()} == {"bisect-2026"}
    assert {turn.extra["model"] for turn in after.turns.all()} == {"lost-2026"}
    assert after.seats.get().set_up["version"] == 2


def test_a_deleted_agent_plays_no_further(fleet: Fleet, agent_of: MakeAgent) -> None:
    from apps.agents import operations

    agent = agent_of("bisect")
    episode = shows.start(ENV_ID, agent, seed=2, pace=0.1, visitor="a")
    operations.delete(agent)
    fleet.host()
    wait_for(lambda: over(episode), "the show to end")
    assert "was deleted by its owner" in episode.failure
