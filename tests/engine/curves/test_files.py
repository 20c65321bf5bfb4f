"""Files of trainers: what they say, while they grow, and when they are damaged."""

from __future__ import annotations

import json
import struct
from pathlib import Path

import pytest

from gem.curves import find_logs, open_log
from gem.curves.tensorboard import EventFile, masked_crc32c
from gem.errors import InvalidData, UsageError


def record(content: bytes) -> bytes:
    """A record of an event file."""
    length = struct.pack("<Q", len(content))
    return length + struct.pack("<I", masked_crc32c(length)) + content + b"\0\0\0\0"


def field(number: int, wire: int, content: bytes) -> bytes:
    """A field of a message, shorter than 128 bytes."""
    return bytes([number << 3 | wire]) + (bytes([len(content)]) if wire == 2 else b"") + content


def scalar(tag: str, content: bytes) -> bytes:
    """An event at step 7 with one value."""
    value = field(1, 2, tag.encode()) + content
    return record(field(1, 1, struct.pack("<d", 1e9)) + field(2, 0, b"\x07") + field(5, 2, field(1, 2, value)))


def test_the_checksum_is_that_of_known_records() -> None:
    assert masked_crc32c(struct.pack("<Q", 24)) == 0x224B7FA3  # the length of the first record of every event file


def test_scalars_of_both_generations_are_read(tmp_path: Path) -> None:
    tensor = field(1, 0, b"\x01") + field(2, 2, b"") + field(4, 2, struct.pack("<f", 0.25))
    listed = field(1, 0, b"\x02") + field(6, 2, struct.pack("<d", 0.125))
    path = tmp_path / "events.out.tfevents.1"
    path.write_bytes(
        record(field(3, 2, b"brain.Event:2"))
        + scalar("old", field(2, 5, struct.pack("<f", 0.5)))
        + scalar("new", field(8, 2, tensor))
        + scalar("listed", field(8, 2, listed))
        + scalar("text", field(8, 2, field(1, 0, b"\x07") + field(8, 2, b"words")))
    )
    entries = EventFile(path).read()
    assert [dict(entry.metrics) for entry in entries] == [{"old": 0.5}, {"new": 0.25}, {"listed": 0.125}]
    assert {(entry.step, entry.time) for entry in entries} == {(7, 1e9)}


def test_a_growing_file_is_read_further_and_half_a_record_waits(tmp_path: Path) -> None:
    whole = scalar("loss", field(2, 5, struct.pack("<f", 1.5)))
    path = tmp_path / "events.out.tfevents.1"
    path.write_bytes(whole + whole[:20])
    log = open_log(path)
    assert len(log.read()) == 1
    path.write_bytes(whole + whole)
    assert len(log.read()) == 1
    assert log.read() == []
    lines = tmp_path / "log.jsonl"
    lines.write_text('{"step": 1, "a": 2}\n{"step": 2,')
    log = open_log(lines)
    assert [entry.step for entry in log.read()] == [1]
    lines.write_text('{"step": 1, "a": 2}\n{"step": 2, "a": 3}\n')
    assert [entry.metrics for entry in log.read()] == [{"a": 3}]


@pytest.mark.parametrize(
    "content",
    [
        b"not an event file",
        record(b"\x2a\xff\x01"),
        record(b"\xff" * 20),
        record(field(5, 2, field(1, 2, b"\x0a\x02\xff\xff"))),
        struct.pack("<QI", 2**60, 0),
    ],
)
def test_a_damaged_file_is_said_to_be_so(tmp_path: Path, content: bytes) -> None:
    path = tmp_path / "events.out.tfevents.1"
    path.write_bytes(content)
    with pytest.raises(InvalidData, match=r"damaged|no event"):
        open_log(path).read()


def test_the_state_of_transformers_and_lists_are_read(tmp_path: Path) -> None:
    path = tmp_path / "trainer_state.json"
    path.write_text(json.dumps({"epoch": 1.0, "log_history": [{"step": 5, "loss": 1.0, "epoch": 0.5}]}))
    [entry] = open_log(path).read()
    assert (entry.step, entry.metrics) == (5, {"loss": 1.0, "epoch": 0.5})
    path.write_text("[3]")
    with pytest.raises(InvalidData, match="has to be an object"):
        open_log(path).read()


def test_the_trainings_of_a_folder_are_found(tmp_path: Path) -> None:
    for name in ("a/events.out.tfevents.1", "a/events.out.tfevents.2", "b/log.jsonl"):
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).touch()
    assert {place.name: len(files) for place, files in find_logs(tmp_path).items()} == {"a": 2, "log.jsonl": 1}
    with pytest.raises(UsageError, match="neither event files"):
        find_logs(tmp_path / "a" / "nothing")
