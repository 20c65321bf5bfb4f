"""A policy's folder unpacked from an archive that may be hostile. Needs no torch.

The sizes that an archive states are not trusted: bytes are counted while they are read. Only files that belong to a
policy are written, under their own names. `folder_check` decides whether they may be loaded.
"""

from __future__ import annotations

import bz2
import gzip
import hashlib
import lzma
import tarfile
import zipfile
import zlib
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager, nullcontext
from pathlib import Path, PurePosixPath
from typing import IO, NamedTuple, cast

from gem.errors import InvalidArgument
from gem.training.checkpoints.folder_check import CARD, WEIGHTS

POLICY_FILES = (
    WEIGHTS,
    "config.json",
    "generation_config.json",
    "tokenizer.json",
    "tokenizer_config.json",
    "special_tokens_map.json",
    "added_tokens.json",
    "vocab.json",
    "merges.txt",
    "chat_template.jinja",
    CARD,
    "README.md",
)
"""Names of the files that are unpacked."""
TRAINER_FILES = ("trainer.json", "trainer.safetensors", "pool.json", "pool.safetensors")
"""The state of a training, which an archive may contain and which is not unpacked."""
MAX_SKIPPED_FACTOR = 9
"""How many times larger than the policy the files may be that are not unpacked: an optimizer has two numbers for each
weight, and with self-play the pool has six policies unless it was made larger."""
FILE_MANAGER_NAMES = ("__MACOSX", ".DS_Store")
"""Files and folders that file managers put into archives."""
UNSAFE_SUFFIXES = {
    ".bin", ".pt", ".pth", ".ckpt", ".pkl", ".pickle", ".joblib", ".npy", ".npz", ".msgpack", ".h5", ".onnx"
}  # fmt: skip
"""Endings of files that may contain pickles or other programs."""
PICKLE_MAGIC = (b"\x80\x02", b"\x80\x03", b"\x80\x04", b"\x80\x05", b"PK\x03\x04")
"""First bytes of pickles, and of the archives into which torch puts them."""
MAX_ENTRIES = 100
MAX_TEXT_BYTES = 64_000_000
"""Size limit of every file but the weights."""
MAX_DIRECTORY_BYTES = 1 << 20
"""Limit of all bytes of an archive that belong to no file: names, sizes, the directory at the end of a zip."""
CHUNK_BYTES = 1 << 20
"""How many bytes are read at once."""
COMPRESSIONS: tuple[tuple[bytes, Callable[[IO[bytes]], object]], ...] = (
    (b"\x1f\x8b", lambda file: gzip.GzipFile(fileobj=file)),
    (b"BZh", bz2.BZ2File),
    (b"\xfd7zXZ", lzma.LZMAFile),
)
"""How the compressed tar archives begin that are taken, and what reads each."""
MAX_PADDING_BYTES = 16 * CHUNK_BYTES
"""Limit of the bytes after the last file of a tar archive, where programs write zeros."""
READ_ERRORS = (
    zipfile.BadZipFile,
    tarfile.TarError,
    zlib.error,
    lzma.LZMAError,
    EOFError,
    OSError,  # of bz2 and gzip; without an errno
    RuntimeError,
    ValueError,
)
"""What Python's readers of archives raise if an archive is damaged."""


class ArchiveEntry(NamedTuple):
    """A file in an archive."""

    path: PurePosixPath
    size: int
    """Size in bytes, as stated in the archive."""
    is_plain: bool
    """Whether it is neither a link nor a device nor encrypted."""
    file: IO[bytes] | None
    """Its content; None if it is not plain."""


def sha256(path: Path) -> str:
    """The SHA-256 of a file as hexadecimal digits."""
    digest = hashlib.sha256()
    with path.open("rb") as file:
        while chunk := file.read(CHUNK_BYTES):
            digest.update(chunk)
    return digest.hexdigest()


def unpack(file: IO[bytes], folder: Path, *, max_bytes: int) -> list[str]:
    """Write the files of a policy from a zip or tar archive into an empty folder, and return their names.

    Args:
        max_bytes: limit on the size of all files together.

    Raises:
        InvalidArgument: if the archive is refused, with the reason in a sentence; the folder may hold a part of it.
        OSError: if the files cannot be written.
    """
    remaining, skipped, parents = max_bytes, 0, dict[str, PurePosixPath]()
    try:
        for count, entry in enumerate(_entries(file), 1):
            if count > MAX_ENTRIES:
                raise InvalidArgument(f"The archive has more than {MAX_ENTRIES} files: a policy has a dozen.")
            name = _target_name(entry)
            if name is None:
                skipped += entry.size
                # The bytes of skipped files count as well, because all of a compressed archive has to be read.
                if skipped > MAX_SKIPPED_FACTOR * max_bytes:
                    raise InvalidArgument("The archive is mostly files that no policy needs: leave them out.")
                continue
            if name in parents:
                raise InvalidArgument(f"The archive has {name} twice: pack the folder of one policy.")
            parents[name] = entry.path.parent
            remaining -= _copy(entry, folder / name, remaining, max_bytes)
    except READ_ERRORS as error:
        if isinstance(error, InvalidArgument) or (isinstance(error, OSError) and error.errno is not None):
            raise  # an errno means that this machine is at fault, for example a full disk
        raise InvalidArgument(f"The archive is damaged and cannot be read to its end: {error}.") from error
    if not parents:
        raise InvalidArgument(f"The archive holds no policy: there is no {WEIGHTS} in it.")
    if len(set(parents.values())) > 1:
        raise InvalidArgument(
            "The archive has files in several folders: pack the folder of one policy and nothing else."
        )
    return sorted(parents)


def _entries(file: IO[bytes]) -> Iterator[ArchiveEntry]:
    """The files of a zip or tar archive, one after the other."""
    file.seek(0)
    magic = file.read(6)
    file.seek(0)
    if magic.startswith(b"PK\x03\x04"):
        reader = _FrugalReader(file)
        with zipfile.ZipFile(cast("IO[bytes]", reader)) as bundle:
            reader.is_in_files = True
            for info in bundle.infolist()[: MAX_ENTRIES + 1]:
                if info.is_dir():
                    continue
                path = PurePosixPath(info.filename.replace("\\", "/"))
                is_plain = (info.external_attr >> 16) & 0o170000 in (0, 0o100000) and not info.flag_bits & 1
                with _open_entry(bundle, info, is_plain=is_plain) as content:
                    yield ArchiveEntry(path, info.file_size, is_plain, content)
        return
    opener = next((opener for start, opener in COMPRESSIONS if magic.startswith(start)), None)
    with closing(cast("IO[bytes]", opener(file))) if opener else nullcontext(file) as stream:
        yield from _tar_entries(_FrugalReader(stream))


def _tar_entries(reader: _FrugalReader) -> Iterator[ArchiveEntry]:
    """The files of a tar archive that is not compressed, or not any more."""
    try:
        tar = tarfile.open(fileobj=cast("IO[bytes]", reader), mode="r:")  # noqa: SIM115 (closed below)
    except tarfile.TarError as error:
        raise InvalidArgument(
            "This is neither a zip nor a tar archive, or it is damaged. A checkpoint's download is a zip."
        ) from error
    with tar:
        for member in tar:
            if not member.isdir():
                content = tar.extractfile(member) if member.isreg() else None
                reader.is_in_files = True
                yield ArchiveEntry(PurePosixPath(member.name), member.size, member.isreg(), content)
                reader.is_in_files = False
        reader.is_in_files = True
        _read_to_end(reader)


class _FrugalReader:
    """Reads an archive for Python's readers, which take whatever an archive says about itself into memory.

    Args:
        file: the archive, not compressed.
    """

    def __init__(self, file: IO[bytes]) -> None:
        self._file = file
        self._remaining = MAX_DIRECTORY_BYTES
        self.is_in_files = False
        """Whether what is read now are the contents of files, which `unpack` counts, and not about them."""
        self.seek, self.tell, self.seekable = file.seek, file.tell, file.seekable

    def read(self, size: int = -1) -> bytes:
        """Read as `file` does.

        Raises:
            InvalidArgument: if there is more about files than `MAX_DIRECTORY_BYTES`.
        """
        if self.is_in_files:
            return self._file.read(size)
        limit = self._remaining + 1
        data = self._file.read(min(size, limit) if size >= 0 else limit)
        self._remaining -= len(data)
        if self._remaining < 0:
            raise InvalidArgument("The archive says too much about its files: pack the folder of one policy.")
        return data


def _read_to_end(reader: _FrugalReader) -> None:
    """Read to the end of the compressed file, where its checksum is verified."""
    remaining = MAX_PADDING_BYTES
    while chunk := reader.read(CHUNK_BYTES):
        remaining -= len(chunk)
        if remaining < 0:
            raise InvalidArgument("The archive goes on after its end: pack the folder of one policy again.")


@contextmanager
def _open_entry(bundle: zipfile.ZipFile, info: zipfile.ZipInfo, *, is_plain: bool) -> Iterator[IO[bytes] | None]:
    if not is_plain:
        yield None
        return
    with bundle.open(info) as content:
        yield content


def _target_name(entry: ArchiveEntry) -> str | None:
    """The name under which a file is unpacked; None if it is skipped.

    Raises:
        InvalidArgument: if the file may not be in a policy's archive.
    """
    path = entry.path
    if any(part in FILE_MANAGER_NAMES or part.startswith("._") for part in path.parts):
        return None
    if path.is_absolute() or ".." in path.parts or ":" in str(path) or "\0" in str(path):
        raise InvalidArgument(f"{str(path)!r} leads out of the archive: nothing was unpacked there.")
    if not entry.is_plain:
        raise InvalidArgument(f"{path.name} is a link, encrypted, or no plain file: pack the files themselves.")
    if path.suffix.lower() in UNSAFE_SUFFIXES:
        raise InvalidArgument(
            f"{path.name} is refused: files of this kind can hold programs. Save the weights as {WEIGHTS} "
            "(save_pretrained does) and leave it out."
        )
    if len(path.parts) > 2:
        raise InvalidArgument(f"{path} lies too deep: the files stand at the top, or in one folder.")
    if path.name in TRAINER_FILES:
        return None
    if path.name.startswith("adapter_"):
        raise InvalidArgument(
            f"{path.name} is part of an adapter, which needs another model's weights: merge it into its model "
            "(merge_and_unload) and upload that."
        )
    if path.name.startswith("model-") or path.name.endswith(".index.json"):
        raise InvalidArgument(f"{path.name} is one of several parts: save the weights as one file, {WEIGHTS}.")
    if path.name not in POLICY_FILES:
        raise InvalidArgument(
            f"{path.name} is no file of a policy. Leave it out; these are taken: {', '.join(POLICY_FILES)}."
        )
    return path.name


def _copy(entry: ArchiveEntry, path: Path, remaining: int, max_bytes: int) -> int:
    """Write a file and return its size in bytes.

    Args:
        remaining: how many of the archive's `max_bytes` are left.

    Raises:
        InvalidArgument: if the file is too large, or a pickle.
    """
    assert entry.file is not None
    limit, size = remaining if path.name == WEIGHTS else min(remaining, MAX_TEXT_BYTES), 0
    with path.open("xb") as out:
        while chunk := entry.file.read(CHUNK_BYTES):
            if not size and chunk.startswith(PICKLE_MAGIC):
                raise InvalidArgument(f"{path.name} is a pickle by its content: refused.")
            size += len(chunk)
            if size > limit:
                if limit < remaining:
                    raise InvalidArgument(f"{path.name} is longer than {MAX_TEXT_BYTES // 10**6} MB.")
                raise InvalidArgument(f"Unpacked, it is more than the {max_bytes // 10**6:,} MB that are taken.")
            out.write(chunk)
    return size
