"""The true advantage of a turn, measured by forking, against exact values by dynamic programming."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from functools import cache

import pytest

import gem
from gem.agents import Decision, Request, make_agent
from gem.analysis.true_advantage import Continuations, Outcome, fork, true_advantage, turns
from gem.envs.games.tower_of_hanoi import TOWERS
from gem.errors import AgentFailure, VersionChanged
from gem.records import EpisodeRecord, Identity
from gem.rollout import EpisodeRequest, Start, rollout

GUESS, HANOI = "game:GuessTheNumber-v0-easy", "game:TowerofHanoi-v0-easy"
RANDOM = make_agent("random")
COUNT = 32
Exact = Callable[[EpisodeRecord, int, float], tuple[float, float]]
"""Q and V of the random agent in a turn, counted from 0."""


def _played(env_id: str, seeds: Sequence[int]) -> list[EpisodeRecord]:
    records = rollout(RANDOM, [EpisodeRequest(seed, env_id, seed) for seed in seeds])
    return sorted(records, key=lambda record: record.index)


def _actions(record: EpisodeRecord) -> list[str]:
    return [turn.action for turn in record.turns]


def _exact_guess(record: EpisodeRecord, turn: int, discount: float) -> tuple[float, float]:
    """The secret stays, and the random agent guesses a number from 1 to 10, whatever it has guessed before."""
    env = gem.make(GUESS)
    env.reset(seed=record.identity.seed)
    secret, limit = env.unwrapped.secret, env.max_turns

    @cache
    def after(guess: int, before: frozenset[int], taken: int) -> float:
        if guess == secret:
            return 1.0
        if taken == limit:
            return 1 - abs(guess - secret) / 9
        return discount * value(before | {guess}, taken)

    @cache
    def value(before: frozenset[int], taken: int) -> float:
        return math.fsum(after(guess, before, taken + 1) for guess in range(1, 11)) / 10

    guesses = [int(action.strip("\\boxed{}")) for action in _actions(record)]
    before = frozenset(guesses[:turn])
    return after(guesses[turn], before, turn + 1), value(before, turn)


def _exact_hanoi(record: EpisodeRecord, turn: int, discount: float) -> tuple[float, float]:
    """All is visible, and the random agent takes each of the legal moves equally often."""
    limit, disks = record.max_turns, 3

    def moves(position: tuple[str, str, str]) -> list[tuple[int, int]]:
        tops = [tower[-1:] or "9" for tower in position]
        return [(a, b) for a in range(3) for b in range(3) if tops[a] < tops[b]]

    def after(position: tuple[str, str, str], move: tuple[int, int], taken: int) -> float:
        towers = list(position)
        towers[move[1]] += towers[move[0]][-1]
        towers[move[0]] = towers[move[0]][:-1]
        if len(towers[2]) == disks:
            return 1.0
        if taken == limit:
            return len(towers[2]) / disks
        return discount * value((towers[0], towers[1], towers[2]), taken)

    @cache
    def value(position: tuple[str, str, str], taken: int) -> float:
        return math.fsum(after(position, move, taken + 1) for move in moves(position)) / len(moves(position))

    env = gem.make(HANOI)
    env.reset(seed=record.identity.seed)
    for action in _actions(record)[:turn]:
        env.step(action)
    towers = env.unwrapped.towers
    position = (towers["A"], towers["B"], towers["C"])
    source, target = _actions(record)[turn][7:-1].split()
    return after(position, (TOWERS.index(source), TOWERS.index(target)), turn + 1), value(position, turn)


@pytest.mark.parametrize(
    ("env_id", "exact", "seeds"), [(GUESS, _exact_guess, range(16)), (HANOI, _exact_hanoi, range(5))]
)
def test_it_agrees_with_exact_values_within_two_standard_errors(env_id: str, exact: Exact, seeds: range) -> None:
    scores = []
    for record in _played(env_id, seeds):
        for number, (start, action) in enumerate(turns(record.identity, _actions(record))):
            continuations = fork(RANDOM, record.identity, start, action, count=COUNT)
            assert continuations is not None
            for discount in (0.7, 1.0):
                found = true_advantage(continuations, discount)
                after, before = exact(record, number, discount)
                assert found.half_width is not None
                scores.append((found.mean - (after - before)) / (found.half_width / 2))
    within = sum(abs(score) <= 2 for score in scores) / len(scores)
    assert len(scores) > 80
    assert within >= 0.9, f"{within:.0%} of {len(scores)} are within two standard errors"
    assert abs(math.fsum(scores)) / len(scores) < 0.25, "there is a bias"


def test_where_nothing_is_left_to_chance_it_is_exact() -> None:
    [record] = _played(HANOI, [3])
    expert = make_agent("expert")
    for start, action in turns(record.identity, _actions(record)):
        continuations = fork(expert, record.identity, start, action, count=2)
        assert continuations is not None
        assert len(continuations.taken) == len(continuations.anew) == 1
        assert true_advantage(continuations, 0.9).half_width is None


def test_what_the_reset_drew_stays_and_what_comes_later_is_drawn_anew() -> None:
    [record] = _played("game:Game2048-v0-easy", [5])
    start, action = next(iter(turns(record.identity, _actions(record))))
    requests = [
        EpisodeRequest(key, record.identity.env_id, 5, start=_from(start, action=action, draw_key=key))
        for key in (1, 1, 2, 3, 4)
    ]
    first, again, *others = sorted(rollout(RANDOM, requests), key=lambda each: each.index)
    assert [turn.observation for turn in first.turns] == [turn.observation for turn in again.turns]
    assert {turn.action for turn in (first.turns[0], *(other.turns[0] for other in others))} == {action}
    assert len({other.turns[-1].observation for other in others} | {first.turns[-1].observation}) > 1
    env = gem.make("game:Game2048-v0-easy")
    env.reset(seed=5)
    assert first.first_observation == env.reset(seed=5)[0]


def _from(start: Start, action: str | None = None, draw_key: int = 0) -> Start:
    return Start(start.state, start.observation, start.info, start.turn, start.past, action, draw_key)


class Recalls:
    """Notes what it was asked."""

    name = "recalls"

    def __init__(self) -> None:
        self.asked: list[tuple[int, int]] = []

    def act(self, requests: Sequence[Request]) -> list[Decision]:
        self.asked += [(request.turn, len(request.past)) for request in requests]
        return [Decision("\\boxed{2}") for _ in requests]


def test_an_agent_reads_the_turns_before_the_fork() -> None:
    identity = Identity(GUESS, 1, 7)
    start, action = list(turns(identity, ["\\boxed{1}", "\\boxed{3}"]))[1]
    agent = Recalls()
    assert fork(agent, identity, start, action, count=1) is not None
    assert sorted(set(agent.asked)) == [(2, 1), (3, 2), (4, 3)]


def test_without_a_key_the_episode_goes_on_as_it_would_have() -> None:
    """So an ordinary replay and a start from its states are the same, in every environment that draws later."""
    [record] = _played("game:Game2048-v0-easy", [2])
    starts = list(turns(record.identity, _actions(record)))
    start, _ = starts[2]
    [rest] = rollout(RANDOM, [EpisodeRequest(0, record.identity.env_id, 2, start=_from(start))])
    assert [turn.observation for turn in rest.turns] == [turn.observation for turn in record.turns[2:]]


def test_an_episode_after_a_fork_begins_as_its_seed_says() -> None:
    env = gem.make(GUESS)
    env.reset(seed=4)
    plain = env.sample_random_action()
    env.draw_anew(99)
    drawn = {env.sample_random_action() for _ in range(8)}
    assert len(drawn) > 1
    env.reset(seed=4)
    assert env.sample_random_action() == plain


class Fails(Recalls):
    """Fails in some continuations."""

    def act(self, requests: Sequence[Request]) -> list[Decision]:
        raise AgentFailure("no answer")


def test_failures_do_not_count_and_a_stop_leaves_nothing() -> None:
    identity = Identity(GUESS, 1, 7)
    start, action = next(iter(turns(identity, ["\\boxed{1}"])))
    assert fork(RANDOM, identity, start, action, count=4, stops=lambda: True) is None
    with pytest.raises(VersionChanged):
        next(turns(Identity(GUESS, 99, 7), ["\\boxed{1}"]))


@pytest.mark.parametrize(
    ("taken", "anew", "expected"),
    [
        ([(4, ((1, 1.0),))], [(4, ())], (0.5, None)),
        ([(2, ((0, 1.0),)), (2, ())], [(2, ((0, 1.0),)), (2, ())], (0.0, 1.0)),
    ],
)
def test_the_difference_and_its_interval(
    taken: list[tuple[int, tuple[tuple[int, float], ...]]],
    anew: list[tuple[int, tuple[tuple[int, float], ...]]],
    expected: tuple[float, float | None],
) -> None:
    """Two of four and two of four: the standard error is sqrt(2 * (1/3) / 4), and t with 6 degrees is 2.447."""
    found = true_advantage(
        Continuations(tuple(Outcome(*each) for each in taken), tuple(Outcome(*each) for each in anew)), 0.5
    )
    assert found.mean == pytest.approx(expected[0])
    if expected[1] is None:
        assert found.half_width is None
    else:
        assert found.half_width == pytest.approx(2.447 * math.sqrt(2 / 12), abs=0.003)


def test_tries_that_ended_alike_do_not_prove_that_all_would() -> None:
    """Sixteen zeros beside sixteen returns of which one is 1: the spread of the zeros is not taken to be nothing."""
    zeros, one = (Outcome(16, ()),), (Outcome(15, ()), Outcome(1, ((0, 1.0),)))
    found = true_advantage(Continuations(one, zeros), 1.0)
    assert found.half_width is not None
    assert found.half_width > 2 * math.sqrt((15 / 16 / 15) / 16)
