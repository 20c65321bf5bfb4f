"""Two seats in the one contract: rollout, record, replay, wrappers, opponents."""

import dataclasses

import pytest

import gem
from gem.agents import Request, make_agent
from gem.errors import InvalidArgument
from gem.replay import verify
from gem.rollout import EpisodeRequest, rollout
from gem.seats import SPECTATOR, observation_for_seat
from gem.wrappers import describe, wrap

DUEL = "duel:TicTacToe-v0"
RANDOM, EXPERT = make_agent("random"), make_agent("expert")


def test_each_seat_is_played_by_its_agent_and_every_record_can_be_verified() -> None:
    slots = [EpisodeRequest(i, DUEL, seed=i // 2, seat=i % 2) for i in range(40)]
    records = list(rollout(EXPERT, slots, num_envs=7, opponent=RANDOM))
    assert sorted(record.index for record in records) == list(range(40))
    for record in records:
        assert record.seat == record.index % 2
        assert [turn.seat for turn in record.turns] == [number % 2 for number in range(record.turn_count)]
        assert record.total_rewards[0] == -record.total_rewards[1]
        assert record.total_reward == record.total_rewards[record.seat] >= 0
        assert record.success == (record.total_reward > 0)
        assert verify(record.identity, record.turns, terminated=True, truncated=False) is None
    assert sum(bool(record.success) for record in records) > 30


def test_a_turn_of_the_wrong_seat_is_found_out() -> None:
    (record,) = rollout(RANDOM, [EpisodeRequest(0, DUEL, 3)])
    turns = [dataclasses.replace(record.turns[0], seat=1), *record.turns[1:]]
    difference = verify(record.identity, turns)
    assert difference is not None
    assert (difference.turn, difference.field) == (1, "seat")
    unknown = [dataclasses.replace(turn, seat=None) for turn in record.turns]
    assert verify(record.identity, unknown) is None


def test_a_slot_in_a_seat_that_there_is_not_is_refused() -> None:
    with pytest.raises(InvalidArgument, match="seats 0 to 1"):
        list(rollout(RANDOM, [EpisodeRequest(0, DUEL, 3, seat=2)]))


def test_each_seat_reads_its_own_history() -> None:
    env = wrap(gem.make(DUEL), [{"name": "concat_with_action"}])
    observation, info = env.reset(seed=0)
    for cell in (5, 1, 9):
        observation, _, _, _, info = env.step(f"I think \\boxed{{{cell}}}")
    first, second = (observation_for_seat(seat, observation, info)[0] for seat in (0, 1))
    assert first.count("I think") == 2
    assert second.count("I think") == 1
    assert "X takes cell 5.\nO takes cell 1.\n" in first
    assert "You are O.\nX takes cell 5.\nI think \\boxed{1}\nO takes cell 1.\nX takes cell 9.\n" in second
    assert observation == "X takes cell 9."


def test_wrappers_keep_the_seats() -> None:
    env = wrap(gem.make(DUEL), [{"name": "time_limit", "max_turns": 3}, {"name": "episode_tracking"}])
    env.reset(seed=0)
    assert (env.seats, env.to_act) == (2, (0,))
    for cell in (1, 2, 3):
        observation, _, terminated, truncated, info = env.step(f"\\boxed{{{cell}}}")
    assert (terminated, truncated, env.to_act) == (False, True, ())
    assert [own["success"] for own in info["seats"]] == [False, False]
    assert all("turn limit" in text for text in (observation, *(own["observation"] for own in info["seats"])))
    assert [own["cumulative_rewards"] for own in info["seats"]] == [0.0, 0.0]


def test_only_the_seat_that_is_to_act_is_offered_something() -> None:
    env = gem.make(DUEL)
    env.reset(seed=0)
    for turn in range(2):
        offered = [any("act" in cell for row in env.view(seat)["rows"] for cell in row) for seat in (0, 1, SPECTATOR)]
        assert offered == [turn == 0, turn == 1, False]
        env.step(env.sample_random_action())


@pytest.mark.parametrize("seat", [0, 1])
def test_a_single_agent_can_meet_an_opponent(seat: int) -> None:
    env = gem.make(DUEL, opponent="expert", seat=seat)
    assert env.seats == 1
    for seed in range(20):
        observation, info = env.reset(seed=seed)
        assert env.to_act == (0,)
        assert f"You are {'XO'[seat]}." in observation
        assert ("X takes" in observation) == (seat == 1)
        total, over = 0.0, False
        while not over:
            _, reward, terminated, truncated, info = env.step(
                EXPERT.act([Request(env, observation, info, 1)])[0].action
            )
            total, over = total + reward, terminated or truncated
        assert (total, info["success"], env.to_act) == (0.0, False, ())  # a draw
        assert "seats" not in info


def test_the_seat_against_an_opponent_is_drawn_from_the_seed() -> None:
    env = gem.make("duel:TicTacToe-v0-vs-random")
    seats = []
    for seed in range(40):
        env.reset(seed=seed)
        seats.append(env.seat)
    assert 10 < sum(seats) < 30
    env.reset(seed=7)
    assert env.seat == seats[7]


def test_an_opponents_episode_is_verified_from_the_own_actions_alone() -> None:
    slots = [
        EpisodeRequest(0, DUEL, 5, {"opponent": "random", "seat": 1}),
        EpisodeRequest(1, DUEL, 5, {}, [{"name": "opponent", "agent": "expert", "seat": 1}]),
        EpisodeRequest(2, "duel:TicTacToe-v0-vs-expert", 5),
    ]
    for record in rollout(RANDOM, slots):
        assert verify(record.identity, record.turns, terminated=record.terminated) is None
        assert {turn.seat for turn in record.turns} == {0}


def test_a_fault_costs_as_much_as_a_loss() -> None:
    env = gem.make(DUEL)
    env.reset(seed=0)
    *_, info = env.step("I resign.")
    assert [own["reward"] for own in info["seats"]] == [-1.0, 1.0]
    assert [own["success"] for own in info["seats"]] == [False, True]
    env.reset(seed=0)
    env.step("\\boxed{5}")
    for over in (False, True):
        _, reward, terminated, _, info = env.step("\\boxed{5}")
        assert (terminated, info["error"], reward) == (over, "rule", -1.0 if over else 0.0)
    assert [own["reward"] for own in info["seats"]] == [1.0, -1.0]


def test_an_opponent_that_cannot_be_is_refused() -> None:
    for wrong in (
        {"opponent": "exprt"},
        {"opponent": "expert", "seat": 2},
        {"seat": 1},
    ):
        with pytest.raises(InvalidArgument):
            gem.make(DUEL, **wrong)
    with pytest.raises(InvalidArgument, match="Did you mean opponent"):
        gem.make(DUEL, oponent="expert")
    with pytest.raises(InvalidArgument, match="one seat"):
        wrap(gem.make("game:Wordle-v0"), [{"name": "opponent"}])


def test_an_opponent_is_described_once() -> None:
    assert describe(gem.make("duel:TicTacToe-v0-vs-expert")) == []
    made = gem.make(DUEL, opponent="expert", seat=1)
    assert describe(made.spawn()) == []
    assert made.unwrapped.env_kwargs == {"opponent": "expert", "seat": 1}
    assert describe(wrap(gem.make(DUEL), [{"name": "opponent", "agent": "expert", "seat": 1}])) == [
        {"name": "opponent", "agent": "expert", "seat": 1}
    ]
