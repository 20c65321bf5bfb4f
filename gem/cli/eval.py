"""`gemweb eval`: let an agent play many episodes."""

from __future__ import annotations

import argparse
import contextlib
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, TextIO

import gem
from gem.cli.words import table
from gem.errors import UsageError

if TYPE_CHECKING:
    from gem.benchmarks import Benchmark
    from gem.evaluate import Interval, Outcome, Summary
    from gem.replay import EpisodeRecord
    from gem.rollout import Slot
    from gem.specs import EvaluationSpec


def arguments(parser: argparse.ArgumentParser) -> None:
    """What it takes."""
    parser.add_argument("--agent", required=True, help="random or expert")
    what = parser.add_mutually_exclusive_group(required=True)
    what.add_argument("--benchmark", help="play this benchmark: games")
    what.add_argument("--env", action="append", metavar="ID", help="play this environment; may be given several times")
    parser.add_argument("--episodes", type=int, help="for each environment (100)")
    parser.add_argument("--seed", type=int, help="of the first episode; the others follow it (0)")
    parser.add_argument("--num-envs", type=int, default=16, help="episodes played at the same time (16)")
    parser.add_argument("--max-turns", type=int, help="a turn limit below the environments' own")
    parser.add_argument("--opponent", help="random or expert, where there are several seats; the seats are swapped")
    parser.add_argument("--out", type=Path, metavar="FILE.jsonl", help="add every episode to this file; go on from it")


def run(
    agent: str,
    benchmark: str | None,
    env: list[str] | None,
    episodes: int | None,
    seed: int | None,
    num_envs: int,
    max_turns: int | None,
    opponent: str | None,
    out: Path | None,
) -> int:
    """Play what is asked for, except what `out` holds already, and print the scores."""
    from gem.agents import has_expert, make_agent  # noqa: PLC0415
    from gem.rollout import rollout  # noqa: PLC0415

    given = {"benchmark": benchmark, "env_ids": env, "episodes_per_env": episodes, "seed": seed}
    spec = _spec(agent=agent, num_envs=num_envs, max_turns=max_turns, opponent=opponent, **given)
    player, other = make_agent(agent), None if opponent is None else make_agent(opponent)
    for env_id in spec.env_ids:
        if "expert" in (agent, opponent) and not has_expert(env_id):
            raise UsageError(f"There is no expert for {env_id}.")
    slots = _slots(spec)
    outcomes: dict[str, list[Outcome]] = {env_id: [] for env_id in spec.env_ids}
    with contextlib.ExitStack() as stack:
        file: TextIO | None = None
        if out is not None:
            slots, file = _go_on(out, spec, slots, outcomes)
            stack.enter_context(file)
        done = spec.episodes_total - len(slots)
        if done:
            print(f"{done:,} of {spec.episodes_total:,} episodes are in {out} already.", file=sys.stderr)
        records = rollout(player, slots, num_envs=spec.num_envs, opponent=other)
        for record in _progress(records, done, spec.episodes_total):
            if file is not None:
                _write(file, record, spec)
            outcomes[record.identity.env_id].append(_outcome(record))
    _print_scores(spec, outcomes)
    return 0


def _spec(**given: object) -> EvaluationSpec:
    """The specification of a job, checked as a job's is.

    Raises:
        UsageError: with what is wrong, in a sentence.
    """
    from pydantic import ValidationError  # noqa: PLC0415

    from gem.specs import EvaluationSpec  # noqa: PLC0415

    try:
        return EvaluationSpec.model_validate({name: value for name, value in given.items() if value is not None})
    except ValidationError as error:
        raise UsageError(error.errors()[0]["msg"]) from error


def _slots(spec: EvaluationSpec) -> list[Slot]:
    from gem.rollout import Slot  # noqa: PLC0415

    places = [(part.env_id, *part.place(i)) for part in spec.parts for i in range(part.episodes)]
    wrappers = spec.wrappers
    return [Slot(index, env_id, seed, {}, wrappers, seat) for index, (env_id, seed, seat) in enumerate(places)]


def _go_on(
    out: Path, spec: EvaluationSpec, slots: list[Slot], outcomes: dict[str, list[Outcome]]
) -> tuple[list[Slot], TextIO]:
    """The slots that `out` does not hold yet, and the file to add them to; the outcomes of the others are noted.

    Raises:
        UsageError: if `out` cannot be written, or something else is in it.
    """
    from gem import episode_files  # noqa: PLC0415

    missing = {(slot.env_id, slot.seed, slot.seat): slot for slot in slots}
    try:
        if out.exists() and out.stat().st_size:
            episode_files.mend(out)
        if out.exists() and out.stat().st_size:
            for stored in episode_files.read(out):
                record = stored.record
                slot = missing.get((record.identity.env_id, record.identity.seed, record.seat))
                same = (stored.agent, stored.opponent) == (spec.agent, _opponent(spec, record))
                if slot is not None and same and _is_of(record, slot):
                    del missing[slot.env_id, slot.seed, slot.seat]
                    outcomes[slot.env_id].append(_outcome(record)._replace(place=slot.index))
        return list(missing.values()), out.open("a", encoding="utf-8")
    except OSError as error:
        raise UsageError(f"{out} cannot be written: {error.strerror}.") from error


def _is_of(record: EpisodeRecord, slot: Slot) -> bool:
    """Whether the record is what playing the slot would give."""
    identity = record.identity
    return (
        identity.env_version == gem.spec(slot.env_id).version
        and identity.env_kwargs == slot.env_kwargs
        and list(identity.wrappers) == list(slot.wrappers)
        and (record.terminated or record.truncated or bool(record.failure))
    )


def _opponent(spec: EvaluationSpec, record: EpisodeRecord) -> str:
    """Who sat in the other seats of this episode; nobody if there are none."""
    return spec.opponent or "" if gem.spec(record.identity.env_id).seats > 1 else ""


def _write(file: TextIO, record: EpisodeRecord, spec: EvaluationSpec) -> None:
    from gem import episode_files  # noqa: PLC0415

    try:
        file.write(episode_files.line(record, spec.agent, _opponent(spec, record)))
        file.flush()
    except OSError as error:
        raise UsageError(f"{file.name} cannot be written: {error.strerror}.") from error


def _outcome(record: EpisodeRecord) -> Outcome:
    from gem.evaluate import Outcome  # noqa: PLC0415

    failed = bool(record.failure)
    return Outcome(record.index, record.total_reward, bool(record.success), record.turn_count, failed)


def _print_scores(spec: EvaluationSpec, outcomes: dict[str, list[Outcome]]) -> None:
    from gem import benchmarks  # noqa: PLC0415
    from gem.evaluate import pool, summarize  # noqa: PLC0415

    benchmark = benchmarks.load(spec.benchmark) if spec.benchmark else None
    headings = ["environment", "episodes", "mean return", "solved", "mean turns"]
    rows, scores = [], []
    for env_id, those in outcomes.items():
        summary = summarize(those)
        rows.append([env_id, *_columns(summary)])
        if benchmark is not None:
            score = _score(benchmark, env_id, summary)
            rows[-1].append("" if score is None else _interval(score))
            scores += [] if score is None else [score]
    against = f" against {spec.opponent}, from each seat alike" if spec.opponent else ""
    print(f"{spec.agent}{against}, {spec.episodes_total:,} episodes")
    table(headings + (["score"] if benchmark else []), rows)
    if benchmark is not None and len(scores) == len(outcomes):
        print(f"Score on {benchmark.name} (0: random, 1: best possible): {_interval(pool(scores))}")
    print("In brackets: 95 % intervals.")
    failed = sum(one.failed for those in outcomes.values() for one in those)
    if failed:
        print(f"In {failed:,} episodes the environment broke; they do not count.")


def _columns(summary: Summary) -> list[str]:
    if summary.mean_return is None or summary.success is None or summary.mean_turns is None:
        return ["0", "", "", ""]
    mean, low, high = summary.success
    solved = f"{mean:.1%} [{low:.1%}, {high:.1%}]"
    return [f"{summary.n:,}", _interval(summary.mean_return), solved, f"{summary.mean_turns:.1f}"]


def _score(benchmark: Benchmark, env_id: str, summary: Summary) -> Interval | None:
    from gem.evaluate import interval  # noqa: PLC0415

    entry = benchmark.entry(env_id)
    return interval([entry.normalize(value) for value in summary.returns]) if summary.n else None


def _interval(value: Interval) -> str:
    return f"{value.mean:.3f} [{value.low:.3f}, {value.high:.3f}]"


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
