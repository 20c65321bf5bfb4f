"""gem-core-24: each recipe can be read, its environment plays, and a small model takes one update of each kind."""

import re
from collections import Counter
from pathlib import Path

import pytest

import gem
from gem.training import recipes
from gem.training.recipes import Recipe
from gem.training.run_folder import RunFolder
from gem.training.spec import read_spec
from gem.wrappers.wrapper_factory import wrap

ROOT = Path(__file__).parents[3]
PAGE = ROOT / "docs/gem-core-24.md"
ROW = re.compile(r"^\| `([^`]+)` \| ([^|]+) \| `(core-[^`]+)` \| ([^|]+) \|", re.MULTILINE)
CORE = [recipe for recipe in recipes.all_recipes() if recipe.name.startswith("core-")]
BY_NAME = {recipe.name: recipe for recipe in CORE}
KINDS = {
    "core-hangman": "game",
    "core-number-sorting": "rg",
    "core-code-contest": "code",
    "core-math12k-python": "math",
    "core-naturalquestions-search": "qa",
}
"""One recipe of each kind, which is the first part of its environment's id."""


def test_they_are_24_environments_of_five_kinds() -> None:
    names = {recipe.name for recipe in recipes.read_file(recipes.FOLDER / "gem-core-24.json")}
    assert names == set(BY_NAME)
    assert len({recipe.spec["env_id"] for recipe in CORE}) == 24
    kinds = Counter(recipe.spec["env_id"].partition(":")[0] for recipe in CORE)
    assert kinds == {"game": 8, "rg": 12, "code": 1, "math": 1, "qa": 2}


@pytest.mark.parametrize("recipe", CORE, ids=lambda recipe: recipe.name)
def test_its_environment_plays_as_the_recipe_makes_it(recipe: Recipe) -> None:
    spec = recipe.training_spec
    env = wrap(gem.make(spec.env_id, **spec.env_kwargs), spec.wrappers)
    observation, info = env.reset(seed=0)
    assert observation or info.get("suffix")
    _, reward, terminated, truncated, info = env.step(env.sample_random_action())
    env.close()
    assert isinstance(reward, float)
    assert isinstance(info.get("success", False), bool)
    if env.unwrapped.spec and env.unwrapped.spec.turns == "single" and "tools" not in spec.env_kwargs:
        assert terminated or truncated
    assert spec.token_divisor == spec.max_tokens  # a constant, whatever the length of a response


@pytest.mark.parametrize("name", [name for name, kind in KINDS.items() if kind in ("math", "qa")])
def test_those_with_tools_answer_a_call(name: str) -> None:
    spec = BY_NAME[name].training_spec
    env = gem.make(spec.env_id, **spec.env_kwargs)
    env.reset(seed=0)
    call = "<python>print(6 * 7)</python>" if "python" in name else "<search>capital of Sweden</search>"
    observation, _, terminated, truncated, info = env.step(call)
    env.close()
    assert info["use_tool"]
    assert not terminated
    assert not truncated
    assert "42" in observation if "python" in name else "Sweden" in observation


@pytest.mark.parametrize("recipe", CORE, ids=lambda recipe: recipe.name)
def test_it_says_truly_whether_it_was_run(recipe: Recipe) -> None:
    said = re.fullmatch(r"reproduced here|needs \d+ GPUs, not run", recipe.status)
    assert said, recipe.status
    if recipe.status == "reproduced here":
        assert f"images/gem-core-24/{recipe.name}.svg" in PAGE.read_text(encoding="utf-8")
        assert (PAGE.parent / f"images/gem-core-24/{recipe.name}.svg").exists()
    else:
        assert recipe.expected.startswith("Not run, and no score is claimed.")


def test_the_page_lists_them_with_their_status() -> None:
    rows = ROW.findall(PAGE.read_text(encoding="utf-8"))
    listed = {name: (env_id, status.strip()) for env_id, _, name, status in rows}
    assert len(rows) == 24
    assert listed == {recipe.name: (recipe.spec["env_id"], recipe.status) for recipe in CORE}


def test_the_page_names_nano_recipes_that_exist() -> None:
    named = set(re.findall(r"nano: `([a-z0-9-]+)`", PAGE.read_text(encoding="utf-8")))
    assert named
    assert named <= {recipe.name for recipe in recipes.all_recipes()}


@pytest.fixture(scope="module")
def model(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """What the recipes train, Qwen3 with a chat template, in a very small size and without any learning."""
    torch = pytest.importorskip("torch", reason="training is not installed")
    transformers = pytest.importorskip("transformers", reason="training is not installed")
    from examples.tiny_model import make_tokenizer

    folder = tmp_path_factory.mktemp("qwen3")
    chats = []
    for name in KINDS:
        spec = BY_NAME[name].training_spec
        env = gem.make(spec.env_id, **spec.env_kwargs)
        for seed in range(4):
            observation, info = env.reset(seed=seed)
            said = [observation, str(info.get("suffix", ""))]
            chats.append([{"role": "user", "content": text} for text in said])
        env.close()
    tokenizer, _ = make_tokenizer(chats)
    sizes = {"hidden_size": 16, "intermediate_size": 32, "num_hidden_layers": 2, "head_dim": 8}
    heads = {"num_attention_heads": 2, "num_key_value_heads": 1, "vocab_size": len(tokenizer)}
    torch.manual_seed(0)
    config = transformers.Qwen3Config(**sizes, **heads, tie_word_embeddings=True, max_position_embeddings=16384)
    transformers.Qwen3ForCausalLM(config).save_pretrained(folder)
    tokenizer.save_pretrained(folder)
    return folder


@pytest.mark.parametrize("name", KINDS)
def test_one_update_of_each_kind_goes_through(name: str, model: Path, tmp_path: Path) -> None:
    """All that the recipe says but its sizes: bfloat16, gradient checkpointing, its algorithm, its environment."""
    from gem.training.trainer import train

    data = BY_NAME[name].spec
    sizes = {"model": str(model), "episodes": 4, "updates": 1, "max_tokens": 8, "learning_rate": 1e-3}
    spec = read_spec({**data, **sizes, "entropy_bonus": 0.01, "exam_episodes": 1, "device": "cpu"})
    assert spec.env_id.startswith(KINDS[name])
    assert train(spec, tmp_path) == "finished"
    (row,) = RunFolder(tmp_path).metrics()
    assert row["episodes"] == 4
    assert row["broken"] == 0
    assert row["turns"] >= 4
    assert 0 < row["gradient_norm"] < 1e6
    assert row["kl"] < 0.1
