"""`gemweb eval`: let an agent play many episodes and print its scores."""

from __future__ import annotations

import argparse
import contextlib
import json
import sys
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, TextIO

import gem
from gem.cli.arguments import challenge as challenged
from gem.cli.arguments import checkpoint, endpoint, tooling
from gem.cli.output import episodes_file, report
from gem.cli.output.plain import plain_scores
from gem.cli.output.progress import show_progress
from gem.cli.output.report import Players
from gem.errors import EnvironmentFailure, ServerNotThere, UnknownEnvironment, UsageError
from gem.registry import NOT_REGISTERED, REMOTE
from gem.validation.messages import count

if TYPE_CHECKING:
    from gem.agents import AnyAgent
    from gem.agents.endpoint.ledger import Ledger, MemoryStore
    from gem.evaluation.scores import Outcome
    from gem.evaluation.spec import EvaluationSpec
    from gem.evaluation.turn_budget import TurnBudget
    from gem.records import EpisodeRecord
    from gem.rollout import EpisodeRequest

_POLICY_OPTIONS = (*checkpoint.POLICY_OPTIONS, *checkpoint.SAMPLING_OPTIONS)
_SPEC_OPTIONS = {
    "benchmark": "benchmark", "env": "env_ids", "episodes": "episodes_per_env", "seed": "seed", "repeats": "repeats",
    "max_turns": "max_turns", "opponent": "opponent", "token_budget": "token_budget", "num_envs": "num_envs",
    "wrapper": "wrappers", "backend": "backend",
    "money_budget": "money_budget", "turn_budget": "turn_budget",
    "max_episode_tokens": "max_episode_tokens", "max_episode_money": "max_episode_money",
}  # fmt: skip
"""Options of the command and the fields of the `EvaluationSpec` that they set."""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the arguments of the command."""
    parser.add_argument("--agent", required=True, help="random, expert, endpoint or policy")
    target = parser.add_mutually_exclusive_group(required=True)
    target.add_argument("--benchmark", help="play this benchmark, such as games; gemweb benchmark list names all")
    target.add_argument(
        "--env", action="append", metavar="ID", help="play this environment; may be given several times"
    )
    target.add_argument(
        "--challenge",
        type=Path,
        metavar="FILE.json",
        help="play a challenge of a site; gemweb push sends what it wrote",
    )
    parser.add_argument("--episodes", type=int, help="for each environment (100)")
    parser.add_argument("--seed", type=int, help="of the first episode; the others follow it (0)")
    parser.add_argument("--repeats", type=int, help="tries at each seed, for pass@k (1)")
    parser.add_argument("--token-budget", type=int, metavar="N", help="the most tokens of all requests, in and out")
    parser.add_argument("--money-budget", type=float, metavar="N", help="the most that they cost at the agent's prices")
    parser.add_argument(
        "--max-episode-tokens", type=int, metavar="N", help="the most tokens of an episode, which then ends unsolved"
    )
    parser.add_argument(
        "--max-episode-money", type=float, metavar="N", help="the most that an episode costs, which then ends unsolved"
    )
    parser.add_argument("--turn-budget", type=int, metavar="N", help="the most turns of all episodes")
    parser.add_argument("--num-envs", type=int, default=16, help="episodes played at the same time (16)")
    parser.add_argument("--max-turns", type=int, help="a turn limit below that of the environments")
    parser.add_argument(
        "--wrapper", action="append", metavar="NAME", help="put this wrapper around; may be given several times"
    )
    parser.add_argument("--backend", choices=["sync", "threads"], help="step environments in turn or in threads (sync)")
    parser.add_argument("--opponent", help="random or expert, where there are several seats; the seats are swapped")
    parser.add_argument(
        "--out", type=Path, metavar="FILE.jsonl", help="add every episode to this file, and skip those in it"
    )
    parser.add_argument("--json", action="store_true", dest="as_json", help="print the scores as JSON")
    tooling.add_arguments(parser)
    checkpoint.add_arguments(parser)
    endpoint.add_arguments(parser)


def run(
    *,
    agent: str,
    opponent: str | None,
    num_envs: int,
    out: Path | None,
    tool: list[str] | None,
    tool_uses: int | None,
    tool_format: str | None,
    challenge: Path | None,
    as_json: bool,
    **options: Any,
) -> int:
    """Play the requested episodes, except those that `out` already has, and print the scores."""
    from gem.agents import has_expert, make_agent  # noqa: PLC0415
    from gem.evaluation import wrapping  # noqa: PLC0415

    options |= {"opponent": opponent, "num_envs": num_envs}
    options["wrapper"] = [wrapping.of_word(word) for word in options["wrapper"] or []] or None
    fields = {field: options.pop(name) for name, field in _SPEC_OPTIONS.items()}
    fields |= tooling.spec_fields(tool, tool_uses, tool_format)
    drawn = None if challenge is None else challenged.read(challenge)
    if drawn is not None:
        fields |= challenged.spec_fields(drawn, fields)
    opponent_agent = None if opponent is None else make_agent(opponent)
    spec = _make_spec(agent=agent, **fields)
    requests = _requests(spec) if drawn is None else challenged.requests(drawn, spec)
    player, players = _make_player(agent, opponent, num_envs, options)
    if players.endpoint is not None and spec.limits_tokens:
        endpoint.check_limits(players.endpoint, limits_money=spec.limits_money)
    for env_id in spec.env_ids:
        if "expert" in (agent, opponent) and not has_expert(env_id):
            raise UsageError(f"There is no expert for {env_id}.")
    outcomes: dict[str, list[Outcome]] = {env_id: [] for env_id in spec.env_ids}
    reasons: dict[str, str] = {}
    books = _make_books(spec) if players.endpoint is not None else None
    for record in _play(spec, requests, player, opponent_agent, players, out, outcomes, books):
        outcomes[record.identity.env_id].append(episodes_file.outcome_of(record))
        reasons.setdefault(record.failed_by, record.failure)
    total = None if books is None else books.total
    if as_json:
        print(json.dumps(plain_scores(spec, players, outcomes, reasons, total), indent=2, ensure_ascii=False))
    else:
        report.print_scores(spec, players, outcomes, reasons, total)
    return _exit_code(spec, outcomes)


def _exit_code(spec: EvaluationSpec, outcomes: Mapping[str, Sequence[Outcome]]) -> int:
    """1 if more episodes are not counted than the specification allows, and a sentence on stderr; 0 otherwise.

    Raises:
        ServerNotThere: if that is because the server of an environment is not there.
    """
    rows = [row for env_outcomes in outcomes.values() for row in env_outcomes]
    errors = sum(row.failed or row.unanswered for row in rows)
    if errors <= spec.max_error_share * len(rows):
        return 0
    for env_id, env_outcomes in outcomes.items():
        if any(row.failed for row in env_outcomes):
            _require_server(env_id)
    verb = "is" if errors == 1 else "are"
    print(
        f"gemweb eval: {errors:,} of {count(len(rows), 'episode')} {verb} not counted, and at most "
        f"{100 * spec.max_error_share:g} % may be. The scores of the others may not be those of a fair sample.",
        file=sys.stderr,
    )
    return 1


def _require_server(env_id: str) -> None:
    """Begin an episode, if the environment is on a server: its error says whether the server is there.

    Raises:
        ServerNotThere: if the server is not there.
    """
    if not gem.spec(env_id).id.startswith(REMOTE):
        return
    env = gem.make(env_id)
    try:
        env.reset(seed=0)
    except ServerNotThere:
        raise
    except EnvironmentFailure:
        pass  # the server is there, and its environment fails, as it did in the episodes
    finally:
        env.close()


def _play(
    spec: EvaluationSpec,
    requests: list[EpisodeRequest],
    player: AnyAgent,
    opponent: AnyAgent | None,
    players: Players,
    out: Path | None,
    outcomes: dict[str, list[Outcome]],
    books: MemoryStore | None,
) -> Iterator[EpisodeRecord]:
    """Play those of the requested episodes that `out` does not have, add them to `out`, and yield their records.

    Args:
        outcomes: gets the outcomes of the episodes that `out` has.
        books: gets the tokens of all requests and of the episodes that `out` has; None if the agent uses none.

    Raises:
        Unreachable: if the server of the agent is not there.
    """
    from gem.rollout import rollout  # noqa: PLC0415

    total = len(requests)
    with contextlib.ExitStack() as stack:
        file: TextIO | None = None
        if out is not None:
            requests, file = episodes_file.resume(out, players, requests, outcomes)
            stack.enter_context(file)
        done_count = total - len(requests)
        if done_count:
            print(f"{done_count:,} of {total:,} episodes are in {out} already.", file=sys.stderr)
        if requests and players.endpoint is not None:
            endpoint.wait_for_server(players.endpoint)
        ledger = None if books is None else _open_ledger(stack, spec, players, player, outcomes, books)
        turns = _open_turns(stack, spec, outcomes)
        wanted = _while_there_is_budget(requests, ledger, turns)
        take = None if spec.turn_budget is None else turns.take
        records = rollout(
            player, wanted, num_envs=spec.num_envs, opponent=opponent, backend=spec.backend, broken_off=take
        )
        stack.callback(records.close)
        results = (record for record in records if record.failed_by != "budget")
        for record in show_progress(results, done_count, total):
            if file is not None:
                record = episodes_file.write(file, record, players)  # noqa: PLW2901 (the file is what counts)
            yield record
        if refusal := turns.refusal or ("" if ledger is None else ledger.refusal):
            print(f"{refusal} Finished episodes count.", file=sys.stderr)


def _make_books(spec: EvaluationSpec) -> MemoryStore:
    from gem.agents.endpoint.ledger import Limits, MemoryStore  # noqa: PLC0415

    return MemoryStore(Limits(spec.token_budget, spec.exact_money_budget))


def _open_ledger(
    stack: contextlib.ExitStack,
    spec: EvaluationSpec,
    players: Players,
    player: AnyAgent,
    outcomes: Mapping[str, list[Outcome]],
    books: MemoryStore,
) -> Ledger:
    """Let the agent book its requests, beside the tokens of the episodes that were played before."""
    from gem.agents.endpoint import EndpointAgent  # noqa: PLC0415
    from gem.agents.endpoint.amounts import amount_of  # noqa: PLC0415
    from gem.agents.endpoint.completion import Usage  # noqa: PLC0415
    from gem.agents.endpoint.ledger import Ledger, Limits  # noqa: PLC0415

    assert isinstance(player, EndpointAgent)
    assert players.endpoint is not None
    rows = [row for env_outcomes in outcomes.values() for row in env_outcomes]
    earlier = Usage(sum(row.tokens_in for row in rows), sum(row.tokens_out for row in rows))
    books.total.booked = amount_of(earlier, players.endpoint.prices)
    episode_limits = Limits(spec.max_episode_tokens, spec.exact_episode_money)
    player.ledger = stack.enter_context(Ledger(books, episode_limits))
    return player.ledger


def _open_turns(stack: contextlib.ExitStack, spec: EvaluationSpec, outcomes: Mapping[str, list[Outcome]]) -> TurnBudget:
    """Count the turns against the budget, beside those of the episodes that were played before."""
    from gem.evaluation.turn_budget import MemoryTurns, TurnBudget  # noqa: PLC0415

    earlier = sum(row.turns for env_outcomes in outcomes.values() for row in env_outcomes)
    store = None if spec.turn_budget is None else MemoryTurns(spec.turn_budget, earlier)
    return stack.enter_context(TurnBudget(store))


def _while_there_is_budget(
    requests: Iterable[EpisodeRequest], ledger: Ledger | None, turns: TurnBudget
) -> Iterator[EpisodeRequest]:
    """Yield the episodes to play, of which none begins any more after a budget is used up."""
    for request in requests:
        yield request
        if turns.refusal or (ledger is not None and ledger.refusal):
            return


def _make_player(
    agent: str, opponent: str | None, num_envs: int, options: Mapping[str, Any]
) -> tuple[AnyAgent, Players]:
    """Make the agent, and the names of the players for the file and the table.

    Raises:
        UsageError: if an option is missing, wrong, or for another kind of agent.
    """
    from gem.agents import make_agent  # noqa: PLC0415

    if agent == "policy":
        endpoint.check_unused({name: value for name, value in options.items() if name not in _POLICY_OPTIONS})
        policy, name = checkpoint.make_policy(options)
        return policy, Players(name, opponent)
    checkpoint.check_unused(options)
    endpoint_options = {name: value for name, value in options.items() if name not in checkpoint.POLICY_OPTIONS}
    if agent == "endpoint":
        endpoint_agent = endpoint.make_endpoint_agent(endpoint_options, num_envs)
        return endpoint_agent, Players(endpoint.describe(endpoint_agent), opponent, endpoint_agent.spec)
    endpoint.check_unused(endpoint_options)
    return make_agent(agent), Players(agent, opponent)


def _make_spec(**fields: object) -> EvaluationSpec:
    """Make the specification of the evaluation; fields with the value None are left out.

    Raises:
        UsageError: if the fields are invalid.
        UnknownEnvironment: if there is no such environment.
    """
    from pydantic import ValidationError  # noqa: PLC0415

    from gem.evaluation.spec import EvaluationSpec  # noqa: PLC0415

    try:
        return EvaluationSpec.model_validate({name: value for name, value in fields.items() if value is not None})
    except ValidationError as error:
        message = error.errors()[0]["msg"]
        kind = UnknownEnvironment if NOT_REGISTERED in message else UsageError
        raise kind(message) from error


def _requests(spec: EvaluationSpec) -> list[EpisodeRequest]:
    """Return a request for each episode of the evaluation."""
    from gem.rollout import EpisodeRequest  # noqa: PLC0415

    episodes = [(part, *part.seed_and_seat(i)) for part in spec.parts for i in range(part.episodes)]
    return [
        EpisodeRequest(index, part.env_id, seed, {}, spec.all_wrappers, seat, part.repeat)
        for index, (part, seed, seat) in enumerate(episodes)
    ]
