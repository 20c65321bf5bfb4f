"""Verdicts of learnability: right on environments with known answers, ten of which are broken on purpose."""

from __future__ import annotations

import json
from collections.abc import Iterator

import pytest

from gem import learnability
from gem.agents import Request
from gem.cli import main
from gem.evaluation.intervals import wilson
from gem.learnability.probing import Fixed
from gem.learnability.report import Played, Report, Training
from gem.learnability.training import train_briefly
from tests.engine.learnable_envs import (
    BROKEN,
    KNOWN,
    IgnoresTheAction,
    PaysAlways,
    Sum,
    Unreachable,
    expert_action,
    id_of,
    registered,
)


@pytest.fixture(autouse=True, scope="module")
def _registered() -> Iterator[None]:
    with registered():
        yield


def expert(request: Request) -> str:
    return expert_action(request.env)


@pytest.mark.parametrize("kind", BROKEN)
def test_what_is_broken_is_named(kind: type[Sum]) -> None:
    report = learnability.probe(id_of(kind), seeds=30, expert=Fixed("expert", expert))
    if kind is Unreachable:
        assert report.verdict.kind == "unreachable"
    else:
        assert report.verdict.kind in ("broken", "without the task"), report.verdict
    assert BROKEN[kind] in report.verdict.sentence


def test_what_is_right_is_not_called_broken() -> None:
    report = learnability.probe(id_of(Sum), seeds=60, expert=Fixed("expert", expert))
    assert report.verdict.kind == "has a signal", report.verdict
    assert report.problems == []
    assert report.best_exploit is None
    assert report.expert is not None
    assert report.expert.mean_return == 1.0


@pytest.mark.parametrize("env_id", KNOWN)
def test_environments_of_the_house_get_the_verdict_that_is_known_of_them(env_id: str) -> None:
    seeds = 20 if KNOWN[env_id] == "has a signal" else 60  # what holds for every seed needs more of them
    report = learnability.probe(env_id, seeds=seeds, tries=3)
    assert report.problems == []
    assert report.verdict.kind == KNOWN[env_id], report.verdict


def test_all_tries_at_a_seed_are_one_observation() -> None:
    """Here the seed alone decides, so four tries tell no more than one."""
    once, four_times = (
        learnability.probe(id_of(IgnoresTheAction), seeds=40, tries=tries).random.solved for tries in (1, 4)
    )
    assert once is not None
    assert four_times is not None
    assert four_times == pytest.approx(once)
    assert four_times.high - four_times.low > 0.29, "as of 40 observations; of 160 it would be 0.15"


def test_solved_at_random_takes_more_than_a_few_seeds() -> None:
    kinds = {seeds: learnability.probe(id_of(PaysAlways), seeds=seeds).random.solved for seeds in (4, 20)}
    found = {
        seeds: Report("test:X", seeds, 4, Played("x", solved, 1.0, (1.0,)), None, [], [], 0.5, seeds).verdict.kind
        for seeds, solved in kinds.items()
    }
    assert found == {4: "has a signal", 20: "solved at random"}


def played(solved: int, of: int = 100) -> Played:
    return Played("x", wilson(solved, of), solved / of, (solved / of,))


def report_of(random: int, signal: float = 0.5, training: Training | None = None) -> Report:
    return Report("test:X", 100, 4, played(random), None, [], [], signal, 100, training)


def test_a_training_decides_where_nothing_is_wrong() -> None:
    rises, stays = Training(10, 150, 200, 40, 60.0), Training(10, 12, 200, 40, 60.0)
    assert report_of(5).verdict.kind == "has a signal"
    assert report_of(5, training=rises).verdict.kind == "learned"
    assert (
        "5% to 75% of 200 held-out episodes after 40 updates in 60 CPU seconds, reading the whole episode."
        in report_of(5, training=rises).verdict.sentence
    )
    told = report_of(5, training=stays).verdict
    assert (told.kind, "A small policy did not learn it" in told.sentence) == ("has a signal", True)
    assert report_of(0, signal=0.0).verdict.kind == "no signal"
    assert report_of(100).verdict.kind == "solved at random"


def test_the_command_prints_the_evidence_and_its_exit_code_is_the_verdict(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["learnable", "game:GuessTheNumber-v0-easy", "--seeds", "20", "--tries", "2"]) == 0
    printed = capsys.readouterr().out
    assert "Has a signal." in printed
    assert "expert" in printed
    constant = next(id_of(kind) for kind in BROKEN if kind.__name__ == "TakesAConstant")
    assert main(["learnable", constant, "--seeds", "20", "--json"]) == 1
    data = json.loads(capsys.readouterr().out)
    assert data["verdict"]["kind"] == "without the task"
    assert data["random"]["solved"].keys() == {"mean", "low", "high"}
    assert len(data["random"]["returns"]) == 20 * data["tries"]
    assert {"name", "mean_return"} <= data["exploits"][0]["played"].keys()
    assert data["training"] is None
    assert main(["learnable", constant, "--seeds", "2"]) == 2


@pytest.mark.long
def test_a_short_training_rises_where_it_should_and_not_where_it_cannot() -> None:
    learned = train_briefly("game:FifteenPuzzle-v0-easy", 40)
    assert (learned.rises, learned.reads) == (True, "the present board")
    assert not train_briefly(id_of(Unreachable), 10).rises
