"""`gemweb replay`: every episode of a file is played again and compared."""

import json
from pathlib import Path

import pytest

import gem
from gem.agents import make_agent
from gem.records import EpisodeRecord, episode_files
from gem.registry import ENV_REGISTRY
from gem.rollout import EpisodeRequest, rollout
from tests.engine.cli.conftest import Run

ENV_ID = "game:GuessTheNumber-v0-hard"


def record(seed: int = 5, **more) -> EpisodeRecord:
    return next(rollout(make_agent("random"), [EpisodeRequest(0, ENV_ID, seed, **more)]))


@pytest.fixture
def data() -> dict:
    """A stored episode, to be changed."""
    return json.loads(episode_files.episode_line(record(), "random"))


def write(path: Path, *values: object) -> Path:
    path.write_text("".join(json.dumps(value) + "\n" for value in values), "utf-8")
    return path


def downloaded(data: dict) -> tuple[dict, list[dict]]:
    """The episode and its turns as the web application hands them out."""
    turns = [{**turn, "seat": 0, "extra": None, "created": "2026-01-02T03:04:05Z"} for turn in data["turns"]]
    more = {"id": "abcd1234", "seats": [{"number": 0, "agent": "human", "total_reward": 0.0}], "outcome": "lost"}
    more |= {"parent": None, "parent_turn": None, "created": "2026-01-02T03:04:05Z", "ended": None}
    dropped = {"turns", "agent", "index", "total_reward"}
    return {**{key: value for key, value in data.items() if key not in dropped}, **more}, turns


def test_what_is_written_is_read_back(tmp_path: Path) -> None:
    records = [record(1), record(2, wrappers=[{"name": "time_limit", "max_turns": 2}])]
    path = tmp_path / "two.jsonl"
    path.write_text("".join(episode_files.episode_line(one, "random") for one in records), "utf-8")
    stored = list(episode_files.read(path))
    assert [one.name for one in stored] == ["line 1", "line 2"]
    assert [one.agent for one in stored] == ["random", "random"]
    for one, written in zip(stored, records, strict=True):
        assert one.record.turns == written.turns
        assert one.record.first_info == written.first_info
        assert one.record.total_reward == written.total_reward
        assert list(one.record.identity.wrappers) == list(written.identity.wrappers)


def test_episodes_as_recorded_are_identical(run: Run, tmp_path: Path) -> None:
    out = tmp_path / "some.jsonl"
    run(
        "eval", "--agent", "random", "--env", ENV_ID, "--env", "game:Minesweeper-v0-easy", "--episodes", 4, "--out", out
    )
    code, printed, err = run("replay", out)
    assert (code, err) == (0, "")
    assert printed.startswith("8 of 8 episodes identical (")


def test_a_downloaded_document_is_read(run: Run, tmp_path: Path, data: dict) -> None:
    episode, turns = downloaded(data)
    path = tmp_path / "episode.json"
    path.write_text(json.dumps({**episode, "turns": turns}, indent=2), "utf-8")
    assert run("replay", path).out == f"1 of 1 episode identical ({len(turns)} turns).\n"
    assert next(episode_files.read(path)).agent == "human"


def test_downloaded_lines_are_read(run: Run, tmp_path: Path, data: dict) -> None:
    episode, turns = downloaded(data)
    path = write(tmp_path / "episode.jsonl", episode, *turns, {**episode, "id": "ef"}, *turns)
    assert run("replay", path) == (0, f"2 of 2 episodes identical ({2 * len(turns)} turns).\n", "")


@pytest.mark.parametrize(
    ("change", "said"),
    [
        (lambda d: d["turns"][1].update(reward=0.5), "Turn 2 differs in reward: the record has 0.5"),
        (lambda d: d["turns"][0].update(observation="Yes."), "Turn 1 differs in observation: the record has 'Yes.'"),
        (lambda d: d["turns"][0].update(action="\\boxed{99}"), "Turn 1 differs in observation"),
        (lambda d: d["turns"][0]["info"].update(suffix="?"), "Turn 1 differs in info['suffix']"),
        (lambda d: d.update(first_observation="Hello."), "Turn 0 differs in observation"),
        (lambda d: d.update(success=True), "differs in success: the record has True"),
        (lambda d: d.update(terminated=True, truncated=False), "differs in terminated"),
        (lambda d: (d["turns"].append(d["turns"][-1]), d.update(turn_count=None)), "over before it"),
        (lambda d: d.update(seed=6), "differs in observation"),
        (lambda d: d.update(env_version=7), "differs in env_version: the record has 7"),
        (lambda d: d.update(env_id="game:Nim-v3"), "cannot be re-executed. No environment is registered"),
        (lambda d: d.update(data_hash="ffff"), "cannot be re-executed. The episode was drawn from other data"),
        (lambda d: d.update(env_kwargs={"colour": "red"}), "cannot be re-executed. "),
        (lambda d: d.update(wrappers=[{"name": "cape"}]), "cannot be re-executed. There is no wrapper 'cape'"),
    ],
)
def test_the_first_difference_is_named(run: Run, tmp_path: Path, data: dict, change, said: str) -> None:
    good = json.loads(json.dumps(data))
    change(data)
    code, out, _ = run("replay", write(tmp_path / "changed.jsonl", data, good))
    assert code == 1
    assert said in out
    assert out.splitlines()[-1].startswith("1 of 2 episodes identical")


def test_an_episode_that_was_left_is_compared_as_far_as_it_goes(run: Run, tmp_path: Path, data: dict) -> None:
    data.update(turns=data["turns"][:2], turn_count=2, terminated=False, truncated=False, success=None)
    assert run("replay", write(tmp_path / "left.jsonl", data)) == (0, "1 of 1 episode identical (2 turns).\n", "")


@pytest.mark.parametrize(
    ("content", "sentence"),
    [
        ("", "is empty"),
        ("\n\n", "is empty"),
        ("once upon a time", "is not JSON"),
        ("[1, 2]", "episode 1 is neither an episode nor a turn"),
        ('{"hello": 1}\n', "line 1 is neither an episode nor a turn"),
        ('{"env_id": "game:X-v0"}\n', "line 1 is not an episode: env_version: field required"),
        ('{"action": "left"}\n', "line 1 is not an episode"),
        (b"\xff\xfe\x00\x00", "is not a text file in UTF-8"),
        ("[" * 100_000, "is not JSON"),
    ],
)
def test_a_file_without_episodes_is_refused(run: Run, tmp_path: Path, content: str | bytes, sentence: str) -> None:
    path = tmp_path / "bad.jsonl"
    path.write_bytes(content if isinstance(content, bytes) else content.encode())
    code, out, err = run("replay", path)
    assert (code, out) == (2, "")
    assert sentence in err
    assert len(err.splitlines()) == 1


def test_a_cut_file_is_refused_where_it_is_cut(run: Run, tmp_path: Path, data: dict) -> None:
    path = write(tmp_path / "cut.jsonl", data, data)
    whole = path.read_text("utf-8")
    path.write_text(whole[:-40], "utf-8")
    code, _, err = run("replay", path)
    assert code == 2
    assert "ends in the middle of line 2" in err
    assert "run the evaluation that wrote the file again" in err
    path.write_text(whole[:-40] + "\n", "utf-8")
    code, _, err = run("replay", path)
    assert code == 2
    assert "line 2 is not JSON" in err
    data["turns"].pop()
    code, _, err = run("replay", write(path, data))
    assert code == 2
    assert f"line 1: the episode has {data['turn_count']} turns, the file {data['turn_count'] - 1} of it." in err


def test_a_folder_is_refused(run: Run, tmp_path: Path) -> None:
    code, _, err = run("replay", tmp_path)
    assert code == 2
    assert "cannot be read" in err


def test_a_seat_that_the_episode_does_not_have_is_refused(run: Run, tmp_path: Path) -> None:
    path = tmp_path / "one.jsonl"
    line = episode_files.episode_line(record(1), "random")
    path.write_text(line.replace('"seat": 0, "index"', '"seat": 4, "index"'), "utf-8")
    ran = run("replay", path)
    assert ran.code == 2
    assert "seat 4, which it does not have" in ran.err


def test_an_environment_that_is_not_registered_is_named_once_with_what_to_do(
    run: Run, data: dict, tmp_path: Path
) -> None:
    path = write(tmp_path / "episodes.jsonl", *[{**data, "env_id": "own:Missing-v0"}] * 3, data)
    code, out, _ = run("replay", path)
    assert code == 1
    assert out.count("No environment is registered as 'own:Missing-v0'") == 1
    assert "--module NAME" in out
    assert "The same holds for 2 other episodes of own:Missing-v0." in out
    assert "1 of 4 episodes identical" in out


NOT_CHECKED = "not checked: the environment failed when they were recorded."


def test_an_environment_that_cannot_be_made_checks_nothing(run: Run, tmp_path: Path) -> None:
    gem.register("test:Gone-v0", "no_such_module:Gone")
    out = tmp_path / "gone.jsonl"
    try:
        assert run("eval", "--agent", "random", "--env", "test:Gone-v0", "--episodes", 3, "--out", out).code != 0
        code, printed, _ = run("replay", out)
    finally:
        del ENV_REGISTRY["test:Gone-v0"]
    assert (code, printed) == (1, f"0 of 3 episodes identical (0 turns).\n3 episodes {NOT_CHECKED}\n")


def test_a_failure_before_the_first_observation_is_not_called_identical(run: Run, tmp_path: Path, data: dict) -> None:
    good = dict(data)
    data.update(turns=[], turn_count=0, first_observation="", first_info={}, success=None)
    data.update(terminated=False, truncated=False, failure="boom", failed_by="environment")
    code, out, _ = run("replay", write(tmp_path / "failed.jsonl", data, data))
    assert (code, out) == (1, f"0 of 2 episodes identical (0 turns).\n2 episodes {NOT_CHECKED}\n")
    code, out, _ = run("replay", write(tmp_path / "failed.jsonl", data, good))
    assert (code, out.splitlines()[-1]) == (0, f"1 episode {NOT_CHECKED}")
    assert out.startswith("1 of 2 episodes identical")


def test_turns_before_a_failure_are_compared_but_not_called_identical(run: Run, tmp_path: Path, data: dict) -> None:
    data.update(turns=data["turns"][:2], turn_count=2, success=None, terminated=False, truncated=False)
    data.update(failure="boom", failed_by="environment")
    path = write(tmp_path / "failed.jsonl", data)
    assert run("replay", path) == (1, f"0 of 1 episode identical (0 turns).\n1 episode {NOT_CHECKED}\n", "")
    data["turns"][1]["reward"] = 0.5
    code, out, _ = run("replay", write(path, data))
    assert (code, "Turn 2 differs in reward" in out, NOT_CHECKED in out) == (1, True, False)


@pytest.mark.parametrize("failed_by", ["environment", "agent"])
@pytest.mark.parametrize("ended", [True, False])
def test_a_claimed_failure_of_an_episode_that_ends_is_reported(
    run: Run, tmp_path: Path, data: dict, failed_by: str, ended: bool
) -> None:
    data.update(failure="boom", failed_by=failed_by)
    if not ended:
        data.update(terminated=False, truncated=False, success=None)
    code, out, _ = run("replay", write(tmp_path / "boom.jsonl", data))
    last = data["turn_count"]
    said = "failure: the record has 'boom', the re-execution gives 'the end of the episode'" if ended else "truncated"
    assert code == 1
    assert f"Turn {last} differs in {said}" in out
    assert out.splitlines()[-1] == "0 of 1 episode identical (0 turns)."


def test_the_first_observation_before_an_agent_failed_is_compared(run: Run, tmp_path: Path, data: dict) -> None:
    data.update(turns=[], turn_count=0, success=None, terminated=False, truncated=False)
    data.update(failure="No answer.", failed_by="agent")
    path = write(tmp_path / "unanswered.jsonl", data)
    assert run("replay", path) == (0, "1 of 1 episode identical (0 turns).\n", "")
    for text in ("Hello.", ""):
        code, out, _ = run("replay", write(path, {**data, "first_observation": text, "first_info": {}}))
        assert (code, "Turn 0 differs in observation" in out) == (1, True)
