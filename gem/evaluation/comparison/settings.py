"""The differences between runs besides the agent: the settings side by side, and warnings where they matter."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, NamedTuple

from gem.evaluation.comparison.runs import Run

IGNORED = frozenset({
    "agent", "model", "name", "note", "notes", "tags", "priority", "visibility", "token_budget", "money_budget",
    "turn_budget",
    "num_envs", "concurrency", "url", "prices", "timeout", "tries", "patience", "stream", "max_tokens_field",
})  # fmt: skip
"""Settings that say who plays, where, how fast or at what price, but not how the episodes go."""


class Setting(NamedTuple):
    """A setting, as each run has it."""

    path: str
    """Where it is: `agent_set_up.temperature`, or `game:Sokoban-v0.max_turns`."""
    values: tuple[Any, ...]
    """Its value in each run; None where it is not set."""

    @property
    def differs(self) -> bool:
        """Whether it is not the same in all runs."""
        return any(value != self.values[0] for value in self.values)


class Caution(NamedTuple):
    """A difference between the runs that may explain the difference of their results."""

    kind: str
    """`seeds`, `versions`, `wrappers`, `prompts`, `data`, `sampling`, `turn limits`, `tools`, `opponents`, `other`, or
    `remark` for what a run says of itself."""
    text: str


def differing_settings(runs: Sequence[Run]) -> list[Setting]:
    """Return the settings that are not the same in all runs, by path; `settings` first, then each environment's."""
    return [row for row in all_settings(runs) if row.differs]


def all_settings(runs: Sequence[Run]) -> list[Setting]:
    """Return the settings of all runs, by path; `settings` first, then those of the environments that all have.

    A setting that the source of one of the runs does not tell is left out: it may be the same.
    """
    unknown = frozenset[str]().union(*(run.unknown for run in runs))
    found = _side_by_side([dict(_flat(_known(run.settings, unknown), "")) for run in runs])
    env_ids = [env_id for env_id in runs[0].environments if all(env_id in run.environments for run in runs)]
    for env_id in env_ids:
        found += _side_by_side([dict(_flat(_known(run.environments[env_id], unknown), env_id)) for run in runs])
    return found


def cautions(runs: Sequence[Run], settings: Sequence[Setting]) -> list[Caution]:
    """Warn of every difference that may explain a difference of results.

    Args:
        settings: from `differing_settings`.
    """
    found = [Caution("remark", remark) for run in runs for remark in run.remarks] + _seed_cautions(runs)
    by_kind: dict[str, list[Setting]] = {}
    for setting in settings:
        kind = _kind(setting.path)
        if kind:
            by_kind.setdefault(kind, []).append(setting)
    for kind, own in by_kind.items():
        found.append(Caution(kind, _TEXTS[kind].format(settings=_listed(own))))
    return found


_TEXTS = {
    "versions": "The runs played different versions of an environment, so they did not play the same game: {settings}.",
    "wrappers": "The environments were wrapped differently: {settings}.",
    "prompts": "The prompts differ, so part of the difference may be theirs: {settings}.",
    "data": "The problems come from different data, so the same seed is another problem: {settings}.",
    "sampling": "The sampling settings differ, so part of the difference may be theirs: {settings}.",
    "turn limits": "The turn limits differ: {settings}.",
    "tools": "The runs had different tools: {settings}.",
    "opponents": "The runs had different opponents: {settings}.",
    "other": "These settings differ besides the agent: {settings}.",
}
_KINDS_BY_FIELD = {
    "env_version": "versions", "engine_version": "versions", "env_kwargs": "versions",
    "wrappers": "wrappers", "data_hash": "data", "max_turns": "turn limits", "tools": "tools",
    "max_tool_uses": "tools", "tool_format": "tools", "opponent": "opponents", "opponent_set_up": "opponents",
    "system": "prompts", "template": "prompts", "history": "prompts", "style": "prompts", "images": "prompts",
    "input_mode": "prompts", "temperature": "sampling", "top_p": "sampling", "max_tokens": "sampling",
    "set_up.seed": "sampling", "stop": "sampling", "more": "sampling",
}  # fmt: skip
_SEED_CHOICES = frozenset({"benchmark", "benchmark_version", "env_ids", "episodes_per_env", "seed", "repeats"})
"""Settings that choose environments and seeds, which are compared themselves, with their versions and settings."""


def _kind(path: str) -> str:
    """Return the kind of warning for a setting; empty for the choice of seeds, which is compared itself."""
    for name in (path, *path.split(".")):
        if name in _KINDS_BY_FIELD:
            return _KINDS_BY_FIELD[name]
    return "" if path in _SEED_CHOICES else "other"


def _seed_cautions(runs: Sequence[Run]) -> list[Caution]:
    """Warn if the runs did not play the same seeds, or not each seed equally often."""
    found = []
    seeds = [{(env_id, seed) for env_id, own in run.seeds.items() for seed in own} for run in runs]
    everywhere, anywhere = set.intersection(*seeds), set.union(*seeds)
    if everywhere != anywhere:
        text = (
            f"Only {len(everywhere):,} of {len(anywhere):,} seeds were played in all runs. "
            "A pair is compared on the seeds that both have played."
        )
        found.append(Caution("seeds", text))
    tries = [len(run.episodes) / len(own) if own else 0.0 for run, own in zip(runs, seeds, strict=True)]
    if max(tries) - min(tries) > 0.5:
        counts = ", ".join(f"{run.name} {count:.1f}" for run, count in zip(runs, tries, strict=True))
        found.append(Caution("seeds", f"The seeds were tried unequally often. Episodes for each seed: {counts}."))
    missing = [(run, sum(not episode.counts for episode in run.episodes)) for run in runs]
    if any(count for _, count in missing):
        counts = ", ".join(f"{run.name} {count:,}" for run, count in missing)
        found.append(
            Caution("seeds", f"Episodes that do not count, because of errors or missing answers: {counts}. "
                    "If these were the hard ones, the results are too good.")
        )  # fmt: skip
    return found


def _side_by_side(columns: Sequence[Mapping[str, Any]]) -> list[Setting]:
    paths = dict.fromkeys(path for column in columns for path in column)
    return [Setting(path, tuple(column.get(path) for column in columns)) for path in paths]


def _known(settings: Mapping[str, Any], unknown: frozenset[str]) -> dict[str, Any]:
    return {name: value for name, value in settings.items() if name not in unknown}


def _flat(data: Mapping[str, Any], prefix: str) -> Iterable[tuple[str, Any]]:
    """Yield the paths and values of nested mappings; empty values are left out, as if they were not set."""
    for name, value in data.items():
        if name in IGNORED or value in (None, "", [], (), {}):
            continue
        path = f"{prefix}.{name}" if prefix else name
        if isinstance(value, Mapping):
            yield from _flat(value, path)
        else:
            yield path, list(value) if isinstance(value, tuple) else value


def _listed(settings: Sequence[Setting]) -> str:
    texts = [f"{row.path} ({' / '.join(map(_short, row.values))})" for row in settings[:4]]
    more = len(settings) - len(texts)
    return ", ".join(texts) + (f" and {more} more" if more else "")


def value_in_words(value: Any) -> str:
    """Return the value of a setting as text: JSON, without quotes around texts; a dash where it is not set."""
    if value is None:
        return "–"
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)


def _short(value: Any) -> str:
    text = value_in_words(value)
    return text if len(text) <= 40 else f"{text[:39]}…"
