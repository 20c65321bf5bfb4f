"""The data behind results: what episodes were played on, and whether it stands in for something else.

Many environments draw their problems from data: a dataset, pages, products, word lists. Where the real data are not on
a machine, an environment plays on a sample of our own, and results on the sample say little about the real data.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from gem import registry
from gem.benchmarks import Benchmark
from gem.data.wiki import PAGES_HASH
from gem.datasets import hub
from gem.datasets.folder import allowed_sources, own_files
from gem.datasets.names import NAMED_DATASETS
from gem.datasets.samples import sample
from gem.errors import GemError

SAMPLE = "built-in sample"
"""How the source of a built-in sample begins."""
OWN_PAGES = "pages that come with gemweb"
OWN_PRODUCTS = "products that come with gemweb"
OWN_DATA = "data that come with gemweb"
STAND_INS = {"game:WikiGame": (OWN_PAGES, "Wikipedia"), "shop:WebShop": (OWN_PRODUCTS, "WebShop's products")}
"""Environments with data of ours by default, by the beginning of their ids: what these are and stand in for."""
REAL_PREFIX = "kiwix:"
"""How the hash of a book of Wikipedia begins."""
SHORT = 12
"""Digits of a hash that pages show."""


@dataclass(frozen=True, slots=True)
class DataUse:
    """The data that an environment plays on."""

    env_id: str
    name: str
    """Their name for people: "built-in sample gsm8k", "file gsm8k.jsonl"."""
    data_hash: str
    """Empty if it is only known when episodes are played."""
    stands_in_for: str
    """The data that they stand in for; empty if they are the real data."""

    @property
    def short_hash(self) -> str:
        """The beginning of the hash."""
        return self.data_hash[:SHORT]


@dataclass(frozen=True, slots=True)
class SharedData:
    """Data on which several environments play."""

    env_ids: tuple[str, ...]
    use: DataUse
    """The data; its environment is the first of them."""


def shared(uses: Iterable[DataUse]) -> list[SharedData]:
    """The same, with environments that play on the same data together."""
    found: dict[tuple[str, str, str], list[DataUse]] = {}
    for use in uses:
        found.setdefault((use.name, use.data_hash, use.stands_in_for), []).append(use)
    return [SharedData(tuple(use.env_id for use in group), group[0]) for group in found.values()]


def played_on(env_id: str, data_hash: str, source: str = "") -> DataUse:
    """The data with this hash on which episodes of an environment were played.

    Args:
        source: where the data come from, as the first info of an episode says; empty if it does not.
    """
    if env_id in NAMED_DATASETS:
        if not source and data_hash == sample_hash(env_id):
            source = f"{SAMPLE} {NAMED_DATASETS[env_id].sample}"
        real = NAMED_DATASETS[env_id].repository if source.startswith(SAMPLE) else ""
        return DataUse(env_id, source or "data of unknown origin", data_hash, real)
    stand_in = _stand_in(env_id)
    if stand_in is not None and not data_hash.startswith(REAL_PREFIX):
        return DataUse(env_id, source or stand_in[0], data_hash, stand_in[1])
    named = data_hash if " " in data_hash else OWN_DATA  # a package and its version say what they are
    return DataUse(env_id, source or named, data_hash, "")


def will_play_on(env_id: str) -> DataUse | None:
    """The data that an environment would play on here; None if it has no data, or if it is not known without playing.

    It reads no dataset and contacts nobody. Other machines may have other data.
    """
    dataset = NAMED_DATASETS.get(env_id)
    if dataset is None:
        stand_in = _stand_in(env_id)
        known_hash = PAGES_HASH if stand_in is not None and stand_in[0] == OWN_PAGES else ""
        return DataUse(env_id, stand_in[0], known_hash, stand_in[1]) if stand_in is not None else None
    if allowed_sources() != "sample":
        if files := own_files(env_id):
            return DataUse(env_id, f"file {files[0].name}" if len(files) == 1 else f"{len(files)} files", "", "")
        if (pin := hub.read_pin(dataset.repository)) is not None:
            return DataUse(env_id, f"{dataset.repository}@{pin.revision[:SHORT]}", "", "")
    return DataUse(env_id, f"{SAMPLE} {dataset.sample}", sample_hash(env_id), dataset.repository)


def not_as_ranked(benchmark: Benchmark) -> list[str]:
    """Why episodes that are played here would not count for a benchmark, as sentences; empty if they would.

    It compares versions and data of the environments with those that the benchmark names, as far as they are known
    without playing.
    """
    found = []
    for entry in benchmark.entries:
        if entry.random is None:  # the first benchmark says neither version nor data
            continue
        version = registry.spec(entry.env_id).version
        if version != entry.env_version:
            found.append(
                f"{benchmark.name} ranks version {entry.env_version} of {entry.env_id}, and here it has version "
                f"{version}."
            )
        use, wanted = will_play_on(entry.env_id), entry.data
        if wanted is None or use is None or entry.env_id not in NAMED_DATASETS:
            continue
        is_other = bool(use.data_hash) and use.data_hash != wanted.hash
        if is_other or bool(use.stands_in_for) != bool(wanted.stands_in_for):
            found.append(
                f"{benchmark.name} ranks {entry.env_id} on the {wanted.name}, and here it would be played on the "
                f"{use.name}."
            )
    return found


def sample_hash(env_id: str) -> str:
    """The hash of the built-in sample of an environment; empty if it has none."""
    dataset = NAMED_DATASETS.get(env_id)
    if dataset is None:
        return ""
    try:
        return sample(dataset.sample).sha256
    except GemError:
        return ""


def _stand_in(env_id: str) -> tuple[str, str] | None:
    """What an environment plays on by default and what that stands in for; None if that is the real thing."""
    found = next((pair for prefix, pair in STAND_INS.items() if env_id.startswith(prefix)), None)
    if found is None:
        return None
    try:
        kwargs = registry.spec(env_id).kwargs
    except GemError:
        return found
    return None if kwargs.get("products") or kwargs.get("graph", "bundled") != "bundled" else found
