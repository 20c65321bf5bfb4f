"""Remote agents, over real processes: they wait for seats, act wherever agents do, and survive whatever is killed."""

from __future__ import annotations

import asyncio
import json
import os
import signal
import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from websockets.exceptions import InvalidStatus
from websockets.sync.client import connect

from gem.client.serving import REPLACED
from tests.live.processes import Fleet, Web, closed_with, wait_for
from tests.live.remote_agents import bisect, connected

if TYPE_CHECKING:
    from apps.accounts.models import User
    from apps.agents.models import Agent
    from apps.episodes.models import Episode

GUESS = "game:GuessTheNumber-v0"
ROOT = Path(__file__).parents[2]


@pytest.fixture
def owner(transactional_db: None) -> User:
    """Whose the agent is."""
    from apps.accounts.models import User

    return User.objects.create_user("ada")


@pytest.fixture
def guesser(owner: User) -> Agent:
    """A remote agent."""
    from apps.remote import operations

    return operations.create(owner, "guesser", seats=3)


@pytest.fixture
def token(owner: User, guesser: Agent) -> str:
    """A token that connects it, and does nothing else."""
    from apps.api import operations

    return operations.make_token(owner, "laptop", [], agent=guesser)[1]


def socket_of(web: Web, agent: Agent) -> str:
    return f"ws://127.0.0.1:{web.port}/agents/{agent.slug}/line"


def ended(episode: Episode) -> bool:
    episode.refresh_from_db()
    return episode.over


def connected_now(agent: Agent) -> bool:
    agent.remote.refresh_from_db()
    return agent.remote.is_connected


def start_show(agent: Agent, owner: User, seed: int = 3, **more: Any) -> Episode:
    from apps.play.shows import operations as shows

    return shows.start(more.pop("env_id", GUESS), agent, seed=seed, pace=0.1, user=owner, **more)


def test_it_plays_what_waited_for_it_as_the_engine_does(fleet: Fleet, guesser: Agent, token: str, owner: User) -> None:
    from apps.episodes import operations as episodes

    web, _ = fleet.web(), fleet.host()
    episode = start_show(guesser, owner)
    with connected(bisect, socket_of(web, guesser), token) as agent:
        wait_for(lambda: ended(episode), "the end of the episode")
        turns = list(episode.turns.order_by("number"))
        agent.wait_for("answered", len(turns))
    assert episode.seats.get().success
    assert episodes.verify(episode) is None
    assert all(turn.extra["seconds"] > 0 for turn in turns)
    wait_for(lambda: not connected_now(guesser), "the end of the connection")
    assert guesser.remote.came_from == "laptop"
    sent = [data for event, data in agent.events if event == "turn"]
    assert [data["place"] for data in sent] == ["live episode"] * len(turns)
    assert "seed" not in json.dumps(sent)


def test_it_goes_on_after_the_web_process_and_the_host_were_killed(
    fleet: Fleet, guesser: Agent, token: str, owner: User
) -> None:
    web, host = fleet.web(), fleet.host()
    episode = start_show(guesser, owner, seed=2)
    gate = {"open": False}

    async def wait_then_bisect(observation: str, info: dict[str, Any]) -> str:
        while info["turn"] >= 3 and not gate["open"]:
            await asyncio.sleep(0.01)
        return bisect(observation, info)

    with connected(wait_then_bisect, socket_of(web, guesser), token) as agent:
        agent.wait_for("turn", 3)
        host.signal(signal.SIGKILL)
        host.process.wait()
        fleet.host()
        web.running.signal(signal.SIGKILL)
        web.running.process.wait()
        agent.wait_for("lost")
        gate["open"] = True
        fleet.web(port=web.port)
        wait_for(lambda: ended(episode), "the end of the episode")
        assert agent.count("ready") == 2
    assert episode.seats.get().success
    assert not episode.failure


def test_it_plays_the_episodes_of_a_job(fleet: Fleet, guesser: Agent, token: str, owner: User) -> None:
    from apps.jobs import operations as jobs
    from apps.jobs.models import Job
    from gem.evaluation.spec import EvaluationSpec
    from tests.workers.test_endpoint_jobs import played, tally

    web = fleet.web()
    spec = {"agent": guesser.slug, "env_ids": (GUESS,), "episodes_per_env": 6, "num_envs": 6}
    job = jobs.submit(owner, EvaluationSpec.model_validate(spec))
    with connected(bisect, socket_of(web, guesser), token) as agent:
        played(job)
    assert (job.state, tally(job).errors, tally(job).won) == (Job.State.DONE, 0, 6)
    sent = [data for event, data in agent.events if event == "turn"]
    assert len({data["episode"] for data in sent}) == 6
    assert sent[0]["place"].startswith(f"job {job.pk[:4].upper()}, episode ")
    assert "seed" not in json.dumps(sent)


def test_it_duels_and_a_failure_of_its_own_rests_the_episode(
    fleet: Fleet, guesser: Agent, token: str, owner: User, agents: dict[str, Agent]
) -> None:
    web, _ = fleet.web(), fleet.host()
    duel = start_show(guesser, owner, env_id="duel:KuhnPoker-v0", opponent=agents["random"])

    def play(observation: str, info: dict[str, Any]) -> str:
        return "\\boxed{fold}" if "fold" in observation else "\\boxed{check}"

    def fail(observation: str, info: dict[str, Any]) -> str:
        raise ValueError("out of tea")

    with connected(play, socket_of(web, guesser), token):
        wait_for(lambda: ended(duel), "the end of the duel")
    assert not duel.failure
    episode = start_show(guesser, owner)
    with connected(fail, socket_of(web, guesser), token):
        wait_for(lambda: resting(episode), "the episode to rest")
    assert "out of tea" in episode.show.trouble


def resting(episode: Episode) -> bool:
    episode.show.refresh_from_db()
    return bool(episode.show.paused)


def test_the_newest_connection_counts_and_only_the_owner_has_one(
    fleet: Fleet, guesser: Agent, token: str, owner: User
) -> None:
    from apps.accounts.models import User
    from apps.api import operations

    web = fleet.web()
    address = socket_of(web, guesser)
    playing, bobs = (
        operations.make_token(person, "a program", [scope])[1]
        for person, scope in ((owner, "play"), (User.objects.create_user("bob"), "answer"))
    )
    for secret, status in (("", 401), ("gw_wrong", 401), (playing, 403), (bobs, 404)):
        with pytest.raises(InvalidStatus) as refused:
            connect(address, additional_headers={"Authorization": f"Bearer {secret}"})
        assert refused.value.response.status_code == status
        assert b"detail" in (refused.value.response.body or b"")
    headers = {"Authorization": f"Bearer {token}"}
    with connect(address, additional_headers=headers) as first:
        assert json.loads(first.recv())["type"] == "ready"
        first.send("[]")
        first.send('{"episode": [], "turn": 1, "action": "x"}')
        first.send('{"episode": "none", "turn": 1, "action": "x"}')
        assert [json.loads(first.recv())["type"] for _ in range(3)] == ["refused"] * 3
        with connect(address, additional_headers=headers) as second:
            assert json.loads(second.recv()) == {"type": "ready", "agent": guesser.slug, "seats": 3}
            assert closed_with(first) == REPLACED


def test_the_example_plays_with_nothing_but_its_thirty_lines(
    fleet: Fleet, guesser: Agent, token: str, owner: User, tmp_path: Path
) -> None:
    from apps.connect.program import program_for

    example, shown = ROOT / "examples/remote_agent.py", program_for("wss://example.org/agents/my-agent-1a2b3c/line")
    assert example.read_text().split('"""', 2)[2] == shown.split('"""', 2)[2]
    web, _ = fleet.web(), fleet.host()
    episode = start_show(guesser, owner, env_id="game:GuessTheNumber-v0-easy", seed=1)
    own = {"GEMWEB_TOKEN": token, "GEMWEB_SOCKET": socket_of(web, guesser)}
    with subprocess.Popen([sys.executable, str(example)], env={**os.environ, **own}, cwd=tmp_path) as process:
        try:
            wait_for(lambda: ended(episode), "the end of the episode")
        finally:
            process.terminate()
    assert {turn.action for turn in episode.turns.all()} == {"\\boxed{5}"}
    assert not episode.failure
