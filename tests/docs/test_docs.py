"""What the documentation names exists: settings, targets, files, environments, links."""

import re
from collections.abc import Iterator
from pathlib import Path

import pytest

import gem

ROOT = Path(__file__).resolve().parents[2]
PAGES = [ROOT / "README.md", ROOT / "CONTRIBUTING.md", ROOT / "CHANGELOG.md", *sorted((ROOT / "docs").rglob("*.md"))]


def _named(pattern: str) -> Iterator[tuple[str, str]]:
    for page in PAGES:
        for found in re.findall(pattern, page.read_text()):
            yield str(page.relative_to(ROOT)), found


def test_every_setting_is_described_and_every_described_setting_exists() -> None:
    read = set(re.findall(r"env\.\w+\(\s*\"([A-Z_]+)\"", (ROOT / "gemweb/settings.py").read_text()))
    table = (ROOT / "docs/deploy.md").read_text().partition("## Settings")[2]
    described = set(re.findall(r"`([A-Z_]+)`", table))
    assert read <= described | {"BIND"}
    assert described - read <= {"PORT"}


def test_every_make_target_named_exists() -> None:
    targets = set(re.findall(r"^([a-z-]+):", (ROOT / "Makefile").read_text(), re.MULTILINE))
    named = set(_named(r"(?:^|`)make ([a-z-]+)"))
    assert named
    assert {target for _, target in named} <= targets, sorted(named)


def test_the_makefile_stays_small() -> None:
    targets = re.findall(r"^([a-z-]+):", (ROOT / "Makefile").read_text(), re.MULTILINE)
    assert len(targets) <= 15


@pytest.mark.parametrize("document", PAGES, ids=lambda document: str(document.relative_to(ROOT)))
def test_every_link_to_a_file_leads_somewhere(document: Path) -> None:
    links = re.findall(r"\]\((?!https?:|#)([^)#]+)", document.read_text())
    assert [link for link in links if not (document.parent / link).exists()] == []


def test_every_command_in_bench_that_the_docs_name_exists() -> None:
    named = {command for _, command in _named(r"python -m (bench(?:\.\w+)+)")}
    assert named
    places = {command: ROOT / command.replace(".", "/") for command in named}
    assert [
        command
        for command, place in places.items()
        if not place.with_suffix(".py").exists() and not (place / "__main__.py").exists()
    ] == []


def test_every_environment_named_is_registered() -> None:
    registered = set(gem.registry.ENV_REGISTRY)
    own_examples = {"game:Nim-v0"}  # the tutorial's, written by its reader
    named = {env_id for _, env_id in _named(r"`(game:\w+-v\d(?:-\w+)*)`")}
    assert named
    assert named - registered - own_examples == set()


def test_the_readme_says_what_every_family_of_environments_is() -> None:
    suite = (ROOT / "README.md").read_text().partition("## What is in it")[2].partition("\n## ")[0]
    families = {f"{env_id.partition(':')[0]}:" for env_id in gem.registry.ENV_REGISTRY}
    assert set(re.findall(r"`([a-z]+:)`", suite)) == families


def test_the_map_names_only_places_that_exist() -> None:
    tree = (ROOT / "docs/map.md").read_text().partition("```")[2].partition("```")[0]
    folder = ""
    missing = []
    for line in tree.strip().splitlines():
        if not line.startswith(" "):
            folder = line.split()[0] if line.split()[0] in {"gem/", "apps/"} else ""
        names = re.findall(r"(?:^|\s)([\w./]+(?:/|\.py))(?=\s|:|;|,|$)", line[:24])
        prefix = folder if line.startswith(" ") else ""
        missing += [name for name in names if not (ROOT / prefix / name).exists()]
    assert missing == []


def test_what_people_look_for_is_where_the_documents_say() -> None:
    rows = [line for name in ("map", "where") for line in (ROOT / f"docs/{name}.md").read_text().splitlines()]
    missing, found = [], 0
    for row in (row for row in rows if row.startswith("| ") and not row.startswith("| Where is")):
        folders = [ROOT]  # a file may be named alone after one that is next to it
        for name in re.findall(r"`([\w./]+(?:/|\.py|\.js))`", row.split("|", 2)[2]):
            found += 1
            if "/" in name:
                folders += [(ROOT / name).parent, ROOT / name]
            if not any((folder / name).exists() for folder in folders):
                missing.append(name)
    assert missing == []
    assert found > 80


def test_decision_records_are_short() -> None:
    records = sorted((ROOT / "docs/decisions").glob("*.md"))
    assert records
    assert [record.name for record in records if len(record.read_text().splitlines()) > 40] == []
