"""A policy in an archive: packed, unpacked, and refused whatever else it holds."""

import gzip
import io
import json
import pickle
import shutil
import struct
import tarfile
import tempfile
import tracemalloc
import zipfile
from pathlib import Path

import pytest

from gem.errors import InvalidArgument
from gem.training.built_in_policies import policy_location
from gem.training.checkpoints.archive import unpack
from gem.training.checkpoints.folder_check import check_folder, check_self_contained
from tests.archives import pack
from tests.yardstick import times_the_yardstick

BASE = Path(policy_location("nano-base"))
MAX_BYTES = 10_000_000


def zipped(**files: bytes) -> io.BytesIO:
    """An archive with the base policy and these files; `a__b` is `a/b`."""
    file = io.BytesIO()
    with zipfile.ZipFile(file, "w", zipfile.ZIP_DEFLATED) as bundle:
        for path in BASE.iterdir():
            bundle.write(path, path.name)
        for name, content in files.items():
            bundle.writestr(name.replace("__", "/"), content)
    return file


def tarred(*members: tuple[tarfile.TarInfo, bytes], mode: str = "w:gz") -> io.BytesIO:
    file = io.BytesIO()
    with tarfile.open(fileobj=file, mode=mode) as bundle:  # type: ignore[call-overload]
        bundle.add(BASE, "policy")
        for info, content in members:
            info.size = len(content)
            bundle.addfile(info, io.BytesIO(content))
    return file


def linked(name: str, target: str, kind: bytes = tarfile.SYMTYPE) -> tuple[tarfile.TarInfo, bytes]:
    info = tarfile.TarInfo(name)
    info.type, info.linkname = kind, target
    return info, b""


@pytest.fixture
def place(tmp_path: Path) -> Path:
    (tmp_path / "place").mkdir()
    return tmp_path / "place"


def test_what_was_packed_comes_out_as_it_was(place: Path) -> None:
    file = io.BytesIO()
    pack(BASE, file, "mine")
    assert unpack(file, place, max_bytes=MAX_BYTES) == sorted(path.name for path in BASE.iterdir())
    assert all((place / path.name).read_bytes() == path.read_bytes() for path in BASE.iterdir())
    check_folder(place)
    check_self_contained(place)


@pytest.mark.parametrize("mode", ["w", "w:gz", "w:xz"])
def test_tar_archives_are_taken_as_well(place: Path, mode: str) -> None:
    assert "model.safetensors" in unpack(tarred(mode=mode), place, max_bytes=MAX_BYTES)


def test_what_a_training_goes_on_with_and_litter_stay_in_the_archive(place: Path) -> None:
    file = zipped(**{"trainer.json": b"{}", "trainer.safetensors": b"x", "pool.json": b"{}", "pool.safetensors": b"x"})
    with zipfile.ZipFile(file, "a") as bundle:
        bundle.writestr("__MACOSX/._config.json", b"\x00\x05")
    names = unpack(file, place, max_bytes=MAX_BYTES)
    assert "trainer.json" not in names
    assert {path.name for path in place.iterdir()} == set(names) == {path.name for path in BASE.iterdir()}


@pytest.mark.parametrize(
    ("name", "said"),
    [
        ("pytorch_model.bin", "pytorch_model.bin is refused: files of this kind can hold programs"),
        ("weights.pt", "weights.pt is refused"),
        ("state.PKL", "state.PKL is refused"),
        ("modeling.py", "modeling.py is no file of a policy. Leave it out"),
        ("..__config.json", "leads out of the archive"),
        ("__etc__passwd", "leads out of the archive"),
        ("C:__config.json", "leads out of the archive"),
        ("a__b__README.md", "lies too deep"),
        ("other__README.md", "files in several folders"),
        ("adapter_model.safetensors", "part of an adapter"),
        ("model-00001-of-00002.safetensors", "one of several parts"),
    ],
)
def test_each_refusal_names_the_file_and_says_what_to_do(place: Path, name: str, said: str) -> None:
    with pytest.raises(InvalidArgument, match=said.replace(".", r"\.")):
        unpack(zipped(**{name: b"x"}), place, max_bytes=MAX_BYTES)
    assert not list(place.parent.glob("config.json"))


@pytest.mark.parametrize("content", [pickle.dumps({"a": 1}), b"PK\x03\x04 as torch writes it"])
def test_a_pickle_by_another_name_is_refused(place: Path, content: bytes) -> None:
    with pytest.raises(InvalidArgument, match=r"merges.txt is a pickle by its content"):
        unpack(zipped(**{"merges.txt": content}), place, max_bytes=MAX_BYTES)


@pytest.mark.parametrize("kind", [tarfile.SYMTYPE, tarfile.LNKTYPE, tarfile.FIFOTYPE, tarfile.CHRTYPE])
def test_links_and_devices_are_refused(place: Path, kind: bytes) -> None:
    with pytest.raises(InvalidArgument, match=r"README.md is a link"):
        unpack(tarred(linked("policy/README.md", "/etc/passwd", kind)), place, max_bytes=MAX_BYTES)


def test_a_link_in_a_zip_is_refused(place: Path) -> None:
    file = zipped()
    with zipfile.ZipFile(file, "a") as bundle:
        info = zipfile.ZipInfo("README.md")
        info.external_attr = 0o120777 << 16
        bundle.writestr(info, "/etc/passwd")
    with pytest.raises(InvalidArgument, match=r"README.md is a link"):
        unpack(file, place, max_bytes=MAX_BYTES)


def test_a_bomb_is_measured_by_what_comes_out_of_it(place: Path) -> None:
    with pytest.raises(InvalidArgument, match="more than the 2 MB that are taken"):
        unpack(zipped(**{"README.md": bytes(5_000_000)}), place, max_bytes=2_000_000)
    assert sum(path.stat().st_size for path in place.iterdir()) <= 2_000_000


def test_what_is_left_out_of_a_tar_is_bounded_too(place: Path) -> None:
    with pytest.raises(InvalidArgument, match="mostly files that no policy needs"):
        unpack(tarred((tarfile.TarInfo("policy/trainer.safetensors"), bytes(19_000_000))), place, max_bytes=2_000_000)


def test_many_files_and_doubled_ones_are_refused(place: Path, tmp_path: Path) -> None:
    file = zipped()
    with zipfile.ZipFile(file, "a") as bundle, pytest.warns(UserWarning, match="Duplicate"):
        bundle.writestr("config.json", "{}")
    with pytest.raises(InvalidArgument, match=r"config.json twice"):
        unpack(file, place, max_bytes=MAX_BYTES)
    (tmp_path / "other").mkdir()
    file = zipped()
    with zipfile.ZipFile(file, "a") as bundle:
        for i in range(120):
            bundle.writestr(f"__MACOSX/{i}", b"")
    with pytest.raises(InvalidArgument, match="more than 100 files"):
        unpack(file, tmp_path / "other", max_bytes=MAX_BYTES)


@pytest.mark.parametrize("content", [b"", b"what is this", b"PK\x03\x04 and no more", b"\x1f\x8b\x08 and no more"])
def test_what_is_no_archive_says_so(place: Path, content: bytes) -> None:
    with pytest.raises(InvalidArgument, match=r"neither a zip nor a tar|damaged|holds no policy"):
        unpack(io.BytesIO(content), place, max_bytes=MAX_BYTES)


def test_an_archive_cut_short_is_damaged(place: Path) -> None:
    whole = tarred().getvalue()
    with pytest.raises(InvalidArgument, match="damaged"):
        unpack(io.BytesIO(whole[: len(whole) // 2]), place, max_bytes=MAX_BYTES)


@pytest.mark.parametrize(
    ("name", "entry", "said"),
    [
        ("config.json", {"model_type": "telepath"}, "type 'telepath' is not loaded here"),
        ("config.json", {"auto_map": {"AutoModel": "x.Y"}}, r"config.json has the entry auto_map"),
        ("config.json", {"attn_implementation": "somebody/kernels"}, "attn_implementation"),
        ("config.json", {"quantization_config": {}}, "quantization_config"),
        ("tokenizer_config.json", {"auto_map": {}}, r"tokenizer_config.json has the entry auto_map"),
    ],
)
def test_a_configuration_may_ask_for_nothing_outside(
    tmp_path: Path, name: str, entry: dict[str, object], said: str
) -> None:
    folder = shutil.copytree(BASE, tmp_path / "policy")
    (folder / name).write_text(json.dumps({**json.loads((folder / name).read_text()), **entry}))
    check_folder(folder)
    with pytest.raises(InvalidArgument, match=said):
        check_self_contained(folder)


@pytest.mark.parametrize("mode", ["w:gz", "w:bz2", "w:xz"])
def test_a_damaged_archive_is_refused_however_it_was_packed(tmp_path: Path, mode: str) -> None:
    packed = bytearray(tarred(mode=mode).getvalue())
    late = len(packed) * 3 // 4
    packed[late : late + 100] = bytes(255 - byte for byte in packed[late : late + 100])
    with pytest.raises(InvalidArgument, match="damaged"):
        unpack(io.BytesIO(bytes(packed)), tmp_path, max_bytes=MAX_BYTES)


def test_an_archive_that_goes_on_after_its_end_is_refused(tmp_path: Path) -> None:
    packed = gzip.compress(gzip.decompress(tarred().getvalue()) + bytes(40_000_000))
    with pytest.raises(InvalidArgument, match="goes on after its end"):
        unpack(io.BytesIO(packed), tmp_path, max_bytes=MAX_BYTES)


def test_a_disk_that_cannot_be_written_is_not_blamed_on_the_archive(tmp_path: Path) -> None:
    with pytest.raises(FileNotFoundError):
        unpack(zipped(), tmp_path / "away", max_bytes=MAX_BYTES)


def headers(count: int, kind: bytes = tarfile.DIRTYPE) -> io.BytesIO:
    """A compressed tar archive of `count` members without content, after those of the base policy."""
    file = io.BytesIO()
    with gzip.GzipFile(fileobj=file, mode="wb", compresslevel=1) as packed:
        policy = tarred(mode="w").getvalue().rstrip(b"\0")
        packed.write(policy.ljust(-(-len(policy) // tarfile.BLOCKSIZE) * tarfile.BLOCKSIZE, b"\0"))
        member = tarfile.TarInfo("policy/folder")
        member.type = kind
        chunk = member.tobuf() * 1000
        for _ in range(count // 1000):
            packed.write(chunk)
    return file


def oversized(kind: bytes, size: int) -> io.BytesIO:
    """A compressed tar archive with a member of a kind that describes the next one, of `size` bytes."""
    file = io.BytesIO()
    with gzip.GzipFile(fileobj=file, mode="wb", compresslevel=1) as packed:
        member = tarfile.TarInfo("x")
        member.type, member.size = kind, size
        packed.write(member.tobuf(tarfile.GNU_FORMAT))
        for _ in range(size >> 20):
            packed.write(bytes(1 << 20))
    return file


def sparse(entries: int) -> io.BytesIO:
    """A compressed tar archive with a sparse file of so many blocks that list its holes."""
    file = io.BytesIO()
    with gzip.GzipFile(fileobj=file, mode="wb", compresslevel=1) as packed:
        member = tarfile.TarInfo("model.safetensors")
        header = bytearray(member.tobuf(tarfile.GNU_FORMAT))
        header[156:157], header[482] = tarfile.GNUTYPE_SPARSE, 1
        header[148:156] = b"%06o\0 " % tarfile.calc_chksums(bytes(header))[0]
        packed.write(bytes(header))
        block = (b"00000000001\0" * 42).ljust(504, b"\0") + b"\1" + bytes(7)
        for _ in range(entries // 1000):
            packed.write(block * 1000)
    return file


def crowded(count: int) -> io.BytesIO:
    """A zip archive whose directory lists one member `count` times, all at the same place."""
    file = zipped()
    with zipfile.ZipFile(file, "a") as bundle:
        place = bundle.start_dir
        info = bundle.getinfo("README.md") if "README.md" in bundle.namelist() else bundle.infolist()[0]
    content = file.getvalue()[:place]
    name = b"README.md"
    entry = struct.pack(
        "<4s4B4HL2L5H2L", b"PK\x01\x02", 20, 3, 20, 0, 0, 0, 0, 33, info.CRC, info.compress_size, info.file_size,
        len(name), 0, 0, 0, 0, 0, info.header_offset,
    )  # fmt: skip
    directory = (entry + name) * count
    end = struct.pack("<4s4H2LH", b"PK\x05\x06", 0, 0, count % 65536, count % 65536, len(directory), place, 0)
    return io.BytesIO(content + directory + end)


BOMBS = {
    "300,000 folders": lambda: headers(300_000),
    "300,000 links": lambda: headers(300_000, tarfile.SYMTYPE),
    "a name of 64 MB": lambda: oversized(tarfile.GNUTYPE_LONGNAME, 64 << 20),
    "a header of 64 MB": lambda: oversized(tarfile.XHDTYPE, 64 << 20),
    "a global header of 64 MB": lambda: oversized(tarfile.XGLTYPE, 64 << 20),
    "a list of holes": lambda: sparse(200_000),
    "300,000 members in a zip": lambda: crowded(300_000),
    "one place 200 times in a zip": lambda: crowded(200),
}


@pytest.mark.parametrize("bomb", BOMBS)
def test_a_bomb_is_refused_before_it_takes_memory_or_time(place: Path, bomb: str) -> None:
    file = BOMBS[bomb]()

    def refuse() -> None:
        file.seek(0)
        with pytest.raises(InvalidArgument), tempfile.TemporaryDirectory(dir=place.parent) as empty:
            unpack(file, Path(empty), max_bytes=MAX_BYTES)

    tracemalloc.start()
    try:
        refuse()
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    units = times_the_yardstick(refuse)
    print(f"{bomb}: {len(file.getvalue()):,} bytes, refused after {units:.1f} yardsticks and with {peak >> 20} MiB")
    assert (units < 40, peak < 32 << 20) == (True, True)
