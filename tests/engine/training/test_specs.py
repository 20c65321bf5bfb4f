"""What may be asked for, and what is said otherwise."""

import json
import subprocess
import sys
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

import gem
from gem import registry
from gem.errors import InvalidArgument
from gem.factory import make_wrapped
from gem.training import environment_check, recipes
from gem.training.__main__ import main
from gem.training.run_folder import RunFolder
from gem.training.spec import TrainingSpec, read_spec, with_settings

GUESS = {"env_id": "game:GuessTheNumber-v0-easy"}


@pytest.mark.parametrize(
    ("given", "said"),
    [
        ({"env_id": "game:GuessTheNumbr-v0"}, "No environment is registered as"),
        ({**GUESS, "env_kwargs": {"secret": 3}}, "takes no argument 'secret'"),
        ({**GUESS, "algorithm": "grpo", "episodes": 100, "group_size": 8}, "no whole number of groups"),
        ({**GUESS, "minibatches": 200}, "128 episodes cannot be 200 minibatches"),
        ({**GUESS, "max_tokens": 2000}, "A response must be shorter than a sequence"),
        ({**GUESS, "sampler": "server"}, "server_url names the server"),
        ({"env_id": "duel:TicTacToe-v0"}, "has 2 seats: fill the others"),
        ({**GUESS, "discount": 1.5}, "discount has to be at most 1, not 1.5."),
        ({**GUESS, "seed": "7"}, "seed has to be a whole number, not '7'."),
        ({**GUESS, "seed": True}, "seed has to be a whole number, not True."),
        ({**GUESS, "learning_rate": float("nan")}, "learning_rate has to be a finite number, not nan."),
        ({**GUESS, "learning_rte": 0.1}, "There is no setting learning_rte. Did you mean learning_rate?"),
        ({**GUESS, "curriculum": [{"env_id": "game:Nothing-v0"}]}, "No environment is registered as"),
        ({**GUESS, "curriculum": [GUESS] * 21}, "curriculum has to have at most 20"),
        ({**GUESS, "wrappers": [{"name": "time_limit", "max_turns": 9}] * 17}, "wrappers has to have at most 16"),
    ],
)
def test_it_says_what_is_wrong(given: dict[str, object], said: str) -> None:
    with pytest.raises(InvalidArgument) as refused:
        read_spec(given)
    assert said in str(refused.value)


def test_an_environment_is_made_once_for_specifications_that_are_alike(monkeypatch: pytest.MonkeyPatch) -> None:
    made: list[str] = []

    def make(env_id: str, *arguments: Any) -> Any:
        made.append(env_id)
        return make_wrapped(env_id, *arguments)

    monkeypatch.setattr(environment_check, "make_wrapped", make)
    alike = {**GUESS, "env_kwargs": {"max_turns": 4_321}}
    for seed in range(3):
        read_spec({**alike, "seed": seed, "curriculum": [GUESS] * 5})
    assert made.count(GUESS["env_id"]) <= 2
    before = len(made)
    read_spec({**alike, "wrappers": [{"name": "time_limit", "max_turns": 3}]})
    assert len(made) == before + 1
    for _ in range(2):
        with pytest.raises(InvalidArgument, match="takes no argument"):
            read_spec({**GUESS, "env_kwargs": {"secret": 3}})
    assert len(made) == before + 3, "what failed is tried again"


def test_an_environment_that_was_registered_anew_is_made_again(monkeypatch: pytest.MonkeyPatch) -> None:
    spec = registry.spec(GUESS["env_id"])
    assert environment_check.count_seats(spec.id, {}, ()) == 1
    monkeypatch.setattr(environment_check, "_made", lambda *_: 7)
    assert environment_check.count_seats(spec.id, {}, ()) == 1
    monkeypatch.setattr(registry, "spec", lambda _: replace(spec))
    assert environment_check.count_seats(spec.id, {}, ()) == 7


def test_a_specification_survives_json() -> None:
    spec = read_spec({**GUESS, "algorithm": "ppo", "curriculum": [GUESS], "wrappers": [{"name": "concat"}]})
    assert read_spec(json.loads(spec.model_dump_json())) == spec


def test_every_field_says_what_it_means_for_the_form() -> None:
    properties = TrainingSpec.model_json_schema()["properties"]
    assert [name for name, field in properties.items() if not field.get("description")] == []


def test_settings_are_json_or_else_text() -> None:
    changed = with_settings(GUESS, ["learning_rate=3e-4", "algorithm=ppo", "scale_groups=false", 'model="x"'])
    assert changed == {**GUESS, "learning_rate": 3e-4, "algorithm": "ppo", "scale_groups": False, "model": "x"}
    with pytest.raises(InvalidArgument, match="key=value"):
        with_settings(GUESS, ["learning_rate"])


def test_every_recipe_is_accepted_and_says_what_to_expect() -> None:
    found = recipes.all_recipes()
    assert {"guess-easy", "guess-hard", "fifteen-easy"} <= {recipe.name for recipe in found}
    for recipe in found:
        assert recipe.training_spec.recipe == recipe.name
        assert recipe.summary.endswith(".")
        assert recipe.status == "reproduced here" or recipe.status.startswith("needs "), recipe.name
        assert recipe.expected


def test_the_nearest_recipe_is_named() -> None:
    with pytest.raises(InvalidArgument, match="Did you mean guess-easy"):
        recipes.data("gues-easy")


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        ([], "Say where the run is written"),
        (["--folder", "{}/none"], "none has no training to continue. Say what to train"),
        (["--recipe", "guess-easy", "--folder", "{}/a", "--set", "discount=7"], "discount has to be at most 1, not 7."),
        (["--spec", "{}/missing.json", "--folder", "{}/a"], "missing.json cannot be read: No such file"),
        (["--spec", "{}/list.json", "--folder", "{}/a"], "list.json is no specification: it has to be an object"),
        (["--spec", "{}/broken.json", "--folder", "{}/a"], "broken.json is not JSON: Expecting value"),
    ],
)
def test_the_command_says_what_is_wrong(
    arguments: list[str], said: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "list.json").write_text("[1]")
    (tmp_path / "broken.json").write_text('{"env_id":')
    assert main([argument.replace("{}", str(tmp_path)) for argument in arguments]) == 2
    assert said in capsys.readouterr().err


def test_only_more_updates_may_be_asked_for_later(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    folder = RunFolder(tmp_path / "run")
    spec = read_spec(recipes.data("guess-easy"))
    folder.begin(spec)
    for asked in ("updates=3", "learning_rate=0.5"):
        assert main(["--folder", str(folder.path), "--set", asked]) == 2
        assert "only more updates may be asked for" in capsys.readouterr().err
    longer = spec.model_copy(update={"updates": spec.updates + 1})
    folder.extend(longer)
    assert folder.spec() == longer


def test_an_environment_of_ones_own_is_trained_in_once_its_module_is_named(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "own_numbers.py").write_text(
        "import gem\ngem.register('own:Guess-v0', 'gem.envs.games.guess_the_number:GuessTheNumber', max_number=3)\n"
    )
    monkeypatch.chdir(tmp_path)
    asked = ["--recipe", "guess-easy", "--folder", "run", "--quiet"]
    asked += [word for setting in ("env_id=own:Guess-v0", "updates=1", "episodes=4") for word in ("--set", setting)]
    assert main(asked) == 2
    assert "--module NAME" in capsys.readouterr().err
    try:
        assert main([*asked, "--module", "own_numbers"]) == 0
        assert main(["--folder", "run", "--set", "updates=2", "--quiet", "--module", "own_numbers"]) == 0
    finally:
        gem.registry.ENV_REGISTRY.pop("own:Guess-v0", None)
        sys.modules.pop("own_numbers", None)
    assert len((tmp_path / "run" / "metrics.jsonl").read_text().splitlines()) == 2
    assert main(["--folder", "run", "--module", "no_such_module"]) == 2
    assert "no_such_module cannot be imported" in capsys.readouterr().err


def test_a_missing_package_is_named_with_the_command_that_installs_it() -> None:
    gem.register("test:Needy-v0", gem.spec(GUESS["env_id"]).entry_point, requires=["no-such-package"])
    try:
        with pytest.raises(InvalidArgument, match="pip install no-such-package"):
            read_spec({"env_id": "test:Needy-v0"})
    finally:
        del registry.ENV_REGISTRY["test:Needy-v0"]


def test_held_out_seeds_are_played_with_other_arguments() -> None:
    spec = read_spec({**GUESS, "env_kwargs": {"min_number": 1, "max_number": 9}, "held_out_kwargs": {"max_number": 4}})
    assert spec.stages[-1].env_kwargs == {"min_number": 1, "max_number": 9}
    assert spec.measured_stage.env_kwargs == {"min_number": 1, "max_number": 4}
    with pytest.raises(InvalidArgument, match="takes no argument 'secret'"):
        read_spec({**GUESS, "held_out_kwargs": {"secret": 3}})


def test_the_recipes_that_were_reproduced_are_listed_first(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["--list"]) == 0
    names = [line.split()[0] for line in capsys.readouterr().out.splitlines()]
    assert sorted(names) == sorted(recipe.name for recipe in recipes.all_recipes())
    small = {recipe.name for recipe in recipes.all_recipes() if recipe.status == "reproduced here"}
    assert set(names[: len(small)]) == small


def test_specifications_recipes_and_run_folders_need_no_torch() -> None:
    probe = (
        "import sys, gem.agents, gem.training.checkpoints.folder_check, gem.training.recipes, gem.training.run_folder\n"
        "gem.training.recipes.all_recipes()[0].training_spec\nprint('torch' in sys.modules)"
    )
    done = subprocess.run([sys.executable, "-c", probe], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "False"
