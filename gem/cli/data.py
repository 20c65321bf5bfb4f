"""`gemweb data`: show which problems the environments with datasets have here, and fetch datasets from the hub."""

from __future__ import annotations

import argparse

from gem.cli.output.tables import table
from gem.datasets import hub
from gem.datasets.dataset import Dataset
from gem.datasets.folder import allowed_sources, data_folder
from gem.datasets.loading import find_present_data
from gem.datasets.names import NAMED_DATASETS
from gem.datasets.samples import names, sample
from gem.errors import UsageError
from gem.validation.messages import count
from gem.validation.near import did_you_mean


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the arguments of the command."""
    verbs = parser.add_subparsers(dest="verb", required=True, metavar="VERB")
    status = verbs.add_parser("status", help="what is here", description="Show the data of each environment here.")
    status.add_argument("word", nargs="?", default="", metavar="WORD", help="only ids that contain it")
    fetch = verbs.add_parser("fetch", help="fetch from the hub", description="Fetch datasets into the data folder.")
    fetch.add_argument("sources", nargs="+", metavar="ID", help="an environment, or hub:owner/name")
    fetch.add_argument(
        "--revision", default="", help="a commit, branch or tag (the one that was fetched before, else the newest)"
    )
    fetch.add_argument("--split", default="", help="the split of hub:owner/name, if it has several")


def run(verb: str, **options: object) -> int:
    """Run one of the verbs."""
    return _status(**options) if verb == "status" else _fetch(**options)  # type: ignore[arg-type]


def _status(word: str) -> int:
    ids = [env_id for env_id in NAMED_DATASETS if word.lower() in env_id.lower()]
    if not ids:
        raise UsageError(f"No environment with a dataset has {word!r} in its id. gemweb data status lists all.")
    rows = []
    for env_id in ids:
        data = _local_data(env_id)
        cells = ["nothing", "", ""] if data is None else [data.source, f"{len(data):,}", data.sha256[:12]]
        rows.append([env_id, *cells, NAMED_DATASETS[env_id].repository])
    table(["environment", "data here", "rows", "sha256", "dataset on the hub"], rows)
    print(f"\nThe data folder is {data_folder()}; data may come from: {allowed_sources()} (GEM_DATA_FROM).")
    return 0


def _local_data(env_id: str) -> Dataset | None:
    """Return the data that the environment would use without network access."""
    present = None if allowed_sources() == "sample" else find_present_data(env_id)
    if present is not None:
        return present
    return sample(NAMED_DATASETS[env_id].sample) if NAMED_DATASETS[env_id].sample in names() else None


def _fetch(sources: list[str], revision: str, split: str) -> int:
    for source in sources:
        repository, dataset_split = _parse_source(source, split)
        data = hub.fetch(repository, dataset_split, revision, report=print)
        print(f"{source}: {count(len(data), 'row')}, {data.source}, sha256 {data.sha256}")
    return 0


def _parse_source(source: str, split: str) -> tuple[str, str]:
    """Return the repository and the split that an argument names."""
    if source.startswith("hub:"):
        return source.removeprefix("hub:"), split
    if source not in NAMED_DATASETS:
        hint = did_you_mean(source, NAMED_DATASETS, "gemweb data status lists them; others are named hub:owner/name.")
        raise UsageError(f"No environment with a dataset is called {source!r}. {hint}")
    return NAMED_DATASETS[source].repository, split or NAMED_DATASETS[source].split
