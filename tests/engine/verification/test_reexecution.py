"""Re-execution: every kind of wrong episode is found, and no honest one is called wrong."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from copy import deepcopy
from dataclasses import replace

import pytest

import gem
from gem.agents import Decision, make_agent
from gem.evaluation.spec import EvaluationSpec
from gem.records import EpisodeRecord, StoredEpisode
from gem.rollout import EpisodeRequest, rollout
from gem.verification.reexecution import Summary, plan_of, reexecute
from tests.engine.verification.rows import ENV_IDS, play, stored

SPEC = EvaluationSpec(agent="random", env_ids=("game:Minesweeper-v0-easy",), episodes_per_env=4, seed=100)


@pytest.fixture(scope="module")
def records() -> list[EpisodeRecord]:
    return play()


def find(records: list[EpisodeRecord], **arguments) -> Summary:
    summary = Summary()
    for finding in reexecute(stored(records), **arguments):
        summary.add(finding)
    return summary


def test_honest_episodes_are_the_same_in_any_number_of_processes(records: list[EpisodeRecord]) -> None:
    summary = find(records)
    assert (summary.same, summary.is_proved) == (len(records), True)
    assert summary.turns == sum(record.turn_count for record in records)
    with_duplicate = stored([*records[:3], records[0], *records[3:]])
    found = list(reexecute(with_duplicate, processes=2))
    assert found == list(reexecute(with_duplicate))
    assert [place for place, finding in enumerate(found) if finding.field == "duplicate"] == [3]


def test_random_episodes_of_every_fast_environment_are_the_same() -> None:
    ids = [spec.id for spec in gem.registry.specs() if spec.cost == "fast" and not spec.missing_packages()]
    assert len({env_id.partition(":")[0] for env_id in ids}) >= 6
    summary = find(play([env_id for env_id in ids if "hard" not in env_id], seeds=1))
    assert summary.first is None


def _turn(number: int, **changes: object) -> Callable[[EpisodeRecord], None]:
    def change(record: EpisodeRecord) -> None:
        record.turns[number] = replace(record.turns[number], **changes)

    return change


def _identity(**changes: object) -> Callable[[EpisodeRecord], None]:
    return lambda record: setattr(record, "identity", replace(record.identity, **changes))


CHANGES: dict[str, Callable[[EpisodeRecord], object]] = {
    "reward": _turn(-1, reward=1.5),
    "observation": _turn(0, observation="You have won."),
    "action": _turn(0, action="nothing in a box"),
    "seed": _identity(seed=12345),
    "data": _identity(data_hash="ab"),
    "version": _identity(env_version=99),
    "order": lambda record: record.turns.reverse(),
    "one turn more": lambda record: record.turns.append(record.turns[-1]),
    "one turn less": lambda record: record.turns.pop(),
    "success": lambda record: setattr(record, "success", not record.success),
    "the end": lambda record: (setattr(record, "terminated", False), setattr(record, "truncated", False)),
    "both ends": lambda record: (setattr(record, "terminated", True), setattr(record, "truncated", True)),
    "turn limit": lambda record: setattr(record, "max_turns", 10_000),
    "board": lambda record: record.turns[0].info.update(suffix="another board"),
    "first board": lambda record: record.first_info.update(suffix="another board"),
    "rewards of seats": lambda record: record.turns[-1].info.update(seats=[{"reward": 100.0}]),
    "kwargs": _identity(env_kwargs={"rows": 3}),
    "wrappers": _identity(wrappers=[{"name": "time_limit", "max_turns": 1}]),
    "unknown wrapper": _identity(wrappers=[{"name": "unknown"}]),
    "unknown environment": _identity(env_id="game:Nothing-v0"),
}


@pytest.mark.parametrize("name", CHANGES)
def test_what_changes_what_the_environment_gives_is_found(records: list[EpisodeRecord], name: str) -> None:
    changed = deepcopy(records[:4])
    long = max(changed, key=lambda record: record.turn_count)
    assert long.turn_count > 1
    CHANGES[name](long)
    summary = find(changed)
    assert (summary.same, summary.differing + summary.unknown) == (3, 1)
    assert summary.first is not None
    assert summary.first.index == long.index
    assert summary.first.sentence[-1] in ".?"


def test_an_older_version_is_unknown_and_a_newer_one_an_invention(records: list[EpisodeRecord]) -> None:
    changed = deepcopy(records[0])
    for version, status in ((0, "differs"), (99, "differs")):
        _identity(env_version=version)(changed)
        assert [finding.status for finding in reexecute(stored([changed]))] == [status]


def test_the_rewards_of_all_seats_are_compared(records: list[EpisodeRecord]) -> None:
    changed = deepcopy(records[-1])
    assert changed.identity.env_id == ENV_IDS[-1]
    changed.turns[-1].info["seats"][1]["reward"] += 1
    assert find([changed]).differing == 1


def test_duplicates_and_episodes_of_other_places_differ_from_the_plan(records: list[EpisodeRecord]) -> None:
    own = deepcopy(records[:4])
    plan = plan_of(SPEC)
    assert find(own, plan=plan).is_proved
    assert [finding.field for finding in reexecute(stored([*own, own[2]]))][-1] == "duplicate"
    again = replace(own[0], index=1)
    assert [f.field for f in reexecute(stored([own[0], again, *own[2:]]), plan=plan)] == ["", "seed", "", ""]
    swapped = [replace(own[0], index=1), replace(own[1], index=0), *own[2:]]
    assert find(swapped, plan=plan).differing == 2
    assert find(swapped).differing == 0
    assert [f.field for f in reexecute(stored([replace(own[0], index=9)]), plan=plan)] == ["index"]
    other = play(["game:GuessTheNumber-v0-easy"], seeds=1)
    assert [f.field for f in reexecute(stored(other), plan=plan)] == ["env_id"]


def test_the_plan_of_a_specification_has_its_seats_tries_and_wrappers() -> None:
    spec = EvaluationSpec(
        agent="random", opponent="random", env_ids=("duel:TicTacToe-v0", "game:Wordle-v0"), episodes_per_env=4,
        repeats=2, seed=7, max_turns=5,
    )  # fmt: skip
    plan = plan_of(spec)
    planned = [plan(index) for index in range(16)]
    assert [(one.seed, one.seat) for one in planned if one][:5] == [(7, 0), (7, 1), (8, 0), (8, 1), (7, 0)]
    assert {one.env_id for one in planned[8:] if one} == {"game:Wordle-v0"}
    assert all(one and one.wrappers == [{"name": "time_limit", "max_turns": 5}] for one in planned)
    assert plan(16) is None
    assert plan(-1) is None


def test_what_failed_before_its_first_turn_is_not_counted_as_executed(records: list[EpisodeRecord]) -> None:
    without_answer, without_start = failed_at_once(records[0]), failed_at_once(records[1])
    without_start.failed_by, without_start.first_observation, without_start.first_info = "environment", "", {}
    summary = find([without_answer, without_start, *records[2:]])
    assert (summary.same, summary.failed_at_once) == (len(records) - 2, 2)
    assert summary.first is None


def failed_at_once(record: EpisodeRecord) -> EpisodeRecord:
    """The same episode, as it is recorded if its agent gives no answer in the first turn."""
    return replace(
        record, turns=[], terminated=False, truncated=False, success=None, failure="No answer.", failed_by="agent"
    )


def test_failures_and_token_limits_are_only_said(records: list[EpisodeRecord]) -> None:
    failed = deepcopy(records[0])
    failed.turns.pop()
    failed.terminated = failed.truncated = False
    failed.success, failed.failure, failed.failed_by = None, "No answer.", "agent"
    cut = deepcopy(records[1])
    cut.turns.pop()
    cut.terminated, cut.truncated, cut.success, cut.cut = False, True, False, "tokens"
    summary = find([failed, cut])
    assert (summary.same, summary.is_proved, len(summary.notes)) == (2, False, 2)
    failed.success = True
    cut.success = True
    assert find([failed, cut]).differing == 2


class Scripted:
    """Runs a program, and then gives an answer."""

    def __init__(self, program: str) -> None:
        self.program = program

    def act(self, requests: list) -> list[Decision]:
        code = f"<python>{self.program}</python>"
        return [Decision(code if request.turn == 1 else "\\boxed{5}") for request in requests]


def _with_python(program: str) -> EpisodeRecord:
    request = EpisodeRequest(0, "game:GuessTheNumber-v0-easy", 3, {"tools": ["python"]})
    return next(iter(rollout(Scripted(program), [request])))


def test_a_forged_output_of_a_program_is_found() -> None:
    honest = _with_python("print(6 * 7)")
    assert honest.turns[0].info["tool_calls"][0]["output"].strip() == "42"
    assert find([honest]).is_proved
    for forged in ({"output": "43"}, {"output": "43", "tool": ""}, {"output": "43", "tool": "other"}):
        changed = deepcopy(honest)
        turn = changed.turns[0]
        turn.info["tool_calls"][0].update(forged)
        said = honest.turns[0].info["tool_calls"][0]["output"]
        changed.turns[0] = replace(turn, observation=turn.observation.replace(said, "43"))
        summary = find([changed])
        assert summary.differing == 1
        assert summary.first is not None
        assert summary.first.field in ("tape", "info['tool_type']")


def test_counters_of_the_episode_before_are_no_difference() -> None:
    requests = [EpisodeRequest(index, "game:GuessTheNumber-v0-easy", 3, {"tools": ["python"]}) for index in range(2)]
    records = list(rollout(Scripted("print(1)"), requests, num_envs=1))
    assert records[1].first_info["prev_ep_tool_use_counter"] == 1
    assert find(records).is_proved


def test_a_program_that_does_not_repeat_is_no_difference_and_is_said() -> None:
    summary = find([_with_python("import time; print(time.time_ns())")])
    assert (summary.same, summary.is_proved) == (1, False)
    assert summary.notes == {"Outputs of python do not repeat and were taken from the record.": 1}


def test_episodes_are_taken_one_by_one(records: list[EpisodeRecord]) -> None:
    taken = 0

    def endless() -> Iterator[StoredEpisode]:
        nonlocal taken
        while True:
            taken += 1
            yield StoredEpisode("", "", replace(records[0], index=taken))

    found = reexecute(endless())
    assert [next(found).status for _ in range(20)] == ["same"] * 20
    assert taken == 20
    found.close()


def test_an_environment_that_fails_now_is_a_difference_and_is_not_used_again(coin_row_that_fails: str) -> None:
    player = make_agent("random")
    requests = [EpisodeRequest(index, coin_row_that_fails, index) for index in range(3)]
    honest = sorted(rollout(player, requests), key=lambda record: record.index)
    gem.registry.ENV_REGISTRY[coin_row_that_fails].entry_point.broken = True  # type: ignore[union-attr]
    summary = find(honest)
    assert summary.differing == 3
    assert summary.first is not None
    assert "The environment failed: RuntimeError: It is broken." in summary.first.sentence


class _Failing(gem.Env):
    broken = False

    def _start(self) -> tuple[str, dict]:
        return "Go.", {}

    def sample_random_action(self) -> str:
        return "go"

    def step(self, action: str) -> tuple[str, float, bool, bool, dict]:
        if self.broken:
            raise RuntimeError("It is broken")
        return "Done.", 1.0, True, False, {"success": True}


@pytest.fixture
def coin_row_that_fails() -> Iterator[str]:
    _Failing.broken = False
    gem.register("test:Failing-v0", _Failing)
    yield "test:Failing-v0"
    del gem.registry.ENV_REGISTRY["test:Failing-v0"]
