"""`gemweb check gymnasium:ID`: well-known environments keep every promise, and one that does not is told."""

from __future__ import annotations

import sys
from pathlib import Path

import gymnasium
import pytest

from gem.check.elsewhere.driver import main, reproducibility
from gem.check.elsewhere.driver.subjects import GymnasiumSubject
from tests.engine.cli.conftest import Run

WELL_KNOWN = (
    "FrozenLake",
    "CartPole",
    *(pytest.param(name, marks=pytest.mark.long) for name in ("Taxi", "Blackjack", "CliffWalking")),
)
OWN = """
import gymnasium


class Walk(gymnasium.Env):
    observation_space = gymnasium.spaces.Discrete(1000)
    action_space = gymnasium.spaces.Discrete(2)

    def reset(self, *, seed=None, options=None):
        super().reset(seed=seed)
        self.place = int(self.np_random.integers(1, 999))
        return self.place, {}

    def step(self, action):
        self.place += 1 if action else -1
        return self.place, 1.0 if self.place == 999 else 0.0, self.place in (0, 999), False, {}


gymnasium.register("Walk-v0", Walk, max_episode_steps=30)
"""


def newest(name: str) -> str:
    """The id with the highest version, for older ones cannot be made."""
    return max(env_id for env_id in gymnasium.registry if env_id.partition("-v")[0] == name)


def broken(name: str) -> set[str]:
    """The promises that an environment of this process breaks; other processes are not asked."""
    subject = GymnasiumSubject(name)
    tried = [promise for promise in main.PROMISES if promise.applies_to("gymnasium", "")]
    assert len(tried) >= 13
    tried = [promise for promise in tried if promise.attempt is not reproducibility.repeats_in_other_processes]
    return {promise.key for promise in tried if main.attempt(promise, subject)[0] == "wrong"}


@pytest.mark.parametrize("name", WELL_KNOWN)
def test_well_known_environments_keep_every_promise(name: str) -> None:
    assert broken(newest(name)) == set()


@pytest.mark.parametrize(
    ("old", "new", "expected"),
    [
        ("Discrete(1000)", "Discrete(3)", {"observations_are_in_their_space", "passes_the_checker_of_its_package"}),
        ("self.place in (0, 999), False", "0, 'no'", {"plays_to_its_end", "passes_the_checker_of_its_package"}),
        (
            "super().reset(seed=seed)",
            "super().reset()",
            {
                "passes_the_checker_of_its_package", "repeats_a_seed", "is_undisturbed_by_others",
                "repeats_after_many_episodes", "plays_the_same_in_threads",
            },
        ),
    ],
)  # fmt: skip
def test_what_is_broken_is_named(old: str, new: str, expected: set[str]) -> None:
    assert old in OWN
    exec(OWN.replace(old, new), {"__name__": "walking"})
    try:
        assert broken("Walk-v0") == expected
    finally:
        del gymnasium.registry["Walk-v0"]


def test_one_of_ones_own_is_checked_by_the_module_that_registers_it(
    run: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "walking_elsewhere.py").write_text(OWN)
    monkeypatch.chdir(tmp_path)
    code, out, err = run("check", "gymnasium:Walk-v0", "--module", "walking_elsewhere")
    assert (code, err) == (0, "")
    assert out.startswith("Walk-v0 of gymnasium ")
    assert "ok        Other processes play the same episodes.\n" in out
    assert "walking_elsewhere" not in sys.modules
