"""Arguments that do nothing: whoever sets one believes that it changes the environment.

They are found in the code and not in episodes, because no number of random episodes shows that an argument never
matters: a penalty, a time limit or a rare event may lie beyond all of them. So what is found does nothing for certain,
and an argument that is read and has no effect all the same is not found.
"""

from __future__ import annotations

import ast
import inspect
import sys
import textwrap
from collections.abc import Callable, Iterator
from dataclasses import fields, is_dataclass
from typing import Any

from gem import registry
from gem.check.promise import Finding, Subject

TITLE = "Every argument has an effect."
ADVICE = "Use the argument, or leave it out of the constructor, so that gem.make refuses it."
_READ_WITHOUT_NAMES = {"locals", "vars", "eval", "exec", "getattr", "asdict", "astuple", "fields", "__dict__"}
"""Names of what may read an argument although its own name stands nowhere."""


def hints(subject: Subject) -> Iterator[Finding]:
    """A hint if arguments of the environment do nothing. That breaks no promise: it can be played all the same."""
    factory = registry.spec(subject.env_id).load()
    useless = _useless(factory, subject)
    if useless:
        names = " and ".join(filter(None, [", ".join(useless[:-1]), useless[-1]]))
        detail = f"Nothing reads {names}: every value gives the same environment."
        yield Finding(TITLE, "hint", detail, ADVICE, "arguments_have_an_effect", subject.env_id)


def _useless(factory: Callable[..., Any], subject: Subject) -> list[str]:
    function = factory.__init__ if inspect.isclass(factory) else factory
    code = _tree(function)
    if code is None:
        return []
    names = [name for name in inspect.signature(function).parameters if name not in {"self", "args", "kwargs"}]
    loads = [each for each in ast.walk(code) if isinstance(each, ast.Name) and isinstance(each.ctx, ast.Load)]
    if _READ_WITHOUT_NAMES.intersection(each.id for each in loads):
        return []
    loads = [each for each in loads if id(each) not in _in_refusals(code)]
    unused = [name for name in names if all(each.id != name for each in loads)]
    if not inspect.isclass(factory):
        return unused
    places = _places(code, subject)
    stored = {name: {places.get(id(each), "") for each in loads if each.id == name} for name in names}
    stored = {name: where for name, where in stored.items() if where and "" not in where}
    read = _names_read(factory, set().union(*stored.values())) if stored else None
    unread = [name for name, where in stored.items() if read is not None and not where & read]
    return [name for name in names if name in {*unused, *unread}]


def _tree(function: Callable[..., Any]) -> ast.AST | None:
    """The body of a function; None if its code is not there."""
    try:
        (definition,) = ast.parse(textwrap.dedent(inspect.getsource(function))).body
    except (OSError, TypeError, SyntaxError):
        return None
    return ast.Module(definition.body, []) if isinstance(definition, ast.FunctionDef) else None


def _in_refusals(code: ast.AST) -> set[int]:
    """The nodes that only refuse values, which changes no environment: `if ...: raise ...`."""
    refusals = (node for node in ast.walk(code) if isinstance(node, ast.If) and isinstance(node.body[0], ast.Raise))
    return {id(each) for node in refusals if not node.orelse for each in ast.walk(node)}


def _places(code: ast.AST, subject: Subject) -> dict[int, str]:
    """Where names are stored and nothing else: the private attribute or the field of the configuration, by node."""
    config = type(getattr(subject.make().unwrapped, "config", None))
    in_order = [field.name for field in fields(config)] if is_dataclass(config) else []
    places: dict[int, str] = {}
    for node in ast.walk(code):
        if isinstance(node, ast.Assign) and len(node.targets) == 1:
            target, value = node.targets[0], node.value
            is_both = isinstance(target, ast.Tuple) and isinstance(value, ast.Tuple)
            pairs = zip(target.elts, value.elts, strict=False) if is_both else [(target, value)]  # type: ignore[attr-defined]
            for stored, name in pairs:
                if isinstance(stored, ast.Attribute) and stored.attr.startswith("_"):
                    places[id(name)] = stored.attr
        elif isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id == config.__name__:
            places |= {id(name): field for name, field in zip(node.args, in_order, strict=False)}
            places |= {id(word.value): word.arg for word in node.keywords if word.arg in in_order}
    return places


def _names_read(factory: type, names: set[str]) -> set[str] | None:
    """Those of the names that are read as attributes, or stand as texts, in the packages of a class; None if others may
    be read as well."""
    modules = {each.__module__ for each in factory.__mro__}
    packages = {name.partition(".")[0] for name in modules} - {"abc", "builtins", "typing"}
    read: set[str] = set()
    for name, module in list(sys.modules.items()):
        if name.partition(".")[0] not in packages:
            continue
        is_foreign = name in modules and not name.startswith("gem.")
        try:
            source = inspect.getsource(module)
            if not is_foreign and not any(each in source for each in names - read):
                continue  # parsing takes most of the time
            code = ast.parse(source)
        except (OSError, TypeError, SyntaxError):
            continue
        if is_foreign and _reads_without_names(code):
            return None
        for node in ast.walk(code):
            if isinstance(node, ast.Attribute) and isinstance(node.ctx, ast.Load):
                read.add(node.attr)
            elif isinstance(node, ast.Constant) and isinstance(node.value, str):
                read.add(node.value)
    return read & names


def _reads_without_names(code: ast.AST) -> bool:
    """Whether code may read what it does not name: by such functions, or in another package that gets the whole."""
    for node in ast.walk(code):
        if isinstance(node, ast.Name) and node.id in _READ_WITHOUT_NAMES:
            return True
        if isinstance(node, ast.Attribute) and node.attr in _READ_WITHOUT_NAMES:
            return True
        for child in ast.iter_child_nodes(node):
            is_whole = isinstance(child, ast.Attribute) and child.attr == "config" and isinstance(child.ctx, ast.Load)
            if is_whole and not isinstance(node, ast.Attribute):
                return True
    return False
