"""The process that `python -m bench.engine` measures in, on our side."""

import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

import gem
from bench.engine.peers import REQUIREMENTS, PeerError, Worker

ENV_ID = "game:Minesweeper-v0-hard"


@pytest.fixture
def worker(tmp_path: Path) -> Iterator[Worker]:
    worker = Worker("ours", Path(sys.executable), tmp_path)
    yield worker
    worker.close()


def test_it_times_every_turn_of_the_prepared_episodes(worker: Worker) -> None:
    seeds = [3, 4, 5]
    actions = worker.ask("prepare_own", env_id=ENV_ID, seeds=seeds)
    expected = sum(turns_taken(seed, own) for seed, own in zip(seeds, actions, strict=True))
    for _ in range(2):  # a second round begins where the first one did
        seconds, turns = worker.ask("steps", env_id=ENV_ID, actions=actions)
        assert turns == expected
        assert seconds > 0


def turns_taken(seed: int, actions: list[str]) -> int:
    env = gem.make(ENV_ID)
    env.reset(seed=seed)
    for turn, action in enumerate(actions, start=1):
        _, _, terminated, truncated, _ = env.step(action)
        if terminated or truncated:
            return turn
    raise AssertionError("the actions end before the episode")


def test_it_says_what_it_cannot_measure_and_goes_on(worker: Worker) -> None:
    with pytest.raises(PeerError, match="No environment is registered as 'game:Nothing-v0'"):
        worker.ask("memory", env_id="game:Nothing-v0", count=1)
    assert worker.ask("memory", env_id=ENV_ID, count=2) < 64_000


def test_a_vector_takes_a_turn_in_every_slot(worker: Worker) -> None:
    turns = [["\\boxed{1}"] * 5] * 3
    for kind in ("sync", "threads"):
        assert worker.ask("vector", env_id="game:GuessTheNumber-v0-hard", turns=turns, kind=kind)[1] == 15


def test_every_peer_is_pinned() -> None:
    named = [word for line in REQUIREMENTS.read_text().splitlines() if line[:1] != "#" for word in line.split()]
    assert named
    assert all("==" in word for word in named)
