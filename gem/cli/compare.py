"""`gemweb compare`: compare two to six runs on the seeds that they share."""

from __future__ import annotations

import argparse
import dataclasses
import json
from pathlib import Path
from typing import TYPE_CHECKING, Any

from gem.cli.output.tables import table
from gem.cli.server import connection
from gem.errors import UsageError
from gem.validation.messages import count

if TYPE_CHECKING:
    from collections.abc import Mapping

    from gem.client import Client
    from gem.client.schemas import Job
    from gem.evaluation.compare import Comparison, PairOfRuns
    from gem.evaluation.comparison.differences import Difference
    from gem.evaluation.comparison.runs import Measure, Run
    from gem.evaluation.faults import Faults
    from gem.evaluation.intervals import Estimate

LETTERS = "ABCDEF"
_IN_EPISODES = ("env_kwargs", "wrappers", "max_turns")
"""The settings of an environment that only its episodes tell."""
MAX_LISTED_SETTINGS = 12


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the arguments of the command."""
    parser.add_argument(
        "sources", nargs="+", metavar="RUN", help="a file or folder of episodes, or the id of an evaluation on a server"
    )
    parser.add_argument(
        "--measure", choices=["success", "return"], default="success", help="what is compared (success)"
    )
    parser.add_argument(
        "--list",
        choices=["won", "lost", "tie", "all"],
        dest="listed",
        help="list the seeds with this outcome",
    )
    parser.add_argument(
        "--show", type=float, metavar="DIFFERENCE", help="say how many seeds show it: 0.03 is 3 points of success"
    )
    connection.add_arguments(parser)


def run(
    sources: list[str], measure: Measure, listed: str | None, show: float | None, url: str | None, as_json: bool
) -> int:
    """Compare the runs and print the result."""
    from gem.evaluation.compare import compare  # noqa: PLC0415 (the other commands start faster without it)
    from gem.evaluation.comparison.plain import plain  # noqa: PLC0415

    if show is not None and show <= 0:
        raise UsageError("No number of seeds shows a difference of 0 or less.")
    if show is not None and measure == "success" and show > 1:
        raise UsageError(f"A difference of success is a share, such as 0.03 for 3 points, not {show:g}.")
    runs = read_runs(sources, url)
    comparison = compare(runs, measure)
    if as_json:
        print(json.dumps(plain(comparison, [run.name for run in runs]), indent=2, ensure_ascii=False))
        return 0
    _print_scores(comparison)
    for pair in comparison.pairs:
        _print_pair(comparison, pair, listed=listed, difference=show)
    _print_settings(comparison)
    return 0


# ------------------------------------------------------------------ reading


def read_runs(sources: list[str], url: str | None) -> list[Run]:
    """Read the runs of all sources; a file with episodes of several agents has as many runs.

    Raises:
        UsageError: if a source is neither a file nor a job, or has no episodes.
    """
    found: list[tuple[str, Run]] = []
    beside_files = any(Path(source).exists() for source in sources)
    for source in sources:
        path = Path(source)
        own = _runs_of_files(path) if path.exists() else [_run_of_job(source, url, beside_files=beside_files)]
        found += [(path.stem or source, run) for run in own]
    names = [run.name for _, run in found]
    return [
        dataclasses.replace(run, name=f"{run.name} ({label})") if names.count(run.name) > 1 else run
        for label, run in found
    ]


def _runs_of_files(path: Path) -> list[Run]:
    from gem.evaluation.comparison.records import runs_of  # noqa: PLC0415
    from gem.records import episode_files  # noqa: PLC0415

    files = sorted([*path.glob("*.jsonl"), *path.glob("*.json")]) if path.is_dir() else [path]
    if not files:
        raise UsageError(f"{path} has no files that end in .jsonl or .json.")
    return runs_of(stored for file in files for stored in episode_files.read(file))


def _run_of_job(job_id: str, url: str | None, *, beside_files: bool) -> Run:
    from gem.client.errors import NotAuthenticated, NotFound, Unreachable  # noqa: PLC0415

    if not job_id.isalnum():
        raise UsageError(f"There is no file or folder {job_id}.")
    try:
        with connection.connect(url) as client:
            run, job = _fetch(client, job_id)
            return _as_files_tell_it(client, run, job) if beside_files else run
    except (NotFound, NotAuthenticated) as error:
        raise UsageError(f"{job_id} is neither a file nor an evaluation that you may see: {error}") from error
    except Unreachable as error:
        raise Unreachable(f"There is no file or folder {job_id} here, and no server to ask for it: {error}") from error


def _fetch(client: Client, job_id: str) -> tuple[Run, Job]:
    from collections import Counter  # noqa: PLC0415

    from gem.evaluation.comparison.runs import Run, ScoredEpisode  # noqa: PLC0415

    job = client.jobs.get(job_id)
    tries: Counter[tuple[str, int, int]] = Counter()
    episodes: list[ScoredEpisode] = []
    environments: dict[str, dict[str, Any]] = {}
    for one in client.jobs.episodes(job_id):
        place = (one.env_id, one.seed, one.seat)
        failed = one.outcome == "error"
        episodes.append(
            ScoredEpisode(
                *place,
                repeat=tries[place],
                total_reward=one.reached,
                success=one.outcome == "won",
                turns=one.turn_count,
                tokens=one.tokens,
                failed=failed and not one.unanswered,
                unanswered=failed and one.unanswered,
                name=one.id,
            )
        )
        environments.setdefault(one.env_id, {"env_version": one.env_version, "data_hash": one.data_hash})
        tries[place] += 1
    if not episodes:
        raise UsageError(f"No episode of the evaluation {job_id} has ended yet.")
    settings = {**job.spec, "set_up": job.set_up or {}}
    return Run(job.agent, episodes, settings, environments, _remarks(job), faults=_faults(job)), job


def _as_files_tell_it(client: Client, run: Run, job: Job) -> Run:
    """Describe an evaluation by the settings that a file of episodes has, so that both can be compared.

    A file knows nothing of the request: neither how many episodes were asked for nor which tools, which are wrappers in
    it. So these settings are read from an episode of each environment, and what nobody may read is not compared.
    """
    from gem.client.errors import NotFound  # noqa: PLC0415

    settings = {"set_up": job.set_up, "opponent": job.spec.get("opponent") or ""}
    unknown = set() if job.set_up is not None else {"set_up"}
    environments: dict[str, Mapping[str, Any]] = {}
    names = {one.env_id: one.name for one in reversed(run.episodes)}
    for env_id, own in run.environments.items():
        try:
            episode = client.episodes.get(names[env_id])
        except NotFound:  # it is closed until its season is over
            unknown |= {"engine_version", *_IN_EPISODES}
            environments[env_id] = own
            continue
        environments[env_id] = {**own, **{name: getattr(episode, name) for name in _IN_EPISODES}}
        settings["engine_version"] = episode.engine_version
    closed = f"The settings of {run.name} are closed, so its wrappers, tools and turn limits are not compared."
    remarks = [*run.remarks, closed] if "wrappers" in unknown else run.remarks
    return dataclasses.replace(
        run, settings=settings, environments=environments, remarks=remarks, unknown=frozenset(unknown)
    )


def _faults(job: Job) -> Faults:
    """The actions that were not accepted, as far as somebody counted."""
    from gem.evaluation.faults import Faults  # noqa: PLC0415

    score = job.score
    return Faults(*((score.actions or 0, score.unreadable or 0, score.forbidden or 0) if score else (0, 0, 0)))


def _remarks(job: Job) -> list[str]:
    """What a reader has to know of how far an evaluation was played."""
    found = []
    if job.score is not None and job.score.partial:
        found.append(
            f"{job.agent} is partial: {job.score.counted:,} of {job.score.episodes:,} episodes count, and only these "
            f"are compared. The job is {job.state}."
        )
    if job.state == "decided" and job.decision is not None:
        found.append(
            f"{job.agent} stopped as soon as a comparison was decided, so intervals and p-values for a fixed number of "
            f"seeds are too optimistic. What is valid: {job.decision.sentence}"
        )
    return found


# ------------------------------------------------------------------ printing


def _print_scores(comparison: Comparison) -> None:
    rows = []
    for letter, score, rank in zip(LETTERS, comparison.scores, comparison.ranks, strict=False):
        turns = "" if score.mean_turns is None else f"{score.mean_turns:.1f}"
        tokens = f"{score.tokens:,}" if score.tokens else ""
        ranks = str(rank.best) if rank.best == rank.worst else f"{rank.best}–{rank.worst}"
        solved, returns = _share(score.success), _number(score.mean_return)
        faults = ["" if share is None else f"{share:.1%}" for share in (score.unreadable, score.forbidden)]
        rows.append([f"{letter}  {score.name}", f"{score.episodes:,}", solved, returns, turns, *faults, tokens, ranks])
    headings = ["run", "episodes", "solved", "mean return", "mean turns", "unreadable", "forbidden", "tokens", "rank"]
    table(headings, rows)
    print("In brackets: 95 % intervals over seeds.")


def _print_pair(comparison: Comparison, pair: PairOfRuns, *, listed: str | None, difference: float | None) -> None:
    from gem.evaluation.comparison.words import amount  # noqa: PLC0415

    first, second = LETTERS[pair.first], LETTERS[pair.second]
    print(f"\n{first} against {second}\n{pair.sentence}")
    if pair.difference is None:
        return
    headings = ["environment", "seeds", first, second, f"{first} − {second}", "95 %", "won, tie, lost", "p", "says"]
    rows = [_row(one, comparison.measure, first, second) for one in pair.environments]
    if len(rows) > 1:
        rows.append(_row(pair.difference, comparison.measure, first, second))
    table(headings, rows)
    if pair.difference.mcnemar is not None:
        print(f"McNemar's exact test over all seeds: p {_p(pair.difference.mcnemar.p_value, '= ')}.")
    if pair.difference.effect is not None:
        print(f"Effect: {pair.difference.effect:+.2f} standard deviations of a seed's difference.".replace("-", "−"))
    if pair.shown is not None:
        shown = amount(pair.shown, comparison.measure)
        print(f"{count(pair.difference.seeds, 'seed')} like these detect a difference of {shown} with 80 % power.")
    _print_needed(comparison.measure, pair.difference, difference)
    _print_seeds(pair, listed)


def _row(one: Difference, measure: Measure, first: str, second: str) -> list[str]:
    from gem.evaluation.comparison.words import amount, ends  # noqa: PLC0415

    estimate = one.estimate
    interval = "none" if estimate.low is None or estimate.high is None else ends(estimate.low, estimate.high, measure)
    says = (f"{first} better" if estimate.mean > 0 else f"{second} better") if one.decided else "undecided"
    if estimate.low is None and one.tied == one.seeds:
        says = "equal"
    return [
        one.env_id or "all, each the same weight",
        f"{one.seeds:,}",
        *((f"{100 * value:.1f}%" if measure == "success" else f"{value:.3f}") for value in (one.first, one.second)),
        amount(estimate.mean, measure, sign=True).removesuffix(" points"),
        interval.removesuffix(" points"),
        f"{one.won:,} / {one.tied:,} / {one.lost:,}",
        _p(one.p_adjusted),
        says,
    ]


def _print_needed(measure: Measure, one: Difference, difference: float | None) -> None:
    from gem.evaluation.comparison.power import seeds_needed  # noqa: PLC0415
    from gem.evaluation.comparison.words import amount  # noqa: PLC0415

    if difference is None:
        return
    if not one.deviation:
        print("All differences are equal, so the seeds for a smaller one cannot be estimated.")
        return
    seeds = seeds_needed(difference, one.deviation)
    print(f"A difference of {amount(abs(difference), measure)} takes {count(seeds, 'seed')} at 80 % power.")


def _print_seeds(pair: PairOfRuns, listed: str | None) -> None:
    for row in pair.pairing.pairs:
        if listed in ("all", row.outcome):
            print(f"  {row.env_id}, seed {row.seed}: {row.outcome}, {row.first:g} against {row.second:g}")


def _print_settings(comparison: Comparison) -> None:
    from gem.evaluation.comparison.settings import value_in_words  # noqa: PLC0415

    for caution in comparison.cautions:
        print(f"\nCaution: {caution.text}")
    if comparison.settings:
        print("\nSettings that differ:")
        letters = LETTERS[: len(comparison.scores)]
        for setting in comparison.settings[:MAX_LISTED_SETTINGS]:
            texts = zip(letters, map(value_in_words, setting.values), strict=True)
            values = ", ".join(f"{letter}: {text}" for letter, text in texts)
            print(f"  {setting.path}: {values}")
        more = len(comparison.settings) - MAX_LISTED_SETTINGS
        if more > 0:
            print(f"  and {more} more; --json has them all")


def _share(estimate: Estimate | None) -> str:
    if estimate is None or estimate.low is None or estimate.high is None:
        return "" if estimate is None else f"{estimate.mean:.1%}"
    return f"{estimate.mean:.1%} [{estimate.low:.1%}, {estimate.high:.1%}]"


def _number(estimate: Estimate | None) -> str:
    if estimate is None or estimate.low is None or estimate.high is None:
        return "" if estimate is None else f"{estimate.mean:.3f}"
    return f"{estimate.mean:.3f} [{estimate.low:.3f}, {estimate.high:.3f}]"


def _p(value: float, sign: str = "") -> str:
    return "< 0.001" if value < 0.001 else f"{sign}{value:.3f}"
