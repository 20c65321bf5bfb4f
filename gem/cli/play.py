"""`gemweb play`: play an episode in the terminal, with the board in colour if the terminal supports it."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Mapping, Sequence
from contextlib import closing
from typing import TYPE_CHECKING, Any

import gem
from gem.cli.arguments import tooling
from gem.cli.output.screen import open_screen
from gem.errors import EnvironmentFailure, GemError, MissingMethod, UsageError
from gem.seats import SPECTATOR, observation_for_seat, rewards, success
from gem.validation.messages import count
from gem.views.typed import as_action

if TYPE_CHECKING:
    from gem.core import Info, Step

ACTION_TAGS = (("\\boxed{", "}"), ("<answer>", "</answer>"))
"""The tags in which environments expect an action."""
HELP = "? shows the rules, hint asks the expert, quit leaves."


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the arguments of the command."""
    parser.add_argument("env_id", metavar="ID")
    parser.add_argument("--seed", type=int, help="the seed of the episode; random by default")
    parser.add_argument("--seat", type=int, help="your seat, if there are several (0)")
    parser.add_argument(
        "--opponent", help="the agent in the other seats: expert, random, or human to type for all seats"
    )
    parser.add_argument(
        "--plain", action="store_true", help="show the text that an agent reads, not the board in colour"
    )
    tooling.add_arguments(parser)


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
    """Play one episode with actions from standard input."""
    tool_fields = tooling.spec_fields(tool, tool_uses, tool_format)
    with closing(_add_tools(_make_env(env_id, seat, opponent), tool_fields)) as env:
        is_over = _play(env, env_id, seed, plain)
    if is_over:
        options: list[tuple[str, object]] = [("--module", name) for name in modules]
        options += [("--seat", seat), ("--opponent", opponent), *(("--tool", name) for name in tool or [])]
        options += [("--tool-uses", tool_uses), ("--tool-format", tool_format)]
        option_text = "".join(f" {name} {value}" for name, value in options if value is not None)
        print(f"The same episode again: gemweb play {env_id} --seed {env.seed}{option_text}")
    return 0


def _play(env: gem.Env, env_id: str, seed: int | None, plain: bool) -> bool:
    """Play an episode, until it is over or its player leaves; whether it is over."""
    observation, info = _reset(env, seed)
    screen = open_screen(plain=plain)
    print(f"{env_id}, seed {env.seed}. {HELP}\n")
    before, after = _action_tags(env)
    rules = observation_for_seat(env.to_act[0], observation, info)[0]
    turn, totals = 0, [0.0] * env.seats
    while True:
        seat_to_act = env.to_act[0]
        seat_observation, seat_info = observation_for_seat(seat_to_act, observation, info)
        if env.seats > 1:
            print(f"Seat {seat_to_act}:")
        screen.show(env, seat_observation, seat_info, seat_to_act)
        action = _read_action(env, turn + 1, rules, seat_observation, seat_info)
        if action is None:
            print(f"You left after {count(turn, 'turn')} with a return of {_returns(totals)}.")
            return False
        action = as_action(env, action, seat_to_act)
        if before not in action and "\\boxed{" not in action and not _is_tool_call(env, action):
            action = f"{before}{action}{after}"
        observation, reward, terminated, truncated, info = _step(env, action, turn + 1)
        turn += 1
        totals = [total + earned for total, earned in zip(totals, rewards(reward, info), strict=True)]
        print(f"\nreward {reward:g}, return {_returns(totals)}")
        if terminated or truncated:
            break
    screen.show(env, observation, info, 0 if env.seats == 1 else SPECTATOR)
    print(f"\n{_describe_end(env, info, truncated)} after {count(turn, 'turn')}, with a return of {_returns(totals)}.")
    return True


def _describe_end(env: gem.Env, info: Info, truncated: bool) -> str:
    """Return in words how the episode ended."""
    successful_seats = [str(seat) for seat in range(env.seats) if success(seat, info)]
    if env.seats > 1:
        return f"Seat {' and seat '.join(successful_seats)} succeeded" if successful_seats else "No seat succeeded"
    return "Solved" if successful_seats else "The turn limit is reached" if truncated else "Not solved"


def _make_env(env_id: str, seat: int | None, opponent: str | None) -> gem.Env:
    """Make the environment, with the opponent in the other seats if there are several.

    Raises:
        UsageError: if a seat or an opponent is given that the environment has no use for.
    """
    from gem.agents import has_expert  # noqa: PLC0415 (the other commands start faster without it)

    if gem.spec(env_id).seats == 1:
        if seat is not None or opponent is not None:
            raise UsageError(f"{env_id} has one seat: leave --seat and --opponent out.")
        return gem.make(env_id)
    if opponent == "human":
        if seat is not None:
            raise UsageError("With --opponent human you type for every seat: leave --seat out.")
        return gem.make(env_id)
    return gem.make(env_id, opponent=opponent or ("expert" if has_expert(env_id) else "random"), seat=seat or 0)


def _add_tools(env: gem.Env, tool_fields: Mapping[str, Any]) -> gem.Env:
    """Put the tools around the environment, if there are any."""
    if not tool_fields["tools"]:
        return env
    from gem.tools.tool_catalog import check_takes_tools, wrapper  # noqa: PLC0415 (as above)
    from gem.wrappers.wrapper_factory import wrap  # noqa: PLC0415 (as above)

    spec = env.spec
    if spec is not None and (env.seats > 1 or spec.tools):
        check_takes_tools(spec)
    other_fields = {name: value for name, value in tool_fields.items() if name != "tools" and value is not None}
    return wrap(env, [wrapper(tool_fields["tools"], **other_fields)])


def _returns(totals: Sequence[float]) -> str:
    """Return the return of each seat as text."""
    return " and ".join(f"{total:g}" for total in totals)


def _reset(env: gem.Env, seed: int | None) -> tuple[str, Info]:
    try:
        return env.reset(seed=seed)
    except GemError:
        raise
    except Exception as error:  # an environment may raise anything; the player gets a sentence
        raise EnvironmentFailure(f"The environment could not begin: {type(error).__name__}: {error}") from error


def _step(env: gem.Env, action: str, turn: int) -> Step:
    try:
        return env.step(action)
    except GemError:
        raise
    except Exception as error:  # as above
        message = f"{type(error).__name__}: {error}"
        raise EnvironmentFailure(
            f"The environment failed at turn {turn}, which is not your fault: {message}"
        ) from error


def _action_tags(env: gem.Env) -> tuple[str, str]:
    """Return the tags before and after an action, which the player then need not type."""
    try:
        example = env.sample_random_action()
    except MissingMethod:
        return "", ""
    return next((pair for pair in ACTION_TAGS if pair[0] in example), ("", ""))


def _turn_label(env: gem.Env, turn: int) -> str:
    """Which turn it is, of how many; uses of tools are none, and how many are left is said beside it."""
    used, left = getattr(env, "tool_use_counter", 0), getattr(env, "tool_uses_left", None)
    limit = env.unwrapped.max_turns
    text = f"Turn {turn - used}" + (f" of {limit}" if limit else "")
    return text if left is None else f"{text}, {count(left, 'tool use')} left"


def _read_action(env: gem.Env, turn: int, rules: str, observation: str, info: Info) -> str | None:
    """Read the next action from standard input; None if the player leaves."""
    label = _turn_label(env, turn)
    while True:
        try:
            line = input(f"\n{label}. Your action: ").strip()
        except EOFError:
            print()
            return None
        if line in ("quit", "exit"):
            return None
        if line == "?":
            print(f"\n{rules}\n\n{_documentation(env)}\n{HELP}")
        elif line == "hint":
            print(_hint(env, turn, observation, info))
        elif line:
            return line


def _is_tool_call(env: gem.Env, action: str) -> bool:
    asks_for_tool = getattr(env, "asks_for_tool", None)
    return asks_for_tool is not None and bool(asks_for_tool(action))


def _documentation(env: gem.Env) -> str:
    """Return the documentation of the environment, which is the docstring of its module."""
    module = sys.modules.get(type(env.unwrapped).__module__)
    return (module.__doc__ or "").strip() if module else ""


def _hint(env: gem.Env, turn: int, observation: str, info: Info) -> str:
    """Return the action of the expert and its reason."""
    from gem.agents import Request, has_expert, make_agent  # noqa: PLC0415 (as above)

    if env.spec is None or not has_expert(env.spec.id):
        return "There is no expert for this environment."
    decision = make_agent("expert").act([Request(env, observation, info, turn)])[0]
    return f"The expert would write {decision.action}. {decision.note}"
