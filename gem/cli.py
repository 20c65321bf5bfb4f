"""The command line `gemweb`: look at environments, play them, evaluate agents, replay records, check your own.

Bad input ends with one sentence on stderr and exit code 2. Exit code 1 means that what was checked does not hold.
"""

from __future__ import annotations

import argparse
import contextlib
import importlib
import os
import sys
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, NoReturn, TextIO

import gem
from gem.errors import GemError, UsageError

if TYPE_CHECKING:
    from gem.benchmarks import Benchmark
    from gem.core import Info
    from gem.evaluate import Interval, Outcome, Summary
    from gem.replay import EpisodeRecord
    from gem.rollout import Slot
    from gem.specs import EvaluationSpec

INTERRUPTED = 130
"""The exit code of a program that Ctrl-C ended."""
STDIN = Path("/dev/stdin")
"""What the file name `-` stands for."""


class Parser(argparse.ArgumentParser):
    """Says what is wrong in one sentence."""

    def error(self, message: str) -> NoReturn:
        """As the base class, without the usage."""
        self.exit(2, f"{self.prog}: {message}. Try {self.prog} --help.\n")


def main(argv: Sequence[str] | None = None) -> int:
    """Run a command and return its exit code."""
    arguments = vars(_parser().parse_args(argv))
    command, modules = arguments.pop("command"), arguments.pop("module")
    if command == "check":
        arguments["modules"] = modules  # for the other processes that it starts
    try:
        _import(modules)
        code = COMMANDS[command](**arguments)
        sys.stdout.flush()
    except GemError as error:
        print(f"gemweb {command}: {error}", file=sys.stderr)
        return 2
    except BrokenPipeError:  # whoever reads our output has seen enough
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 0
    except KeyboardInterrupt:
        go_on = " The same command goes on from there." if arguments.get("out") else ""
        print(f"\ngemweb {command}: stopped.{go_on}", file=sys.stderr)
        return INTERRUPTED
    return code


def _parser() -> Parser:
    parser = Parser(prog="gemweb", description="Environments for language-model agents.")
    parser.add_argument("--version", action="version", version=f"gemweb {gem.__version__}")
    commands = parser.add_subparsers(dest="command", required=True, metavar="COMMAND")

    def add(name: str, text: str) -> argparse.ArgumentParser:
        added = commands.add_parser(name, help=text, description=text)
        added.add_argument(
            "--module", action="append", default=[], help="import this module first; it registers environments"
        )
        return added

    one = add("envs", "List the environments.")
    one.add_argument("word", nargs="?", default="", metavar="WORD", help="only ids that contain it")

    one = add("play", "Play an environment in the terminal.")
    one.add_argument("env_id", metavar="ID")
    one.add_argument("--seed", type=int, help="names the episode; drawn if left out")
    one.add_argument("--seat", type=int, help="where you sit if there are several seats (0)")
    one.add_argument("--opponent", help="who sits in the others: expert, random, or human to type for all seats")

    one = add("eval", "Let an agent play many episodes and print its scores.")
    one.add_argument("--agent", required=True, help="random or expert")
    what = one.add_mutually_exclusive_group(required=True)
    what.add_argument("--benchmark", help="play this benchmark: games")
    what.add_argument("--env", action="append", metavar="ID", help="play this environment; may be given several times")
    one.add_argument("--episodes", type=int, help="for each environment (100)")
    one.add_argument("--seed", type=int, help="of the first episode; the others follow it (0)")
    one.add_argument("--num-envs", type=int, default=16, help="episodes played at the same time (16)")
    one.add_argument("--max-turns", type=int, help="a turn limit below the environments' own")
    one.add_argument("--opponent", help="random or expert, for environments with several seats; the seats are swapped")
    one.add_argument("--out", type=Path, metavar="FILE.jsonl", help="add every episode to this file; go on from it")

    one = add("replay", "Re-execute the episodes of a file and compare every turn.")
    one.add_argument("file", type=Path, metavar="FILE", help="- reads standard input")

    one = add("check", "Check whether an environment keeps the contract.")
    one.add_argument("env_id", metavar="ID")
    return parser


def _import(modules: Sequence[str]) -> None:
    """Import modules as seen from the current folder.

    Raises:
        UsageError: if one cannot be imported.
    """
    if modules and not {"", os.getcwd()} & set(sys.path):
        sys.path.insert(0, os.getcwd())
    for name in modules:
        try:
            importlib.import_module(name)
        except UsageError:
            raise
        except Exception as error:  # whatever the user's module raises is for its author to read
            hint = " Give its name without .py." if name.endswith(".py") else ""
            raise UsageError(f"{name} cannot be imported: {type(error).__name__}: {error}.{hint}") from error


# ------------------------------------------------------------------ envs


def envs(word: str) -> int:
    """Print a table of the environments whose id contains `word`."""
    from gem.agents import has_expert  # noqa: PLC0415 (a quick start for the other commands)
    from gem.benchmarks import baseline  # noqa: PLC0415

    specs = [spec for spec in gem.registry.specs() if word.lower() in spec.id.lower()]
    if not specs:
        raise UsageError(f"No environment's id contains {word!r}. gemweb envs lists all.")
    rows = []
    for spec in specs:
        solved = [baseline(spec.id, agent) for agent in ("random", "expert")]
        shares = ["" if one is None else f"{one.success_rate:.0%}" for one in solved]
        turns = "" if solved[0] is None else f"{solved[0].mean_turns:.1f}"
        rows.append([spec.id, str(spec.version), spec.replay, "yes" if has_expert(spec.id) else "no", *shares, turns])
    _table(["environment", "version", "replay", "expert", "random solves", "expert solves", "random's turns"], rows)
    return 0


# ------------------------------------------------------------------ play


PLAY_HELP = "? shows the rules, hint asks the expert, quit leaves."


def play(env_id: str, seed: int | None, seat: int | None, opponent: str | None) -> int:
    """Play one episode by typing."""
    from gem.seats import perceived, rewards, success  # noqa: PLC0415

    env = _seated(env_id, seat, opponent)
    observation, info = env.reset(seed=seed)
    print(f"{env_id}, seed {env.seed}. {PLAY_HELP}\n")
    boxed = "\\boxed{" in env.sample_random_action()
    rules = perceived(env.to_act[0], observation, info)[0]
    turn, totals = 0, [0.0] * env.seats
    while True:
        acting = env.to_act[0]
        reading, own = perceived(acting, observation, info)
        print(f"Seat {acting}:\n{_prompt(reading, own)}" if env.seats > 1 else _prompt(reading, own))
        action = _ask(env, turn + 1, rules, reading, own)
        if action is None:
            print(f"You left after {_count(turn, 'turn')} with a return of {_returns(totals)}.")
            return 0
        if boxed and "\\boxed{" not in action:
            action = f"\\boxed{{{action}}}"
        observation, reward, terminated, truncated, info = env.step(action)
        turn += 1
        totals = [total + one for total, one in zip(totals, rewards(reward, info), strict=True)]
        print(f"\nreward {reward:g}, return {_returns(totals)}")
        if terminated or truncated:
            break
    print(_prompt(observation, info))
    solved = [one for one in range(env.seats) if success(one, info)]
    if env.seats > 1:
        how = f"Seat {' and seat '.join(map(str, solved))} succeeded" if solved else "No seat succeeded"
    else:
        how = "Solved" if solved else "The turn limit is reached" if truncated else "Not solved"
    print(f"\n{how} after {_count(turn, 'turn')}, with a return of {_returns(totals)}.")
    given = {"--seat": seat, "--opponent": opponent}
    words = "".join(f" {name} {value}" for name, value in given.items() if value is not None)
    print(f"The same episode again: gemweb play {env_id} --seed {env.seed}{words}")
    return 0


def _seated(env_id: str, seat: int | None, opponent: str | None) -> gem.Env:
    """The environment with the opponent in all seats but the player's, if there are several.

    Raises:
        UsageError: if there are no seats to choose.
    """
    from gem.agents import has_expert  # noqa: PLC0415

    if gem.spec(env_id).seats == 1:
        if seat is not None or opponent is not None:
            raise UsageError(f"{env_id} has one seat: leave --seat and --opponent out.")
        return gem.make(env_id)
    if opponent == "human":
        if seat is not None:
            raise UsageError("With --opponent human you type for every seat: leave --seat out.")
        return gem.make(env_id)
    return gem.make(env_id, opponent=opponent or ("expert" if has_expert(env_id) else "random"), seat=seat or 0)


def _returns(totals: Sequence[float]) -> str:
    """One return, or one for each seat."""
    return " and ".join(f"{total:g}" for total in totals)


def _prompt(observation: str, info: Info) -> str:
    """What an agent reads."""
    return "\n\n".join(part for part in (observation, str(info.get("suffix", ""))) if part)


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
            print(f"\n{rules}\n\n{_documentation(env)}\n{PLAY_HELP}")
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
    from gem.agents import Request, has_expert, make_agent  # noqa: PLC0415

    if env.spec is None or not has_expert(env.spec.id):
        return "There is no expert for this environment."
    decision = make_agent("expert").act([Request(env, observation, info, turn)])[0]
    return f"The expert would write {decision.action}. {decision.note}"


# ------------------------------------------------------------------ eval


def evaluate(
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
        for record in _progress(
            rollout(player, slots, num_envs=spec.num_envs, opponent=other), done, spec.episodes_total
        ):
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
    _table(headings + (["score"] if benchmark else []), rows)
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


# ------------------------------------------------------------------ replay


def replay(file: Path) -> int:
    """Re-execute every episode of the file; 1 if one is not as recorded or cannot be re-executed."""
    from gem import episode_files  # noqa: PLC0415

    same = turns = 0
    bad = 0
    for stored in episode_files.read(STDIN if str(file) == "-" else file):
        identity = stored.record.identity
        name = f"{stored.name}, {identity.env_id}, seed {identity.seed}"
        try:
            difference = episode_files.verify(stored)
        except UsageError as error:
            bad += 1
            print(f"{name}: cannot be re-executed. {error}")
            continue
        except Exception as error:  # noqa: BLE001 (an environment that breaks now and did not then)
            bad += 1
            print(f"{name}: the environment broke. {type(error).__name__}: {error}")
            continue
        if difference is not None:
            bad += 1
            print(f"{name}: {difference.sentence}")
            continue
        same, turns = same + 1, turns + stored.record.turn_count
    total = same + bad
    print(f"{same:,} of {_count(total, 'episode')} identical ({_count(turns, 'turn')}).")
    return 1 if bad else 0


# ------------------------------------------------------------------ check


def check(env_id: str, modules: Sequence[str]) -> int:
    """Try every promise of the contract; 1 if one is broken."""
    from gem.check import check as findings_of  # noqa: PLC0415

    spec = gem.spec(env_id)
    print(f"{env_id}, version {spec.version}, replay {spec.replay}\n")
    tried = wrong = 0
    for finding in findings_of(env_id, modules):
        print(f"{finding.status.upper() if finding.status == 'wrong' else finding.status:<8}  {finding.title}")
        for label, text in (("", finding.what), ("What to do: ", finding.advice)):
            if text:
                print(f"{'':10}{label}{text}")
        tried += finding.status != "left out"
        wrong += finding.status == "wrong"
    verdict = "The contract is kept." if not wrong else f"{wrong} of them {'is' if wrong == 1 else 'are'} broken."
    print(f"\n{_count(tried, 'promise')} tried. {verdict}")
    return 1 if wrong else 0


# ------------------------------------------------------------------ words and tables


def _count(number: int, noun: str) -> str:
    return f"{number:,} {noun}{'' if number == 1 else 's'}"


def _table(headings: list[str], rows: list[list[str]]) -> None:
    """Columns of plain text, the first to the left and the others to the right."""
    widths = [max(len(row[i]) for row in [headings, *rows]) for i in range(len(headings))]
    for row in [headings, *rows]:
        cells = [
            text.ljust(width) if i == 0 else text.rjust(width)
            for i, (text, width) in enumerate(zip(row, widths, strict=True))
        ]
        print("  ".join(cells).rstrip())


COMMANDS: Mapping[str, Callable[..., int]] = {
    "envs": envs,
    "play": play,
    "eval": evaluate,
    "replay": replay,
    "check": check,
}

if __name__ == "__main__":
    sys.exit(main())
