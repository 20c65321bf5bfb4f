"""`gemweb eval`: let an agent play many episodes."""

from __future__ import annotations

import argparse
import contextlib
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any, TextIO

import gem
from gem.cli.arguments import checkpoint, endpoint, tooling
from gem.cli.output import report
from gem.cli.output.report import Who
from gem.errors import UsageError

if TYPE_CHECKING:
    from gem.agents import AnyAgent
    from gem.evaluation.scores import Outcome
    from gem.evaluation.spec import EvaluationSpec
    from gem.records import EpisodeRecord
    from gem.rollout import EpisodeRequest

_OF_POLICY = (*checkpoint.OWN, *checkpoint.SHARED)


def arguments(parser: argparse.ArgumentParser) -> None:
    """What it takes."""
    parser.add_argument("--agent", required=True, help="random, expert, endpoint or policy")
    what = parser.add_mutually_exclusive_group(required=True)
    what.add_argument("--benchmark", help="play this benchmark: games")
    what.add_argument("--env", action="append", metavar="ID", help="play this environment; may be given several times")
    parser.add_argument("--episodes", type=int, help="for each environment (100)")
    parser.add_argument("--seed", type=int, help="of the first episode; the others follow it (0)")
    parser.add_argument("--repeats", type=int, help="tries at each seed, for pass@k (1)")
    parser.add_argument("--token-budget", type=int, help="stop after so many tokens, in and out together")
    parser.add_argument("--num-envs", type=int, default=16, help="episodes played at the same time (16)")
    parser.add_argument("--max-turns", type=int, help="a turn limit below the environments' own")
    parser.add_argument("--opponent", help="random or expert, where there are several seats; the seats are swapped")
    parser.add_argument("--out", type=Path, metavar="FILE.jsonl", help="add every episode to this file; go on from it")
    tooling.arguments(parser)
    checkpoint.arguments(parser)
    endpoint.arguments(parser)


def run(
    *,
    agent: str,
    benchmark: str | None,
    env: list[str] | None,
    episodes: int | None,
    seed: int | None,
    repeats: int | None,
    token_budget: int | None,
    num_envs: int,
    max_turns: int | None,
    opponent: str | None,
    out: Path | None,
    tool: list[str] | None,
    tool_uses: int | None,
    tool_format: str | None,
    **options: Any,
) -> int:
    """Play what is asked for, except what `out` holds already, and print the scores."""
    from gem.agents import has_expert, make_agent  # noqa: PLC0415
    from gem.rollout import rollout  # noqa: PLC0415

    given: dict[str, Any] = {"benchmark": benchmark, "env_ids": env, "episodes_per_env": episodes, "seed": seed}
    given |= {"repeats": repeats, "max_turns": max_turns, "opponent": opponent, "token_budget": token_budget}
    given |= tooling.fields(tool, tool_uses, tool_format)
    spec = _spec(agent=agent, num_envs=num_envs, **given)
    player, who = _player(agent, opponent, num_envs, options)
    other = None if opponent is None else make_agent(opponent)
    for env_id in spec.env_ids:
        if "expert" in (agent, opponent) and not has_expert(env_id):
            raise UsageError(f"There is no expert for {env_id}.")
    slots = _slots(spec)
    outcomes: dict[str, list[Outcome]] = {env_id: [] for env_id in spec.env_ids}
    reasons: dict[str, str] = {}
    with contextlib.ExitStack() as stack:
        file: TextIO | None = None
        if out is not None:
            slots, file = _go_on(out, who, slots, outcomes)
            stack.enter_context(file)
        done = spec.episodes_total - len(slots)
        spent = sum(one.tokens_in + one.tokens_out for those in outcomes.values() for one in those)
        if done:
            print(f"{done:,} of {spec.episodes_total:,} episodes are in {out} already.", file=sys.stderr)
        records = rollout(player, slots, num_envs=spec.num_envs, opponent=other)
        stack.callback(records.close)
        for record in _progress(records, done, spec.episodes_total):
            if file is not None:
                _write(file, record, who)
            outcomes[record.identity.env_id].append(_outcome(record))
            reasons.setdefault(record.failed_by, record.failure)
            spent += sum(record.tokens)
            if spec.token_budget is not None and spent >= spec.token_budget:
                print(f"The budget of {spec.token_budget:,} tokens is used up.", file=sys.stderr)
                break
    report.print_scores(spec, who, outcomes, reasons)
    return 0


def _player(agent: str, opponent: str | None, num_envs: int, options: dict[str, Any]) -> tuple[AnyAgent, Who]:
    """Who plays, and how the file and the table name them.

    Raises:
        UsageError: if an option is missing, wrong or of another kind of agent.
    """
    from gem.agents import make_agent  # noqa: PLC0415

    if agent == "policy":
        endpoint.refuse({name: value for name, value in options.items() if name not in _OF_POLICY})
        policy, name = checkpoint.make(options)
        return policy, Who(name, opponent)
    checkpoint.refuse(options)
    others = {name: value for name, value in options.items() if name not in checkpoint.OWN}
    if agent == "endpoint":
        asked = endpoint.make(others, num_envs)
        return asked, Who(endpoint.label(asked), opponent, asked.spec)
    endpoint.refuse(others)
    return make_agent(agent), Who(agent, opponent)


def _spec(**given: object) -> EvaluationSpec:
    """The specification of a job, checked as a job's is.

    Raises:
        UsageError: with what is wrong, in a sentence.
    """
    from pydantic import ValidationError  # noqa: PLC0415

    from gem.evaluation.spec import EvaluationSpec  # noqa: PLC0415

    try:
        return EvaluationSpec.model_validate({name: value for name, value in given.items() if value is not None})
    except ValidationError as error:
        raise UsageError(error.errors()[0]["msg"]) from error


def _slots(spec: EvaluationSpec) -> list[EpisodeRequest]:
    from gem.rollout import EpisodeRequest  # noqa: PLC0415

    places = [(part, *part.seed_and_seat(i)) for part in spec.parts for i in range(part.episodes)]
    return [
        EpisodeRequest(index, part.env_id, seed, {}, spec.wrappers, seat, part.repeat)
        for index, (part, seed, seat) in enumerate(places)
    ]


def _go_on(
    out: Path, who: Who, slots: list[EpisodeRequest], outcomes: dict[str, list[Outcome]]
) -> tuple[list[EpisodeRequest], TextIO]:
    """The slots that `out` does not hold yet, and the file to add them to; the outcomes of the others are noted.

    Raises:
        UsageError: if `out` cannot be written, or something else is in it.
    """
    from gem.records import episode_files  # noqa: PLC0415

    missing: dict[tuple[str, int, int], list[EpisodeRequest]] = {}
    for slot in slots:
        missing.setdefault((slot.env_id, slot.seed, slot.seat), []).append(slot)
    try:
        if out.exists() and out.stat().st_size:
            episode_files.repair_last_line(out)
        if out.exists() and out.stat().st_size:
            for stored in episode_files.read(out):
                record = stored.record
                tries = missing.get((record.identity.env_id, record.identity.seed, record.seat))
                same = (stored.agent, stored.opponent) == (who.agent, who.beside(record))
                if tries and same and _is_of(record, tries[0]):
                    slot = tries.pop(0)
                    outcomes[slot.env_id].append(_outcome(record)._replace(place=slot.index))
        left = sorted((slot for tries in missing.values() for slot in tries), key=lambda slot: slot.index)
        return left, out.open("a", encoding="utf-8")
    except OSError as error:
        raise UsageError(f"{out} cannot be written: {error.strerror}.") from error


def _is_of(record: EpisodeRecord, slot: EpisodeRequest) -> bool:
    """Whether the record is what playing the slot would give; where the agent gave no answer, it is played again."""
    identity = record.identity
    return (
        identity.env_version == gem.spec(slot.env_id).version
        and identity.env_kwargs == slot.env_kwargs
        and list(identity.wrappers) == list(slot.wrappers)
        and (record.terminated or record.truncated or record.failed_by == "environment")
    )


def _write(file: TextIO, record: EpisodeRecord, who: Who) -> None:
    from gem.records import episode_files  # noqa: PLC0415

    try:
        file.write(episode_files.episode_line(record, who.agent, who.beside(record), who.set_up))
        file.flush()
    except OSError as error:
        raise UsageError(f"{file.name} cannot be written: {error.strerror}.") from error


def _outcome(record: EpisodeRecord) -> Outcome:
    from gem.evaluation.scores import Outcome  # noqa: PLC0415

    tokens_in, tokens_out = record.tokens
    return Outcome(
        record.index,
        record.total_reward,
        bool(record.success),
        record.turn_count,
        failed=record.failed_by == "environment",
        unanswered=record.failed_by == "agent",
        problem=(record.identity.seed, record.seat),
        tokens_in=tokens_in,
        tokens_out=tokens_out,
    )


def _progress(records: Iterator[EpisodeRecord], done: int, total: int) -> Iterator[EpisodeRecord]:
    """Pass the records on and say on stderr how far it is: all the time in a terminal, else every ten seconds."""
    terminal = sys.stderr.isatty()
    every = 0.1 if terminal else 10.0
    started = said = time.monotonic()
    first = done
    for record in records:
        yield record
        done += 1
        now = time.monotonic()
        if now - said >= every or (terminal and done == total):
            said = now
            text = f"{done:,} of {total:,} episodes, {(done - first) / max(now - started, 1e-9):,.0f} per second"
            print(f"\r{text}" if terminal else text, end="" if terminal else "\n", file=sys.stderr, flush=True)
    if terminal and done > first:
        print(file=sys.stderr)
