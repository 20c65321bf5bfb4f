"""Rows from every kind of source, with a hash that promises the same rows, and one sentence where there are none."""

import copy
import gzip
import hashlib
import json
import pickle
from pathlib import Path

import pytest

from gem.datasets import Dataset, load
from gem.errors import DataUnavailable, InvalidArgument, InvalidData

ROWS = [{"problem": f"{i} + 1?", "answer": str(i + 1)} for i in range(5)]
pyarrow = pytest.importorskip("pyarrow")


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An empty data folder, and every source allowed but the network."""
    monkeypatch.setenv("GEM_DATA", str(tmp_path / "data"))
    monkeypatch.setenv("GEM_DATA_FROM", "auto")
    monkeypatch.setenv("HF_HUB_OFFLINE", "1")
    return tmp_path / "data"


def write_jsonl(path: Path) -> None:
    path.write_text("".join(json.dumps(row) + "\n" for row in ROWS))


def write_json(path: Path) -> None:
    path.write_text(json.dumps(ROWS))


def write_csv(path: Path) -> None:
    path.write_text("\ufeffproblem,answer\n" + "".join(f'"{row["problem"]}",{row["answer"]}\n' for row in ROWS))


def write_tsv(path: Path) -> None:
    path.write_text("problem\tanswer\n" + "".join(f"{row['problem']}\t{row['answer']}\n" for row in ROWS))


def write_parquet(path: Path) -> None:
    from pyarrow import parquet

    parquet.write_table(pyarrow.Table.from_pylist(ROWS), path)


def write_arrow_file(path: Path) -> None:
    table = pyarrow.Table.from_pylist(ROWS)
    with pyarrow.OSFile(str(path), "wb") as sink, pyarrow.ipc.new_file(sink, table.schema) as writer:
        writer.write_table(table)


def write_arrow_stream(path: Path) -> None:
    table = pyarrow.Table.from_pylist(ROWS)
    with pyarrow.OSFile(str(path), "wb") as sink, pyarrow.ipc.new_stream(sink, table.schema) as writer:
        writer.write_table(table)


def write_gzip(path: Path) -> None:
    path.write_bytes(gzip.compress("".join(json.dumps(row) + "\n" for row in ROWS).encode()))


WRITERS = {
    "a.jsonl": write_jsonl,
    "a.ndjson": write_jsonl,
    "a.json": write_json,
    "a.csv": write_csv,
    "a.tsv": write_tsv,
    "a.parquet": write_parquet,
    "a.arrow": write_arrow_file,
    "b.arrow": write_arrow_stream,
    "a.feather": write_arrow_file,
    "a.jsonl.gz": write_gzip,
}


@pytest.mark.parametrize("name", WRITERS)
def test_a_file_of_every_format_gives_the_same_rows(name: str, tmp_path: Path) -> None:
    path = tmp_path / name
    WRITERS[name](path)
    data = load(str(path))
    assert list(data) == ROWS
    assert (len(data), data[-1], data[1:3]) == (5, ROWS[-1], ROWS[1:3])
    assert data.sha256 == hashlib.sha256(path.read_bytes()).hexdigest()
    assert (data.kind, data.source, data.columns) == ("file", f"file {name}", ["problem", "answer"])
    with pytest.raises(IndexError, match="has 5 rows; there is no row 5"):
        data[5]


def test_several_files_are_one_table_in_the_order_of_their_names(tmp_path: Path) -> None:
    write_parquet(tmp_path / "train-00000-of-00002.parquet")
    write_jsonl(tmp_path / "train-00001-of-00002.jsonl")
    data = load(tmp_path)
    assert list(data) == ROWS + ROWS
    assert data.source == f"folder {tmp_path.name}"
    (tmp_path / "train-00001-of-00002.jsonl").write_text('{"problem": "1?", "answer": "1"}')
    assert len(load(tmp_path)) == 6
    assert load(tmp_path).sha256 != data.sha256


def test_given_rows_are_named_by_their_content() -> None:
    data = load(ROWS)
    assert data == load(data)
    assert load([dict(reversed(row.items())) for row in ROWS]).sha256 == data.sha256
    assert load(ROWS[:4]).sha256 != data.sha256
    data[0]["problem"] = "changed"
    assert data[0] == ROWS[0]


def test_a_dataset_goes_through_copies_and_pickles(tmp_path: Path) -> None:
    write_parquet(tmp_path / "a.parquet")
    for data in (load(tmp_path / "a.parquet"), load(ROWS), load("sample:gsm8k"), load("sample:ruletaker-d3")):
        other = pickle.loads(pickle.dumps(data))
        assert isinstance(other, Dataset)
        assert (other[3], other.sha256, len(other)) == (data[3], data.sha256, len(data))
        assert copy.deepcopy(data) is data


@pytest.mark.parametrize(
    ("name", "content", "said"),
    [
        ("a.jsonl", b'{"a": 1}\n[1]\n', "Row 1 of a.jsonl is list, not an object"),
        ("a.jsonl", b'{"a": 1}\n\n{"a": \n', r"^Line 3 of a.jsonl is not JSON: Expecting value, column 7\.$"),
        ("a.json", b'{"a": 1}', "has to hold a list"),
        ("a.json", b"[", "a.json is not JSON"),
        ("a.csv", b"a,b\n1,2,3\n", "Row 0 of a.csv has not as many values"),
        ("a.csv", b"a,b\n1\n", "Row 0 of a.csv has not as many values"),
        ("a.csv", b"a,b\n\xff,1\n", "a.csv is not UTF-8"),
        ("a.csv", b'a,b\n"1,2\n', "of a.csv cannot be read"),
        ("a.parquet", b"PAR1 no", "a.parquet is not a Parquet file"),
        ("a.arrow", b"no arrow at all", "a.arrow is not an Arrow file"),
        ("a.jsonl.gz", b"\x1f\x8b broken", "is not a whole gzip file"),
    ],
)
def test_a_broken_file_is_named_with_what_is_wrong(name: str, content: bytes, said: str, tmp_path: Path) -> None:
    (tmp_path / name).write_bytes(content)
    with pytest.raises(InvalidData, match=said):
        list(load(tmp_path / name))


@pytest.mark.parametrize(
    ("source", "said"),
    [
        ("missing.jsonl", "There is no file missing.jsonl"),
        ("nothing", "'nothing' is no file, and no name of data"),
        ("sample:none", "There is no built-in sample 'none'; there are 2wiki, "),
        ("hub:owner", "A dataset of the hub is named owner/name, not 'owner'"),
        ("hub:owner/name", "The hub cannot be asked: HF_HUB_OFFLINE is set"),
        ("hub:../up", "named owner/name"),
    ],
)
def test_what_is_not_there_is_said_with_what_to_do(source: str, said: str) -> None:
    with pytest.raises(DataUnavailable, match=said):
        load(source)


@pytest.mark.parametrize(
    ("source", "said"),
    [
        ("math:Math12K", "has the split 'train' of its dataset, not 'test'.*dataset=\"hub:axon-rl/MATH-12k\""),
        ("eval:CodeContest", "has the split 'test' of its dataset, not 'train'"),
        ("sample:gsm8k", "'sample:gsm8k' cannot be asked for the split"),
        ("missing.jsonl", "'missing.jsonl' cannot be asked for the split"),
        (Path("missing.jsonl"), "only datasets of the hub have splits"),
        (ROWS, "Rows in Python cannot be asked for the split"),
        ({"train": ROWS}, "Give the file or the rows of the split alone"),
    ],
)
def test_a_split_that_data_do_not_have_is_refused(source: object, said: str) -> None:
    split = "train" if source == "eval:CodeContest" else "test"
    with pytest.raises(InvalidArgument, match=said):
        load(source, split=split)  # type: ignore[arg-type]


def test_the_split_that_an_environment_has_may_be_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("GEM_DATA_FROM", "sample")
    assert len(load("math:Math12K", split="train")) == len(load("eval:CodeContest", split="test")) == 60


class Frame:
    """A table that, as those of pandas, has a length and is read by the names of its columns."""

    def __len__(self) -> int:
        return 2

    def __getitem__(self, column: object) -> list[str]:
        return {"problem": ["1 + 1?", "1 + 2?"]}[column]  # type: ignore[index]


def test_a_table_that_is_read_by_columns_is_refused_with_what_to_give() -> None:
    with pytest.raises(InvalidData, match=r"The rows of a Frame cannot be read by their number; .*to_dict"):
        load(Frame())  # type: ignore[arg-type]


def test_an_empty_file_folder_or_list_is_refused(tmp_path: Path) -> None:
    (tmp_path / "a.jsonl").write_text("\n\n")
    with pytest.raises(DataUnavailable, match=r"a.jsonl has no rows"):
        load(tmp_path / "a.jsonl")
    (tmp_path / "empty").mkdir()
    with pytest.raises(DataUnavailable, match="holds no table"):
        load(tmp_path / "empty")
    with pytest.raises(InvalidData, match="There are no rows"):
        load([])
    with pytest.raises(InvalidData, match="Row 1 is int"):
        load([{"a": 1}, 2])  # type: ignore[list-item]
    for no_rows in ({"train": [{"a": 1}]}, 5):
        with pytest.raises(InvalidData, match=r"Rows are a list of dictionaries, one for each row, not (dict|int)"):
            load(no_rows)  # type: ignore[arg-type]


def test_your_own_file_in_the_data_folder_is_played_before_anything_else(folder: Path) -> None:
    assert load("math:GSM8K").source == "built-in sample gsm8k"
    (folder / "math").mkdir(parents=True)
    write_jsonl(folder / "math" / "GSM8K.jsonl")
    assert load("math:GSM8K").source == "file GSM8K.jsonl"
    (folder / "math" / "Orz57K").mkdir()
    write_parquet(folder / "math" / "Orz57K" / "one.parquet")
    write_parquet(folder / "math" / "Orz57K" / "two.parquet")
    assert (load("math:Orz57K").source, len(load("math:Orz57K"))) == ("folder Orz57K", 10)


def test_where_data_may_come_from_is_a_setting(folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (folder / "math").mkdir(parents=True)
    write_jsonl(folder / "math" / "GSM8K.jsonl")
    write_jsonl(tmp_path / "outside.jsonl")
    (folder / "math" / "link.jsonl").symlink_to(tmp_path / "outside.jsonl")
    monkeypatch.setenv("GEM_DATA_FROM", "folder")
    assert load("math:GSM8K").kind == "file"
    assert load(str(folder / "math" / "GSM8K.jsonl")).kind == "file"
    for path in (tmp_path / "outside.jsonl", folder / "math" / "link.jsonl", folder / ".." / "outside.jsonl"):
        with pytest.raises(DataUnavailable, match="files of the data folder alone"):
            load(path)
    with pytest.raises(DataUnavailable, match="keeps this process off the network"):
        load("hub:owner/name")
    monkeypatch.setenv("GEM_DATA_FROM", "sample")
    assert load("math:GSM8K").kind == "sample"
    monkeypatch.setenv("GEM_DATA_FROM", "everywhere")
    with pytest.raises(InvalidArgument, match="it must be auto, folder, sample"):
        load("math:GSM8K")


def test_without_pyarrow_one_sentence_says_what_to_install(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    import sys

    write_parquet(tmp_path / "a.parquet")
    for name in [name for name in sys.modules if name.partition(".")[0] == "pyarrow"]:
        monkeypatch.delitem(sys.modules, name)
    monkeypatch.setattr(sys, "path", [entry for entry in sys.path if "site-packages" not in entry])
    with pytest.raises(DataUnavailable, match="pip install pyarrow"):
        load(tmp_path / "a.parquet")


def test_who_plays_on_a_sample_is_told_once(caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level("WARNING", logger="gem.datasets")  # whatever a site shows of it
    for _ in range(2):
        load("math:DeepScaleR40K")
    said = [record.getMessage() for record in caplog.records if "DeepScaleR40K" in record.getMessage()]
    assert len(said) == 1
    assert "built-in sample of 60 problems, made by us" in said[0]
