"""PettingZoo's own tests find nothing wrong with our environments."""

import warnings

import pytest

pytest.importorskip("pettingzoo")

from pettingzoo.test import api_test, parallel_api_test, seed_test
from pettingzoo.utils.env import AECEnv

import gem
from gem.adapters.pettingzoo import aec_env, parallel_env
from gem.errors import InvalidArgument

DUELS = [spec.id for spec in gem.registry.specs() if spec.seats > 1]


@pytest.mark.parametrize("env_id", DUELS)
def test_the_api_test_of_pettingzoo_passes(env_id: str) -> None:
    env = aec_env(env_id)
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", message=".*(NumPy array|space for each agent).*")
        api_test(env, num_cycles=200)
    assert isinstance(env, AECEnv)
    seed_test(lambda: aec_env(env_id), num_cycles=20)


def test_the_parallel_api_test_passes_where_all_act_at_once() -> None:
    env = parallel_env("duel:PrisonersDilemma-v0")
    parallel_api_test(env, num_cycles=200)
    with pytest.raises(InvalidArgument, match="aec_env"):
        parallel_env("duel:TicTacToe-v0")


def test_a_step_without_the_action_of_an_agent_is_refused_before_any_is_taken() -> None:
    env = parallel_env("duel:PrisonersDilemma-v0", rounds=2)
    env.reset(seed=1)
    for actions, sentence in (
        ({}, "that of seat_0, seat_1 is missing"),
        ({"seat_0": "\\boxed{betray}"}, "that of seat_1 is missing"),
        ({"seat_0": "\\boxed{betray}", "seat_1": 1}, "must be a string"),
    ):
        with pytest.raises(InvalidArgument, match=sentence):
            env.step(actions)
    _, rewards, _, _, _ = env.step(dict.fromkeys(env.agents, "\\boxed{silent}"))
    assert rewards["seat_0"] == rewards["seat_1"]  # nobody has betrayed


def test_both_interfaces_give_the_rewards_of_the_environment() -> None:
    env = parallel_env("duel:PrisonersDilemma-v0", rounds=2)
    observations, _ = env.reset(seed=1)
    assert "You are the first player." in observations["seat_0"]
    moves = {"seat_0": "\\boxed{betray}", "seat_1": "\\boxed{silent}"}
    observations, rewards, terminations, _, _ = env.step(moves)
    assert rewards == {"seat_0": 0.0, "seat_1": 0.0}
    assert not any(terminations.values())
    _, rewards, terminations, truncations, infos = env.step(moves)
    assert rewards == {"seat_0": 1.0, "seat_1": 0.0}
    assert all(terminations.values())
    assert not any(truncations.values())
    assert [infos[agent]["success"] for agent in ("seat_0", "seat_1")] == [True, False]
    assert env.agents == []


def test_an_agent_reads_its_own_texts_only() -> None:
    env = aec_env("duel:KuhnPoker-v0")
    env.reset(seed=3)
    cards = env.gem_env.unwrapped.cards
    words = ("jack", "queen", "king")
    for seat in (0, 1):
        text = env.observe(f"seat_{seat}").partition("You are")[2]
        assert words[cards[seat]] in text
        assert words[cards[1 - seat]] not in text


def test_a_fault_ends_the_episode_for_both() -> None:
    env = aec_env("duel:TicTacToe-v0")
    env.reset(seed=0)
    env.step("I give up.")
    assert env.terminations == {"seat_0": True, "seat_1": True}
    assert env.rewards == {"seat_0": -1.0, "seat_1": 1.0}
    earned = {}
    for agent in env.agent_iter():
        _, earned[agent], *_ = env.last()
        env.step(None)
    assert earned == {"seat_0": -1.0, "seat_1": 1.0}
    assert env.agents == []


def test_an_id_with_one_seat_is_refused_in_a_sentence() -> None:
    for make in (aec_env, parallel_env):
        with pytest.raises(InvalidArgument, match="game:Sokoban-v0 has one seat"):
            make("game:Sokoban-v0")
        with pytest.raises(InvalidArgument, match="has one seat"):
            make("duel:PrisonersDilemma-v0", opponent="random")
    with pytest.raises(InvalidArgument, match="duel:TicTacToe-v0 act in turn: use aec_env"):
        parallel_env("duel:TicTacToe-v0")
