"""A policy's folder is looked at before anything in it is loaded."""

import json
import pickle
import shutil
import struct
from pathlib import Path

import pytest

from gem.agents import make_agent
from gem.errors import InvalidArgument
from gem.training.built_in_policies import policy_location
from gem.training.checkpoints.folder_check import ARCHITECTURES, check_folder, check_self_contained, check_weights
from gem.training.checkpoints.size_check import check_sizes


@pytest.fixture
def folder(tmp_path: Path, tiny: Path) -> Path:
    shutil.copytree(tiny, tmp_path / "policy")
    return tmp_path / "policy"


def test_a_good_folder_passes_and_its_card_is_read(folder: Path) -> None:
    (folder / "card.json").write_text(json.dumps({"input_mode": "markov", "max_tokens": 7, "made_by": "me"}))
    card = check_folder(folder)
    assert (card.input_mode, card.max_tokens, card.temperature) == ("markov", 7, 1.0)


def test_nano_base_passes_and_is_small() -> None:
    base = Path(policy_location("nano-base"))
    check_folder(base)
    assert (base / "model.safetensors").stat().st_size < 1_000_000
    assert "random play" in json.loads((base / "card.json").read_text())["made_from"]


@pytest.mark.parametrize("name", ["pytorch_model.bin", "weights.pt", "state.pkl", "modeling.py", "archive.zip"])
def test_what_can_hold_programs_is_refused(folder: Path, name: str) -> None:
    (folder / name).write_bytes(pickle.dumps({}))
    with pytest.raises(InvalidArgument, match=f"{name} is refused"):
        check_folder(folder)
    with pytest.raises(InvalidArgument, match=f"{name} is refused"):
        make_agent("policy", path=str(folder))


def test_a_pickle_by_another_name_is_no_safetensors_file(folder: Path) -> None:
    (folder / "model.safetensors").write_bytes(pickle.dumps({"weight": [1.0] * 100}))
    with pytest.raises(InvalidArgument, match="not in the safetensors format"):
        check_folder(folder)


def test_a_link_out_of_the_folder_is_refused(folder: Path) -> None:
    (folder / "notes.txt").symlink_to("/etc/hostname")
    with pytest.raises(InvalidArgument, match=r"notes.txt is no plain file"):
        check_folder(folder)


@pytest.mark.parametrize(
    ("name", "content", "said"),
    [
        ("config.json", "{}", "config.json: model_type: field required."),
        ("config.json", "[1]", "config.json is no JSON object."),
        ("config.json", "{", "config.json is not JSON."),
        ("config.json", '{"model_type": "qwen3", "vocab_size": 99999999999}', "config.json: vocab_size"),
        ("card.json", '{"input_mode": "telepathy"}', "card.json: input_mode"),
    ],
)
def test_it_says_what_is_wrong_with_a_file(folder: Path, name: str, content: str, said: str) -> None:
    (folder / name).write_text(content)
    with pytest.raises(InvalidArgument) as refused:
        check_folder(folder)
    assert str(refused.value).startswith(said)


def test_a_missing_file_is_named(folder: Path) -> None:
    (folder / "model.safetensors").unlink()
    with pytest.raises(InvalidArgument, match=r"model.safetensors is missing"):
        check_folder(folder)


def _file(header: object, data: bytes) -> bytes:
    text = json.dumps(header).encode()
    return struct.pack("<Q", len(text)) + text + data


@pytest.mark.parametrize(
    "content",
    [
        b"",
        b"\xff" * 8 + b"{}",
        _file([], b""),
        _file({"a": {"dtype": "F32", "shape": [2], "data_offsets": [0, 8]}}, b"\0" * 4),
        _file({"a": {"dtype": "F32", "shape": [3], "data_offsets": [0, 8]}}, b"\0" * 8),
        _file({"a": {"dtype": "P99", "shape": [2], "data_offsets": [0, 8]}}, b"\0" * 8),
        _file({"a": {"dtype": "F32", "shape": [2], "data_offsets": [0, 8]}}, b"\0" * 12),
        _file({"a": {"dtype": "F32", "shape": [2], "data_offsets": [4, 12]}}, b"\0" * 12),
    ],
)
def test_damaged_weights_are_refused(tmp_path: Path, content: bytes) -> None:
    (tmp_path / "w.safetensors").write_bytes(content)
    with pytest.raises(InvalidArgument):
        check_weights(tmp_path / "w.safetensors")


DEEP = "[" * 50_000 + "]" * 50_000


def test_a_header_of_50_000_levels_is_refused(tmp_path: Path) -> None:
    header = f'{{"a": {DEEP}}}'.encode()
    (tmp_path / "w.safetensors").write_bytes(struct.pack("<Q", len(header)) + header)
    with pytest.raises(InvalidArgument, match=r"w.safetensors is not in the safetensors format: its header is no JSON"):
        check_weights(tmp_path / "w.safetensors")


def test_a_shape_with_numbers_of_a_thousand_digits_is_refused(tmp_path: Path) -> None:
    entry = {"dtype": "F32", "shape": [10**1000] * 1000, "data_offsets": [0, 4]}
    (tmp_path / "w.safetensors").write_bytes(_file({"a": entry}, b"\0" * 4))
    with pytest.raises(InvalidArgument, match=r"w.safetensors, a: shape"):
        check_weights(tmp_path / "w.safetensors")


@pytest.mark.parametrize(
    "name", ["config.json", "tokenizer.json", "special_tokens_map.json", "vocab.json", "card.json"]
)
def test_json_of_50_000_levels_is_refused(folder: Path, name: str) -> None:
    (folder / name).write_text(f'{{"model_type": "qwen3", "more": {DEEP}}}')
    with pytest.raises(InvalidArgument, match=rf"^{name} is not JSON"):
        check_self_contained_folder(folder)


def check_self_contained_folder(folder: Path) -> None:
    """All that is checked before a process loads an uploaded policy."""
    check_folder(folder)
    check_self_contained(folder)


BELONG = "config.json and the weights do not belong together: "


@pytest.mark.parametrize(
    ("entries", "said"),
    [
        ({"vocab_size": 999_999}, BELONG + "vocab_size is 999,999, and no tensor has this size"),
        ({"hidden_size": 65_536}, BELONG + "hidden_size is 65,536"),
        ({"num_hidden_layers": 512}, BELONG + "num_hidden_layers is 512, and the weights have 1 layers"),
        ({"intermediate_size": 10**12}, BELONG + r"\w+ is 1,000,000,000,000, more than any size"),
        ({"head_dim": 10**9}, BELONG + "head_dim is 1,000,000,000, more than"),
        ({"num_attention_heads": 10**6}, BELONG + "num_attention_heads is 1,000,000, more than"),
        ({"num_local_experts": 10**6}, BELONG + "experts is 1,000,000, more than"),
        ({"num_experts": 250, "intermediate_size": 250}, BELONG + "it describes a model of at least"),
        ({"num_experts": 1, "num_local_experts": 250, "intermediate_size": 250}, BELONG + "it describes a model"),
        ({"moe_intermediate_size": 1, "num_experts": 250, "intermediate_size": 250}, BELONG + "it describes a model"),
        ({"model_type": "gpt2", "n_positions": 10**9}, BELONG + "positions is 1,000,000,000, more than"),
        ({"model_type": "opt", "n_positions": 9, "max_position_embeddings": 10**7}, BELONG + "positions is"),
        ({"num_labels": 10**9}, "config.json: num_labels"),
        ({"vocab_size": None}, "config.json: vocab_size"),
        ({"hidden_size": -1}, "config.json: hidden_size"),
    ],
)
def test_a_configuration_of_another_size_than_the_weights_is_refused(
    folder: Path, entries: dict[str, object], said: str
) -> None:
    config = json.loads((folder / "config.json").read_text())
    (folder / "config.json").write_text(json.dumps({**config, **entries}))
    with pytest.raises(InvalidArgument, match=f"^{said}"):
        check_self_contained_folder(folder)


def test_a_configuration_without_sizes_is_refused(folder: Path) -> None:
    (folder / "config.json").write_text('{"model_type": "cohere"}')
    with pytest.raises(InvalidArgument, match=r"config.json: vocab_size: field required"):
        check_self_contained_folder(folder)


@pytest.mark.parametrize("architecture", ARCHITECTURES)
def test_models_of_every_architecture_have_the_size_of_their_configuration(architecture: str) -> None:
    """With the sizes that the library gives them."""
    transformers = pytest.importorskip("transformers")
    torch = pytest.importorskip("torch")
    small = {"num_hidden_layers": 1, "n_layer": 1}
    config = transformers.AutoConfig.for_model(architecture, **small)
    if architecture == "ministral":
        config.head_dim = config.hidden_size // config.num_attention_heads  # it has no default
    with torch.device("meta"):
        model = transformers.AutoModelForCausalLM.from_config(config)
    shapes = {name: tuple(tensor.shape) for name, tensor in model.state_dict().items()}
    check_sizes(json.loads(config.to_json_string()), shapes)


def test_whole_weights_pass(tmp_path: Path) -> None:
    entries = {"b": {"dtype": "F32", "shape": [2], "data_offsets": [2, 10]},
               "a": {"dtype": "BF16", "shape": [], "data_offsets": [0, 2]}}  # fmt: skip
    (tmp_path / "w.safetensors").write_bytes(_file({"__metadata__": {"format": "pt"}, **entries}, b"\0" * 10))
    check_weights(tmp_path / "w.safetensors")
