"""The adversary that looks everything up knows practice seeds by heart, and nothing that it has not read."""

import hashlib
import hmac
from dataclasses import replace

import pytest

from bench.agents import lookup_agent
from bench.agents.lookup_agent import LookupAgent
from bench.starts import count, without_chance
from gem import benchmarks
from gem.benchmarks import BenchmarkEntry

GAMES = benchmarks.load("games-easy")


def entry(env_id: str) -> BenchmarkEntry:
    """An environment with a few practice seeds."""
    return replace(GAMES.entry(env_id), episodes=12)


@pytest.mark.parametrize(("env_id", "is_open"), [("game:TowerofHanoi-v0-easy", True), ("game:Sudoku-v0-easy", False)])
def test_it_wins_on_practice_seeds_and_elsewhere_only_on_an_open_set(env_id: str, is_open: bool) -> None:
    here = entry(env_id)
    agent = LookupAgent(lookup_agent.public_table(here))
    assert lookup_agent.score(here, lookup_agent.returns_on(agent, env_id, here.seeds)) == 1
    assert agent.unknown == 0
    unrelated = lookup_agent.seeds_of(lookup_agent.UNRELATED_KEY, GAMES, env_id, 12)
    hidden = lookup_agent.score(here, lookup_agent.returns_on(agent, env_id, unrelated))
    assert (hidden >= 0.9) is is_open
    assert bool(GAMES.entry(env_id).open_set) is is_open


def test_what_it_has_not_read_it_plays_at_random() -> None:
    here = entry("game:Wordle-v0-easy")
    table = lookup_agent.public_table(here)
    knowing, ignorant = LookupAgent(table), LookupAgent({})
    lookup_agent.returns_on(ignorant, here.env_id, here.seeds)
    assert ignorant.known == 0
    lookup_agent.returns_on(knowing, here.env_id, range(5, 9))
    assert knowing.unknown > 0


def test_seeds_follow_from_a_key_and_are_exact_in_json() -> None:
    key = bytes(range(32))
    first, second = lookup_agent.seeds_of(key, GAMES, "game:Sokoban-v0-easy", 2)
    text = b"games-easy/1/game:Sokoban-v0-easy/common/0"
    bits = f"{int.from_bytes(hmac.new(key, text, hashlib.sha256).digest(), 'big'):0256b}"
    assert first == int(bits[:53], 2) < 2**53
    assert first != second
    assert lookup_agent.seeds_of(bytes(32), GAMES, "game:Sokoban-v0-easy", 1) != [first]


def test_a_difference_counts_only_beyond_its_simultaneous_interval() -> None:
    even, odd = [0.0, 1.0] * 20, [0.0, 0.0, 1.0, 0.0] * 10
    assert not lookup_agent.agrees(even, odd, 1)
    assert lookup_agent.agrees(even, odd, 50)
    assert lookup_agent.agrees([1.0] * 9, [1.0] * 9, 1)
    assert not lookup_agent.agrees([1.0] * 9, [0.9] * 9, 1)


def test_starts_are_counted_with_what_is_hidden() -> None:
    assert count("game:TowerofHanoi-v0-easy", 30) == (1, 1)
    starts, observations = count("game:GuessTheNumber-v0-easy", 200)
    assert (starts, observations) == (10, 1)
    assert without_chance({"env": {"seed": 1, "rng": "x", "board": [{"seed": 2, "a": 3}]}}) == {
        "env": {"board": [{"a": 3}]}
    }
    for name in benchmarks.names():
        for each in benchmarks.load(name).entries:
            found = benchmarks.starts(each.env_id, each.env_version)
            assert found is not None or not each.hidden_seeds or each.env_id.startswith("terminal:")
