"""A policy's folder as one file to send: packed, and unpacked from whoever it comes from. Needs no torch.

What comes from somebody else is taken apart by name and by length as it is read, never by what it says of itself, and
only files that a policy consists of leave the archive. Whether these may be loaded is for `folder_check`.
"""

from __future__ import annotations

import hashlib
import lzma
import tarfile
import zipfile
import zlib
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path, PurePosixPath
from typing import IO, NamedTuple

from gem.errors import InvalidArgument
from gem.training.checkpoints.folder_check import CARD, WEIGHTS

TAKEN = (
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
"""The files of a policy that are unpacked."""
LEFT_OUT = ("trainer.json", "trainer.safetensors")
"""What a training goes on with: it may be there and is not unpacked."""
LEFT_OUT_SHARE = 3
"""How many times longer than the policy that may be: an optimizer keeps two numbers for each weight."""
LITTER = ("__MACOSX", ".DS_Store")
"""What file managers put into archives."""
PICKLED = {".bin", ".pt", ".pth", ".ckpt", ".pkl", ".pickle", ".joblib", ".npy", ".npz", ".msgpack", ".h5", ".onnx"}
PICKLE_STARTS = (b"\x80\x02", b"\x80\x03", b"\x80\x04", b"\x80\x05", b"PK\x03\x04")
"""How pickles begin, and the archives that torch puts them into."""
MOST_ENTRIES = 100
LONGEST_TEXT = 64_000_000
"""Bytes of any file but the weights."""
CHUNK = 1 << 20
LONGEST_END = 16 * CHUNK
"""Bytes after the last file of a tar archive, which programs fill up with zeros."""
DAMAGED = (
    zipfile.BadZipFile,
    tarfile.TarError,
    zlib.error,
    lzma.LZMAError,
    EOFError,
    OSError,  # of bz2 and gzip; without an errno
    RuntimeError,
    ValueError,
)
"""What the readers of archives raise at what they cannot read."""


class Entry(NamedTuple):
    """A file in an archive."""

    path: PurePosixPath
    size: int
    """Bytes, as the archive says."""
    is_plain: bool
    """Neither a link nor a device nor encrypted."""
    file: IO[bytes] | None


def pack(folder: Path, file: IO[bytes], name: str) -> None:
    """Write the files of a folder as a zip archive, in which they lie in a folder called `name`."""
    with zipfile.ZipFile(file, "w", zipfile.ZIP_STORED) as bundle:  # weights do not get smaller
        for path in sorted(folder.iterdir()):
            bundle.write(path, f"{name}/{path.name}")


def sha256(path: Path) -> str:
    """Of a file, read in pieces, in hexadecimal digits."""
    digest = hashlib.sha256()
    with path.open("rb") as file:
        while piece := file.read(CHUNK):
            digest.update(piece)
    return digest.hexdigest()


def unpack(file: IO[bytes], folder: Path, *, most: int) -> list[str]:
    """Write the files of a policy from a zip or tar archive into an empty folder; their names.

    Args:
        most: bytes that all of them may have together.

    Raises:
        InvalidArgument: with what is wrong with the archive, in a sentence; the folder may hold a part of it.
        OSError: if it cannot be written.
    """
    left, skipped, found = most, 0, dict[str, PurePosixPath]()
    try:
        for count, entry in enumerate(_entries(file), 1):
            if count > MOST_ENTRIES:
                raise InvalidArgument(f"The archive has more than {MOST_ENTRIES} files: a policy has a dozen.")
            name = _name(entry)
            if name is None:
                skipped += entry.size
                if skipped > LEFT_OUT_SHARE * most:  # a packed tar is read through, whatever is left out of it
                    raise InvalidArgument("The archive is mostly files that no policy needs: leave them out.")
                continue
            if name in found:
                raise InvalidArgument(f"The archive has {name} twice: pack the folder of one policy.")
            found[name] = entry.path.parent
            left -= _copy(entry, folder / name, left, most)
    except DAMAGED as error:
        if isinstance(error, InvalidArgument) or (isinstance(error, OSError) and error.errno is not None):
            raise  # what has an errno is this machine's trouble, such as a full disk
        raise InvalidArgument(f"The archive is damaged and cannot be read to its end: {error}.") from error
    if not found:
        raise InvalidArgument(f"The archive holds no policy: there is no {WEIGHTS} in it.")
    if len(set(found.values())) > 1:
        raise InvalidArgument(
            "The archive has files in several folders: pack the folder of one policy and nothing else."
        )
    return sorted(found)


def _entries(file: IO[bytes]) -> Iterator[Entry]:
    """The files of an archive of either kind, one after the other."""
    file.seek(0)
    start = file.read(4)
    file.seek(0)
    if start == b"PK\x03\x04":
        with zipfile.ZipFile(file) as bundle:
            for info in bundle.infolist()[: MOST_ENTRIES + 1]:
                if info.is_dir():
                    continue
                plain = (info.external_attr >> 16) & 0o170000 in (0, 0o100000) and not info.flag_bits & 1
                with _opened(bundle, info, plain=plain) as content:
                    yield Entry(PurePosixPath(info.filename.replace("\\", "/")), info.file_size, plain, content)
        return
    try:
        tar = tarfile.open(fileobj=file, mode="r:*")  # noqa: SIM115 (closed below)
    except tarfile.TarError as error:
        raise InvalidArgument(
            "This is neither a zip nor a tar archive, or it is damaged. A checkpoint's download is a zip."
        ) from error
    with tar:
        for member in tar:
            if not member.isdir():
                content = tar.extractfile(member) if member.isreg() else None
                yield Entry(PurePosixPath(member.name), member.size, member.isreg(), content)
        _read_out(tar)


def _read_out(tar: tarfile.TarFile) -> None:
    """Go on to the end of the compressed file: only there is its checksum."""
    assert tar.fileobj is not None
    left = LONGEST_END
    while piece := tar.fileobj.read(CHUNK):
        left -= len(piece)
        if left < 0:
            raise InvalidArgument("The archive goes on after its end: pack the folder of one policy again.")


@contextmanager
def _opened(bundle: zipfile.ZipFile, info: zipfile.ZipInfo, *, plain: bool) -> Iterator[IO[bytes] | None]:
    if not plain:
        yield None
        return
    with bundle.open(info) as content:
        yield content


def _name(entry: Entry) -> str | None:
    """Under which name a file is unpacked; None if it is left in the archive.

    Raises:
        InvalidArgument: if it does not belong into a policy's archive.
    """
    path = entry.path
    if any(part in LITTER or part.startswith("._") for part in path.parts):
        return None
    if path.is_absolute() or ".." in path.parts or ":" in str(path) or "\0" in str(path):
        raise InvalidArgument(f"{str(path)!r} leads out of the archive: nothing was unpacked there.")
    if not entry.is_plain:
        raise InvalidArgument(f"{path.name} is a link, encrypted, or no plain file: pack the files themselves.")
    if path.suffix.lower() in PICKLED:
        raise InvalidArgument(
            f"{path.name} is refused: files of this kind can hold programs. Save the weights as {WEIGHTS} "
            "(save_pretrained does) and leave it out."
        )
    if len(path.parts) > 2:
        raise InvalidArgument(f"{path} lies too deep: the files stand at the top, or in one folder.")
    if path.name in LEFT_OUT:
        return None
    if path.name.startswith("adapter_"):
        raise InvalidArgument(
            f"{path.name} is part of an adapter, which needs another model's weights: merge it into its model "
            "(merge_and_unload) and upload that."
        )
    if path.name.startswith("model-") or path.name.endswith(".index.json"):
        raise InvalidArgument(f"{path.name} is one of several parts: save the weights as one file, {WEIGHTS}.")
    if path.name not in TAKEN:
        raise InvalidArgument(f"{path.name} is no file of a policy. Leave it out; these are taken: {', '.join(TAKEN)}.")
    return path.name


def _copy(entry: Entry, place: Path, left: int, most: int) -> int:
    """Write the file and return its length, as far as it is within the limits."""
    assert entry.file is not None
    limit, length = left if place.name == WEIGHTS else min(left, LONGEST_TEXT), 0
    with place.open("xb") as out:
        while piece := entry.file.read(CHUNK):
            if not length and piece.startswith(PICKLE_STARTS):
                raise InvalidArgument(f"{place.name} is a pickle by its content: refused.")
            length += len(piece)
            if length > limit:
                if limit < left:
                    raise InvalidArgument(f"{place.name} is longer than {LONGEST_TEXT // 10**6} MB.")
                raise InvalidArgument(f"Unpacked, it is more than the {most // 10**6:,} MB that are taken.")
            out.write(piece)
    return length
