"""`gemweb play`: an episode in the terminal, with its board in colour where the terminal can show it."""

from __future__ import annotations

import argparse
import sys
from typing import TYPE_CHECKING

import gem
from gem.cli.screen import Screen, open_screen
from gem.cli.words import count
from gem.errors import EnvironmentFailure, GemError

if TYPE_CHECKING:
    from gem.core import Info, Step

HELP = "? shows the rules, hint asks the expert, quit leaves."


def arguments(parser: argparse.ArgumentParser) -> None:
    """What it takes."""
    parser.add_argument("env_id", metavar="ID")
    parser.add_argument("--seed", type=int, help="names the episode; drawn if left out")
    parser.add_argument("--plain", action="store_true", help="no board and no colour: what an agent reads")


def run(env_id: str, seed: int | None, plain: bool) -> int:
    """Play one episode by typing."""
    env = gem.make(env_id)
    observation, info = _begin(env, seed)
    screen = open_screen(plain=plain)
    print(f"{env_id}, seed {env.seed}. {HELP}\n")
    boxed = "\\boxed{" in env.sample_random_action()
    rules = observation
    turn, total = 0, 0.0
    while True:
        screen.show(env, observation, info)
        action = _ask(env, turn + 1, rules, observation, info)
        if action is None:
            print(f"You left after {count(turn, 'turn')} with a return of {total:g}.")
            return 0
        if boxed and "\\boxed{" not in action:
            action = f"\\boxed{{{action}}}"
        observation, reward, terminated, truncated, info = _step(env, action, turn + 1)
        turn, total = turn + 1, total + reward
        print(f"\nreward {reward:g}, return {total:g}")
        if terminated or truncated:
            break
    _end(screen, env, observation, info, truncated, turn, total)
    return 0


def _end(screen: Screen, env: gem.Env, observation: str, info: Info, truncated: bool, turn: int, total: float) -> None:
    screen.show(env, observation, info)
    how = "Solved" if info.get("success") else "The turn limit is reached" if truncated else "Not solved"
    print(f"\n{how} after {count(turn, 'turn')}, with a return of {total:g}.")
    assert env.spec is not None
    print(f"The same episode again: gemweb play {env.spec.id} --seed {env.seed}")


def _begin(env: gem.Env, seed: int | None) -> tuple[str, Info]:
    try:
        return env.reset(seed=seed)
    except GemError:
        raise
    except Exception as error:  # whatever an environment raises is its author's to mend; the player gets a sentence
        raise EnvironmentFailure(f"The environment could not begin: {type(error).__name__}: {error}") from error


def _step(env: gem.Env, action: str, turn: int) -> Step:
    try:
        return env.step(action)
    except GemError:
        raise
    except Exception as error:  # as above
        said = f"{type(error).__name__}: {error}"
        raise EnvironmentFailure(f"The environment broke at turn {turn}, which is not your fault: {said}") from error


def _ask(env: gem.Env, turn: int, rules: str, observation: str, info: Info) -> str | None:
    """The next action that is typed; None if the player leaves."""
    of = f" of {env.max_turns}" if env.max_turns else ""
    while True:
        try:
            typed = input(f"\nTurn {turn}{of}. Your action: ").strip()
        except EOFError:
            print()
            return None
        if typed in ("quit", "exit"):
            return None
        if typed == "?":
            print(f"\n{rules}\n\n{_documentation(env)}\n{HELP}")
        elif typed == "hint":
            print(_hint(env, turn, observation, info))
        elif typed:
            return typed


def _documentation(env: gem.Env) -> str:
    """The page of the environment: what its module says."""
    module = sys.modules.get(type(env.unwrapped).__module__)
    return (module.__doc__ or "").strip() if module else ""


def _hint(env: gem.Env, turn: int, observation: str, info: Info) -> str:
    """What the expert would do, and why."""
    from gem.agents import Request, has_expert, make_agent  # noqa: PLC0415 (a quick start)

    if env.spec is None or not has_expert(env.spec.id):
        return "There is no expert for this environment."
    decision = make_agent("expert").act([Request(env, observation, info, turn)])[0]
    return f"The expert would write {decision.action}. {decision.note}"
