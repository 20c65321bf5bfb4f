"""`gemweb submit`: submit an evaluation, a training or a study, from a file, from options, or from both."""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from gem.cli.server import connection, studies
from gem.cli.server.connection import connect, print_json
from gem.cli.server.logs import follow_job
from gem.errors import UsageError

if TYPE_CHECKING:
    from gem.client import Client
    from gem.client.schemas import Job, JobSummary, Submitted

EVALUATION_OPTIONS = {
    "ranked": "hidden_seeds",
    "agent": "agents", "benchmark": "benchmark", "env": "env_ids", "episodes": "episodes_per_env", "seed": "seed",
    "repeats": "repeats", "max_turns": "max_turns", "opponent": "opponent", "token_budget": "token_budget",
    "money_budget": "money_budget", "turn_budget": "turn_budget",
    "max_episode_tokens": "max_episode_tokens", "max_episode_money": "max_episode_money",
    "tool": "tools", "tool_uses": "max_tool_uses", "tool_format": "tool_format", "wrapper": "wrappers",
    "backend": "backend", "retries": "retries", "without": "without", "notes": "notes", "tag": "tags",
    "priority": "priority", "stop_against": "stop_against",
}  # fmt: skip
"""Options for evaluations, and the fields of the `Submission` that they set."""
OF_THE_JOB = {"name", "visibility", "evaluate_best"}
"""Fields of the document of a training that are not settings of its `TrainingSpec`."""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the arguments of the command."""
    parser.add_argument(
        "file",
        nargs="?",
        metavar="SPEC.json",
        help="what the form shows as JSON, or a training; - reads standard input",
    )
    group = parser.add_argument_group("an evaluation; these come before what the file says")
    group.add_argument(
        "--agent", action="append", metavar="NAME", help="the short name of an agent; several are one job each"
    )
    group.add_argument("--benchmark", help="play this benchmark, such as games")
    group.add_argument(
        "--ranked", action="store_const", const=True, help="on the hidden seeds of a benchmark that has some; whole"
    )
    group.add_argument(
        "--env", action="append", metavar="ID", help="play this environment, or a pattern such as 'game:*'; repeatable"
    )
    group.add_argument(
        "--without", action="append", metavar="AGENT=ID", help="an environment or a pattern that an agent leaves out"
    )
    group.add_argument("--episodes", type=int, help="for each environment (100)")
    group.add_argument("--seed", type=int, help="of the first episode; the others follow it (0)")
    group.add_argument("--repeats", type=int, help="tries at each seed, for pass@k (1)")
    group.add_argument("--max-turns", type=int, help="a turn limit below that of the environments")
    group.add_argument("--opponent", help="the agent in the other seats, where there are several")
    group.add_argument("--token-budget", type=int, metavar="N", help="the most tokens of all requests, in and out")
    group.add_argument("--money-budget", type=float, metavar="N", help="the most that they cost at the agent's prices")
    group.add_argument("--turn-budget", type=int, metavar="N", help="the most turns of all episodes")
    group.add_argument("--max-episode-tokens", type=int, metavar="N", help="the most tokens of an episode")
    group.add_argument("--max-episode-money", type=float, metavar="N", help="the most that an episode costs")
    group.add_argument("--tool", action="append", metavar="NAME", help="a tool of the site; may be given several times")
    group.add_argument("--tool-uses", type=int, metavar="N", help="uses in an episode")
    group.add_argument("--tool-format", choices=["tags", "native"], help="use tools by their tags, or as functions")
    group.add_argument("--wrapper", action="append", metavar="NAME", help="put this wrapper around the environments")
    group.add_argument("--backend", choices=["sync", "threads"], help="step environments in turn or in threads (sync)")
    group.add_argument("--retries", type=int, help="how often an episode that ends in an error is played again (0)")
    group.add_argument(
        "--stop-against",
        metavar="JOB",
        help="stop as soon as it is decided which of two agents solves more: this one or that of a job; 'group' "
        "compares two agents that are submitted together",
    )
    group.add_argument("--notes", help="what it is for")
    group.add_argument(
        "--tag", action="append", metavar="WORD", help="a word to find it by; may be given several times"
    )
    group.add_argument("--priority", choices=["low", "normal", "high"], help="among your own jobs (normal)")
    group = parser.add_argument_group("a training")
    group.add_argument("--recipe", help="the recipe to train by")
    group.add_argument("--set", action="append", metavar="KEY=VALUE", dest="settings", help="a setting of the training")
    group.add_argument("--evaluate-best", action="store_true", help="evaluate the best checkpoint at the end")
    group = parser.add_argument_group("a study")
    group.add_argument("--study", metavar="STUDY", help="a study that comes with gemweb, or a plan NAME.json")
    group.add_argument("--seeds", type=int, metavar="N", help="trainings of each variant in each environment")
    group.add_argument("--only", action="append", metavar="NAME", help="only this environment of the study; repeatable")
    group.add_argument("--keep-policies", action="store_true", help="make an agent of each policy at the end")
    parser.add_argument("--name", default="", help="what it is called")
    parser.add_argument("--visibility", choices=["public", "unlisted", "private"], help="(what your account says)")
    parser.add_argument("--key", help="submit it once, however often the command runs with this key within a day")
    parser.add_argument("--print", action="store_true", dest="prints", help="print what would be submitted, as JSON")
    parser.add_argument(
        "--show",
        type=float,
        metavar="DIFFERENCE",
        help="submit nothing, and say how small a difference it shows, and how many seeds show this one (0.03)",
    )
    parser.add_argument("-f", "--follow", action="store_true", help="print its log until it ends")
    connection.add_arguments(parser)


def run(
    *,
    file: str | None,
    recipe: str | None,
    settings: list[str] | None,
    evaluate_best: bool,
    study: str | None,
    seeds: int | None,
    only: list[str] | None,
    keep_policies: bool,
    name: str,
    visibility: Any,
    key: str | None,
    follow: bool,
    prints: bool,
    show: float | None,
    url: str | None,
    as_json: bool,
    **options: Any,
) -> int:
    """Submit the job, and with `follow` print its log; then the exit code is 1 if it failed."""
    from gem.evaluation.submission import is_document  # noqa: PLC0415 (the other commands start faster without it)

    chosen = _fields(options)
    if study is not None or seeds is not None or only or keep_policies:
        if study is None or file or recipe or settings or evaluate_best or chosen or show is not None:
            raise UsageError("Name a study with --study, and give it --seeds, --only and --keep-policies alone.")
        content = studies.content_of(study, seeds, only or (), keeps_policies=keep_policies)
        named = {"title": name, "visibility": visibility}
        content |= {field: value for field, value in named.items() if value}
        return studies.submit(url, content, key=key, follow=follow, prints=prints, as_json=as_json)
    data = _read(file)
    if not chosen.keys().isdisjoint({"agent", "agents"}):
        data = {name: value for name, value in data.items() if name not in {"agent", "agents"}}
    is_training = bool(recipe or settings) or (bool(data) and not is_document(data.get("spec") or data))
    _check(is_training, chosen, is_named=bool(data or chosen), evaluate_best=evaluate_best, shows=show is not None)
    if is_training:
        data |= _settings(settings)
    own = {"name": name, "visibility": visibility, "evaluate_best": evaluate_best}
    own = {field: value for field, value in own.items() if value}
    if prints:
        document = _with_recipe(recipe, data) if is_training else {**data, **chosen}
        print(json.dumps({**document, **own}, indent=2))
        return 0
    with connect(url) as client:
        if is_training:
            own = {field: data.pop(field) for field in OF_THE_JOB & data.keys()} | own
            job: Job = client.trainings.submit(recipe or "", data, **own, idempotency_key=key)
            return _report(client, job, [job], follow=follow, as_json=as_json)
        if show is not None:
            return _print_power(client, {**data, **chosen}, show, as_json=as_json)
        submitted = _submit(client, {**data, **chosen}, name=name, visibility=visibility, key=key)
        return _report(client, submitted, submitted.jobs, follow=follow, as_json=as_json)


def _check(is_training: bool, chosen: dict[str, Any], *, is_named: bool, evaluate_best: bool, shows: bool) -> None:
    """Refuse options that do not belong together.

    Raises:
        UsageError: if there are some.
    """
    if is_training and shows:
        raise UsageError("--show belongs to evaluations.")
    if is_training and chosen:
        raise UsageError("This is a training: options of evaluations do not belong to it.")
    if not is_training and not is_named:
        raise UsageError(
            "Name what to submit: SPEC.json, or --agent with --env or --benchmark, or --recipe, or --study."
        )
    if evaluate_best and not is_training:
        raise UsageError("--evaluate-best belongs to trainings.")


def _fields(options: dict[str, Any]) -> dict[str, Any]:
    """The fields of a submission that the options set."""
    from gem.evaluation import wrapping  # noqa: PLC0415 (as above)

    chosen = {EVALUATION_OPTIONS[option]: value for option, value in options.items() if value is not None}
    if len(chosen.get("agents", ())) == 1:
        chosen["agent"] = chosen.pop("agents")[0]
    if "without" in chosen:
        chosen["without"] = [pair.split("=", 1) for pair in chosen["without"]]
    if "wrappers" in chosen:
        chosen["wrappers"] = [wrapping.of_word(word) for word in chosen["wrappers"]]
    return chosen


def _submit(client: Client, data: dict[str, Any], *, name: str, visibility: Any, key: str | None) -> Submitted:
    """Submit an evaluation.

    Raises:
        UsageError: if the server refuses it, with a line about every field that is wrong.
    """
    from gem.client.errors import Unacceptable  # noqa: PLC0415 (the other commands start faster without it)

    try:
        return client.jobs.submit(data, name=name, visibility=visibility, idempotency_key=key)
    except Unacceptable as error:
        lines = [f"{each.get('field') or 'it'}: {each.get('detail', '')}" for each in error.errors]
        if len(lines) < 2:
            raise
        raise UsageError("\n  ".join(["nothing was submitted.", *lines])) from error


def _print_power(client: Client, data: dict[str, Any], difference: float, *, as_json: bool) -> int:
    """Say what the jobs would show, and how many seeds show this difference."""
    from gem.evaluation.comparison.words import amount  # noqa: PLC0415 (the other commands start faster without it)

    found = client.jobs.power(data, difference=difference)
    if as_json:
        print_json(found)
        return 0
    rests = {
        "paired": "the {evidence:,} seeds that both have played in the jobs {jobs}",
        "unpaired": "{evidence:,} earlier episodes, treating the agents as independent",
        "nothing": "no played episodes, so this is the worst case",
    }
    for one in found.pairs:
        print(f"{one.first} against {one.second or 'an agent that is about as good'}:")
        if one.smallest_difference is None:
            print(f"  {one.seeds:,} seeds are too few to show any difference; it takes 10.")
        else:
            shown = amount(one.smallest_difference, "success")
            print(f"  {one.seeds:,} seeds detect a difference of {shown} with 80 % power.")
        print(f"  A difference of {amount(difference, 'success')} takes {one.seeds_needed:,} seeds.")
        print("  This rests on " + rests[one.basis].format(evidence=one.evidence, jobs=" and ".join(one.jobs)) + ".")
    return 0


def _report(client: Client, job: Job, jobs: Sequence[JobSummary], *, follow: bool, as_json: bool) -> int:
    """Say what was submitted, and with `follow` print the logs one after the other; the code is 1 if one failed."""
    lines = [f"Submitted {each.kind} {each.id}: {each.url}" for each in jobs]
    if follow:
        print("\n".join(lines), file=sys.stderr)
        return max(follow_job(client, each.id, as_json=as_json) for each in jobs)
    if as_json:
        print_json(job)
    else:
        print("\n".join(lines))
        print(f"gemweb logs -f {job.id} follows it, gemweb pull {job.id} fetches its results.")
    return 0


def _read(file: str | None) -> dict[str, Any]:
    """Read a specification; no file is an empty one.

    Raises:
        UsageError: if it cannot be read, or is not a JSON object.
    """
    if file is None:
        return {}
    try:
        data = json.loads(sys.stdin.read() if file == "-" else Path(file).read_text("utf-8"))
    except OSError as error:
        raise UsageError(f"{file} cannot be read: {error.strerror}.") from error
    except (ValueError, RecursionError) as error:
        raise UsageError(f"{file} is not JSON: {error}.") from error
    if not isinstance(data, dict):
        raise UsageError(f"{file} is not a specification: it has to be a JSON object.")
    return data


def _with_recipe(recipe: str | None, data: dict[str, Any]) -> dict[str, Any]:
    """The specification of a training with all settings of its recipe, as the server completes it.

    Raises:
        InvalidArgument: if there is no such recipe.
    """
    from gem.training import recipes  # noqa: PLC0415 (the other commands start faster without it)
    from gem.training.spec import with_current_names  # noqa: PLC0415

    return {**(recipes.data(recipe) if recipe else {}), **with_current_names(data)}


def _settings(settings: list[str] | None) -> dict[str, Any]:
    if not settings:
        return {}
    from gem.training.spec import with_settings  # noqa: PLC0415 (the other commands start faster without it)

    return with_settings({}, settings)
