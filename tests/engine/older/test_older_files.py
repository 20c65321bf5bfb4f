"""What earlier versions of the engine wrote still loads: `files/` was written by the commit 237f882."""

from __future__ import annotations

import json
import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest

from gem.evaluation.spec import EvaluationSpec
from gem.records import episode_files
from gem.replay import verify_stored
from gem.training.run_folder import ADDED_METRICS, RunFolder
from gem.training.spec import read_spec, with_settings
from gem.wrappers import WRAPPER_FACTORY, get_wrapper_fns

FILES = Path(__file__).parent / "files"
RENAMED_SETTINGS = {"trace": "gae_lambda", "value_coefficient": "value_loss_coef"}


@pytest.fixture
def bandit() -> Iterator[None]:
    """The environment that the run was trained in."""
    pytest.importorskip("torch", reason="trainings need torch, which `make test` installs")
    from tests.engine.training.conftest import registered

    with registered():
        yield


@pytest.fixture
def run(bandit: None, tmp_path: Path) -> RunFolder:
    """A copy of the run, whose policy lies where its specification says."""
    shutil.copytree(FILES / "run", tmp_path / "run")
    path = tmp_path / "run" / "spec.json"
    path.write_text(path.read_text("utf-8").replace('"MODEL"', json.dumps(str(FILES / "policy"))), "utf-8")
    return RunFolder(tmp_path / "run")


def test_a_training_specification_keeps_its_values_under_the_names_of_today(bandit: None) -> None:
    stored = json.loads((FILES / "training-spec.json").read_text("utf-8"))
    assert stored.keys() >= RENAMED_SETTINGS.keys()
    spec = read_spec(stored)
    assert (spec.gae_lambda, spec.value_loss_coef) == (0.9, 0.25)
    written = spec.model_dump(mode="json")
    assert not written.keys() & RENAMED_SETTINGS.keys()
    values = {RENAMED_SETTINGS.get(name, name): value for name, value in stored.items()}
    later = {
        name: value
        for name, value in read_spec({"env_id": spec.env_id}).model_dump(mode="json").items()
        if name not in values
    }
    assert written == values | later, "settings that came later have their defaults"


@pytest.mark.parametrize(("setting", "value"), [("trace=0.8", 0.8), ("gae_lambda=0.7", 0.7)])
def test_a_setting_may_be_changed_under_either_name(bandit: None, setting: str, value: float) -> None:
    stored = json.loads((FILES / "training-spec.json").read_text("utf-8"))
    assert read_spec(with_settings(stored, [setting])).gae_lambda == value
    assert read_spec(with_settings(read_spec(stored).model_dump(), [setting])).gae_lambda == value


@pytest.mark.parametrize("name", ["evaluation-spec", "benchmark-spec", "duel-spec"])
def test_a_specification_of_an_evaluation_means_the_same(name: str) -> None:
    stored = json.loads((FILES / f"{name}.json").read_text("utf-8"))
    written = EvaluationSpec.model_validate(stored).model_dump(mode="json")
    later = EvaluationSpec(agent="random", env_ids=("rg:gcd",)).model_dump(mode="json", exclude=set(stored))
    assert written == stored | later, "fields that came later have their defaults"


def test_every_wrapper_has_its_name() -> None:
    names = json.loads((FILES / "wrappers.json").read_text("utf-8"))
    assert names == [name for name in WRAPPER_FACTORY if name in names]
    assert len(get_wrapper_fns(names)) == len(names)


@pytest.mark.parametrize(("name", "episodes"), [("episodes", 2), ("episodes-with-tools", 1)])
def test_recorded_episodes_are_re_executed(name: str, episodes: int) -> None:
    stored = list(episode_files.read(FILES / f"{name}.jsonl"))
    assert [verify_stored(episode) for episode in stored] == [None] * episodes
    assert all(episode.record.turns for episode in stored)


def test_metrics_have_the_names_of_today(run: RunFolder) -> None:
    raw = [json.loads(line) for line in (FILES / "run" / "metrics.jsonl").read_text("utf-8").splitlines()]
    rows = run.metrics()
    assert [row["zero_advantage_share"] for row in rows] == [row["flat"] for row in raw]
    new = {"zero_advantage_share", *ADDED_METRICS}
    assert all("flat" not in row and row.keys() - raw[0].keys() == new for row in rows)
    assert all(row[name] == 0.0 for row in rows for name in ADDED_METRICS)


def test_a_training_goes_on_from_its_folder(run: RunFolder) -> None:
    pytest.importorskip("torch")
    from gem.training.trainer import train

    spec = run.spec()
    assert spec is not None
    longer = spec.model_copy(update={"updates": 3})
    run.extend(longer)
    assert train(longer, run.path) == "finished"
    rows = run.metrics()
    assert [row["update"] for row in rows] == [1, 2, 3]
    assert len({frozenset(row) for row in rows}) == 1, "a row has other metrics than the rows before it"
    assert (run.checkpoints / "000003" / "card.json").exists()


def test_an_uploaded_archive_becomes_a_policy_that_plays(bandit: None, tmp_path: Path) -> None:
    pytest.importorskip("torch")
    import gem
    from gem.agents import Request, make_agent
    from gem.training.checkpoints.archive import unpack
    from gem.training.checkpoints.folder_check import check_folder

    with (FILES / "upload.zip").open("rb") as file:
        unpack(file, tmp_path, max_bytes=10_000_000)
    card = check_folder(tmp_path)
    stored = json.loads((FILES / "run" / "checkpoints" / "000002" / "card.json").read_text("utf-8"))
    assert card.max_tokens == stored["max_tokens"]
    assert card.input_mode == stored["input_mode"]
    env = gem.make(stored["env_id"])
    observation, info = env.reset(seed=1)
    (decision,) = make_agent("policy", path=tmp_path).act([Request(env, observation, info, 1)])
    assert decision.action
