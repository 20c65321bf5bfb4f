"""Whether verification finds every changed episode and no honest one, and how many turns it executes in a second.

    python -m bench.verification
    python -m bench.verification --full

Agents play the games of the benchmark, and one game with the search tool, whose outputs are on tape. The row is
digested as before signing. Then episodes are changed in all ways that anybody might try. After signing, the digest has
to find each change. Before signing, re-execution has to find each that changes what the environment gives, or where the
episode belongs; an independent loop around `reset` and `step` says which those are. `--full` plays 100,000 episodes and
changes 10,000, and takes about ten minutes of a core; the default plays and changes a tenth of that.
"""

from __future__ import annotations

import argparse
import json
import math
import random
import sys
import time
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from copy import deepcopy
from dataclasses import dataclass, field, replace
from pathlib import Path
from tempfile import TemporaryDirectory

from bench.stack import machine, print_table
from gem import benchmarks, registry
from gem.agents import Decision, Request, make_agent
from gem.core import Info
from gem.factory import make_wrapped
from gem.records import EpisodeRecord, Identity, StoredEpisode, TurnRecord, episode_files
from gem.rollout import EpisodeRequest, rollout
from gem.verification.digests import Leaf, leaf_of, row_digests
from gem.verification.reexecution import Plan, Planned, reexecute

FULL_HONEST, FULL_CHANGED = 100_000, 10_000
SHARE = 10
"""The default plays and changes so many times fewer."""
MIN_RATE = 20_000
APART = ("Sokoban", "Sudoku")
"""Games whose rates do not count for the target, because drawing an episode of them takes milliseconds."""
WITH_TOOLS = "game:GuessTheNumber-v0-random"
SEARCH = {"tools": [{"name": "search", "index": "wikigame"}]}
BATCH = 500
"""Episodes of one environment that are in memory at a time."""


class Searcher:
    """Asks the search tool twice and then answers anything, so that its episodes have a tape."""

    name = "searcher"

    def act(self, requests: Sequence[Request]) -> list[Decision]:
        actions = ["<search>river</search>", "<search>mountain</search>", "\\boxed{5}"]
        return [Decision(actions[min(request.turn, 3) - 1]) for request in requests]


def play(env_id: str, count: int, first_seed: int) -> list[EpisodeRecord]:
    """Play a part of a row: most episodes with random actions, some by the expert, some with searches."""
    requests = [EpisodeRequest(n, env_id, first_seed + n, SEARCH if env_id == WITH_TOOLS else {}) for n in range(count)]
    if env_id == WITH_TOOLS:
        records = list(rollout(Searcher(), requests))
    else:
        of_expert = [request for request in requests if request.index % 10 == 0]
        of_random = [request for request in requests if request.index % 10]
        records = [*rollout(make_agent("random"), of_random), *rollout(make_agent("expert"), of_expert)]
    return sorted(records, key=lambda record: record.index)


def plan_of_part(env_id: str, first_seed: int) -> Plan:
    """Return what the specification of the part says of each episode."""
    kwargs = SEARCH if env_id == WITH_TOOLS else {}
    return lambda index: Planned(env_id, first_seed + index, 0, kwargs)


# ------------------------------------------------------------------ changes


def _with_turn(record: EpisodeRecord, place: int, turn: TurnRecord) -> EpisodeRecord:
    return replace(record, turns=[*record.turns[:place], turn, *record.turns[place + 1 :]])


def _with_identity(record: EpisodeRecord, identity: Identity) -> EpisodeRecord:
    return replace(record, identity=identity)


@dataclass(frozen=True)
class Row:
    """A part of a row to be changed, and the same part of another row, played on other seeds."""

    records: Sequence[EpisodeRecord]
    others: Sequence[EpisodeRecord]


@dataclass(frozen=True)
class Target:
    """An episode to be changed."""

    draw: random.Random
    row: Row
    record: EpisodeRecord


Change = Callable[[Target], EpisodeRecord]


def change_reward(target: Target) -> EpisodeRecord:
    draw, record = target.draw, target.record
    place = draw.randrange(record.turn_count)
    turn = record.turns[place]
    return _with_turn(record, place, replace(turn, reward=turn.reward + draw.choice([1e-9, 0.1, 1.0, -1.0])))


def change_seed(target: Target) -> EpisodeRecord:
    draw, record = target.draw, target.record
    return _with_identity(record, replace(record.identity, seed=record.identity.seed + draw.choice([1, 2, 1 << 40])))


def change_action(target: Target) -> EpisodeRecord:
    draw, row, record = target.draw, target.row, target.record
    place = draw.randrange(record.turn_count)
    actions = {turn.action for other in row.others[:20] for turn in other.turns} | {"\\boxed{}"}
    other = draw.choice(sorted(actions - {record.turns[place].action}))
    return _with_turn(record, place, replace(record.turns[place], action=other))


def change_observation(target: Target) -> EpisodeRecord:
    draw, record = target.draw, target.record
    place = draw.randrange(-1, record.turn_count)
    if place < 0:
        return replace(record, first_observation=record.first_observation + " ")
    turn = record.turns[place]
    return _with_turn(record, place, replace(turn, observation=turn.observation[1:]))


def change_info(target: Target) -> EpisodeRecord:
    """Change the board, add the rewards of a second seat, or say that the episode was solved."""
    draw, record = target.draw, target.record
    place = draw.randrange(record.turn_count)
    turn = record.turns[place]
    added: Info = draw.choice([{"suffix": "A board."}, {"seats": [{"reward": 50.0}]}, {"bonus": 1}])
    return _with_turn(record, place, replace(turn, info={**turn.info, **added}))


def change_success(target: Target) -> EpisodeRecord:
    record = target.record
    return replace(record, success=not record.success)


def change_order(target: Target) -> EpisodeRecord:
    """Exchange two turns, or drop the last."""
    draw, record = target.draw, target.record
    places = [place for place in range(1, record.turn_count) if record.turns[place] != record.turns[place - 1]]
    if not places:
        return replace(record, turns=record.turns[:-1])
    place = draw.choice(places)
    turns = list(record.turns)
    turns[place - 1 : place + 1] = turns[place], turns[place - 1]
    return replace(record, turns=turns)


def change_version(target: Target) -> EpisodeRecord:
    draw, record = target.draw, target.record
    if draw.random() < 0.5:
        return _with_identity(record, replace(record.identity, data_hash=f"{draw.getrandbits(256):064x}"))
    return _with_identity(record, replace(record.identity, env_version=record.identity.env_version + 1))


def duplicate(target: Target) -> EpisodeRecord:
    """Put a better episode of the row into the place of this one."""
    draw, row, record = target.draw, target.row, target.record
    other = draw.choice([one for one in row.records if one.index != record.index])
    return replace(other, index=record.index)


def swap(target: Target) -> EpisodeRecord:
    """Put the episode of another row into the place of this one."""
    row, record = target.row, target.record
    return row.others[record.index % len(row.others)]


def forge_tape(target: Target) -> EpisodeRecord:
    """Let a tool have answered something else, in the tape and in what the agent read."""
    draw, record = target.draw, target.record
    place = draw.randrange(2)
    turn = record.turns[place]
    info = deepcopy(turn.info)
    said = info["tool_calls"][0]["output"]
    forged = f"The answer is 42. {said[20:]}"
    info["tool_calls"][0]["output"] = forged
    return _with_turn(record, place, replace(turn, info=info, observation=turn.observation.replace(said, forged)))


CHANGES: dict[str, Change] = {
    "reward": change_reward,
    "seed": change_seed,
    "action": change_action,
    "observation": change_observation,
    "board or info": change_info,
    "success": change_success,
    "order of turns": change_order,
    "version or data": change_version,
    "duplicate": duplicate,
    "from another row": swap,
    "forged tape": forge_tape,
}


def gives_something_else(record: EpisodeRecord, planned: Planned) -> bool:
    """Whether the environment gives something else than the record says, by a loop of its own without `gem.replay`."""
    identity = record.identity
    if identity.seed != planned.seed or identity.env_version != registry.spec(identity.env_id).version:
        return True
    env = make_wrapped(identity.env_id, identity.env_kwargs, identity.wrappers)
    observation, info = env.reset(seed=identity.seed)
    before = {name: value for name, value in record.first_info.items() if name.startswith("prev_ep_")}
    if env.data_hash != identity.data_hash or (observation, info | before) != (
        record.first_observation,
        record.first_info,
    ):
        return True
    end = (False, False)
    for turn in record.turns:
        if any(end):
            return True
        observation, reward, terminated, truncated, info = env.step(turn.action)
        end = terminated, truncated
        for call in [*info.get("tool_calls", ()), *turn.info.get("tool_calls", ())]:
            call.pop("seconds", None)  # how long a tool took does not repeat
        if (observation, reward, json.loads(json.dumps(info))) != (turn.observation, turn.reward, turn.info):
            return True
    return end != (record.terminated, record.truncated) or record.success != info.get("success")


# ------------------------------------------------------------------ measurements


@dataclass
class Found:
    """The changes of one kind, in numbers."""

    changed: int = 0
    by_digest: int = 0
    giving_else: int = 0
    """Those with which the environment gives something else than the record says."""
    by_execution: int = 0
    """Those of them that re-execution has found."""
    unchanged_alarms: int = 0
    """Changes that change nothing that the environment gives, and which re-execution called a difference."""


@dataclass
class Totals:
    """All that is measured."""

    kinds: dict[str, Found] = field(default_factory=lambda: {name: Found() for name in CHANGES})
    honest: int = 0
    turns: Counter[str] = field(default_factory=Counter)
    seconds: dict[str, float] = field(default_factory=dict)
    read_seconds: float = 0.0
    """CPU seconds to read the files and compute the digests."""
    alarms: list[str] = field(default_factory=list)


def measure_part(totals: Totals, env_id: str, first_seed: int, honest: int, changed: int, draw: random.Random) -> None:
    """Play a part of a row, verify it, and verify it again with `changed` of its episodes changed."""
    records = play(env_id, honest, first_seed)
    plan = plan_of_part(env_id, first_seed)
    signed = {record.index: leaf_of(record) for record in records}
    read = list(_through_a_file(records, totals))
    if row_digests(map(leaf_of, (stored.record for stored in read))) != row_digests(signed.values()):
        totals.alarms.append(f"{env_id}: the digest of the file is not that of what was played")
    start = time.process_time()
    for finding in reexecute(read, plan=plan):
        if not finding.is_same or finding.notes:
            totals.alarms.append(f"{env_id}, {finding.index}: {finding.sentence} {' '.join(finding.notes)}")
    totals.seconds[env_id] = totals.seconds.get(env_id, 0.0) + time.process_time() - start
    totals.turns[env_id] += sum(record.turn_count for record in records)
    totals.honest += len(records)
    row = Row(records, play(env_id, min(honest, 50), first_seed + 10**9))
    kinds = [name for name in CHANGES if name != "forged tape"] if env_id != WITH_TOOLS else ["forged tape"]
    for number in range(changed):
        name = kinds[number % len(kinds)]
        record = draw.choice(records)
        measure_change(totals.kinds[name], CHANGES[name](Target(draw, row, record)), signed[record.index], plan)


def measure_change(found: Found, changed: EpisodeRecord, signed: Leaf, plan: Plan) -> None:
    """Look for one change by its digest and by re-execution."""
    place = signed.index
    found.changed += 1
    found.by_digest += leaf_of(replace(changed, index=place)) != signed
    [finding] = reexecute([StoredEpisode("", "", replace(changed, index=place))], plan=plan)
    planned = plan(place)
    assert planned is not None, "the plan has every index"
    if gives_something_else(deepcopy(changed), planned):
        found.giving_else += 1
        found.by_execution += not finding.is_same
    else:
        found.unchanged_alarms += not finding.is_same


def _through_a_file(records: Sequence[EpisodeRecord], totals: Totals) -> Iterator[StoredEpisode]:
    with TemporaryDirectory() as folder:
        path = Path(folder) / "episodes.jsonl"
        path.write_text("".join(episode_files.episode_line(record, "agent") for record in records), "utf-8")
        start = time.process_time()
        for stored in episode_files.read(path):
            leaf_of(stored.record)
            yield stored
        totals.read_seconds += time.process_time() - start


def parts(env_ids: Sequence[str], honest: int, changed: int) -> Iterator[tuple[str, int, int, int]]:
    """Yield environment, first seed, episodes and changes of every part, in batches that fit into memory."""
    own, own_changed = math.ceil(honest / len(env_ids)), math.ceil(changed / len(CHANGES))
    for env_id in env_ids:
        of_env = own_changed if env_id == WITH_TOOLS else math.ceil((changed - own_changed) / (len(env_ids) - 1))
        batches = math.ceil(own / BATCH)
        for batch in range(batches):
            yield env_id, batch * BATCH, math.ceil(own / batches), math.ceil(of_env / batches)


def main() -> None:
    """Print the tables, and exit with 1 if a target is missed."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--full", action="store_true", help="100,000 honest episodes and 10,000 changed ones")
    parser.add_argument("--episodes", type=int, help="so many honest episodes, to try it out")
    parser.add_argument("--changes", type=int, help="so many changed ones")
    parser.add_argument("--only", default="", metavar="TEXT", help="only environments whose id contains this")
    chosen = parser.parse_args()
    start = time.monotonic()
    honest = chosen.episodes or (FULL_HONEST if chosen.full else FULL_HONEST // SHARE)
    changed = chosen.changes or (FULL_CHANGED if chosen.full else FULL_CHANGED // SHARE)
    totals, draw = Totals(), random.Random(16)
    env_ids = [*benchmarks.load("games").env_ids, WITH_TOOLS]
    wanted = [part for part in parts(env_ids, honest, changed) if chosen.only in part[0]]
    if not wanted:
        parser.error(f"No environment of this benchmark has {chosen.only!r} in its id.")
    for part in wanted:
        measure_part(totals, *part, draw)
    targets = [print_changes(totals), print_honest(totals), print_rates(totals)]
    elapsed, busy = time.monotonic() - start, time.process_time()
    print(
        f"\n{elapsed:.0f} seconds, {busy:.0f} CPU seconds, {machine()}; targets {'met' if all(targets) else 'missed'}"
    )
    sys.exit(0 if all(targets) else 1)


def print_changes(totals: Totals) -> bool:
    """Print what was found of each kind, and return whether it was everything."""
    print("Changed episodes; target: all found by their digest, and by re-execution if the environment gives otherwise")
    rows: list[tuple[str, ...]] = [("change", "episodes", "by digest", "gives otherwise", "by re-execution")]
    for name, found in totals.kinds.items():
        rows.append(
            (name, *(f"{n:,}" for n in (found.changed, found.by_digest, found.giving_else, found.by_execution)))
        )
    kinds = totals.kinds.values()
    sums = [
        sum(getattr(found, name) for found in kinds) for name in ("changed", "by_digest", "giving_else", "by_execution")
    ]
    print_table([*rows, ("all", *(f"{n:,}" for n in sums))])
    wrong = sum(found.unchanged_alarms for found in kinds)
    print(f"Changes with which the environment gives the same, called a difference: {wrong:,}; target: 0")
    return sums[0] == sums[1] and sums[2] == sums[3] and wrong == 0


def print_honest(totals: Totals) -> bool:
    """Print the false alarms, and return whether there is none."""
    print(f"\nHonest episodes: {totals.honest:,}; false alarms: {len(totals.alarms):,}; target: 0")
    for alarm in totals.alarms[:5]:
        print(f"  {alarm}")
    return not totals.alarms


def print_rates(totals: Totals) -> bool:
    """Print the turns per CPU second, and return whether they are enough."""
    print("\nTurns executed again per CPU second of one process, with the drawing of every episode")
    rows: list[tuple[str, ...]] = [("environment", "turns", "turns/s")]
    groups: dict[str, list[str]] = {name: [e for e in totals.turns if name in e] for name in APART}
    rest = [env_id for env_id in totals.turns if not any(name in env_id for name in APART) and env_id != WITH_TOOLS]
    for env_id in totals.turns:
        turns, seconds = totals.turns[env_id], totals.seconds[env_id]
        rows.append((env_id, f"{turns:,}", f"{turns / seconds:,.0f}"))
    rate = 0.0
    for name, env_ids in [*groups.items(), ("all other games", rest)]:
        turns = sum(totals.turns[env_id] for env_id in env_ids)
        seconds = sum(totals.seconds[env_id] for env_id in env_ids)
        rate = turns / seconds if seconds else math.nan
        rows.append((name, f"{turns:,}", f"{rate:,.0f}"))
    print_table(rows)
    turns = sum(totals.turns.values())
    print(f"Read from JSON lines and digested: {turns / totals.read_seconds:,.0f} turns/s")
    print(f"Target: {MIN_RATE:,} turns/s in all other games")
    return not rest or rate >= MIN_RATE


if __name__ == "__main__":
    main()
