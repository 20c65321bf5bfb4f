"""Checks whether what a benchmark file says is true: environments, versions, turn limits, references, data and labels.

for sentence in problems(document.parse(text)):
    print(sentence)

`gem.benchmarks.document` has checked its form before. `problems` finds what is wrong with the file, all of it at once;
`notes` says what keeps it from being played on this machine.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import Any

from gem import benchmarks, registry
from gem.agents import has_expert
from gem.benchmarks import BEST_POSSIBLE, MIN_DISTANCE, Benchmark, BenchmarkEntry, Reference, document
from gem.core import Env
from gem.datasets import Dataset
from gem.datasets.names import NAMED_DATASETS
from gem.errors import GemError, UsageError
from gem.evaluation import wrapping
from gem.evaluation.data import sample_hash, will_play_on
from gem.evaluation.intervals import MIN_SEEDS
from gem.factory import make
from gem.registry import EnvSpec
from gem.tools import tool_catalog

OPEN_SCORE = 0.9
"""The score of the agent that looks seeds up, from which on an environment is an open set."""
FEW_STARTS = 100
"""Up to so many starts, an environment is an open set unless that agent was measured and does not reach it."""
PUBLIC_DATA = "public data"
"""The label of an environment over a dataset."""


def problems(data: Any) -> list[str]:
    """Everything that is wrong with a benchmark, as sentences; empty if it can be ranked."""
    if found := document.problems(data):
        return found
    if "members" in data:
        return list(_of_members(data))
    benchmark = document.read(data)
    found = [sentence for entry in benchmark.entries for sentence in _of_entry(entry)]
    return found + list(_of_help(benchmark))


MAX_LISTED = 10**9
"""Data with more rows than this are no list, but a generator that has a problem for every seed."""


def notes(data: Any) -> list[str]:
    """Why a benchmark without problems cannot be played on this machine, or not wholly; empty if it can."""
    found = []
    for entry in entries_of(data):
        spec = registry.spec(entry.env_id)
        if missing := spec.missing_packages():
            found.append(f"{entry.env_id} needs packages that are not here: {', '.join(missing)}.")
        elif reason := spec.unavailable_reason():
            found.append(f"{entry.env_id} cannot be played here. {reason}")
        else:
            found += _of_data_here(entry)
        if entry.scored_episodes < MIN_SEEDS:
            found.append(
                f"{entry.env_id} has {entry.scored_episodes} seeds. Below {MIN_SEEDS} its scores have no interval."
            )
    return found


def open_set_label(env_id: str, env_version: int, *, has_fixed_data: bool) -> str:
    """Why hidden seeds hide little in an environment: "11 starts", "public data"; empty if they hide something.

    Args:
        has_fixed_data: whether a seed only selects a row of a dataset.
    """
    if has_fixed_data:
        return PUBLIC_DATA
    counted = benchmarks.starts(env_id, env_version)
    if counted is None:
        return ""
    is_open = counted.starts <= FEW_STARTS if counted.hidden is None else counted.hidden >= OPEN_SCORE
    return f"{counted.starts:,} start{'' if counted.starts == 1 else 's'}" if is_open else ""


def entries_of(data: Any) -> tuple[BenchmarkEntry, ...]:
    """The environments of a benchmark without problems; if it has members, those of all of them."""
    return document.read(data, lambda name, _: benchmarks.load(name)).entries


def _of_members(data: dict[str, Any]) -> Iterator[str]:
    """What is wrong with the members of a union."""
    for member in data["members"]:
        name, version = member["name"], member["version"]
        try:
            present = benchmarks.load(name)
        except UsageError as error:
            yield str(error)
            continue
        if present.members:
            yield f"{name} unites other benchmarks itself: name those."
        if present.version != version:
            yield f"{name} has version {present.version}, not {version}."
        if present.wrappers:
            yield f"{name} has wrappers of its own, so it cannot be played together with others."


def _of_entry(entry: BenchmarkEntry) -> Iterator[str]:
    """What is wrong with one environment of a benchmark."""
    try:
        spec = registry.spec(entry.env_id)
    except UsageError as error:
        yield str(error)
        return
    label = f"{entry.env_id}: "
    if spec.version != entry.env_version:
        yield f"{label}the file is about version {entry.env_version}, and here it has version {spec.version}."
        return  # what was measured of another version says nothing about this one
    if spec.seats > 1:
        yield (
            f"{label}it has {spec.seats} seats, and everybody has to meet the same opponent. Name an id with an "
            f"opponent, such as {entry.env_id}-vs-expert."
        )
    yield from (label + sentence for sentence in _of_scale(entry, spec))
    env = _made(spec)
    if env is None:
        return
    try:
        yield from (label + sentence for sentence in _of_environment(entry, env))
    finally:
        env.close()


def _of_scale(entry: BenchmarkEntry, spec: EnvSpec) -> Iterator[str]:
    """What is wrong with the two ends of the scale."""
    assert entry.random is not None
    assert entry.anchor is not None
    random, anchor = entry.random, entry.anchor
    expert = has_expert(spec.id)
    if anchor.by not in ("expert", BEST_POSSIBLE):
        yield f'the anchor is that of "expert" or "{BEST_POSSIBLE}", not of "{anchor.by:.40}".'
    elif expert != (anchor.by == "expert"):
        yield (
            "there is an expert, so its mean return is the anchor."
            if expert
            else f'there is no expert, so the anchor is the best possible return: "by": "{BEST_POSSIBLE}".'
        )
    yield from _of_measurement("random", random, entry)
    if anchor.by == "expert":
        yield from _of_measurement("expert", anchor, entry)
    far = entry.distance
    assert far is not None
    if anchor.mean <= random.mean:
        yield (
            f"the anchor, {anchor.mean:g}, is not above the random agent's return, {random.mean:g}, so that nothing is "
            "measured."
        )
    elif far < MIN_DISTANCE:
        enough = math.ceil(entry.scored_episodes * (MIN_DISTANCE / far) ** 2)
        yield (
            f"the anchor, {anchor.mean:g}, is {far:.1f} standard errors of {entry.scored_episodes} episodes above the "
            f"random agent's return, {random.mean:g}, so a score would be noise. It takes at least {MIN_DISTANCE:g}: "
            f"play {enough:,} seeds or more, or leave it out."
        )


def _of_measurement(agent: str, written: Reference, entry: BenchmarkEntry) -> Iterator[str]:
    """Whether a reference agrees with what was measured of this version, if that was on the same data."""
    known = benchmarks.baseline(entry.env_id, agent, entry.env_version)
    if known is None or (known.data and (entry.data is None or known.data != entry.data.name)):
        return
    if known.low > written.high or known.high < written.low:
        yield (
            f"the {agent} return is given as {written.mean:g}, and {known.mean_return:g} was measured in {known.n} "
            f"episodes ({known.low:g} to {known.high:g})."
        )


def _made(spec: EnvSpec) -> Env | None:
    """The environment; None if it cannot be made here, which `notes` says."""
    if spec.missing_packages() or spec.unavailable_reason():
        return None
    dataset = str(spec.kwargs.get("dataset", ""))
    use = will_play_on(dataset) if dataset in NAMED_DATASETS else None
    is_sample = use is not None and bool(use.stands_in_for)
    kwargs = {"dataset": f"sample:{NAMED_DATASETS[dataset].sample}"} if is_sample else {}  # the hub is not asked
    try:
        env = make(spec.id, **kwargs)
        env.reset(seed=0)
    except GemError:
        return None
    return env


def _of_environment(entry: BenchmarkEntry, env: Env) -> Iterator[str]:
    """What differs from the environment itself."""
    if entry.max_turns is not None and entry.max_turns != env.max_turns:
        yield f"the file has a limit of {entry.max_turns} turns, and the environment has {env.max_turns}."
    bounds = env.return_bounds
    if entry.anchor is not None and entry.anchor.by == BEST_POSSIBLE and bounds and entry.anchor.mean != bounds[1]:
        yield f"its best possible return is {bounds[1]:g}, not {entry.anchor.mean:g}."
    yield from _of_data(entry, env)
    rows = _rows(env)
    if rows:
        yield from _of_rows(entry, rows)
        return
    wanted = open_set_label(entry.env_id, entry.env_version, has_fixed_data=False)
    if wanted and not entry.open_set:
        yield f'it has {wanted}, so hidden seeds hide little: say "open_set": "{wanted}".'
    if not entry.hidden_seeds:
        yield "it has no hidden seeds, and its seeds are no rows of a dataset. Say how many seeds are hidden."


def _rows(env: Env) -> int:
    """The number of rows of the dataset from which a seed selects one; 0 if there is none."""
    return listed_rows(getattr(env.unwrapped, "dataset", None))


def listed_rows(dataset: object) -> int:
    """The number of rows of a dataset that somebody could list; 0 of anything else, such as a generator without end."""
    return len(dataset) if isinstance(dataset, Dataset) and len(dataset) <= MAX_LISTED else 0


def _of_rows(entry: BenchmarkEntry, rows: int) -> Iterator[str]:
    """What is wrong with an environment whose seeds select rows of a dataset that everybody can read."""
    if entry.hidden_seeds:
        yield f"its {rows:,} rows are public, so there are no hidden seeds: say 0."
    if not entry.open_set:
        yield f'everybody can read its rows: say "open_set": "{PUBLIC_DATA}".'
    is_as_ranked = entry.data is not None and entry.data.stands_in_for == "" and not _is_sample(entry)
    if entry.episodes > rows and not is_as_ranked:
        yield f"it has {rows:,} rows and {entry.episodes:,} seeds, so that some would be played twice."


def _is_sample(entry: BenchmarkEntry) -> bool:
    return entry.data is not None and entry.data.hash == sample_hash(entry.env_id) != ""


def _of_data(entry: BenchmarkEntry, env: Env) -> Iterator[str]:
    """What is wrong with what the file says about data."""
    if entry.data is None:
        if env.data_hash:
            yield f'it is played on data with the hash {env.data_hash}: name them in "data", with their licence.'
        return
    if not env.data_hash:
        yield 'it has no data: leave "data" out.'
    elif _is_sample(entry) and not entry.data.stands_in_for:
        yield (
            "its data are the built-in sample, so the file has to say which dataset they stand in for (stands_in_for)."
        )


def _of_data_here(entry: BenchmarkEntry) -> Iterator[str]:
    """Whether this machine has the data of the file."""
    if entry.data is None:
        return
    env = _made(registry.spec(entry.env_id))
    if env is None:
        yield f"{entry.env_id} cannot be made here, so its data were not looked at."
        return
    if env.data_hash != entry.data.hash:
        yield (
            f"{entry.env_id} is ranked on the {entry.data.name} ({entry.data.hash[:12]}), and this machine has other "
            f"data ({env.data_hash[:12]}). Episodes from here do not count."
        )
    env.close()


def _of_help(benchmark: Benchmark) -> Iterator[str]:
    """What is wrong with wrappers and choices of tools."""
    try:
        wrapping.check(benchmark.wrappers)
    except UsageError as error:
        yield str(error)
    for names in benchmark.tool_sets or ():
        if names:
            yield from _of_tools(["mcp:server" if name == "mcp" else name for name in names], benchmark)
    chosen = [tuple(sorted(names)) for names in benchmark.tool_sets or ()]
    if len(set(chosen)) != len(chosen):
        yield "A choice of tools is there twice."


def _of_tools(names: list[str], benchmark: Benchmark) -> Iterator[str]:
    try:
        tool_catalog.wrapper(names)
    except UsageError as error:
        yield str(error)
    for env_id in benchmark.env_ids:
        try:
            tool_catalog.check_takes_tools(registry.spec(env_id))
        except UsageError as error:
            if env_id in registry.ENV_REGISTRY:
                yield str(error)
