"""`gemweb reproduce`: play or execute a row of a leaderboard on this machine, and print what differs.

While the season of the row runs, nobody has its seeds: then the practice seeds of the benchmark are played, and the
returns are compared. Afterwards the episodes themselves are executed again, and agents that are here choose again.
"""

from __future__ import annotations

import argparse
import math
import re
import tempfile
from collections import defaultdict
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from gem.cli.output.tables import table
from gem.cli.server.connection import connect
from gem.cli.verify import print_summary
from gem.errors import UsageError
from gem.validation.dependencies import VERIFICATION_PACKAGES, require_installed
from gem.validation.messages import count

if TYPE_CHECKING:
    from gem.agents import AnyAgent
    from gem.client import Client
    from gem.client.schemas import Proof
    from gem.evaluation.spec import EvaluationSpec
    from gem.records import EpisodeRecord
    from gem.rollout import EpisodeRequest
    from gem.verification.certificates import Certificate, CertifiedEnvironment

ADDRESS = re.compile(r"(?P<site>\S+?)/leaderboard/row/(?P<row>[0-9]{1,18})/?")
MIN_FOR_ERRORS = 10
"""With fewer episodes, their spread says little of that of the environment, so no standard error is printed."""
ROUNDING = 1e-9
"""Differences of returns that are no larger come from the order of their sum."""
HEADINGS = ["environment", "n", "return here", "return of the row", "difference", "standard errors"]


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the arguments of the command."""
    parser.add_argument("row", metavar="ROW", help="the address of the row's page, or its number")
    parser.add_argument("--url", help="the server of a row that is given by its number")
    parser.add_argument("--episodes", type=int, metavar="N", help="at most N episodes of each environment")
    parser.add_argument(
        "--weights", type=Path, metavar="FOLDER", help="the checkpoint of the row, which gemweb pull fetches"
    )
    parser.add_argument("--processes", type=int, default=1, help="how many processes execute (1)")


def run(row: str, url: str | None, episodes: int | None, weights: Path | None, processes: int) -> int:
    """Reproduce a row; the exit code is 1 if something differs, or the row is not verified."""
    require_installed("gemweb reproduce", VERIFICATION_PACKAGES)
    if processes < 1 or (episodes is not None and episodes < 1):
        raise UsageError("--processes and --episodes are at least 1.")
    from gem.verification.certificates import Certificate  # noqa: PLC0415 (the other commands start faster without it)

    site, row_id = read_row(row, url)
    with connect(site) as client:
        proof = client.leaderboards.proof(row_id)
        if proof.certificate is None:
            print(f"There is nothing to reproduce: {proof.sentence} {proof.difference}".strip())
            return 1
        certificate = Certificate.model_validate(proof.certificate["certificate"])
        _print_row(certificate, proof)
        agent = _make_agent(proof, weights)
        if proof.closed:
            return _play_practice(certificate, proof, agent, episodes)
        return _execute(client, row_id, certificate, agent, episodes, processes)


def read_row(row: str, url: str | None) -> tuple[str | None, int]:
    """Return the address of the site and the number of the row.

    Raises:
        UsageError: if it is neither the address of a row nor a number.
    """
    if found := ADDRESS.fullmatch(row):
        return found["site"], int(found["row"])
    if not row.isascii() or not row.isdecimal() or len(row) > 18:
        raise UsageError(f"{row!r:.80} is not a row: give the address of its page, or its number and --url.")
    return url, int(row)


def _print_row(certificate: Certificate, proof: Proof) -> None:
    import gem  # noqa: PLC0415 (as above)

    benchmark = certificate.benchmark
    where = f" on {benchmark.name}, version {benchmark.version}" if benchmark else ""
    print(f"{certificate.agent.name}{where}: {count(certificate.episodes, 'episode')}, {certificate.tier}.")
    if certificate.score is not None:
        print(f"Score {certificate.score.mean:.3f}.")
    if certificate.engine.version != gem.__version__:
        print(f"It was played with engine {certificate.engine.version}; this is {gem.__version__}.")
    if proof.agent_kind == "endpoint":
        print(
            "The agent is an endpoint. Its server may have changed and may sample at random, so the same actions "
            "cannot be guaranteed; what the environments return does repeat."
        )


def _make_agent(proof: Proof, weights: Path | None) -> AnyAgent | None:
    """The agent of the row, if it is here."""
    from gem.agents import make_agent  # noqa: PLC0415 (as above)

    if weights is not None:
        if proof.agent_kind != "checkpoint":
            raise UsageError("Only rows of checkpoints have weights.")
        return make_agent("policy", path=str(weights))
    if proof.agent_kind in ("random", "expert"):
        return make_agent(proof.agent_kind)
    if proof.agent_kind == "checkpoint":
        print(f"To let the agent choose again: gemweb pull {proof.agent}, unpack it, and add --weights FOLDER.")
    return None


# ------------------------------------------------------------------ while the season runs


def _play_practice(certificate: Certificate, proof: Proof, agent: AnyAgent | None, most: int | None) -> int:
    """Play the practice seeds and print how far the returns are from those of the row."""
    when = f" until {proof.opens:%Y-%m-%d}" if proof.opens else ""
    print(f"Its seeds and episodes are closed{when}; then this command executes them.")
    if agent is None:
        print("Until then there is nothing to play here: its agent is not on this machine.")
        return 0
    from gem.agents import make_agent  # noqa: PLC0415 (as above)
    from gem.evaluation.spec import EvaluationSpec  # noqa: PLC0415
    from gem.rollout import rollout  # noqa: PLC0415

    print("Meanwhile, the practice seeds are played. Other seeds give other returns, so they agree only roughly.")
    wanted = {name: value for name, value in certificate.specification.items() if name not in ("hidden_seeds", "agent")}
    spec = EvaluationSpec.model_validate({**wanted, "agent": "random"})  # whose name it has is of no account here
    opponent = make_agent(spec.opponent) if spec.opponent in ("random", "expert") else None
    returns: dict[str, list[float]] = defaultdict(list)
    for record in rollout(agent, _requests(spec, most), num_envs=spec.num_envs, opponent=opponent):
        if not record.failure:
            returns[record.identity.env_id].append(record.total_reward)
    table(HEADINGS, [_row(one, returns[one.env_id]) for one in certificate.environments])
    return 0


def _requests(spec: EvaluationSpec, most: int | None) -> list[EpisodeRequest]:
    from gem.rollout import EpisodeRequest  # noqa: PLC0415 (as above)

    found, index = [], 0
    for part in spec.parts:
        for number in range(min(part.episodes, most or part.episodes)):
            seed, seat = part.seed_and_seat(number)
            found.append(EpisodeRequest(index, part.env_id, seed, {}, spec.all_wrappers, seat))
            index += 1
    return found


def _row(certified: CertifiedEnvironment, returns: Sequence[float]) -> list[str]:
    """A line of the table, where the difference is also in standard errors, as if both had the spread found here."""
    n, row = len(returns), certified.mean_return
    if not n or row is None:
        return [certified.env_id, str(n), "", "", "", ""]
    mean = math.fsum(returns) / n
    spread = math.fsum((value - mean) ** 2 for value in returns) / max(1, n - 1)
    error = math.sqrt(spread * (1 / n + 1 / certified.seeds)) if certified.seeds else 0.0
    difference = mean - row.mean if abs(mean - row.mean) > ROUNDING else 0.0
    in_errors = f"{difference / error:+.1f}" if n >= MIN_FOR_ERRORS and error > ROUNDING else ""
    return [certified.env_id, str(n), f"{mean:.3f}", f"{row.mean:.3f}", f"{difference:+.3f}", in_errors]


# ------------------------------------------------------------------ when it is over


def _execute(
    client: Client, row_id: int, certificate: Certificate, agent: AnyAgent | None, most: int | None, processes: int
) -> int:
    """Fetch the episodes, compare them with the certificate, execute them, and let the agent choose again."""
    from gem.records import episode_files  # noqa: PLC0415 (as above)
    from gem.verification.certificates import NotProved  # noqa: PLC0415
    from gem.verification.checking import check_episodes  # noqa: PLC0415
    from gem.verification.reexecution import Summary, reexecute  # noqa: PLC0415

    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / f"row-{row_id}.jsonl"
        with path.open("wb") as file:
            for part in client.leaderboards.episodes(row_id):
                file.write(part)
        try:
            number = check_episodes(certificate, lambda: episode_files.read(path))
        except NotProved as error:
            print(f"DIFFERS. {error}")
            return 1
        print(f"All {count(number, 'episode')} are those of the certificate, and its means follow from them.")
        chosen = list(_first_of_each((stored.record for stored in episode_files.read(path)), most))
        indices = {(record.identity.env_id, record.index) for record in chosen}
        summary = Summary()
        wanted = (
            stored
            for stored in episode_files.read(path)
            if (stored.record.identity.env_id, stored.record.index) in indices
        )
        for finding in reexecute(wanted, processes=processes):
            summary.add(finding)
    print_summary(summary)
    if summary.first is not None:
        print(f"DIFFERS. {summary.first.name}, {summary.first.env_id}: {summary.first.sentence}")
        return 1
    return 0 if agent is None else _choose_again(agent, chosen)


def _first_of_each(records: Iterable[EpisodeRecord], most: int | None) -> Iterable[EpisodeRecord]:
    """The first records of each environment."""
    taken: dict[str, int] = defaultdict(int)
    for record in records:
        taken[record.identity.env_id] += 1
        if most is None or taken[record.identity.env_id] <= most:
            yield record


def _choose_again(agent: AnyAgent, records: Sequence[EpisodeRecord]) -> int:
    """Let the agent play the episodes again, and compare what it chooses."""
    from gem.rollout import EpisodeRequest, rollout  # noqa: PLC0415 (as above)

    wanted = {record.index: record for record in records if not record.failure and not record.cut}
    requests = [
        EpisodeRequest(
            record.index,
            record.identity.env_id,
            record.identity.seed,
            record.identity.env_kwargs,
            record.identity.wrappers,
            record.seat,
        )
        for record in wanted.values()
        if len(record.total_rewards) < 2  # the opponent's choices are not the agent's
    ]
    others = []
    for again in rollout(agent, requests):
        record = wanted[again.index]
        if [turn.action for turn in again.turns] != [turn.action for turn in record.turns]:
            others.append(record)
    print(f"The agent chose the same actions in {len(requests) - len(others):,} of {count(len(requests), 'episode')}.")
    if others:
        first = min(others, key=lambda record: record.index)
        print(
            f"DIFFERS. {first.identity.env_id}, episode {first.index + 1}: other actions. A trained policy repeats "
            "only with the same build of torch, kind of CPU and number of threads."
        )
        return 1
    return 0
