"""Our environments through Gymnasium, by Gymnasium's own check."""

import copy
import re
import subprocess
import sys
import warnings
from pathlib import Path

import pytest

import gem
from gem.check import check
from gem.errors import InvalidArgument
from tests.engine.ids import kinds, played

gymnasium = pytest.importorskip("gymnasium", reason="gymnasium is not installed; the dev group has it")

ROOT = Path(__file__).parents[3]
ENV_ID = "gem/game.GuessTheNumber-v0-easy"


@pytest.fixture(autouse=True, scope="module")
def registered() -> None:
    from gem.adapters.gymnasium import register_all

    register_all()


@pytest.mark.parametrize("env_id", kinds())
def test_gymnasium_finds_nothing_wrong(env_id: str) -> None:
    from gymnasium.utils.env_checker import check_env

    from gem.adapters.gymnasium import gymnasium_id

    env = gymnasium.make(gymnasium_id(env_id))
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        warnings.simplefilter("ignore", ResourceWarning)  # of what other tests left behind
        check_env(env.unwrapped)
    assert [str(warning.message) for warning in caught] == []
    env.close()


@pytest.mark.parametrize("env_id", ["game:Sokoban-v0-easy", "game:Minesweeper-v0-easy"])
def test_the_turns_are_ours(env_id: str) -> None:
    from gem.adapters.gymnasium import gymnasium_id

    theirs, ours = gymnasium.make(gymnasium_id(env_id)), gem.make(env_id)
    text, info = theirs.reset(seed=5)
    observation, own_info = ours.reset(seed=5)
    over = False
    while not over:
        assert (text, info) == (f"{observation}\n\n{own_info['suffix']}", own_info)
        action = ours.sample_random_action()
        observation, *own, own_info = ours.step(action)
        text, *same, info = theirs.step(action)
        assert same == own
        over = own[1] or own[2]
    assert info["success"] == own_info["success"]


def test_options_are_arguments_for_one_episode() -> None:
    env = gymnasium.make(ENV_ID).unwrapped
    assert "from 1 to 3," in env.reset(seed=1, options={"max_number": 3})[0]
    assert "from 1 to 10," in env.reset(seed=1)[0]
    with pytest.raises(InvalidArgument, match="colour"):
        env.reset(options={"colour": "red"})


def test_episodes_with_options_follow_from_the_seed_before_them() -> None:
    def begun(seed: int) -> list[object]:
        env = gymnasium.make(ENV_ID).unwrapped
        env.reset(seed=seed)
        return [env.reset(options={"max_number": 10**6})[0] and env.gem_env.seed for _ in range(2)]

    assert begun(7) == begun(7)
    assert len({*begun(7), *begun(8)}) == 4


def test_the_environment_of_an_episode_with_options_is_closed(monkeypatch: pytest.MonkeyPatch) -> None:
    env, closed = gymnasium.make(ENV_ID).unwrapped, []

    def note(own: gem.Env) -> None:
        closed.append(own)

    monkeypatch.setattr(type(env.gem_env), "close", note)
    first = env.reset(options={"max_number": 3}) and env.gem_env
    second = env.reset(options={"max_number": 3}) and env.gem_env
    env.reset()
    assert closed == [first, second]
    third = env.reset(options={"max_number": 3}) and env.gem_env
    default = env._default_env
    env.close()
    assert closed == [first, second, third, default]


def test_arguments_reach_the_environment() -> None:
    assert "from 1 to 99," in gymnasium.make(ENV_ID, max_number=99).reset(seed=1)[0]
    with pytest.raises(InvalidArgument, match="Did you mean max_number"):
        gymnasium.make(ENV_ID, max_numbr=99)


def test_it_renders_what_an_agent_reads() -> None:
    env = gymnasium.make(ENV_ID, render_mode="ansi")
    text, _ = env.reset(seed=1)
    assert env.render() == text
    assert gymnasium.make(ENV_ID).unwrapped.render() is None


@pytest.mark.parametrize("mode", ["NextStep", "SameStep"])
def test_gymnasium_makes_vectors_of_them(mode: str) -> None:
    autoreset = gymnasium.vector.AutoresetMode(mode)
    envs = gymnasium.make_vec(
        ENV_ID, num_envs=3, vectorization_mode="sync", vector_kwargs={"autoreset_mode": autoreset}
    )
    texts, _ = envs.reset(seed=[1, 2, 3])
    assert list(texts) == [gymnasium.make(ENV_ID).reset(seed=seed)[0] for seed in (1, 2, 3)]
    *_, terminated, truncated, infos = envs.step(("\\boxed{5}", "no number", "\\boxed{5}"))
    assert bool(terminated[1])
    assert not truncated.any()
    ended = infos["final_info"] if mode == "SameStep" else infos
    assert ended["error"][1] == "format"
    envs.close()


def test_gymnasium_makes_vectors_of_processes_with_its_defaults() -> None:
    ids = [gymnasium.make(ENV_ID).reset(seed=seed)[0] for seed in (1, 2)]
    envs = gymnasium.make_vec(ENV_ID, num_envs=2, vectorization_mode="async")
    try:
        texts, _ = envs.reset(seed=[1, 2])
        assert texts == tuple(ids)
        later, *_, infos = envs.step(("\\boxed{5}", "no number, \u00e4\U0001f600"))
        assert later != texts
        assert texts == tuple(ids)
        assert infos["error"][1] == "format"
    finally:
        envs.close()


def test_texts_are_kept_in_shared_memory_whatever_their_signs_and_refused_if_they_are_too_long() -> None:
    import multiprocessing

    from gymnasium.vector.utils import create_shared_memory, read_from_shared_memory, write_to_shared_memory

    from gem.adapters.spaces import SLOT_BYTES, AnyText

    space = AnyText()
    memory = create_shared_memory(space, n=2, ctx=multiprocessing)
    texts = read_from_shared_memory(space, memory, n=2)
    for text in ("", "\u00e4\0\U0001f600\ud800", "x" * SLOT_BYTES):
        write_to_shared_memory(space, 1, text, memory)
        assert texts == ("", text)
        assert copy.deepcopy(texts) == ("", text)
    with pytest.raises(InvalidArgument, match="shared_memory"):
        write_to_shared_memory(space, 0, "\u00e4" * SLOT_BYTES, memory)
    assert (texts[0], texts[-1][:1], len(texts)) == ("", "x", 2)


def test_registering_twice_is_harmless_and_every_id_is_there() -> None:
    from gem.adapters.gymnasium import gymnasium_id, register_all

    register_all()
    assert {gymnasium_id(env_id) for env_id in played()} <= set(gymnasium.registry)


def test_an_id_with_the_module_needs_no_import_before() -> None:
    code = f"import gymnasium; print(gymnasium.make('gem.adapters.gymnasium:{ENV_ID}').reset(seed=1)[0])"
    done = subprocess.run([sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True, check=True)
    assert "from 1 to 10," in done.stdout


def test_the_engine_does_not_import_gymnasium_by_itself() -> None:
    code = "import sys, gem, gem.cli; print('gymnasium' in sys.modules)"
    done = subprocess.run([sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "False"


def test_an_environment_of_gymnasiums_is_ported_as_the_page_says() -> None:
    page = (Path(__file__).parents[3] / "docs/add-an-environment.md").read_text("utf-8")
    [source] = re.findall(r"```python\n(import gymnasium\n.*?)```", page, re.DOTALL)
    try:
        exec(source, {"__name__": "frozen_lake"})
        found = {finding.title: finding.status for finding in check("custom:FrozenLake-v0")}
        assert "wrong" not in found.values()
        with gem.make_vec(["custom:FrozenLake-v0"] * 3, seed=5) as vector:
            first = vector.reset()
            turns = [vector.step(["right", "down", "jump"]) for _ in range(3)]
            assert vector.reset(seed=5) == first
            assert vector.step(["right", "down", "jump"]) == turns[0]
        gem.adapters.gymnasium.register_all()
        assert "Walk to G" in gymnasium.make("gem/custom.FrozenLake-v0").reset(seed=5)[0]
    finally:
        del gem.registry.ENV_REGISTRY["custom:FrozenLake-v0"]
        gymnasium.registry.pop("gem/custom.FrozenLake-v0", None)
