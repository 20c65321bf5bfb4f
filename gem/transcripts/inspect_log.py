"""Logs of Inspect: the archives that end with .eval, and the same as one JSON document.

An archive has `header.json` (`start.json` while it is written) and a file for each sample, packed with deflate or with
Zstandard. Long texts of a sample stand once, under `attachments`, and are named where they belong. Format:
inspect_ai/log/_log.py and inspect_ai/log/_recorders/eval.py of version 0.3.285.
"""

from __future__ import annotations

import json
import zipfile
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from gem.errors import InvalidData
from gem.transcripts.samples import number_of
from gem.transcripts.transcript import Transcript, extra_of, messages_of

ATTACHMENT = "attachment://"
HEADERS = ("header.json", "_journal/start.json")
SAMPLES = "samples/"
ZSTANDARD = 93
"""The method of a packed file."""
MAX_SAMPLE_BYTES = 256 * 2**20
MAX_SAMPLES = 100_000
CORRECT, INCORRECT = ("C",), ("I", "N", "P")
"""The values of scores in letters: correct; incorrect, no answer, partially correct."""


def header_of(path: Path) -> dict[str, Any]:
    """What the log says of the whole evaluation: task, model, state and results.

    Raises:
        InvalidData: if it is no log of Inspect.
    """
    log = _document(path) if not zipfile.is_zipfile(path) else _header_in(path)
    if not isinstance(log, dict) or not isinstance(log.get("eval"), dict):
        raise InvalidData(f"{path.name} is no log of Inspect.")
    return log


def transcripts(path: Path) -> Iterator[Transcript]:
    """The samples of a log.

    Raises:
        InvalidData: if it cannot be read.
    """
    task = str(header_of(path)["eval"].get("task", ""))
    samples = _in_archive(path) if zipfile.is_zipfile(path) else iter(_document(path).get("samples") or [])
    for sample in samples:
        if not isinstance(sample, dict):
            raise InvalidData(f"{path.name} has a sample that is no object.")
        yield _transcript(sample, task)


def _transcript(sample: Mapping[str, Any], task: str) -> Transcript:
    attachments = sample.get("attachments") or {}
    said = sample.get("messages") or []
    if not said:  # a sample that failed before its first message
        given = sample.get("input")
        said = [{"role": "user", "content": given}] if isinstance(given, str) else given or []
    messages, left_out = messages_of(_resolved(said, attachments))
    scores = sample.get("scores") or {}
    score = next((value.get("value") for value in scores.values() if isinstance(value, Mapping)), None)
    error = sample.get("error") or {}
    return Transcript(
        key=f"{sample.get('id')}/{sample.get('epoch', 1)}"[:120],
        example=str(sample.get("id", ""))[:120],
        env_id=task[:120],
        messages=messages,
        left_out=left_out,
        reward=1.0 if score in CORRECT else 0.0 if score in INCORRECT else _score(score),
        solved=True if score in CORRECT else False if score in INCORRECT else None,
        error=str(error.get("message", "")) if isinstance(error, Mapping) else str(error),
        extra=extra_of(
            {
                "scores": {name: value.get("value") for name, value in scores.items() if isinstance(value, Mapping)},
                "target": sample.get("target"),
                "model_usage": sample.get("model_usage"),
                "total_time": sample.get("total_time"),
                "limit": sample.get("limit"),
            }
        ),
    )


def _score(value: Any) -> float | None:
    return float(value) if isinstance(value, bool) else number_of(value)


def _resolved(value: Any, attachments: Mapping[str, Any]) -> Any:
    """A value with the long texts that stand elsewhere in the sample."""
    if isinstance(value, str) and value.startswith(ATTACHMENT):
        return attachments.get(value.removeprefix(ATTACHMENT), value)
    if isinstance(value, list):
        return [_resolved(each, attachments) for each in value]
    if isinstance(value, dict):
        return {name: _resolved(each, attachments) for name, each in value.items()}
    return value


def _in_archive(path: Path) -> Iterator[Any]:
    with _opened(path) as archive:
        names = [name for name in archive.namelist() if name.startswith(SAMPLES) and name.endswith(".json")]
        if len(names) > MAX_SAMPLES:
            raise InvalidData(f"{path.name} has more than {MAX_SAMPLES:,} samples.")
        for name in names:
            yield _parsed(_unpacked(archive, name), path)


def _header_in(path: Path) -> Any:
    with _opened(path) as archive:
        name = next((name for name in HEADERS if name in archive.namelist()), None)
        if name is None:
            raise InvalidData(f"{path.name} is an archive without a header of Inspect.")
        return _parsed(_unpacked(archive, name), path)


def _opened(path: Path) -> zipfile.ZipFile:
    try:
        return zipfile.ZipFile(path)
    except (zipfile.BadZipFile, OSError, NotImplementedError) as error:
        raise InvalidData(f"{path.name} cannot be unpacked: {error}.") from error


def _unpacked(archive: zipfile.ZipFile, name: str) -> bytes:
    """A file of an archive, which may be packed with Zstandard.

    Raises:
        InvalidData: if it is damaged or too large, or Zstandard is needed and not installed.
    """
    info = archive.getinfo(name)
    if info.file_size > MAX_SAMPLE_BYTES:
        raise InvalidData(f"{name} has more than {MAX_SAMPLE_BYTES // 2**20} MiB.")
    try:
        if info.compress_type != ZSTANDARD:
            with archive.open(info) as file:
                return file.read(MAX_SAMPLE_BYTES)
        return _of_zstandard(_packed(archive, info), info.file_size)
    except (zipfile.BadZipFile, OSError, EOFError, NotImplementedError, RuntimeError, ValueError) as error:
        raise InvalidData(f"{name} cannot be unpacked: {error}.") from error


def _packed(archive: zipfile.ZipFile, info: zipfile.ZipInfo) -> bytes:
    """The packed bytes of a file, which Python's own module does not read if it does not know the method."""
    file = archive.fp
    if file is None:
        raise InvalidData("The archive is closed.")
    file.seek(info.header_offset + 26)
    name_bytes, extra_bytes = (int.from_bytes(file.read(2), "little") for _ in range(2))
    file.seek(info.header_offset + 30 + name_bytes + extra_bytes)
    return file.read(info.compress_size)


def _of_zstandard(packed: bytes, size: int) -> bytes:
    try:
        import zstandard  # noqa: PLC0415 (only logs of newer versions need it)
    except ImportError as error:
        raise InvalidData(
            "This log is packed with Zstandard, and the package zstandard is not installed here. "
            "`inspect log convert --to json` makes a file that needs none."
        ) from error
    try:
        with zstandard.ZstdDecompressor().stream_reader(packed, read_across_frames=True) as reader:
            return bytes(reader.read(size))
    except zstandard.ZstdError as error:
        raise InvalidData(f"A part of the log cannot be unpacked: {error}.") from error


def _document(path: Path) -> Any:
    if path.stat().st_size > MAX_SAMPLE_BYTES:
        raise InvalidData(f"{path.name} has more than {MAX_SAMPLE_BYTES // 2**20} MiB.")
    return _parsed(path.read_bytes(), path)


def _parsed(content: bytes, path: Path) -> Any:
    try:
        return json.loads(content)
    except (ValueError, RecursionError) as error:
        raise InvalidData(f"{path.name} has a part that is not JSON: {str(error)[:200]}.") from error
