"""The turns are those of the day when the environment's version was set."""

import json

import pytest

import gem
from tests.engine import golden
from tests.engine.episodes import digest

ARGUMENTS = golden.ARGUMENTS_FILE.read_text()
WRITE = "run `python -m tests.engine.golden`, look at the difference, and commit it"


def test_the_turns_have_not_changed_under_the_same_version(any_id: str) -> None:
    spec = gem.spec(any_id)
    if spec.replay != "exact":
        pytest.skip("only exact environments can be compared")
    entry = json.loads(golden.FILE.read_text()).get(any_id)
    assert entry is not None, f"{any_id} has no digest yet: {WRITE}."
    if entry["version"] != spec.version:
        pytest.fail(f"The version of {any_id} was raised to {spec.version}: {WRITE}.")
    assert digest(any_id, golden.seeds_of(spec.category)) == entry["digest"], (
        f"The turns of {any_id} have changed, so recorded episodes of version {spec.version} cannot be verified any "
        f"more. If that is meant, raise `version` in its register() call and {WRITE}; if not, undo what changed them."
    )


def test_the_turns_with_other_arguments_have_not_changed() -> None:
    written = {json.dumps([entry["id"], entry["arguments"]]): entry for entry in json.loads(ARGUMENTS)}
    played = {json.dumps([entry["id"], entry["arguments"]]): entry for entry in golden.argument_digests()}
    assert written.keys() == played.keys(), f"A set of arguments is missing or left over: {WRITE}."
    for key, entry in played.items():
        assert written[key] == entry, (
            f"The turns of {key} have changed. If that is meant, raise `version` in its register() call and {WRITE}; "
            "if not, undo what changed them."
        )


def test_the_playthroughs_are_as_written() -> None:
    written = {path.name: path.read_text() for path in golden.PLAYTHROUGHS.glob("*.txt")}
    played = golden.playthroughs()
    assert written.keys() == played.keys(), f"A playthrough is missing or left over: {WRITE}."
    for name, text in played.items():
        assert written[name] == text, f"{name} is played differently now: {WRITE}, if it is meant."
