"""Values by enumerating what can happen: against formulas, against forks, and with a bound where branches are left."""

from __future__ import annotations

import math
from collections.abc import Iterable
from typing import Any

import pytest

import gem
from gem.agents import make_agent
from gem.agents.agent import Request
from gem.analysis.exact.dynamics import Dynamics
from gem.analysis.exact.values import Distribution, ExactValues, TooManySituations
from gem.analysis.true_advantage import fork, true_advantage, turns
from gem.envs.games.fifteen_puzzle import FifteenPuzzle, slides
from gem.envs.games.guess_the_number import GuessTheNumber
from gem.envs.games.tower_of_hanoi import TowerOfHanoi
from gem.envs.multiagent import MultiAgentEnv
from gem.errors import InvalidArgument
from gem.records import EpisodeRecord
from gem.rollout import EpisodeRequest, Start, rollout

GUESS, HANOI = "game:GuessTheNumber-v0-easy", "game:TowerofHanoi-v0-easy"
PUZZLE, TICTACTOE = "game:FifteenPuzzle-v0-easy", "duel:TicTacToe-v0-vs-random"
RANDOM = make_agent("random")


class RandomChooser:
    """The random agent, by what it draws from."""

    def distributions(self, requests: Iterable[Request]) -> list[Distribution]:
        return [dict.fromkeys(actions, 1 / len(actions)) for actions in map(random_actions, requests)]


def random_actions(request: Request) -> list[str]:
    env = request.env.unwrapped
    if isinstance(env, MultiAgentEnv):
        return env.random_actions()
    if isinstance(env, GuessTheNumber):
        return [f"\\boxed{{{number}}}" for number in range(env.min_number, env.max_number + 1)]
    if isinstance(env, TowerOfHanoi):
        return [f"\\boxed{{{source} {target}}}" for source, target in env.legal_moves()]
    assert isinstance(env, FifteenPuzzle)
    return [f"\\boxed{{{move}}}" for move in slides(env.num_rows)[env.board.index(0)]]


def played(env_id: str, seeds: Iterable[int], **env_kwargs: Any) -> list[EpisodeRecord]:
    records = rollout(RANDOM, [EpisodeRequest(seed, env_id, seed, env_kwargs) for seed in seeds])
    return sorted(records, key=lambda record: record.index)


def turns_of(record: EpisodeRecord) -> list[tuple[Start, str]]:
    return list(turns(record.identity, [turn.action for turn in record.turns]))


def values_of(
    env_id: str, discount: float, *, reads_past: bool = False, floor: float = 0.0, **env_kwargs: Any
) -> ExactValues:
    dynamics = Dynamics(env_id, env_kwargs, (), reads_past=reads_past)
    return ExactValues(dynamics, RandomChooser(), discount=discount, floor=floor)


def test_guesses_without_memory_follow_a_formula() -> None:
    """A blind guesser of six numbers: the secret with chance 1/6 each time, and at the end a near miss."""
    [record] = played(GUESS, [2], max_number=6, max_turns=3)
    env = gem.make(GUESS, max_number=6)
    env.reset(seed=2)
    secret = env.unwrapped.secret
    near = math.fsum(1 - abs(guess - secret) / 5 for guess in range(1, 7) if guess != secret) / 6

    def value(left: int) -> float:
        return 1 / 6 + (near if left == 1 else 5 / 6 * 0.8 * value(left - 1))

    values = values_of(GUESS, 0.8, max_number=6, max_turns=3)
    taken = turns_of(record)
    values.prepare(taken)
    for start, action in taken:
        found = values.advantage(start, action)
        assert found.before == pytest.approx(value(3 - start.turn))
        assert found.error == pytest.approx(0.0, abs=1e-12)


@pytest.mark.parametrize(
    ("env_id", "seeds", "first", "env_kwargs"),
    [
        (GUESS, [0, 1, 2], 0, {"max_number": 5, "max_turns": 3}),
        (HANOI, [1], 3, {"max_turns": 8}),
        (PUZZLE, [0, 1], 0, {"max_turns": 6}),
        (TICTACTOE, [0, 5, 8], 1, {}),
    ],
)
def test_forks_agree_with_it(env_id: str, seeds: list[int], first: int, env_kwargs: dict[str, Any]) -> None:
    """Forks know the truth with an error; nearly all are within their intervals."""
    values, checked, within = values_of(env_id, 0.9, **env_kwargs), 0, 0
    for record in played(env_id, seeds, **env_kwargs):
        taken = turns_of(record)[first:]
        values.prepare(taken)
        for start, action in taken:
            exact = values.advantage(start, action)
            continuations = fork(RANDOM, record.identity, start, action, count=32)
            assert continuations is not None
            found = true_advantage(continuations, 0.9)
            checked += 1
            within += abs(found.mean - exact.mean) <= (found.half_width or 0.1)
    assert checked >= 5
    assert within >= 0.8 * checked, f"{within} of {checked}"


def test_branches_that_are_not_followed_bound_the_error() -> None:
    [record] = played(PUZZLE, [1], max_turns=6)
    taken = turns_of(record)
    whole, part = values_of(PUZZLE, 1.0, max_turns=6), values_of(PUZZLE, 1.0, floor=0.1, max_turns=6)
    whole.prepare(taken)
    part.prepare(taken)
    errors = []
    for start, action in taken:
        exact, bounded = whole.advantage(start, action), part.advantage(start, action)
        assert abs(exact.mean - bounded.mean) <= bounded.error + 1e-12
        errors.append(bounded.error)
    assert max(errors) > 0


def test_an_agent_that_reads_the_past_has_more_situations() -> None:
    [record] = played(PUZZLE, [1])
    last = turns_of(record)[-4:]
    markov, transcript = values_of(PUZZLE, 1.0), values_of(PUZZLE, 1.0, reads_past=True)
    for values in (markov, transcript):
        values.prepare(last)
    assert len(transcript.dynamics.situations) > len(markov.dynamics.situations)
    for start, action in last:
        assert transcript.advantage(start, action) == pytest.approx(markov.advantage(start, action))


def test_what_cannot_be_enumerated_is_refused() -> None:
    with pytest.raises(InvalidArgument, match="not enumerated"):
        Dynamics("game:Game2048-v0-easy", {}, (), reads_past=False)
    with pytest.raises(InvalidArgument, match="fill it"):
        Dynamics("duel:TicTacToe-v0", {}, (), reads_past=False)
    with pytest.raises(InvalidArgument, match="not known"):
        Dynamics("duel:KuhnPoker-v0-vs-expert", {}, (), reads_past=False)
    [record] = played(HANOI, [1])
    values = ExactValues(Dynamics(HANOI, {}, (), reads_past=False), RandomChooser(), discount=1.0, limit=10)
    with pytest.raises(TooManySituations, match="More than 10 situations"):
        values.prepare(turns_of(record))
