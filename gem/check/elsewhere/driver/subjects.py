"""What is checked: environments of several kinds behind one small interface."""

from __future__ import annotations

import difflib
import importlib
import importlib.metadata
import importlib.util
import inspect
import os
import random
import re
from collections.abc import Mapping, Sequence
from typing import Any

from .promise import NotApplicable

FALLBACK_ACTION = "\\boxed{1}"
"""What is done in environments for GEM without random actions, so that other promises can be tried."""
DISTRIBUTIONS = {"gem": "gem-llm"}
"""The distributions whose names are not those of their packages."""
ACTION_SEED = 1_000_003
"""Added to a seed for the random actions, which would otherwise be drawn like what is hidden."""
MOST_OF_CLASS, SAMPLE_OF_CLASS = 12, 2
"""Of a class with more ids than that (a hundred datasets of ReasoningGym), so many are checked together."""


class Subject:
    """An environment, or a package, that is checked."""

    kind = ""
    family = ""
    """The game, such as `Sokoban`, whose rules `games` knows."""
    declared_unwinnable = False
    """Whether the package itself says that no episode can be solved."""
    modules: Sequence[str] = ()
    """The modules that register it, if importing the package does not."""

    def __init__(self, name: str) -> None:
        self.name = name

    def make(self, **arguments: Any) -> Any:
        """Make an environment.

        Raises:
            LookupError: if there is none of this name.
        """
        raise NotImplementedError

    def random_action(self, env: Any) -> Any:
        """A random action."""
        raise NotImplementedError

    def seed_actions(self, env: Any, seed: int) -> None:
        """Make the random actions that follow repeatable."""

    def turn_limit(self, env: Any) -> int | None:
        """The number of turns after which an episode is truncated; None if nothing is known of one."""
        raise NotImplementedError

    takes_any_argument = False
    """Whether the class takes arguments that it does not name, so that misspelt ones may be ignored."""

    def arguments(self) -> tuple[Mapping[str, Any], Mapping[str, Any]]:
        """The arguments of the class with their defaults, and those that the name is registered with."""
        raise NotApplicable("Its arguments are not known.")

    @property
    def documentation(self) -> str:
        """What its class and its module say of its rules."""
        return ""

    @property
    def class_name(self) -> str:
        """What all environments of one class have in common."""
        return self.name


class GemSubject(Subject):
    """An environment of a package with the interface of GEM."""

    kind = "gem"

    def __init__(self, name: str) -> None:
        super().__init__(name)
        self.package = importlib.import_module("gem")
        if name not in registry():
            raise LookupError(f"There is no environment {name} in {self.package.__file__}.{_nearest(name)}")
        self.entry = registry()[name]
        match = re.match(r"game:(\w+)-v", name)
        self.family = match.group(1) if match else ""
        self.declared_unwinnable = not getattr(self.entry, "winnable", True)
        self.takes_any_argument = _takes_any(self._class())

    def make(self, **arguments: Any) -> Any:
        return self.package.make(self.name, **arguments)

    def random_action(self, env: Any) -> Any:
        try:
            return env.sample_random_action()
        except NotImplementedError:
            return FALLBACK_ACTION

    def seed_actions(self, env: Any, seed: int) -> None:
        random.seed(
            f"actions {seed}"
        )  # where the whole program's generator draws them; another seed than the episode's

    def turn_limit(self, env: Any) -> int | None:
        limit = getattr(env, "max_turns", None)
        return limit if isinstance(limit, int) and limit > 0 else None

    def arguments(self) -> tuple[Mapping[str, Any], Mapping[str, Any]]:
        return _named_arguments(self._class()), dict(self.entry.kwargs)

    @property
    def documentation(self) -> str:
        cls = self._class()
        module = importlib.import_module(cls.__module__)
        return " ".join(f"{module.__doc__ or ''} {cls.__doc__ or ''}".split())

    @property
    def class_name(self) -> str:
        return str(self.entry.entry_point)

    def _class(self) -> Any:
        loaded = self.entry.entry_point
        if isinstance(loaded, str):
            module, _, attribute = loaded.partition(":")
            loaded = getattr(importlib.import_module(module), attribute)
        return loaded


class GymnasiumSubject(Subject):
    """An environment of Gymnasium, as `gymnasium.make` gives it; actions are drawn from its space of actions."""

    kind = "gymnasium"

    def __init__(self, name: str) -> None:
        super().__init__(name)
        self.package = importlib.import_module("gymnasium")
        try:
            self.spec = self.package.spec(name)
        except self.package.error.Error as error:
            raise LookupError(f"There is no environment {name} in Gymnasium here: {error}") from error

    def make(self, **arguments: Any) -> Any:
        return self.package.make(self.name, disable_env_checker=True, **arguments)

    def random_action(self, env: Any) -> Any:
        return env.action_space.sample()

    def seed_actions(self, env: Any, seed: int) -> None:
        env.action_space.seed(ACTION_SEED + seed)

    def turn_limit(self, env: Any) -> int | None:
        limit = self.spec.max_episode_steps
        return int(limit) if limit else None


class VerifiersSubject(Subject):
    """What `verifiers.load_environment` returns: a dataset of prompts, and rules by which completions earn a reward."""

    kind = "verifiers"

    def __init__(self, name: str) -> None:
        super().__init__(name)
        self.package = importlib.import_module("verifiers")
        if not hasattr(self.package, "load_environment"):
            version = getattr(self.package, "__version__", "installed here")
            raise LookupError(f"The verifiers {version} has no load_environment; install verifiers<0.4.")
        module = name.replace("-", "_").split("/")[-1]
        try:
            found = importlib.util.find_spec(module)
        except (ImportError, ValueError):
            found = None
        if found is None:
            raise LookupError(f"There is no module {module} with an environment {name} here.")

    def make(self, **arguments: Any) -> Any:
        return self.package.load_environment(self.name, **arguments)


class PackageSubject(Subject):
    """The package `gem` as a whole."""

    kind = "package"

    def __init__(self) -> None:
        super().__init__("package")


def make_subject(kind: str, name: str) -> Subject:
    """The subject of a kind and a name.

    Raises:
        ImportError: if the package is not installed.
        LookupError: if it has no such environment.
    """
    kinds = {"gem": GemSubject, "gymnasium": GymnasiumSubject, "verifiers": VerifiersSubject}
    return kinds[kind](name)


def registry() -> Mapping[str, Any]:
    """The registry of the `gem` that is installed: entries with `entry_point` and `kwargs` by id.

    Raises:
        ImportError: if there is no `gem`.
        LookupError: if it has no registry.
    """
    importlib.import_module("gem")
    try:
        importlib.import_module("gem.envs")  # which registers those of GEM
        entries: Mapping[str, Any] = importlib.import_module("gem.envs.registration").ENV_REGISTRY
    except (ImportError, AttributeError) as error:
        raise LookupError(f"The package gem here has no registry of environments: {error}.") from error
    return entries


def all_ids() -> tuple[list[str], list[str]]:
    """The ids of the environments that are checked together, games first, and those that are left out: they need a
    dataset that is downloaded, or are some of the many that a class has."""
    by_class: dict[str, list[str]] = {}
    for env_id, entry in registry().items():
        if "dataset_name" not in entry.kwargs:
            by_class.setdefault(str(entry.entry_point), []).append(env_id)
    few = [ids if len(ids) <= MOST_OF_CLASS else ids[:SAMPLE_OF_CLASS] for ids in by_class.values()]
    checked = sorted((env_id for ids in few for env_id in ids), key=lambda each: (not each.startswith("game:"), each))
    return checked, sorted(set(registry()) - set(checked))


def version_of(kind: str) -> str:
    """The package that has the environment with its version, or the file that it is."""
    found = distribution_of(kind)
    return (
        f"{found.metadata['Name']} {found.version}" if found else f"{kind} of {importlib.import_module(kind).__file__}"
    )


def distribution_of(module: str) -> importlib.metadata.Distribution | None:
    """The distribution that a package was installed from; None if it is only a folder on the path."""
    try:
        found = importlib.metadata.distribution(DISTRIBUTIONS.get(module, module))
    except importlib.metadata.PackageNotFoundError:
        return None
    imported = importlib.import_module(module).__file__ or ""
    return (
        found
        if os.path.realpath(str(found.locate_file(module))) == os.path.dirname(os.path.realpath(imported))
        else None
    )


def _named_arguments(cls: Any) -> dict[str, Any]:
    """The arguments of a class with their defaults; where it takes further ones (**), those of its bases as well."""
    found: dict[str, Any] = {}
    for base in getattr(cls, "__mro__", (cls,)):
        if base is not cls and "__init__" not in vars(base):
            continue
        parameters = _parameters_of(base)
        variable = (inspect.Parameter.VAR_KEYWORD, inspect.Parameter.VAR_POSITIONAL)
        found = {**{one.name: one.default for one in parameters if one.kind not in variable}, **found}
        if all(one.kind is not inspect.Parameter.VAR_KEYWORD for one in parameters):
            break
    return found


def _takes_any(cls: Any) -> bool:
    return any(one.kind is inspect.Parameter.VAR_KEYWORD for one in _parameters_of(cls))


def _parameters_of(cls: Any) -> list[inspect.Parameter]:
    """The parameters of a constructor; `inspect.signature` of Python 3.11.2 may show those of `__new__` instead."""
    constructor = inspect.getattr_static(cls, "__init__", None) if inspect.isclass(cls) else None
    if inspect.isfunction(constructor):
        return list(inspect.signature(constructor).parameters.values())[1:]
    return list(inspect.signature(cls).parameters.values())


def _nearest(name: str) -> str:
    found = difflib.get_close_matches(name, list(registry()), n=3)
    return f" Did you mean {', '.join(found)}?" if found else ""
