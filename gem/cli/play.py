"""`gemweb play`: an episode in the terminal, with its board in colour where the terminal can show it."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import gem
from gem.cli import tooling
from gem.cli.screen import open_screen
from gem.cli.words import count
from gem.errors import EnvironmentFailure, GemError, MissingMethod, UsageError
from gem.seats import SPECTATOR, observation_for_seat, rewards, success
from gem.views.typed import as_action

if TYPE_CHECKING:
    from gem.core import Info, Step

FORMS = (("\\boxed{", "}"), ("<answer>", "</answer>"))
"""What environments want around an action."""
HELP = "? shows the rules, hint asks the expert, quit leaves."


def arguments(parser: argparse.ArgumentParser) -> None:
    """What it takes."""
    parser.add_argument("env_id", metavar="ID")
    parser.add_argument("--seed", type=int, help="names the episode; drawn if left out")
    parser.add_argument("--seat", type=int, help="where you sit if there are several seats (0)")
    parser.add_argument("--opponent", help="who sits in the others: expert, random, or human to type for all seats")
    parser.add_argument("--plain", action="store_true", help="no board and no colour: what an agent reads")
    tooling.arguments(parser)


def run(
    env_id: str,
    seed: int | None,
    seat: int | None,
    opponent: str | None,
    plain: bool,
    tool: list[str] | None,
    tool_uses: int | None,
    tool_format: str | None,
    modules: Sequence[str] = (),
) -> int:
    """Play one episode by typing."""
    env = _equipped(_seated(env_id, seat, opponent), tooling.fields(tool, tool_uses, tool_format))
    observation, info = _begin(env, seed)
    screen = open_screen(plain=plain)
    print(f"{env_id}, seed {env.seed}. {HELP}\n")
    before, after = _around(env)
    rules = observation_for_seat(env.to_act[0], observation, info)[0]
    turn, totals = 0, [0.0] * env.seats
    while True:
        acting = env.to_act[0]
        reading, own = observation_for_seat(acting, observation, info)
        if env.seats > 1:
            print(f"Seat {acting}:")
        screen.show(env, reading, own, acting)
        action = _ask(env, turn + 1, rules, reading, own)
        if action is None:
            print(f"You left after {count(turn, 'turn')} with a return of {_returns(totals)}.")
            return 0
        action = as_action(env, action, acting)
        if before not in action and "\\boxed{" not in action and not _is_for_a_tool(env, action):
            action = f"{before}{action}{after}"
        observation, reward, terminated, truncated, info = _step(env, action, turn + 1)
        turn += 1
        totals = [total + one for total, one in zip(totals, rewards(reward, info), strict=True)]
        print(f"\nreward {reward:g}, return {_returns(totals)}")
        if terminated or truncated:
            break
    screen.show(env, observation, info, 0 if env.seats == 1 else SPECTATOR)
    print(f"\n{_how(env, info, truncated)} after {count(turn, 'turn')}, with a return of {_returns(totals)}.")
    given: list[tuple[str, object]] = [("--module", name) for name in modules]
    given += [("--seat", seat), ("--opponent", opponent), *(("--tool", name) for name in tool or [])]
    given += [("--tool-uses", tool_uses), ("--tool-format", tool_format)]
    words = "".join(f" {name} {value}" for name, value in given if value is not None)
    print(f"The same episode again: gemweb play {env_id} --seed {env.seed}{words}")
    return 0


def _how(env: gem.Env, info: Info, truncated: bool) -> str:
    """How the episode ended, in words."""
    solved = [str(seat) for seat in range(env.seats) if success(seat, info)]
    if env.seats > 1:
        return f"Seat {' and seat '.join(solved)} succeeded" if solved else "No seat succeeded"
    return "Solved" if solved else "The turn limit is reached" if truncated else "Not solved"


def _seated(env_id: str, seat: int | None, opponent: str | None) -> gem.Env:
    """The environment with the opponent in all seats but the player's, if there are several.

    Raises:
        UsageError: if there are no seats to choose.
    """
    from gem.agents import has_expert  # noqa: PLC0415 (a quick start)

    if gem.spec(env_id).seats == 1:
        if seat is not None or opponent is not None:
            raise UsageError(f"{env_id} has one seat: leave --seat and --opponent out.")
        return gem.make(env_id)
    if opponent == "human":
        if seat is not None:
            raise UsageError("With --opponent human you type for every seat: leave --seat out.")
        return gem.make(env_id)
    return gem.make(env_id, opponent=opponent or ("expert" if has_expert(env_id) else "random"), seat=seat or 0)


def _equipped(env: gem.Env, asked: Mapping[str, Any]) -> gem.Env:
    """The environment with the tools that are asked for around it, if there are any."""
    if not asked["tools"]:
        return env
    from gem.tools.tool_catalog import check_takes_tools, wrapper  # noqa: PLC0415 (a quick start)
    from gem.wrappers.wrapper_factory import wrap  # noqa: PLC0415 (as above)

    spec = env.spec
    if spec is not None and (env.seats > 1 or spec.tools):
        check_takes_tools(spec)
    chosen = {name: value for name, value in asked.items() if name != "tools" and value is not None}
    return wrap(env, [wrapper(asked["tools"], **chosen)])


def _returns(totals: Sequence[float]) -> str:
    """One return, or one for each seat."""
    return " and ".join(f"{total:g}" for total in totals)


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


def _around(env: gem.Env) -> tuple[str, str]:
    """What stands before and after an action, so that one need not type it."""
    try:
        example = env.sample_random_action()
    except MissingMethod:
        return "", ""
    return next((pair for pair in FORMS if pair[0] in example), ("", ""))


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


def _is_for_a_tool(env: gem.Env, action: str) -> bool:
    asks = getattr(env, "asks_for_tool", None)
    return asks is not None and bool(asks(action))


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
