"""`gemweb eval --challenge` and `gemweb push`: what is played, and what is sent of it."""

from __future__ import annotations

import gzip
import json
from pathlib import Path

import pytest

from gem.cli import main
from gem.cli.server.boards import push
from gem.errors import InvalidData, UsageError
from gem.records import episode_files
from gem.verification import challenges
from gem.verification.challenges import Challenge, ChallengedEnvironment

ENV_IDS = ("game:GuessTheNumber-v0-easy", "game:Hangman-v0-easy")
SEEDS = ((2**53 - 1, 7), (11,))


def challenge(**changes: object) -> Challenge:
    environments = tuple(
        ChallengedEnvironment(env_id=env_id, version=1, seeds=seeds)
        for env_id, seeds in zip(ENV_IDS, SEEDS, strict=True)
    )
    fields = {"id": "c1", "benchmark": "games-easy", "version": 1, "agent": "mine", "deadline": "2030-01-01T00:00:00Z"}
    return Challenge.model_validate({"site": "https://s.example", **fields, "environments": environments, **changes})


def write(folder: Path, document: Challenge) -> Path:
    file = folder / "challenge.json"
    file.write_text(document.model_dump_json(), "utf-8")
    return file


def test_a_challenge_plans_every_seed_once() -> None:
    document = challenge()
    planned = [document.planned(index) for index in range(document.episodes)]
    assert [(each.env_id, each.seed) for each in planned if each] == [
        (ENV_IDS[0], 2**53 - 1),
        (ENV_IDS[0], 7),
        (ENV_IDS[1], 11),
    ]
    assert document.planned(-1) is None
    assert document.planned(3) is None
    assert challenges.read(document.model_dump_json()) == document
    with pytest.raises(InvalidData, match="no challenge: site: field required"):
        challenges.read('{"format": "gemweb-challenge-1"}')


def test_what_is_played_is_what_the_site_accepts(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    document = challenge()
    file, out = write(tmp_path, document), tmp_path / "episodes.jsonl"
    assert main(["eval", "--challenge", str(file), "--agent", "random", "--out", str(out)]) == 0
    found = list(challenges.check(episode_files.read(out), document.planned))
    assert [finding.is_same for _, finding in found] == [True] * 3
    seen = [(stored.record.identity.env_id, stored.record.index) for stored, _ in found]
    assert challenges.missing(document.planned, document.episodes, seen) == ""
    assert "1 of the 3 episodes are missing" in challenges.missing(document.planned, document.episodes, seen[:2])
    again = list(challenges.check(episode_files.read(out), document.planned, seen[:1]))
    assert sum(finding.field == "duplicate" for _, finding in again) == 1
    assert main(["eval", "--challenge", str(file), "--agent", "random", "--out", str(out)]) == 0
    assert "3 of 3 episodes are in" in capsys.readouterr().err


def test_only_what_can_be_checked_is_kept_of_a_record(tmp_path: Path) -> None:
    document, out = challenge(), tmp_path / "episodes.jsonl"
    main(["eval", "--challenge", str(write(tmp_path, document)), "--agent", "random", "--out", str(out)])
    stored = next(iter(episode_files.read(out)))
    turn = stored.record.turns[0]
    turn.info["sandbox"] = {"level": "mine"}
    object.__setattr__(
        turn, "extra", {"tokens_in": "many", "tokens_out": 3, "seconds": float("nan"), "note": "n", "x": []}
    )
    (kept, finding) = next(iter(challenges.check([stored], document.planned)))
    assert finding.is_same
    assert kept.record.turns[0].extra == {"tokens_out": 3, "note": "n"}
    assert "sandbox" not in kept.record.turns[0].info


@pytest.mark.parametrize(
    ("options", "said"),
    [
        (["--seed", "3"], "decides seed"),
        (["--max-turns", "3"], "decides max_turns"),
        (["--tool", "python"], "decides tools"),
    ],
)
def test_what_a_challenge_decides_is_no_choice(
    options: list[str], said: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file = write(tmp_path, challenge())
    assert main(["eval", "--challenge", str(file), "--agent", "random", *options]) == 2
    assert said in capsys.readouterr().err


def test_a_challenge_of_another_version_is_not_played(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    other = ChallengedEnvironment(env_id=ENV_IDS[0], version=99, seeds=(1,))
    assert (
        main(["eval", "--challenge", str(write(tmp_path, challenge(environments=(other,)))), "--agent", "random"]) == 2
    )
    assert "version 99" in capsys.readouterr().err


def test_push_sends_the_last_line_of_every_episode(tmp_path: Path) -> None:
    first, second = tmp_path / "a.jsonl", tmp_path / "b.jsonl"
    first.write_text('{"index": 0, "n": 1}\n{"index": 1, "n": 2}\n', "utf-8")
    second.write_text('{"index": 0, "n": 3}', "utf-8")
    packed = tmp_path / "packed.gz"
    assert push._pack([first, second], packed) == 2
    lines = [json.loads(line) for line in gzip.decompress(packed.read_bytes()).splitlines()]
    assert lines == [{"index": 1, "n": 2}, {"index": 0, "n": 3}]
    second.write_text("[]", "utf-8")
    with pytest.raises(UsageError, match=r"b\.jsonl, line 1 is not an episode"):
        push._pack([first, second], packed)


def test_a_stored_line_is_read_alone() -> None:
    with pytest.raises(episode_files.UnreadableEpisode, match="line 7 is neither"):
        episode_files.parse_line(b"{}", "line 7")
