"""A benchmark as a JSON document: `problems` says in sentences what is wrong with its form, `read` makes a `Benchmark`.

`docs/benchmark-files.md` describes the fields. Whether what a document says is true, such as the version of an
environment, is for `gem.check.benchmark_file` to say, which knows the environments.
"""

from __future__ import annotations

import difflib
import json
import math
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any, NamedTuple

from gem.benchmarks.entries import Benchmark, BenchmarkEntry, DataSource
from gem.benchmarks.scales import BEST_POSSIBLE, Reference
from gem.errors import InvalidArgument

NAME = re.compile(r"[a-z0-9](?:[a-z0-9-]{0,58}[a-z0-9])?")
MAX_SEED = 2**53 - 1
MAX_EPISODES = 10_000
MAX_ENVIRONMENTS = 300
MAX_QUOTED = 60
SAMPLE_SUFFIX = "-sample"
"""How the name of a benchmark ends that plays on data which stand in for others."""
AGENTS = ("random", "expert", BEST_POSSIBLE)


class _Field(NamedTuple):
    """What a value has to be: a test, and the same in words."""

    fits: Callable[[Any], bool]
    words: str
    required: bool = True


def _whole(least: int, most: int) -> Callable[[Any], bool]:
    return lambda value: type(value) is int and least <= value <= most


def _is_number(value: Any) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool) and math.isfinite(value)


def _is_text(value: Any) -> bool:
    return isinstance(value, str) and bool(value.strip()) and "\0" not in value


def _is_seed_range(value: Any) -> bool:
    in_range = _whole(0, MAX_SEED)
    if not (isinstance(value, list) and len(value) == 2 and all(map(in_range, value))):
        return False
    first, last = map(int, value)
    return 0 <= last - first < MAX_EPISODES


def _is_tool_sets(value: Any) -> bool:
    return (
        isinstance(value, list)
        and bool(value)
        and all(isinstance(names, list) and all(map(_is_text, names)) for names in value)
    )


def _is_objects(value: Any) -> bool:
    return isinstance(value, list) and all(isinstance(each, dict) for each in value)


_TEXT = _Field(_is_text, "a text that is not empty")
_NUMBER = _Field(_is_number, "a number")
_VERSION = _Field(_whole(1, 10**6), "a whole number from 1 on")
DOCUMENT: Mapping[str, _Field] = {
    "name": _Field(
        lambda value: isinstance(value, str) and NAME.fullmatch(value) is not None,
        "1 to 60 small letters, digits and hyphens",
    ),
    "version": _VERSION,
    "title": _TEXT,
    "summary": _TEXT,
    "score": _Field(lambda value: value in ("clipped", "unclipped"), '"clipped" or "unclipped"'),
    "wrappers": _Field(_is_objects, "a list of objects, each with the name of a wrapper", required=False),
    "tools": _Field(_is_tool_sets, 'a list of choices of tools, such as [[], ["python"]]', required=False),
    "entries": _Field(_is_objects, "a list of objects, one for each environment", required=False),
    "members": _Field(_is_objects, 'a list of objects such as {"name": "math", "version": 1}', required=False),
}
"""The fields of a document."""
ENTRY: Mapping[str, _Field] = {
    "env_id": _TEXT,
    "version": _VERSION,
    "max_turns": _Field(_whole(1, 10**6), "a whole number from 1 on", required=False),
    "practice_seeds": _Field(
        _is_seed_range,
        f"the first and the last seed, such as [1000, 1049], from 0 to 2^53 - 1 and at most {MAX_EPISODES:,}",
    ),
    "hidden_seeds": _Field(_whole(0, MAX_EPISODES), f"a whole number from 0 to {MAX_EPISODES:,}"),
    "random": _Field(lambda value: isinstance(value, dict), "an object with mean, low, high and n"),
    "anchor": _Field(lambda value: isinstance(value, dict), "an object with by, mean, low, high and n"),
    "data": _Field(lambda value: isinstance(value, dict), "an object with name, hash and licence", required=False),
    "open_set": _Field(_is_text, 'a text that says why, such as "11 starts"', required=False),
}
"""The fields of an entry."""
RANDOM: Mapping[str, _Field] = {
    "mean": _NUMBER,
    "low": _NUMBER,
    "high": _NUMBER,
    "n": _Field(_whole(1, 10**9), "a whole number from 1 on"),
}
EXPERT: Mapping[str, _Field] = {"by": _TEXT, **RANDOM}
BEST: Mapping[str, _Field] = {"by": _TEXT, "mean": _NUMBER}
DATA: Mapping[str, _Field] = {
    "name": _TEXT,
    "hash": _TEXT,
    "licence": _TEXT,
    "stands_in_for": _Field(_is_text, "a text that is not empty", required=False),
}
MEMBER: Mapping[str, _Field] = {"name": DOCUMENT["name"], "version": _VERSION}


def parse(text: str) -> Any:
    """The JSON document in a text.

    Raises:
        InvalidArgument: if it is not JSON, or names a field twice.
    """

    def without_repetition(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
        found = dict(pairs)
        if len(found) < len(pairs):
            name = next(name for name, _ in pairs if [each for each, _ in pairs].count(name) > 1)
            raise InvalidArgument(f"The field {name!r:.60} is there twice; which one is meant?")
        return found

    try:
        return json.loads(text, object_pairs_hook=without_repetition)
    except InvalidArgument:  # which is a ValueError, too
        raise
    except json.JSONDecodeError as error:
        raise InvalidArgument(f"This is not JSON: line {error.lineno}, column {error.colno}: {error.msg}.") from error
    except RecursionError as error:
        raise InvalidArgument("This is not a benchmark: it is nested too deeply.") from error
    except ValueError as error:  # Python reads no integer of thousands of digits
        raise InvalidArgument("This is not a benchmark: it has a number with thousands of digits.") from error


def problems(data: Any) -> list[str]:
    """Everything that is wrong with the form of a document, as sentences; empty if it can be read."""
    if not isinstance(data, dict):
        return [f"A benchmark is a JSON object with the fields {_listed(DOCUMENT)}, not {_quoted(data)}."]
    if _is_former(data):
        return [
            "This is the form of the first benchmark. In files of today practice_seeds, random and anchor take the "
            "place of first_seed, episodes, random_return and best_return."
        ]
    found = list(_of_fields("", data, DOCUMENT))
    if ("entries" in data) == ("members" in data):
        found.append("A benchmark has either entries, which are environments, or members, which are benchmarks.")
    entries = data.get("entries") if _is_objects(data.get("entries")) else None
    if entries is not None and not 1 <= len(entries) <= MAX_ENVIRONMENTS:
        found.append(f"A benchmark has 1 to {MAX_ENVIRONMENTS} environments, not {len(entries)}.")
    for number, entry in enumerate(entries or []):
        found += _of_entry(number, entry)
    ids = [entry["env_id"] for entry in entries or [] if isinstance(entry.get("env_id"), str)]
    found += [f"{env_id} is there twice." for env_id in dict.fromkeys(ids) if ids.count(env_id) > 1]
    members = data.get("members") if _is_objects(data.get("members")) else None
    if members == []:
        found.append("A benchmark with members has at least one.")
    for number, member in enumerate(members or []):
        found += _of_fields(f"members[{number}]: ", member, MEMBER)
    found += _of_name(data, entries or [])
    return found


def _is_former(data: Mapping[str, Any]) -> bool:
    entries = data.get("entries")
    return _is_objects(entries) and bool(entries) and all("random_return" in entry for entry in entries or [])


def _of_entry(number: int, entry: Mapping[str, Any]) -> Iterator[str]:
    label = f"{entry['env_id'][:120]}: " if _is_text(entry.get("env_id")) else f"entries[{number}]: "
    yield from _of_fields(label, entry, ENTRY)
    if isinstance(entry.get("random"), dict):
        yield from _of_reference(f"{label}random: ", entry["random"], RANDOM)
    anchor = entry.get("anchor")
    if isinstance(anchor, dict):
        yield from _of_reference(f"{label}anchor: ", anchor, BEST if anchor.get("by") == BEST_POSSIBLE else EXPERT)
    if isinstance(entry.get("data"), dict):
        yield from _of_fields(f"{label}data: ", entry["data"], DATA)


def _of_reference(label: str, reference: Mapping[str, Any], fields: Mapping[str, _Field]) -> Iterator[str]:
    yield from _of_fields(label, reference, fields)
    ends: list[float] = [reference[name] for name in ("low", "mean", "high") if _is_number(reference.get(name))]
    if fields is not BEST and len(ends) == 3 and ends != sorted(ends):
        yield f"{label}the mean {ends[1]:g} is not between low, {ends[0]:g}, and high, {ends[2]:g}."


def _of_fields(label: str, values: Mapping[str, Any], fields: Mapping[str, _Field]) -> Iterator[str]:
    for name, field in fields.items():
        if name not in values:
            if field.required:
                yield f"{label}{name} is missing. It has to be {field.words}."
        elif not field.fits(values[name]):
            yield f"{label}{name} has to be {field.words}, not {_quoted(values[name])}."
    for name in values:
        if name not in fields:
            near = difflib.get_close_matches(str(name), fields, 1)
            hint = f"Did you mean {near[0]}?" if near else f"There are {_listed(fields)}."
            yield f"{label}there is no field {name!r:.60}. {hint}"


def _of_name(data: Mapping[str, Any], entries: Sequence[Mapping[str, Any]]) -> Iterator[str]:
    """What is wrong with the name: data that stand in for others are said in it."""
    name = data.get("name")
    if not isinstance(name, str):
        return
    stand_ins = [
        entry["data"]["stands_in_for"]
        for entry in entries
        if isinstance(entry.get("data"), dict) and _is_text(entry["data"].get("stands_in_for"))
    ]
    members = data.get("members") if _is_objects(data.get("members")) else None
    samples = [each["name"] for each in members or [] if str(each.get("name")).endswith(SAMPLE_SUFFIX)]
    is_sample = name.endswith(SAMPLE_SUFFIX)
    if stand_ins and not is_sample:
        yield (
            f"Its data stand in for {stand_ins[0]}, so it cannot rank as that: call it {name}{SAMPLE_SUFFIX}, or fetch "
            "the real data and measure on them."
        )
    if samples and not is_sample:
        yield f"Its member {samples[0]} plays on data that stand in for others: call it {name}{SAMPLE_SUFFIX}."
    if is_sample and not stand_ins and not samples:
        yield f"Its name ends with {SAMPLE_SUFFIX}, but none of its data says what it stands in for (stands_in_for)."


def read(data: Any, members: Callable[[str, int], Benchmark] | None = None) -> Benchmark:
    """The benchmark that a document describes.

    Args:
        members: returns the benchmark with a name and a version, for a document that unites others.

    Raises:
        InvalidArgument: if its form is wrong; the message has all sentences of `problems`.
    """
    if found := problems(data):
        raise InvalidArgument(" ".join(found))
    rule = data["score"]
    named = tuple((each["name"], each["version"]) for each in data.get("members", ()))
    entries = [replace(_entry(entry), rule=rule) for entry in data.get("entries", ())]
    for name, version in named:
        if members is None:
            raise InvalidArgument(f"{data['name']} unites other benchmarks, which are not known here.")
        entries += [replace(entry, rule=rule) for entry in members(name, version).entries]
    tool_sets = data.get("tools")
    return Benchmark(
        name=data["name"],
        version=data["version"],
        title=data["title"],
        summary=data["summary"],
        entries=tuple({entry.env_id: entry for entry in entries}.values()),
        rule=rule,
        wrappers=tuple(data.get("wrappers", ())),
        tool_sets=None if tool_sets is None else tuple(tuple(names) for names in tool_sets),
        members=named,
    )


def _entry(data: Mapping[str, Any]) -> BenchmarkEntry:
    random, anchor = _reference({"by": "random", **data["random"]}), _reference(data["anchor"])
    first, last = data["practice_seeds"]
    return BenchmarkEntry(
        env_id=data["env_id"],
        first_seed=first,
        episodes=last - first + 1,
        random_return=random.mean,
        best_return=anchor.mean,
        env_version=data["version"],
        max_turns=data.get("max_turns"),
        hidden_seeds=data["hidden_seeds"],
        random=random,
        anchor=anchor,
        data=DataSource(**data["data"]) if "data" in data else None,
        open_set=data.get("open_set", ""),
    )


def _reference(data: Mapping[str, Any]) -> Reference:
    mean = float(data["mean"])
    return Reference(
        data["by"], mean, float(data.get("low", mean)), float(data.get("high", mean)), int(data.get("n", 0))
    )


def _listed(fields: Mapping[str, _Field]) -> str:
    *first, last = fields
    return f"{', '.join(first)} and {last}"


def _quoted(value: Any) -> str:
    text = json.dumps(value, default=str)
    return text if len(text) <= MAX_QUOTED else f"{text[:MAX_QUOTED]}…"
