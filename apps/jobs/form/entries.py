"""The entries of the form as a browser sends them: read, changed by its buttons, and made from a document.

Everything that is chosen is an entry, so the form works without JavaScript, and an address can hold all of it.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any

from django.http import QueryDict

from apps.episodes.tools import choice as tool_choice
from apps.jobs.form.matrix import Row
from apps.jobs.form.picker import ids_of, known_ids
from apps.spec_forms import read_json
from gem import benchmarks
from gem.errors import UsageError
from gem.evaluation import selection, wrapping

ONE = (
    "benchmark", "practice", "episodes_per_env", "seed", "repeats", "num_envs", "max_turns", "token_budget",
    "money_budget", "turn_budget", "max_episode_tokens", "max_episode_money", "opponent", "stop_against",
    "max_tool_uses", "tool_format", "backend", "retries", "max_error_share",
    "name", "notes", "tags", "priority", "visibility",
)  # fmt: skip
"""Fields with one value."""
SEVERAL = ("agent", "env_id", "tool", "wrapper", "count_as_failed", "row", "column", "cell", "opened")
"""Fields with several values."""
FIELDS = (*ONE, *SEVERAL)
SEARCHES = ("find", "find_category", "find_difficulty", "find_benchmark", "find_agent")
"""What is searched for: it is no part of what is submitted."""
BY_PLACE = {
    "agents": "agent", "env_ids": "env_id", "tools": "tool", "wrappers": "wrapper", "without": "agent",
    "benchmark_version": "benchmark",
}  # fmt: skip
"""The fields of the form by those of a `Submission`, where they differ."""
assert set(tool_choice.FIELDS) <= set(FIELDS)


def changed(sent: QueryDict) -> QueryDict:
    """The entries after the button was pressed that was sent as `do`: a verb, and what it concerns."""
    data = sent.copy()
    verb, *names = data.pop("do", [""])[-1].split()
    if verb in ("add", "remove"):
        chosen, named = known_ids(data.getlist("env_id")), known_ids(names)
        kept = [env_id for env_id in chosen if env_id not in named]
        data.setlist("env_id", selection.compact([*kept, *named] if verb == "add" else kept))
    elif verb in ("add-agent", "remove-agent"):
        others = [slug for slug in data.getlist("agent") if slug not in names]
        data.setlist("agent", [*others, *names] if verb == "add-agent" else others)
    elif verb in ("open", "close"):
        opened = [token for token in data.getlist("opened") if token not in names]
        data.setlist("opened", [*opened, *names] if verb == "open" else opened)
    return data


def read_document(text: str) -> dict[str, Any]:
    """The document that somebody pasted.

    Raises:
        UsageError: if it is no JSON object.
    """
    try:
        document = read_json(text)
    except ValueError as error:
        raise UsageError(f"This is not JSON: {error}. Nothing in the form was changed.") from error
    if not isinstance(document, dict):
        raise UsageError("A specification is a JSON object: {…}. Nothing in the form was changed.")
    spec = document.get("spec")
    return (
        {**spec, **{name: value for name, value in document.items() if name != "spec"}}
        if isinstance(spec, dict)
        else document
    )


def of_document(document: Mapping[str, Any]) -> QueryDict:
    """The entries that say what a document says. Values of a wrong kind stay, so that the form names them."""
    data = QueryDict(mutable=True)
    for name in ONE:
        value = document.get(name)
        if name == "tags" and isinstance(value, list | tuple):
            data[name] = ", ".join(map(str, value))
        elif value is not None:
            data[name] = value if isinstance(value, str) else _text_of(value)
    data.setdefault("benchmark", "")
    if benchmarks.has_hidden_seeds(str(data["benchmark"])) and document.get("hidden_seeds") is not True:
        data["practice"] = "on"
    agents = _texts(document.get("agents")) or _texts(document.get("agent"))
    env_ids = [] if document.get("benchmark") else _texts(document.get("env_ids"))
    data.setlist("agent", agents)
    data.setlist("env_id", _shortened(env_ids))
    data.setlist("tool", _texts(document.get("tools")))
    data.setlist("count_as_failed", _texts(document.get("count_as_failed")))
    wrappers = document.get("wrappers")
    data.setlist("wrapper", [_word_of(one) for one in wrappers] if isinstance(wrappers, list | tuple) else [])
    _leave_out(data, document.get("without"))
    return data


def of_values(values: Mapping[str, Any]) -> QueryDict:
    """Values of the form as entries."""
    data = QueryDict(mutable=True)
    for name, value in values.items():
        data.setlist(name, [str(one) for one in value] if isinstance(value, list | tuple) else [_text_of(value)])
    return data


def set_table(data: QueryDict, table: Sequence[Row], agents: Sequence[str]) -> None:
    """Make the entries say what the table of agents and environments shows."""
    data.setlist("column", list(agents) if table else [])
    data.setlist("row", [row.token.value for row in table if row.cells])
    data.setlist("cell", [cell.value for row in table for cell in row.cells if cell.is_ticked])


def _shortened(tokens: Sequence[str]) -> list[str]:
    """These environments in fewer tokens; what is wrong with them stays, so that the form names it."""
    if len(set(tokens)) < len(tokens):
        return list(tokens)
    unknown = [token for token in tokens if not known_ids([token])]
    return [*selection.compact(known_ids(tokens)), *unknown]


def _leave_out(data: QueryDict, without: Any) -> None:
    """Untick the cells of what is left out; environment by environment, so that the rows fit whatever it is."""
    pairs = [pair for pair in without if _is_pair(pair)] if isinstance(without, list | tuple) else []
    if not pairs:
        return
    out = {(agent, env_id) for agent, token in pairs for env_id in selection.matching(token)}
    agents, ids = data.getlist("agent"), ids_of(data.getlist("env_id"))
    data.setlist("row", ids)
    data.setlist("column", agents)
    data.setlist("cell", [f"{agent} {env_id}" for agent in agents for env_id in ids if (agent, env_id) not in out])


def _is_pair(value: Any) -> bool:
    return isinstance(value, list | tuple) and len(value) == 2 and all(isinstance(part, str) for part in value)


def _texts(value: Any) -> list[str]:
    if value in (None, ""):
        return []
    return [str(one) for one in value] if isinstance(value, list | tuple) else [str(value)]


def _text_of(value: Any) -> str:
    return f"{value:g}" if isinstance(value, float) else str(value)


def _word_of(wrapper: Any) -> str:
    is_readable = isinstance(wrapper, dict) and isinstance(wrapper.get("name"), str)
    return wrapping.as_word(wrapper) if is_readable else json.dumps(wrapper)


def pairs_of(data: QueryDict) -> list[tuple[str, str]]:
    """The entries for an address, without empty ones; a benchmark that is not chosen is said."""
    return [(name, value) for name in FIELDS for value in data.getlist(name) if value or name == "benchmark"]
