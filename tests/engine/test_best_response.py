"""What a best opponent wins, against values that are known."""

from __future__ import annotations

from collections.abc import Iterable

import pytest

from gem.agents import make_agent
from gem.agents.agent import Request
from gem.agents.experts.duels.kuhn_poker import aggressive_probability
from gem.analysis.exact.best_response import best_response
from gem.analysis.exact.values import Distribution
from gem.envs.duels.kuhn_poker import KuhnPoker
from gem.envs.multiagent import MultiAgentEnv
from gem.errors import InvalidArgument

KUHN, TICTACTOE = "duel:KuhnPoker-v0", "duel:TicTacToe-v0"


class Uniform:
    """Every action that the rules allow is equally likely."""

    def distributions(self, requests: Iterable[Request]) -> list[Distribution]:
        return [self.of(request) for request in requests]

    def of(self, request: Request) -> Distribution:
        env = request.env.unwrapped
        assert isinstance(env, MultiAgentEnv)
        actions = env.random_actions()
        return dict.fromkeys(actions, 1 / len(actions))


class Equilibrium(Uniform):
    """Kuhn's equilibrium with some probability of acting at random instead."""

    def __init__(self, tremble: float = 0.0) -> None:
        self.tremble = tremble

    def of(self, request: Request) -> Distribution:
        env = request.env.unwrapped
        assert isinstance(env, KuhnPoker)
        passive, active = env.legal_actions() if "bet" not in env.history else env.legal_actions()[::-1]
        probability = aggressive_probability(env.cards[request.seat], env.history)
        probability = probability * (1 - self.tremble) + self.tremble / 2
        return {f"\\boxed{{{active}}}": probability, f"\\boxed{{{passive}}}": 1 - probability}


class Expert(Uniform):
    """The expert, which leaves nothing to chance here."""

    def of(self, request: Request) -> Distribution:
        [decision] = make_agent("expert").act([request])
        return {decision.action: 1.0}


class Babbler(Uniform):
    """Says nothing that can be parsed, half of the time."""

    def of(self, request: Request) -> Distribution:
        return {"hm": 0.5} | {action: share / 2 for action, share in super().of(request).items()}


def test_an_equilibrium_is_worth_what_the_game_is_worth() -> None:
    """Kuhn (1950): the first player loses 1/18 of a chip, so a best opponent wins that from it, and loses it to it."""
    found = best_response(KUHN, Equilibrium())
    assert found.earnings == pytest.approx((-1 / 18, 1 / 18))
    assert found.exploitability == pytest.approx(0.0, abs=1e-12)
    assert found.unit_name == "chips per deal"


def test_a_random_player_of_kuhn_poker_loses_what_is_known() -> None:
    """NashConv of the uniform policy is 11/12 in chips, so its exploitability is 11/24."""
    assert best_response(KUHN, Uniform()).exploitability == pytest.approx(11 / 24)


def test_faults_cost_chips_and_trembling_costs_less() -> None:
    trembling = best_response(KUHN, Equilibrium(0.1)).exploitability
    assert 0 < trembling < best_response(KUHN, Uniform()).exploitability
    assert best_response(KUHN, Babbler()).exploitability > 11 / 24


class Silent(Uniform):
    """Lists few of its responses, or none."""

    def __init__(self, listed: float) -> None:
        self.listed = listed

    def of(self, request: Request) -> Distribution:
        return {action: share * self.listed for action, share in super().of(request).items()} if self.listed else {}


def test_what_an_agent_does_not_list_loses() -> None:
    """Two chips in each deal in which it is to act, which a best opponent sees to."""
    assert best_response(KUHN, Silent(0.0)).exploitability == pytest.approx(2.0)
    assert 11 / 24 < best_response(KUHN, Silent(0.99)).exploitability < 0.6


def test_the_expert_of_tictactoe_cannot_be_beaten() -> None:
    assert best_response(TICTACTOE, Expert()).earnings == pytest.approx((0.0, 0.0))


def test_other_games_are_refused() -> None:
    with pytest.raises(InvalidArgument, match="not computed"):
        best_response("duel:ConnectFour-v0", Uniform())
