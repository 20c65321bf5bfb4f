"""Datasets of the hub: fetched once, pinned, taken up again; and what is said where that cannot be."""

import json
from collections.abc import Iterator
from pathlib import Path

import pytest

import gem
from gem.cli import main
from gem.datasets import hub, load
from gem.errors import DataUnavailable
from tests.engine.datasets.hub_server import NEW, OLD, Hub
from tests.packages import skip_without

skip_without("huggingface_hub")

ROWS = [{"problem": f"{i} + 1?", "answer": str(i + 1)} for i in range(2000)]
LINES = "".join(json.dumps(row) + "\n" for row in ROWS).encode()
FEW = b'{"problem": "1?", "answer": "1"}\n'


@pytest.fixture
def server(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Hub]:
    """A hub with GSM8K in one commit."""
    monkeypatch.setenv("GEM_DATA", str(tmp_path / "data"))
    monkeypatch.setenv("GEM_DATA_FROM", "auto")
    running = Hub()
    running.repositories["axon-rl/GSM-8k"] = {OLD: {"README.md": b"#", "data/train.jsonl": LINES}}
    monkeypatch.setenv("HF_ENDPOINT", running.address)
    yield running
    running.close()


def test_the_first_use_fetches_and_the_next_ones_do_not_ask(server: Hub) -> None:
    env = gem.make("math:GSM8K")
    observation, info = env.reset(seed=2003)
    assert observation == "3 + 1?"
    assert info["data"]["source"] == f"hub axon-rl/GSM-8k@{OLD[:12]}, train"
    assert info["data"]["row"] == 3
    assert server.fetched == ["data/train.jsonl from 0"]
    server.close()
    assert gem.make("math:GSM8K").reset(seed=3)[0] == "3 + 1?"


def test_the_revision_stays_until_another_one_is_fetched(server: Hub, capsys: pytest.CaptureFixture[str]) -> None:
    before = load("math:GSM8K")
    server.repositories["axon-rl/GSM-8k"][NEW] = {"data/train.jsonl": FEW}
    assert load("math:GSM8K").sha256 == before.sha256
    assert main(["data", "fetch", "math:GSM8K"]) == 0
    assert load("math:GSM8K").sha256 == before.sha256
    assert main(["data", "fetch", "math:GSM8K", "--revision", "main"]) == 0
    assert f"Fetching 1 file of axon-rl/GSM-8k, train, revision {NEW[:12]}." in capsys.readouterr().out
    assert len(load("math:GSM8K")) == 1
    assert main(["data", "status", "gsm"]) == 0
    assert f"hub axon-rl/GSM-8k@{NEW[:12]}, train" in capsys.readouterr().out
    assert len(load(f"hub:axon-rl/GSM-8k@{OLD}")) == 2000


def test_a_connection_that_breaks_is_taken_up_again(server: Hub) -> None:
    server.break_after = 10_000
    assert list(load("math:GSM8K")) == ROWS
    assert len(server.fetched) == 2
    assert all(asked.startswith("data/train.jsonl from ") for asked in server.fetched)


def test_a_fetch_that_was_ended_goes_on_with_the_files_that_are_missing(server: Hub) -> None:
    name = "data/train-0000{}-of-00002.jsonl"
    server.repositories["a/b"] = {OLD: {name.format(0): FEW, name.format(1): FEW}}
    gone = server.repositories["a/b"][OLD].pop(name.format(1))
    load("hub:a/b")
    server.repositories["a/b"][OLD][name.format(1)] = gone
    server.fetched.clear()
    assert len(hub.fetch("a/b")) == 2
    assert server.fetched == [f"{name.format(1)} from 0"]


def test_splits_are_told_apart_by_the_names_of_their_files(server: Hub) -> None:
    server.repositories["a/b"] = {
        OLD: {
            "data/olympiad_bench-00000-of-00002.jsonl": FEW,
            "data/olympiad_bench-00001-of-00002.jsonl": FEW,
            "default/test/0000.jsonl": LINES,
            "readme.txt": b"",
        }
    }
    assert len(load("hub:a/b", split="olympiad_bench")) == 2
    assert len(load("hub:a/b", split="test")) == 2000
    assert load("hub:a/b", split="olympiad_bench").source.endswith(", olympiad_bench"), "both splits are kept"
    with pytest.raises(DataUnavailable, match="has several splits; choose one of olympiad_bench, test"):
        hub.fetch("a/b")
    with pytest.raises(DataUnavailable, match="has no split 'train'"):
        load("hub:a/b", split="train")


@pytest.mark.parametrize(
    ("source", "said"),
    [
        ("hub:a/none", "The hub has no dataset a/none"),
        (f"hub:axon-rl/GSM-8k@{NEW}", "has no such revision or file"),
        ("hub:a/text", "has no tables that can be read"),
    ],
)
def test_what_the_hub_has_not_is_said(server: Hub, source: str, said: str) -> None:
    server.repositories["a/text"] = {OLD: {"readme.txt": b""}}
    with pytest.raises(DataUnavailable, match=said):
        load(source)


def test_a_hub_out_of_reach_is_not_waited_for_again(server: Hub, caplog: pytest.LogCaptureFixture) -> None:
    server.close()
    caplog.set_level("WARNING", logger="gem.datasets")  # whatever a site shows of it
    assert load("math:Math12K").kind == "sample"
    assert load("math:Math8K-3to5").kind == "sample"
    assert "it did not answer a moment ago" in caplog.text


def test_a_damaged_pin_says_what_to_delete(server: Hub, tmp_path: Path) -> None:
    load("math:GSM8K")
    pin = tmp_path / "data" / "hub" / "axon-rl" / "GSM-8k" / "pinned.json"
    pin.write_text("{}")
    with pytest.raises(DataUnavailable, match=r"pinned.json is damaged .*; delete it and fetch axon-rl/GSM-8k again"):
        load("math:GSM8K")


def test_an_episode_knows_whether_it_has_the_same_data(server: Hub, tmp_path: Path) -> None:
    from gem.agents import make_agent
    from gem.errors import VersionChanged
    from gem.replay import restore, verify
    from gem.rollout import EpisodeRequest, rollout

    (record,) = rollout(make_agent("random"), [EpisodeRequest(0, "math:GSM8K", seed=5)])
    assert record.identity.data_hash == load("math:GSM8K").sha256
    assert verify(record.identity, record.turns) is None
    hub.fetch("axon-rl/GSM-8k")
    server.repositories["axon-rl/GSM-8k"][NEW] = {"data/train.jsonl": FEW}
    hub.fetch("axon-rl/GSM-8k", revision="main")
    with pytest.raises(VersionChanged, match="drawn from other data of math:GSM8K"):
        restore(record.identity, [])


def test_the_command_says_what_it_does_not_know(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["data", "fetch", "math:GSM9K"]) == 2
    assert "Did you mean math:GSM8K?" in capsys.readouterr().err
    assert main(["data", "status", "nothing"]) == 2
    assert "gemweb data status lists all" in capsys.readouterr().err
