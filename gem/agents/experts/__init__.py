"""Experts: one scripted solver for each game, which plays well without access to hidden information.

A solver is a function from an environment to a decision. It reads only what the player can see, and the contract tests
check this: they change what is hidden and expect the same decision. Begin reading at `games.guess_the_number`.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from gem import registry
from gem.agents.agent import Decision, Request
from gem.agents.experts.duels.connect_four import search_deeper
from gem.agents.experts.duels.kuhn_poker import play_equilibrium
from gem.agents.experts.duels.negotiation import concede_slowly
from gem.agents.experts.duels.prisoners_dilemma import repay
from gem.agents.experts.duels.tic_tac_toe import search_all
from gem.agents.experts.games.crosswords import fit_words
from gem.agents.experts.games.fifteen_puzzle import slide_shortest
from gem.agents.experts.games.game_2048 import expectimax
from gem.agents.experts.games.guess_the_number import halve
from gem.agents.experts.games.hangman import guess_letter_or_word
from gem.agents.experts.games.mastermind import guess_code
from gem.agents.experts.games.minesweeper import deduce
from gem.agents.experts.games.sokoban import plan_ahead
from gem.agents.experts.games.sudoku import complete
from gem.agents.experts.games.tower_of_hanoi import move_shortest
from gem.agents.experts.games.wiki_game import search_links
from gem.agents.experts.games.word_search import read_lines
from gem.agents.experts.games.wordle import guess_word
from gem.agents.experts.logic import derive_statement
from gem.agents.experts.questions import look_up
from gem.agents.experts.retail import serve
from gem.agents.experts.tools import search_question
from gem.agents.experts.web_shop import shop_around
from gem.envs.problems import LOGIC_DEPTHS, QA
from gem.envs.with_tools import SEARCH
from gem.errors import InvalidArgument

Solver = Callable[[Any], Decision]

EXPERTS: Mapping[str, Solver] = {
    "dialogue:Retail": serve,
    "duel:ConnectFour": search_deeper,
    "duel:KuhnPoker": play_equilibrium,
    "duel:Negotiation": concede_slowly,
    "duel:PrisonersDilemma": repay,
    "duel:TicTacToe": search_all,
    "game:Crosswords": fit_words,
    "game:FifteenPuzzle": slide_shortest,
    "game:Game2048": expectimax,
    "game:GuessTheNumber": halve,
    "game:Hangman": guess_letter_or_word,
    "game:Mastermind": guess_code,
    "game:Minesweeper": deduce,
    "game:Sokoban": plan_ahead,
    "game:Sudoku": complete,
    "game:TowerofHanoi": move_shortest,
    "game:WikiGame": search_links,
    "game:WordSearch": read_lines,
    "game:Wordle": guess_word,
    **{f"logic:RuleTaker-d{depth}": derive_statement for depth in LOGIC_DEPTHS},
    **dict.fromkeys(QA, look_up),
    "shop:WebShop": shop_around,
    **{f"{env_id}-search": look_up for env_id in SEARCH},
}
"""Category and family of an environment to its solver. A new solver adds a line here."""
ToolStep = Callable[[Request], Decision | None]
TOOL_STEPS: Mapping[str, ToolStep] = {f"{env_id}-search": search_question for env_id in SEARCH}
"""Category and family to a function that decides on a tool call before the solver acts; it returns None for no call."""


def has_expert(env_id: str) -> bool:
    """Whether an expert plays this environment.

    Raises:
        UnknownEnvironment: if no such id is registered.
    """
    return _key(registry.spec(env_id)) in EXPERTS


class ExpertAgent:
    """An agent that plays each environment with its solver."""

    name = "expert"

    def act(self, requests: Sequence[Request]) -> list[Decision]:
        """See `Agent.act`.

        Raises:
            InvalidArgument: if there is no expert for one of the environments.
        """
        return [self._decide(request) for request in requests]

    def _decide(self, request: Request) -> Decision:
        env = request.env.unwrapped
        solve = None if env.spec is None else EXPERTS.get(_key(env.spec))
        if solve is None:
            name = type(env).__name__ if env.spec is None else env.spec.id
            raise InvalidArgument(f"There is no expert for {name}.")
        tool_step = None if env.spec is None else TOOL_STEPS.get(_key(env.spec))
        return (tool_step and tool_step(request)) or solve(env)


def _key(spec: registry.EnvSpec) -> str:
    return f"{spec.category}:{spec.family}"
