"""An environment written for GEM, with only `reset` and `step`, works through `register` and `make`."""

import json
import random
import re
import sys
from collections.abc import Iterator
from importlib import import_module
from pathlib import Path
from typing import Any

import pytest

import gem
from gem.check import check
from gem.core import Env
from gem.errors import EnvironmentFailure, EpisodeOver, InvalidArgument, MissingMethod
from gem.records import episode_files
from gem.registry import ENV_REGISTRY
from gem.replay import verify_stored
from gem.wrappers import RecordEpisodes, describe, wrap
from tests.engine.written_for_gem import Countdown, Sorting

PAGE = Path(__file__).parents[2] / "docs" / "add-an-environment.md"


@pytest.fixture(autouse=True)
def registered() -> Iterator[None]:
    gem.register("custom:Sorting-v0", Sorting, length=4)
    gem.register("custom:Countdown-v0", "tests.engine.written_for_gem:Countdown")
    yield
    for env_id in [env_id for env_id in ENV_REGISTRY if env_id.startswith("custom:")]:
        del ENV_REGISTRY[env_id]
    sys.modules.pop("sort_letters", None)


def test_it_is_made_reset_and_stepped() -> None:
    env: Any = gem.make("custom:Sorting-v0", length=6)
    observation, info = env.reset(seed=3)
    assert (len(env.letters), env.seed, info) == (6, 3, {})
    assert env.letters in observation
    assert type(env.unwrapped) is Sorting
    assert env.spec.id == "custom:Sorting-v0"
    step = env.step(f"\\boxed{{{env.solution}}}")
    assert step[1:] == (1.0, True, False, {"success": True})
    env.reset()
    assert env.step("I do not know.")[1:] == (0.0, True, False, {"success": False})


@pytest.mark.parametrize("env_id", ["custom:Sorting-v0", "custom:Countdown-v0"])
def test_a_seed_names_an_episode_however_it_is_given(env_id: str) -> None:
    env: Any = gem.make(env_id)
    first = env.reset(seed=11)
    secret = vars(env.unwrapped).get("secret")
    assert gem.make(env_id, seed=11).reset() == first
    vector = gem.make_vec([env_id] * 2, seed=10)
    assert vector.reset()[0][1] == first[0]
    env.reset()
    again = env.seed
    assert again is not None
    other: Any = gem.make(env_id)
    assert other.reset(seed=again) == env.reset(seed=again)
    assert (env.reset(seed=11), vars(env.unwrapped).get("secret")) == (first, secret)


def test_both_ends_at_once_are_the_limit_only_at_the_limit() -> None:
    env: Any = gem.make("custom:Countdown-v0", max_turns=2)
    env.reset(seed=1)
    wrong = [guess for guess in range(1, 10) if guess != env.secret]
    assert env.step(str(wrong[0]))[2:4] == (False, False)
    *_, terminated, truncated, info = env.step(str(wrong[1]))
    assert (terminated, truncated, info["success"]) == (False, True, False)
    env.reset(seed=1)
    env.step(str(wrong[0]))
    _, reward, terminated, truncated, info = env.step(str(env.secret))
    assert (type(reward), terminated, truncated, info["success"]) == (float, True, False, True)


def test_turns_outside_an_episode_are_refused() -> None:
    env = gem.make("custom:Sorting-v0")
    for _ in range(2):
        with pytest.raises(EpisodeOver, match="call reset"):
            env.step("a")
        assert env.to_act == ()
        env.reset()
        env.step("a")


@pytest.mark.parametrize("wrappers", [[], ["concat_with_action", "episode_tracking"]])
def test_it_goes_on_from_its_state_as_plain_json(wrappers: list[str]) -> None:
    env: Any = gem.make("custom:Countdown-v0", max_turns=5)
    env = wrap(env, [{"name": name} for name in wrappers])
    env.reset(seed=5)
    env.step("1")
    state = json.loads(json.dumps(env.get_state(), allow_nan=False))
    other = env.spawn()
    other.set_state(state)
    assert (other.places, other.tried, other.secret) == (env.places, env.tried, env.secret)
    assert other.places is not env.places
    assert other.rng.random() == env.rng.random()
    assert other.view() == env.view()
    assert other.step("2") == env.step("2")


def test_a_state_that_cannot_be_written_down_is_refused_by_name() -> None:
    env = Sorting()
    env.reset(seed=1)
    env.helper = object()
    with pytest.raises(MissingMethod, match=r"Sorting has an object in the attribute 'helper'.*Define get_state"):
        env.get_state()


def test_its_picture_is_what_an_agent_reads() -> None:
    env = gem.make("custom:Countdown-v0")
    env.reset(seed=1)
    assert env.view() == {"kind": "text", "name": "Countdown", "text": "Guess from 1 to 9.\nYour guess?"}
    env.step("3")
    assert env.view()["text"] == "Tried [3].\nYour guess?"  # type: ignore[typeddict-item]


def test_whoever_needs_a_missing_method_is_told_which() -> None:
    env = gem.make("custom:Sorting-v0")
    env.reset()
    with pytest.raises(NotImplementedError, match=r"define sample_random_action\(\)"):
        env.sample_random_action()
    found = list(check("custom:Sorting-v0"))
    assert [finding.status for finding in found] == ["ok", "ok", "wrong"]
    assert "Sorting has no random actions: define sample_random_action()" in found[-1].detail


def test_the_one_in_the_documentation_keeps_the_contract(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    [source] = [
        block for block in re.findall(r"```python\n(.*?)```", PAGE.read_text("utf-8"), re.DOTALL) if "(Env)" in block
    ]
    (tmp_path / "sort_letters.py").write_text(source, "utf-8")
    monkeypatch.chdir(tmp_path)
    monkeypatch.syspath_prepend(tmp_path)
    import_module("sort_letters")
    wrong = [finding for finding in check("custom:SortLetters-v0", ["sort_letters"]) if finding.status != "ok"]
    assert wrong == []


def test_it_is_named_where_the_global_generator_decides() -> None:
    class Loose(Countdown):
        def sample_random_action(self) -> str:
            return str(random.randint(1, 9))

    gem.register("custom:Loose-v0", Loose, cost="slow")
    [said] = [finding.detail for finding in check("custom:Loose-v0") if "global generator" in finding.detail]
    assert said.startswith("It draws from Python's global generator")


def test_it_is_recorded_and_replayed(tmp_path: Path) -> None:
    env: Any = wrap(gem.make("custom:Sorting-v0", length=3), [{"name": "episode_tracking"}])
    assert describe(env) == [{"name": "episode_tracking"}]
    recording = RecordEpisodes(env, tmp_path / "episodes.jsonl")
    recording.reset(seed=2)
    recording.step("\\boxed{abc}")
    [stored] = episode_files.read(tmp_path / "episodes.jsonl")
    assert stored.record.turn_count == 1
    assert verify_stored(stored) is None


def test_shards_go_on_when_states_cannot_be_written_down() -> None:
    gem.register("custom:Holding-v0", "tests.engine.test_written_for_gem:Holding")
    with gem.make_vec(["custom:Holding-v0"], async_mode="processes", seed=1) as vector:
        vector.reset()
        for _ in range(300):  # longer than the journal
            vector.step(["\\boxed{a}"])


class Holding(Sorting):
    """Keeps something that no JSON has."""

    def reset(self, seed: int | None = None) -> tuple[str, dict[str, Any]]:
        self.helper = object()
        return super().reset(seed)


class Neither(Env):
    def step(self, action: str) -> Any:
        return action


class Old(Sorting):
    """As gym had it long ago."""

    def reset(self, seed: int | None = None) -> Any:
        return super().reset(seed)[0]


class Four(Sorting):
    def step(self, action: str) -> Any:
        return super().step(action)[:4]


class SuccessInWords(Sorting):
    def step(self, action: str) -> Any:
        *step, _ = super().step(action)
        return *step, {"success": "no"}


def test_a_success_in_words_is_not_taken_for_one() -> None:
    gem.register("custom:InWords-v0", SuccessInWords)
    env = gem.make("custom:InWords-v0")
    env.reset(seed=1)
    with pytest.raises(EnvironmentFailure, match=r"info\[\"success\"\] has to be True or False, not 'no'\."):
        env.step("I do not know.")


def test_what_is_no_environment_is_refused_in_a_sentence() -> None:
    with pytest.raises(MissingMethod, match=r"Neither cannot begin an episode: define _start\(\), or reset"):
        Neither().reset()
    for entry_point, said in ((Old, r"must return \(observation, info\), .* it returned str\."),):
        gem.register("custom:Odd-v0", entry_point)
        with pytest.raises(EnvironmentFailure, match=said):
            gem.make("custom:Odd-v0").reset()
    gem.register("custom:Four-v0", Four)
    env = gem.make("custom:Four-v0")
    env.reset()
    with pytest.raises(EnvironmentFailure, match=r"Four.step\(\) must return .*it returned str, float, bool, bool\."):
        env.step("a")
    gem.register("custom:No-v0", object)  # type: ignore[arg-type, return-value]
    with pytest.raises(InvalidArgument, match=r"custom:No-v0 gave a object, which is no gem\.Env"):
        gem.make("custom:No-v0")
    with pytest.raises(InvalidArgument, match=r"takes no argument 'lenght'\. Did you mean length"):
        gem.make("custom:Sorting-v0", lenght=3)


@pytest.mark.parametrize("reward", ["1", "nan", float("nan"), float("inf"), b"1", None, [1]])
def test_a_reward_that_is_no_number_is_refused(reward: Any) -> None:
    class Paying(Sorting):
        def step(self, action: str) -> Any:
            return "", reward, True, False, {}

        def sample_random_action(self) -> str:
            return "a"

    gem.register("custom:Paying-v0", Paying)
    env = gem.make("custom:Paying-v0")
    env.reset()
    with pytest.raises(EnvironmentFailure, match="The reward is not a finite number"):
        env.step("a")
    [wrong] = [finding for finding in check("custom:Paying-v0") if finding.status == "wrong"]
    assert "The reward is not a finite number" in wrong.detail
    assert "a text, a number, two booleans" in wrong.advice


def test_an_observation_that_is_no_text_is_refused() -> None:
    class Numbered(Sorting):
        def reset(self, seed: int | None = None) -> Any:
            return 5, {"suffix": "go"}

    gem.register("custom:Numbered-v0", Numbered)
    with pytest.raises(EnvironmentFailure, match=r"the observation a text .* it returned int, dict"):
        gem.make("custom:Numbered-v0").reset()


def test_a_class_that_calls_no_other_constructor_has_what_every_environment_has() -> None:
    env: Any = gem.make("custom:Countdown-v0")
    assert (env.data_hash, env.max_turns, env.seats) == ("", 3, 1)
    assert isinstance(Countdown(), Env)


def test_random_actions_drawn_from_its_generator_change_nothing() -> None:
    class DrawsAll(Env):
        def reset(self, seed: int | None = None) -> tuple[str, dict]:
            super().reset(seed)
            return f"{self.rng.random()}", {}

        def step(self, action: str) -> tuple[str, float, bool, bool, dict]:
            return f"{self.rng.random()}", 0.0, self.rng.random() < 0.2, False, {}

        def sample_random_action(self) -> str:
            return f"{self.rng.randint(1, 1000)}"

    gem.register("custom:DrawsAll-v0", DrawsAll)
    asked, quiet = gem.make("custom:DrawsAll-v0"), gem.make("custom:DrawsAll-v0")
    assert asked.reset(seed=3) == quiet.reset(seed=3)
    actions = [asked.sample_random_action() for _ in range(4)]
    assert len(set(actions)) > 1
    assert asked.step("1") == quiet.step("1")
    assert asked.sample_random_action() == quiet.sample_random_action()
