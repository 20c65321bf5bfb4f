"""Event files of TensorBoard: records with a length and checksums, each an `Event` of protocol buffers.

Only scalars are read, those of TensorFlow 1 and PyTorch (`simple_value`) and those of TensorFlow 2 (a tensor with one
element). Formats: tensorflow/core/lib/io/record_writer.h, tensorflow/core/util/event.proto and summary.proto.
"""

from __future__ import annotations

import hashlib
import struct
from collections.abc import Iterator
from pathlib import Path

from gem.curves.entries import LoggedEntry
from gem.errors import InvalidData

HEADER = struct.Struct("<QI")
FOOTER_BYTES = 4
MAX_RECORD_BYTES = 256 * 2**20
VARINT, FIXED64, BYTES, FIXED32 = 0, 1, 2, 5
"""Wire types of protocol buffers."""
TENSOR_FORMATS = {1: "<f", 2: "<d", 3: "<i", 9: "<q", 19: "<e"}
"""How a scalar of each data type stands in a tensor: float, double, int32, int64, half."""
TENSOR_VALUES = {5: "<f", 6: "<d"}
"""The fields of a tensor with floats and doubles that are not packed as bytes."""
TENSOR_INTEGERS = (7, 10)
CRC32C = 0x82F63B78
Field = tuple[int, int, int | bytes]


class EventFile:
    """Reads an event file from where it was read to."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self._offset = 0

    def read(self) -> list[LoggedEntry]:
        """The scalars that were written since the last call. A record that is not complete waits for the next call.

        Raises:
            InvalidData: if this is no event file, or it is damaged.
        """
        entries: list[LoggedEntry] = []
        with self.path.open("rb") as file:
            while True:
                file.seek(self._offset)
                header = file.read(HEADER.size)
                if len(header) < HEADER.size:
                    return entries
                length, checksum = HEADER.unpack(header)
                if masked_crc32c(header[:8]) != checksum or length > MAX_RECORD_BYTES:
                    raise InvalidData(f"{self.path} is no event file of TensorBoard, or it is damaged.")
                record = file.read(length + FOOTER_BYTES)
                if len(record) < length + FOOTER_BYTES:
                    return entries
                try:
                    entries += _scalars(record[:length])
                except (IndexError, struct.error, UnicodeDecodeError) as error:
                    raise InvalidData(f"{self.path} has a record that is no event: {error}.") from error
                self._offset += HEADER.size + length + FOOTER_BYTES


def masked_crc32c(data: bytes) -> int:
    """The checksum of records: CRC-32C, rotated and shifted so that checksums of checksums differ."""
    crc = 0xFFFFFFFF
    for byte in data:
        crc = _TABLE[(crc ^ byte) & 0xFF] ^ (crc >> 8)
    crc ^= 0xFFFFFFFF
    return (((crc >> 15) | (crc << 17)) + 0xA282EAD8) & 0xFFFFFFFF


def _row(byte: int) -> int:
    for _ in range(8):
        byte = (byte >> 1) ^ (CRC32C if byte & 1 else 0)
    return byte


_TABLE = [_row(byte) for byte in range(256)]


def _scalars(event: bytes) -> list[LoggedEntry]:
    """The scalars of an event, each as an entry."""
    time, step, summaries = 0.0, 0, []
    for number, wire, value in _fields(event):
        if number == 1 and wire == FIXED64:
            time = struct.unpack("<d", _bytes(value))[0]
        elif number == 2 and wire == VARINT:
            step = _signed(value)
        elif number == 5 and wire == BYTES:
            summaries.append(_bytes(value))
    entries = []
    for summary in summaries:
        for number, wire, value in _fields(summary):
            if number == 1 and wire == BYTES:
                tag, scalar = _scalar(_bytes(value))
                if scalar is not None:
                    entries.append(LoggedEntry({tag: scalar}, step, time, _key(tag, step, time)))
    return entries


def _scalar(value: bytes) -> tuple[str, float | None]:
    """The tag of a value of a summary, and its number; None if it is none."""
    tag, scalar = "", None
    for number, wire, content in _fields(value):
        if number == 1 and wire == BYTES:
            tag = _bytes(content).decode("utf-8")
        elif number == 2 and wire == FIXED32:
            scalar = struct.unpack("<f", _bytes(content))[0]
        elif number == 8 and wire == BYTES:
            scalar = _of_tensor(_bytes(content))
    return tag, scalar


def _of_tensor(tensor: bytes) -> float | None:
    """The number of a tensor with one element; None for another one."""
    kind, content = 0, b""
    for number, wire, value in _fields(tensor):
        if number == 1 and wire == VARINT:
            kind = _signed(value)
        elif number == 4 and wire == BYTES:
            content = _bytes(value)
        elif number in TENSOR_VALUES and wire in (BYTES, FIXED32, FIXED64):
            form = TENSOR_VALUES[number]
            return _unpacked(form, _bytes(value))
        elif number in TENSOR_INTEGERS:
            return float(_signed(value) if wire == VARINT else _signed(_varint(_bytes(value), 0)[0]))
    return _unpacked(TENSOR_FORMATS[kind], content) if kind in TENSOR_FORMATS else None


def _unpacked(form: str, content: bytes) -> float | None:
    return float(struct.unpack(form, content)[0]) if len(content) == struct.calcsize(form) else None


def _fields(message: bytes) -> Iterator[Field]:
    """The fields of a message: number, wire type, and the value."""
    place = 0
    while place < len(message):
        tag, place = _varint(message, place)
        number, wire = tag >> 3, tag & 7
        if wire == VARINT:
            value, place = _varint(message, place)
            yield number, wire, value
            continue
        if wire == BYTES:
            length, place = _varint(message, place)
        elif wire in (FIXED64, FIXED32):
            length = 8 if wire == FIXED64 else 4
        else:
            raise IndexError(f"a field has the unknown type {wire}")
        if place + length > len(message):
            raise IndexError("a field is longer than its message")
        yield number, wire, message[place : place + length]
        place += length


def _varint(message: bytes, place: int) -> tuple[int, int]:
    value = shift = 0
    while True:
        byte = message[place]
        value |= (byte & 0x7F) << shift
        place += 1
        if not byte & 0x80:
            return value, place
        shift += 7
        if shift > 63:
            raise IndexError("a number is too long")


def _signed(value: int | bytes) -> int:
    number = int(value) if isinstance(value, int) else 0
    number &= 2**64 - 1
    return number - 2**64 if number >= 2**63 else number


def _bytes(value: int | bytes) -> bytes:
    return value if isinstance(value, bytes) else b""


def _key(tag: str, step: int, time: float) -> str:
    return hashlib.blake2b(f"{tag}\0{step}\0{time!r}".encode(), digest_size=16).hexdigest()
