"""Verifying episodes of the shell: what commands give again, what they cannot, and what was forged."""

from __future__ import annotations

import re
from collections.abc import Callable
from copy import deepcopy
from dataclasses import replace

import pytest

from gem.agents import Decision, Request
from gem.envs.terminal.repeating import settle
from gem.records import EpisodeRecord, StoredEpisode
from gem.rollout import EpisodeRequest, rollout
from gem.verification.reexecution import Summary, reexecute

NOTE = {"Outputs of the shell do not repeat and were taken from the record.": 1}
FIRST = {
    "output": "09:15 a",
    "code": 0,
    "shell": "/home/agent\n",
    "changed": {"a": ["file", 420, "1\n", 7]},
    "gone": [],
}


class Typist:
    """Runs one command, and hands in."""

    def __init__(self, command: str) -> None:
        self._command = command

    def act(self, requests: list[Request]) -> list[Decision]:
        return [Decision(f"<bash>{self._command}</bash>" if one.turn == 1 else "<finish/>") for one in requests]


def play(command: str, **kwargs: object) -> EpisodeRecord:
    return next(iter(rollout(Typist(command), [EpisodeRequest(0, "terminal:Shell-v0-easy", 3, kwargs)])))


def verify(record: EpisodeRecord) -> Summary:
    summary = Summary()
    for finding in reexecute([StoredEpisode("", "", record)]):
        summary.add(finding)
    return summary


def with_output(record: EpisodeRecord, change: Callable[[str], str]) -> EpisodeRecord:
    """The record with another output of its command, in what the agent read and on the tape."""
    changed = deepcopy(record)
    turn = changed.turns[0]
    said = turn.info["shell"]["output"]
    turn.info["shell"]["output"] = change(said)
    changed.turns[0] = replace(turn, observation=turn.observation.replace(said, change(said)))
    return changed


def at_another_time(said: str) -> str:
    """The same output an hour later, whatever time it is."""
    return re.sub(r"\b(\d\d)(?=:\d\d)", lambda hour: f"{(int(hour[1]) + 1) % 24:02}", said, count=0)


def test_folders_have_the_same_times_at_any_time() -> None:
    record = play("ls -lad . .. / /tmp /etc")
    lines = record.turns[0].info["shell"]["output"].splitlines()
    assert len(lines) == 5
    assert all(" Jan  1  2026 " in line for line in lines)
    assert verify(record).is_proved


def test_a_record_of_another_hour_is_no_difference_and_one_of_other_files_is() -> None:
    record = play("echo 12345 >size; ls -l size; date")
    found = verify(with_output(record, at_another_time))
    assert (found.same, found.notes) == (1, NOTE), found.first
    assert not found.is_proved
    found = verify(with_output(record, lambda said: said.replace(" 6 ", " 7 ", 1)))
    assert found.differing == 1


def test_a_command_that_draws_is_taken_from_the_record() -> None:
    command = "echo $RANDOM $RANDOM $RANDOM | tee numbers"
    for record in (play(command), play(command, max_turns=1)):  # the checks run at the turn limit too
        found = verify(record)
        assert (found.same, found.notes) == (1, NOTE), found.first


@pytest.mark.parametrize(
    ("recorded", "is_taken"),
    [
        ({**FIRST, "output": "23:59 a"}, True),
        ({**FIRST, "output": "23:59 b"}, False),
        ({**FIRST, "changed": {"a": ["file", 420, "10:00\n", 7]}}, False),
        ({**FIRST, "output": "[ended after 20 s; what it had written to files is kept]"}, True),
        ({**FIRST, "code": 1}, False),
        ({**FIRST, "more": 1}, False),
        ({**FIRST, "output": 5}, False),
        (None, False),
    ],
)
def test_a_record_may_differ_only_in_times_if_the_command_repeats(recorded: object, is_taken: bool) -> None:
    assert settle(recorded, FIRST, lambda: FIRST) == (recorded if is_taken else None)


@pytest.mark.parametrize(
    "changed",
    [
        {"a": ["file", 420, "2\n", 7], "b": ["file", 420, "", 7]},
        {"../a": ["file", 420, "1\n", 7]},
        {"a": ["file", 511, "1\n", 7]},
        {"a": ["link", 420, "/etc", 7]},
        {"a": ["file", 420, 1, 7]},
        {"a": ["file"]},
        {"a": "file"},
        [],
    ],
)
def test_a_record_brings_no_files_of_its_own_even_if_the_command_does_not_repeat(changed: object) -> None:
    assert settle({**FIRST, "changed": changed}, FIRST, lambda: {**FIRST, "output": "other"}) is None
    other = {**FIRST, "changed": {"a": ["file", 420, "2\n", 7]}}
    assert settle(other, FIRST, lambda: {**FIRST, "output": "other"}) == other
