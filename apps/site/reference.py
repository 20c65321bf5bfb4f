"""Pages about the modules of the engine and the client: signatures, docstrings, and those of attributes.

They are written from the source when somebody opens them, so none is out of date.
"""

from __future__ import annotations

import inspect
from collections.abc import Iterator
from pathlib import Path

import griffe

import gem

ROOT = Path(gem.__file__).parent
NAMES = (
    "gem.core", "gem.factory", "gem.registry", "gem.errors", "gem.seats", "gem.rng", "gem.attributes",
    "gem.vector.make", "gem.vector.base", "gem.vector.mixture",
    "gem.wrappers.wrapper_factory", "gem.wrappers.observation_wrapper", "gem.wrappers.episode_tracking_wrapper",
    "gem.wrappers.opponent", "gem.wrappers.record_episodes", "gem.wrappers.rewards", "gem.wrappers.time_limit",
    "gem.tools.tool", "gem.tools.tool_env_wrapper", "gem.tools.kinds", "gem.tools.tool_catalog",
    "gem.agents.agent", "gem.agents.kinds", "gem.agents.endpoint.spec",
    "gem.rollout", "gem.records.episode", "gem.records.episode_files", "gem.replay", "gem.check",
    "gem.evaluation.spec", "gem.evaluation.scores", "gem.evaluation.intervals", "gem.evaluation.compare",
    "gem.evaluation.comparison.runs", "gem.evaluation.comparison.records", "gem.evaluation.comparison.pairs",
    "gem.evaluation.comparison.differences", "gem.evaluation.comparison.power", "gem.evaluation.comparison.sequential",
    "gem.benchmarks", "gem.credit", "gem.training.spec",
    "gem.datasets.dataset", "gem.datasets.loading", "gem.grading", "gem.sandbox", "gem.views",
    "gem.adapters.gymnasium", "gem.adapters.pettingzoo", "gem.adapters.tokens",
    "gem.client", "gem.client.clients", "gem.client.resources.catalog", "gem.client.resources.episodes",
    "gem.client.resources.jobs", "gem.client.resources.account", "gem.client.remote_env", "gem.client.errors",
    "gem.client.retries", "gem.net.credentials", "gem.client.events",
    "gem.client.events.base", "gem.client.events.episodes", "gem.client.events.jobs", "gem.client.events.trainings",
    "gem.client.schemas.base", "gem.client.schemas.account", "gem.client.schemas.catalog",
    "gem.client.schemas.episodes", "gem.client.schemas.jobs", "gem.client.schemas.scores",
    "gem.client.schemas.job_results", "gem.client.schemas.trainings", "gem.client.schemas.leaderboard",
)  # fmt: skip
"""The modules that have a page, those first that one needs first."""
FOLDER = "reference"
"""The folder of the pages below `/docs/`."""
LINE_LENGTH = 100
HEADINGS = {"parameters": "Arguments", "raises": "Raises", "yields": "Yields", "returns": "Returns"}

SIGNATURE_PREFIXES = {
    griffe.ParameterKind.var_positional: "*",
    griffe.ParameterKind.var_keyword: "**",
}


def path_of(name: str) -> Path:
    """The source file of a module."""
    place = ROOT.parent.joinpath(*name.split("."))
    return place / "__init__.py" if place.is_dir() else place.with_suffix(".py")


def file_of(name: str) -> str:
    """The source file of a module as people call it, such as `gem/core.py`."""
    return path_of(name).relative_to(ROOT.parent).as_posix()


def slug_of(name: str) -> str:
    """The address of the page of a module below `/docs/`."""
    return f"{FOLDER}/{name}"


def page(name: str) -> str:
    """The page of a module as Markdown."""
    path = path_of(name)
    module = griffe.visit(name, filepath=path, code=path.read_text("utf-8"))
    return "\n\n".join([f"# {name}", *_docstring(module), *_attributes(module), *_members(module)]) + "\n"


def _members(module: griffe.Module) -> Iterator[str]:
    for member in _own_members(module):
        if isinstance(member, griffe.Class):
            yield f"## {member.name}"
            yield from _class(member)
        elif isinstance(member, griffe.Function):
            yield f"## {member.name}()"
            yield from _function(member)


def _class(found: griffe.Class) -> Iterator[str]:
    constructor = found.members.get("__init__")
    bases = ", ".join(map(str, found.bases))
    if isinstance(constructor, griffe.Function):
        yield _code(_signature(found.name, constructor))
    else:
        yield _code(f"class {found.name}({bases})" if bases else f"class {found.name}")
    yield from _docstring(found)
    if isinstance(constructor, griffe.Function):
        yield from _docstring(constructor)
    yield from _attributes(found)
    for member in _own_members(found):
        if isinstance(member, griffe.Function):
            yield f"### {found.name}.{member.name}()"
            yield from _function(member)


def _function(function: griffe.Function) -> Iterator[str]:
    yield _code(_signature(function.name, function))
    yield from _docstring(function)


def _attributes(owner: griffe.Module | griffe.Class) -> Iterator[str]:
    """A list of the attributes: of a module those with a docstring, of a class all that are public."""
    entries = []
    for member in _own_members(owner):
        if not isinstance(member, griffe.Attribute) or not (member.docstring or isinstance(owner, griffe.Class)):
            continue
        kind = f": {member.annotation}" if member.annotation is not None else ""
        text = " ".join(inspect.cleandoc(member.docstring.value).split()) if member.docstring else ""
        entries.append(f"- `{member.name}{kind}`" + (f": {text}" if text else ""))
    if entries:
        yield "\n".join(entries)


def _own_members(owner: griffe.Module | griffe.Class) -> Iterator[griffe.Object]:
    """The public members that are defined here, in the order of the source."""
    for name, member in owner.members.items():
        if not name.startswith("_") and isinstance(member, griffe.Class | griffe.Function | griffe.Attribute):
            yield member


def _signature(name: str, function: griffe.Function) -> str:
    """The signature on one line, or with each argument on a line of its own if it is long."""
    if "property" in function.labels:
        return f"{name}: {function.returns}"
    parts = list(_parameters(function))
    result = f" -> {_result(function)}" if function.returns is not None and name == function.name else ""
    line = f"{name}({', '.join(parts)}){result}"
    if len(line) <= LINE_LENGTH:
        return line
    rows = "".join(f"    {part},\n" for part in parts)
    return f"{name}(\n{rows}){result}"


def _result(function: griffe.Function) -> str:
    """What a call returns; of a method of the clients, what the request that it returns is answered with."""
    returned = str(function.returns)
    decorators = {str(decorator.value) for decorator in function.decorators}
    inner = returned.partition("[")[2].removesuffix("]")
    if "sends" in decorators:
        return inner
    return f"Iterator[{inner}]" if "iterates" in decorators else returned


def _parameters(function: griffe.Function) -> Iterator[str]:
    has_star = False
    for number, parameter in enumerate(function.parameters):
        if number == 0 and parameter.name in ("self", "cls") and "staticmethod" not in function.labels:
            continue
        if parameter.kind is griffe.ParameterKind.var_positional:
            has_star = True
        if parameter.kind is griffe.ParameterKind.keyword_only and not has_star:
            has_star = True
            yield "*"
        text = SIGNATURE_PREFIXES.get(parameter.kind, "") + parameter.name if parameter.kind else parameter.name
        if parameter.annotation is not None:
            text += f": {parameter.annotation}"
        if parameter.default is not None and parameter.kind not in SIGNATURE_PREFIXES:
            text += f" = {parameter.default}" if parameter.annotation is not None else f"={parameter.default}"
        yield text


def _docstring(found: griffe.Object) -> Iterator[str]:
    """The docstring as Markdown: its text, and lists of arguments, results and errors."""
    if found.docstring is None:
        return
    for section in found.docstring.parse("google", warnings=False):
        kind = section.kind.value
        if kind == "text":
            yield str(section.value)
        elif kind == "admonition":
            yield f"**{section.title or section.value.kind}**: {section.value.description}"
        elif kind in HEADINGS:
            yield f"**{HEADINGS[kind]}**"
            yield "\n".join(_entry(entry) for entry in section.value)


def _entry(entry: object) -> str:
    name = getattr(entry, "name", "") or str(getattr(entry, "annotation", "") or "")
    text = " ".join(str(getattr(entry, "description", "")).split())
    return f"- `{name}`: {text}" if name else f"- {text}"


def _code(text: str) -> str:
    return f"```python\n{text}\n```"
