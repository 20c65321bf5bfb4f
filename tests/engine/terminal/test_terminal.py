"""The shell as an environment: what goes on from one command to the next, what is shown, and what is kept."""

import json
from dataclasses import replace

import pytest

import gem
from gem.check import check, episodes, pictures, several_seats
from gem.core import Env
from gem.envs.terminal import task, terminal
from gem.envs.terminal.terminal import FINISH, MAX_SHOWN_CHARS, _parse_command
from gem.errors import EpisodeOver, InvalidArgument, SandboxUnavailable
from gem.records import Identity, TurnRecord
from gem.replay import frames, restore, verify
from gem.sandbox import shell
from gem.sandbox.command import ShellLimits

ID = "terminal:Shell-v0"


@pytest.fixture
def env() -> Env:
    made = gem.make(ID, task="sort-names")
    made.reset(seed=1)
    return made


def run(env: Env, command: str) -> str:
    return env.step(f"<bash>{command}</bash>")[0]


# ---------------------------------------------------------------- from one command to the next


def test_files_the_directory_and_exported_variables_go_on(env: Env) -> None:
    run(env, "mkdir -p a/b; cd a/b; export NAME='two words'; plain=1; echo text >file")
    assert run(env, 'pwd; echo "$NAME"; echo "[$plain]"; cat file') == "/home/agent/a/b\ntwo words\n[]\ntext"
    assert env.prompt_folder == "~/a/b"


def test_processes_end_with_their_command(env: Env) -> None:
    assert run(env, "(sleep 2; echo late >late) & echo started") == "started"
    assert run(env, "sleep 3; cat late") == "cat: late: No such file or directory\n[exit code 1]"


def test_exit_codes_are_told_and_an_exit_ends_only_the_command(env: Env) -> None:
    assert run(env, "echo out; echo err >&2; exit 3") == "out\nerr\n[exit code 3]"
    assert run(env, "true") == "(no output)"
    assert run(env, "nosuch") == "bash: line 1: nosuch: command not found\n[exit code 127]"


def test_modes_links_and_bytes_are_kept(env: Env) -> None:
    run(env, "printf '\\377\\000' >raw; ln -s raw link; chmod 400 names.txt; mkdir -m 700 closed; touch closed/x")
    assert run(env, "stat -c '%a %F' names.txt closed link; od -An -tx1 raw; ls closed") == (
        "400 regular file\n700 directory\n777 symbolic link\n ff 00\nx"
    )


def test_files_are_as_old_as_the_turn_that_changed_them(env: Env) -> None:
    run(env, "touch first")
    run(env, "echo x >second")
    assert run(env, "ls -t | head -2; stat -c %y second") == "second\nfirst\n2026-01-01 00:02:00.000000000 +0000"


def test_a_command_of_several_lines_is_one_command(env: Env) -> None:
    assert run(env, "for i in 1 2\ndo\n  echo $i\ndone") == "1\n2"


@pytest.mark.parametrize(
    ("text", "command"),
    [
        ("ls", "ls"),
        ('cmd: "ls -l"', "ls -l"),
        ("cmd: ls -l", "ls -l"),
        ("cmd: 'it''s'", "it's"),
        ('cmd: "say \\"hi\\""', 'say "hi"'),
        ("cmd: |\n  a\n    b\n", "a\n  b"),
    ],
)
def test_gems_form_of_a_command_is_understood(text: str, command: str) -> None:
    assert _parse_command(text) == command


# ---------------------------------------------------------------- limits


def test_too_much_output_is_cut_in_the_middle(env: Env) -> None:
    text = run(env, "seq 1 20000")
    assert text.startswith("1\n2\n")
    assert text.endswith("\n20000")
    assert "bytes left out]" in text
    assert len(text) < 17_000


def test_a_command_that_takes_too_long_is_ended_and_the_episode_goes_on() -> None:
    env = gem.make(ID, task="sort-names")
    env.limits = ShellLimits(seconds=1.0)
    env.reset(seed=1)
    run(env, "cd /tmp")
    assert run(env, "echo before >~/kept; sleep 60") == "[ended after 1 s; what it had written to files is kept]"
    assert run(env, "pwd; cat ~/kept") == "/tmp\nbefore"


def test_too_much_in_the_directory_is_undone(env: Env) -> None:
    text = run(env, "head -c 3000000 /dev/zero >big; rm names.txt; echo made")
    assert text == "made\n[undone: the working directory would hold more than 1,048,576 bytes]"
    assert run(env, "ls") == "names.txt"


def test_the_turn_limit_checks_too_and_is_no_success() -> None:
    env = gem.make(ID, task="sort-names", max_turns=1)
    env.reset(seed=1)
    _, reward, terminated, truncated, info = env.step("<bash>sort -ru names.txt >sorted.txt</bash>")
    assert (reward, terminated, truncated, info["success"]) == (1.0, False, True, False)


# ---------------------------------------------------------------- the contract


def test_an_action_that_is_none_ends_the_episode(env: Env) -> None:
    text, reward, terminated, _, info = env.step("ls")
    assert (reward, terminated, info["error"]) == (-0.1, True, "format")
    assert "<bash>" in text
    with pytest.raises(EpisodeOver):
        env.step(FINISH)


def test_an_empty_command_is_a_fault_and_the_last_action_counts(env: Env) -> None:
    assert env.step("<bash> </bash>")[4]["error"] == "rule"
    assert run(env, "echo 1</bash> or rather <bash>echo 2") == "2"


def test_whoever_goes_on_from_a_state_sees_the_same_future(env: Env) -> None:
    run(env, "mkdir d; cd d; export A=1; echo x >y")
    other = gem.make(ID)
    other.set_state(json.loads(json.dumps(env.get_state())))
    for each in (env, other):
        assert run(each, "pwd; echo $A; cat y; ls ..") == "/home/agent/d\n1\nx\nd\nnames.txt"
    assert other.get_state() == env.get_state()
    assert other.view() == env.view()


def test_the_same_commands_give_the_same_turns() -> None:
    commands = ("ls -la --time-style=+%s | tail -n +2", "echo b >b; mkdir c", "stat -c '%Y %n' *", "find . | sort")
    seen = []
    for _ in range(2):
        env = gem.make(ID, task="tidy-inbox")
        env.reset(seed=9)
        seen.append([run(env, command).replace(" 1 ", " ") for command in commands[1:]])
    assert seen[0] == seen[1]


def test_the_check_finds_nothing_wrong(monkeypatch: pytest.MonkeyPatch) -> None:
    for topic in (episodes, pictures, several_seats):  # every command starts a process: two episodes for each promise
        monkeypatch.setattr(topic, "SEEDS", range(2))
    findings = {finding.title: finding for finding in check(f"{ID}-easy")}
    assert [finding for finding in findings.values() if finding.status == "wrong"] == []
    left_out = [finding.detail for finding in findings.values() if finding.status == "left out"]
    assert all("taped" in what for what in left_out)


@pytest.mark.parametrize("kwargs", [{"level": "huge"}, {"task": "no-task"}, {"max_turns": 0}])
def test_impossible_arguments_are_refused(kwargs: dict[str, object]) -> None:
    with pytest.raises(InvalidArgument):
        gem.make(ID, **kwargs)


def test_without_a_sandbox_it_cannot_be_made_and_says_why(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(shell, "_obstacle", "There are no namespaces.")
    assert gem.spec(ID).unavailable_reason() == "There are no namespaces."
    with pytest.raises(SandboxUnavailable, match=r"cannot be played here\. There are no namespaces"):
        gem.make(ID)
    with pytest.raises(SandboxUnavailable, match="no namespaces"):
        shell.execute("true", {})


# ---------------------------------------------------------------- replay


def recorded() -> tuple[Identity, list[TurnRecord], str]:
    env = gem.make(ID, task="sort-names")
    first, _ = env.reset(seed=1)
    turns = []
    for action in (
        "<bash>date +%N >now; cat now; mkdir d; cd d</bash>",
        "<bash>cat ../now; rm ../names.txt</bash>",
        FINISH,
    ):
        observation, reward, *_, info = env.step(action)
        turns.append(TurnRecord(action, observation, reward, json.loads(json.dumps(info))))
    return Identity(ID, gem.registry.spec(ID).version, 1, {"task": "sort-names"}), turns, first


def test_a_record_is_replayed_without_running_anything(monkeypatch: pytest.MonkeyPatch) -> None:
    identity, turns, _ = recorded()

    def refuse(*_: object, **__: object) -> None:
        raise AssertionError("something was run")

    monkeypatch.setattr(terminal, "execute", refuse)
    monkeypatch.setattr(task, "execute", refuse)
    infos = [{}, *(turn.info for turn in turns)]
    played = list(frames(identity, [turn.action for turn in turns], infos))
    assert [(frame.observation, frame.reward) for frame in played[1:]] == [(t.observation, t.reward) for t in turns]
    assert played[2].view["prompt"] == "agent:~/d$"
    env = restore(identity, [turn.action for turn in turns[:2]], infos)
    assert sorted(env.tree) == ["d", "now"]


def test_verifying_runs_every_command_again_and_takes_what_depends_on_the_clock_from_the_record() -> None:
    identity, turns, first = recorded()
    made = gem.make(ID, task="sort-names")
    assert verify(identity, turns, first_observation=first, env=made) is None
    assert made.unrepeated == ("the shell",)
    turns[1] = replace(turns[1], observation="forged")
    difference = verify(identity, turns, first_observation=first)
    assert difference is not None
    assert (difference.turn, difference.field) == (2, "observation")
    steady = gem.make(ID, task="sort-names")
    steady.reset(seed=1)
    observation, reward, *_, info = steady.step("<bash>sort -ru names.txt | tee sorted.txt</bash>")
    assert (
        verify(identity, [TurnRecord("<bash>sort -ru names.txt | tee sorted.txt</bash>", observation, reward, info)])
        is None
    )


def test_what_is_not_in_a_record_is_not_run(monkeypatch: pytest.MonkeyPatch) -> None:
    identity, turns, _ = recorded()
    monkeypatch.setattr(terminal, "execute", None)
    played = list(frames(identity, [turns[0].action, FINISH], [{}, {}, {}]))
    assert "not in the record" in played[1].observation
    assert played[2].info["success"] is False


def test_after_a_replay_commands_are_run() -> None:
    identity, turns, _ = recorded()
    for upto in (0, 1):
        env = restore(identity, [turn.action for turn in turns[:upto]], [{}, *(turn.info for turn in turns)])
        assert run(env, "echo $((6 * 7))") == "42"


# ---------------------------------------------------------------- the picture


def test_the_view_has_colours_and_nothing_else_of_a_terminal(env: Env) -> None:
    observation = run(env, "printf '\\033[1;31mred\\033[0m\\033]0;title\\007\\033[2Jplain\\n'")
    assert observation == "redplain"
    [exchange] = env.view()["exchanges"]
    assert exchange["output"] == [{"text": "red", "style": "bold fg-1"}, {"text": "plain"}]
    assert exchange["command"].startswith("printf")
    assert env.view()["prompt"] == "agent:~$"


def test_the_view_shows_no_more_than_a_page_can_hold(env: Env) -> None:
    for number in range(3):
        run(env, f"seq 1 9000; echo end {number}")
    assert all(sum(len(part["text"]) for part in one["output"]) <= MAX_SHOWN_CHARS for one in env.view()["exchanges"])


def test_after_the_end_the_checks_are_shown_and_nothing_can_be_done(env: Env) -> None:
    env.step(FINISH)
    view = env.view()
    assert view["notes"] == [("Checks", ["✗ sorted.txt has each name once, from Z to A", "✓ names.txt is as it was"])]
    assert not {"prompt", "say", "keys"} & set(view)
