"""What differs between runs besides the agent, and the warnings about it."""

import math
from dataclasses import replace
from typing import Any

import pytest

from gem.errors import UsageError
from gem.evaluation.comparison.records import runs_of
from gem.evaluation.comparison.runs import Run, ScoredEpisode
from gem.evaluation.comparison.settings import cautions, differing_settings
from gem.records import EpisodeRecord, Identity, StoredEpisode, TurnRecord


def run(name: str, seeds: int = 2, tries: int = 1, failed: int = 0, **settings: Any) -> Run:
    environment = {"env_version": settings.pop("env_version", 1), "data_hash": settings.pop("data_hash", "")}
    episodes = [
        ScoredEpisode("game:A-v0", seed, 0, repeat, 0.0, False, failed=seed < failed)
        for seed in range(seeds)
        for repeat in range(tries)
    ]
    return Run(name, episodes, settings, {"game:A-v0": environment})


def kinds(*runs: Run) -> list[str]:
    return [caution.kind for caution in cautions(runs, differing_settings(runs))]


@pytest.mark.parametrize(
    ("settings", "kind"),
    [
        ({"env_version": 2}, "versions"),
        ({"engine_version": "0.2"}, "versions"),
        ({"data_hash": "abc"}, "data"),
        ({"wrappers": [{"name": "concat_chat"}]}, "wrappers"),
        ({"set_up": {"system": "Think first.", "temperature": 0.6}}, "prompts"),
        ({"set_up": {"temperature": 0.0, "more": {"top_k": 5}}}, "sampling"),
        ({"set_up": {"seed": 7}}, "sampling"),
        ({"max_turns": 5}, "turn limits"),
        ({"tools": ["python"]}, "tools"),
        ({"opponent": "expert"}, "opponents"),
        ({"autoreset": "next_step"}, "other"),
    ],
)
def test_a_setting_that_may_explain_the_difference_is_a_caution(settings: dict[str, Any], kind: str) -> None:
    assert kind in kinds(run("a"), run("b", **settings))


def test_settings_that_do_not_matter_are_no_cautions() -> None:
    runs = (
        run("a"),
        run("b", agent="x", num_envs=4, token_budget=9, set_up={"model": "m", "url": "http://x", "tries": 5}),
    )
    assert differing_settings(runs) == []
    assert kinds(*runs) == []
    assert kinds(run("a", seed=0, repeats=1), run("b", seed=5, repeats=4)) == []


def test_what_the_source_of_a_run_does_not_tell_is_not_called_a_difference() -> None:
    known = run("a", tools=["python"], engine_version="0.1")
    other = replace(run("b", env_version=2), unknown=frozenset({"tools", "env_version"}))
    assert differing_settings((known, other)) == [("engine_version", ("0.1", None))]


def test_the_settings_that_differ_are_listed_side_by_side() -> None:
    runs = (
        run("a", set_up={"temperature": 0.6, "top_p": 1.0}),
        run("b", set_up={"temperature": 0.0, "top_p": 1.0}, env_version=3),
        run("c", set_up={"top_p": 1.0}),
    )
    assert differing_settings(runs) == [
        ("set_up.temperature", (0.6, 0.0, None)),
        ("game:A-v0.env_version", (1, 3, 1)),
    ]
    texts = [caution.text for caution in cautions(runs, differing_settings(runs))]
    assert texts[0].endswith("part of the difference may be theirs: set_up.temperature (0.6 / 0.0 / –).")


def test_seeds_tries_and_missing_episodes_are_cautions() -> None:
    texts = [caution.text for caution in cautions([run("a", 10), run("b", 4, tries=3, failed=1)], [])]
    assert texts[0].startswith("Only 4 of 10 seeds were played in all runs.")
    assert texts[1] == "The seeds were tried unequally often. Episodes for each seed: a 1.0, b 3.0."
    assert texts[2].startswith("Episodes that do not count, because of errors or missing answers: a 0, b 3.")
    assert kinds(run("a", 10), run("b", 10)) == []


# ------------------------------------------------------------------ stored episodes


def stored(agent: str, seed: int, opponent: str = "", seat: int = 0, **more: Any) -> StoredEpisode:
    identity = Identity("game:A-v0", more.pop("env_version", 1), seed)
    record = EpisodeRecord(
        0, identity, "", {}, [TurnRecord("x", "y", 1.0, {}, extra={"tokens_in": 5, "tokens_out": 2})], seat=seat, **more
    )
    return StoredEpisode(f"line {seed}", agent, record, opponent, {"temperature": 0.5}, "0.1")


def test_a_run_is_made_of_the_episodes_of_one_agent() -> None:
    first, second = runs_of(
        [
            stored("a", 1, success=True, terminated=True),
            stored("a", 1, failed_by="agent", failure="no answer"),
            stored("b", 1, failed_by="environment", failure="broken"),
        ]
    )
    assert [episode.repeat for episode in first.episodes] == [0, 1]
    assert first.episodes[0] == ("game:A-v0", 1, 0, 0, 1.0, True, 1, 7, False, False, "line 1")
    assert (first.episodes[1].unanswered, second.episodes[0].failed) == (True, True)
    assert first.settings == {"set_up": {"temperature": 0.5}, "opponent": "", "engine_version": "0.1"}
    assert first.environments["game:A-v0"]["env_version"] == 1


def test_settings_that_change_within_a_run_are_named() -> None:
    (only,) = runs_of([stored("a", 1), stored("a", 2, env_version=2), stored("a", 3, env_version=2)])
    assert only.environments["game:A-v0"]["env_version"] == "1, then 2"


@pytest.mark.parametrize("reward", [math.nan, math.inf])
def test_a_return_that_is_no_number_is_refused_and_not_averaged(reward: float) -> None:
    broken = stored("a", 2)
    broken.record.turns.append(TurnRecord("x", "y", reward, {}))
    with pytest.raises(UsageError, match=f"The return of line 2 is {reward}"):
        runs_of([stored("a", 1), broken])


def test_an_episode_of_nobody_in_particular_is_refused() -> None:
    with pytest.raises(UsageError, match="does not say which agent"):
        runs_of([stored("a, b", 1)])
    with pytest.raises(UsageError, match="no episodes"):
        runs_of([])
