"""Curves through the API and from the command line, from files of TensorBoard and of JSON."""

from __future__ import annotations

import json
import struct
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from pydantic import ValidationError

from apps.accounts.models import User
from apps.curves.models import OutsideTraining
from apps.curves.reading import columns
from gem.cli.server import curves as command
from gem.client.schemas import EntriesStored, NewEntries, NewEntry
from gem.client.schemas import OutsideTraining as Training
from gem.curves.tensorboard import masked_crc32c
from gem.errors import InvalidData
from tests.apps.api.conftest import Program

Message = dict[str, Any]


class Site:
    """The part of a client that the command uses, on the API of this process."""

    def __init__(self, program: Program) -> None:
        self.program, self.curves = program, self

    def __enter__(self) -> Site:
        return self

    def __exit__(self, *_: object) -> None:
        pass

    def begin(self, project: str, key: str, *, visibility: str | None) -> Training:
        """As `Curves.begin`."""
        body = {"project": project, "key": key, "visibility": visibility}
        return Training.model_validate_json(self.program.post("curves", body).content)

    def log(self, training_id: str, entries: list[NewEntry]) -> EntriesStored:
        """As `Curves.log`."""
        body = {"entries": [entry.model_dump() for entry in entries]}
        return EntriesStored.model_validate_json(self.program.post(f"curves/{training_id}/entries", body).content)

    def end(self, training_id: str) -> None:
        """As `Curves.end`."""
        assert self.program.post(f"curves/{training_id}/end", {"state": "finished"}).status_code == 200


@pytest.fixture
def push(ada: User, monkeypatch: pytest.MonkeyPatch) -> Callable[[Path], int]:
    """Runs `gemweb curves push` against the API of this process."""
    from apps.api import operations

    _, secret = operations.make_token(ada, "program", ["submit"])
    monkeypatch.setattr(command, "connect", lambda _: Site(Program(secret)))

    def run(path: Path) -> int:
        return command.run(["push", str(path)], None, None, follow=False, url=None, as_json=False)

    return run


def event(step: int, tag: str, value: float, wall_time: float) -> bytes:
    """A record of an event file with one scalar."""
    scalar = b"\x0a" + bytes([len(tag)]) + tag.encode() + b"\x15" + struct.pack("<f", value)
    summary = b"\x0a" + bytes([len(scalar)]) + scalar
    content = (
        b"\x09" + struct.pack("<d", wall_time) + b"\x10" + bytes([step]) + b"\x2a" + bytes([len(summary)]) + summary
    )
    length = struct.pack("<Q", len(content))
    return length + struct.pack("<I", masked_crc32c(length)) + content + struct.pack("<I", masked_crc32c(content))


def test_event_files_are_sent_once_however_often(push: Callable[[Path], int], tmp_path: Path) -> None:
    file = tmp_path / "events.out.tfevents.1.host"
    file.write_bytes(event(1, "loss", 2.0, 1e9) + event(2, "loss", 1.0, 1e9 + 60)[:-3])
    assert push(tmp_path) == 0
    training = OutsideTraining.objects.get()
    assert (training.name, training.entries, training.state) == (tmp_path.name, 1, "finished")
    file.write_bytes(event(1, "loss", 2.0, 1e9) + event(2, "loss", 1.0, 1e9 + 60))
    assert push(tmp_path) == 0
    training.refresh_from_db()
    found = columns(training, ["loss"])
    assert (training.entries, found["m:loss"], found["seconds"]) == (2, [2.0, 1.0], [0.0, 60.0])


def test_json_lines_are_sent_with_their_steps(push: Callable[[Path], int], tmp_path: Path) -> None:
    lines = [{"step": 3, "reward": {"mean": 0.5}}, {"step": 4, "reward": {"mean": 0.75}, "_timestamp": 1e9}]
    (tmp_path / "metrics.jsonl").write_text("\n".join(map(json.dumps, lines)) + "\n")
    push(tmp_path)
    push(tmp_path)
    training = OutsideTraining.objects.get()
    assert (training.entries, training.latest) == (2, {"reward/mean": 0.75})


@pytest.mark.parametrize(
    ("name", "content", "sentence"),
    [
        ("metrics.jsonl", '{"step": 1, "loss": 1}\nnothing\n', "line 2 is not JSON"),
        ("metrics.jsonl", '{"step": 1, "loss": 1, "timestamp": 1764000000000}\n', "Times are seconds since 1970"),
        ("state.json", "{", "line 1 is not JSON"),
        ("events.out.tfevents.1.host", "nothing of TensorBoard", "is no event file"),
    ],
)
def test_a_file_that_cannot_be_read_begins_no_training(
    push: Callable[[Path], int], tmp_path: Path, name: str, content: str, sentence: str
) -> None:
    file = tmp_path / name
    file.write_text(content)
    with pytest.raises(InvalidData, match=sentence):
        push(file)
    assert not OutsideTraining.objects.exists()


def test_the_site_says_where_a_number_of_a_program_was_not_finite(
    ada: User, program_of: Callable[..., Program]
) -> None:
    program = program_of(ada)
    training = program.post("curves", {"project": "mine", "key": "loop"}).json()
    entry = NewEntry(step=7, metrics={"loss": float("nan"), "a": {"b": float("-inf")}, "kl": np.float32(0.5)})
    body = NewEntries(entries=[entry]).model_dump(mode="json")
    assert program.post(f"curves/{training['id']}/entries", body).status_code == 200
    found = OutsideTraining.objects.get()
    assert found.latest == {"kl": 0.5}
    assert sorted(found.notes.values()) == [
        "a/b was not a finite number (-inf) at step 7.",
        "loss was not a finite number (nan) at step 7.",
    ]


def test_what_is_no_number_is_refused_where_it_is_logged() -> None:
    with pytest.raises(ValidationError, match=r"metrics\.grads has to be a number, not ndarray"):
        NewEntry(metrics={"grads": np.zeros(3)})


def test_only_the_metrics_that_were_asked_for_are_read(ada: User, program_of: Callable[..., Program]) -> None:
    program = program_of(ada)
    address = f"curves/{program.post('curves', {'project': 'mine', 'key': 'loop'}).json()['id']}"
    program.post(f"{address}/entries", {"entries": [{"step": 1, "metrics": {"loss": 1, "reward": 2}}]})
    assert program.get(f"{address}/points?metric=nope").json()["metrics"] == {}
    assert program.get(f"{address}/points?metric=nope&metric=loss").json()["metrics"] == {"loss": [1]}
    assert program.get(f"{address}/points").json()["metrics"] == {"reward": [2], "loss": [1]}
    refused = program.get(f"{address}/points?after=x")
    assert (refused.status_code, refused.json()["errors"][0]["field"]) == (422, "after")


def test_a_hand_written_loop_begins_logs_and_ends(ada: User, program_of: Callable[..., Program]) -> None:
    program = program_of(ada)
    training = program.post("curves", {"project": "mine", "key": "loop", "config": {"seed": 1}}).json()
    entries = [{"step": step, "metrics": {"reward": step / 4}} for step in range(4)]
    stored = program.post(f"curves/{training['id']}/entries", {"entries": entries}).json()
    assert stored == {"stored": 4, "repeated": 0, "entries": 4}
    ended = program.post(f"curves/{training['id']}/end", {"state": "crashed", "reason": "Out of memory."}).json()
    assert (ended["state"], ended["reason"], ended["last_step"]) == ("crashed", "Out of memory.", 3)
    points = program.get(f"curves/{training['id']}/points?metric=reward&after=2").json()
    assert (points["steps"], points["metrics"]) == ([2, 3], {"reward": [0.5, 0.75]})
    again = program.post("curves", {"project": "mine", "key": "loop"}).json()
    assert again["id"] == training["id"]
    assert program.send("DELETE", f"curves/{training['id']}").status_code == 204


def test_names_that_a_program_sends_have_no_hidden_characters(ada: User, program_of: Callable[..., Program]) -> None:
    sent = {"project": "a\x1b[31m\tb", "key": "\u202ekey"}
    program = program_of(ada)
    first, again = (program.post("curves", sent).json() for _ in range(2))
    assert (first["project"], first["name"], first["key"]) == ("a\ufffd[31m b", "\ufffdkey", "\ufffdkey")
    assert again["id"] == first["id"], "the program goes on with the same training"
