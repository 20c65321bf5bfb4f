"""The settings that a benchmark prescribes, and those that it excludes, so that all its results can be compared."""

from __future__ import annotations

from typing import Any

from gem import benchmarks
from gem.errors import UsageError
from gem.evaluation import wrapping

DEFAULT_MAX_ERROR_SHARE = 0.1


def fields_of_benchmark(data: dict[str, Any]) -> dict[str, Any]:
    """Return the fields that the benchmark in `data` determines.

    Raises:
        UsageError: if there is no such benchmark, or `data` contradicts it.
    """
    benchmark = benchmarks.load(str(data["benchmark"]))
    version = data.get("benchmark_version")
    if version not in (None, benchmark.version):
        if data.get("env_ids") and isinstance(version, int) and 0 < version < benchmark.version:
            return {}  # a stored specification with an earlier version keeps its environments and seeds
        raise UsageError(
            f"Here the benchmark {benchmark.name} has version {benchmark.version}, not {version}. "
            "Use the release that has the version you want, or leave the version out."
        )
    first_entry = benchmark.entries[0]
    fields = {
        "env_ids": benchmark.env_ids,
        "episodes_per_env": first_entry.episodes,
        "seed": first_entry.first_seed,
    }
    for name, value in fields.items():
        chosen = data.get(name)
        chosen = list(chosen) if isinstance(chosen, tuple) else chosen
        if chosen not in (None, [], value):
            raise UsageError(f"The benchmark {benchmark.name} decides {_DECIDED[name]}, or choose no benchmark.")
    for name, rule in _LIMITS.items():
        if data.get(name) is not None:
            raise UsageError(f"The benchmark {benchmark.name} {rule}")
    for name, rule in _NOT_RANKED.items():
        if data.get(name):
            raise UsageError(f"The benchmark {benchmark.name} is played without {rule}")
    if data.get("hidden_seeds"):
        _check_played_whole(benchmark, data)
    return {**fields, **_help_of_benchmark(benchmark, data), "benchmark_version": benchmark.version}


def _check_played_whole(benchmark: benchmarks.Benchmark, data: dict[str, Any]) -> None:
    """Check that nothing in `data` lets an evaluation on hidden seeds end before all of them are played.

    Raises:
        UsageError: if something does, or the benchmark has no hidden seeds.
    """
    if not any(entry.hidden_seeds for entry in benchmark.entries):
        raise UsageError(f"The benchmark {benchmark.name} has no hidden seeds; play it on its public ones.")
    for name, rule in _NOT_WHOLE.items():
        if data.get(name) not in (None, "", _DEFAULTS.get(name)):
            raise UsageError(
                f"A ranked evaluation is played whole, once and without {rule}, or practise on the public seeds."
            )


def _help_of_benchmark(benchmark: benchmarks.Benchmark, data: dict[str, Any]) -> dict[str, Any]:
    """The wrappers that the benchmark determines, if it has any.

    Raises:
        UsageError: if `data` has other wrappers, or tools with which the benchmark is not played.
    """
    wrappers, chosen = wrapping.check(benchmark.wrappers), data.get("wrappers")
    is_list = isinstance(chosen, list | tuple) and all(isinstance(wrapper, dict) for wrapper in chosen)
    if chosen and is_list and wrapping.check(chosen) != wrappers:
        raise UsageError(f"The benchmark {benchmark.name} is played without further wrappers; choose none.")
    tools = data.get("tools") or ()
    if isinstance(tools, list | tuple) and not benchmark.allows_tools(tuple(map(str, tools))):
        choices = "; ".join(", ".join(choice) or "no tools" for choice in benchmark.tool_sets or ())
        raise UsageError(f"The benchmark {benchmark.name} is played with one of these choices of tools: {choices}.")
    return {"wrappers": wrappers} if wrappers and (not chosen or is_list) else {}


_DECIDED = {
    "env_ids": "which environments are played; choose none yourself",
    "episodes_per_env": "how many episodes are played; leave their number out",
    "seed": "which seeds are played; leave the first seed out",
}
"""What a benchmark decides, and what to do about it."""
_LIMITS = {
    "max_turns": "has the environments' own turn limits; leave yours out.",
    "max_episode_tokens": "limits no tokens of an episode; leave your limit out.",
    "max_episode_money": "limits no money of an episode; leave your limit out.",
}
_NOT_WHOLE = {
    "repeats": "further tries; ask for one try per seed",
    "token_budget": "a token budget; leave yours out",
    "money_budget": "a money budget; leave yours out",
    "turn_budget": "a turn budget; leave yours out",
    "max_error_share": f"a share of errors of your own; leave it at {DEFAULT_MAX_ERROR_SHARE:g}",
}
_DEFAULTS = {"repeats": 1, "max_error_share": DEFAULT_MAX_ERROR_SHARE}

_NOT_RANKED = {
    "retries": "second chances for episodes that end in an error; ask for no retries.",
    "count_as_failed": "rules of your own about errors; choose no errors that count as not solved.",
    "stop_against": "stopping early; leave out the job or agent against which it would be decided.",
}
"""Fields that a benchmark excludes, because results with them could not be compared, and what they would add."""
