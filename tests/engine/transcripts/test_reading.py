"""Files of other programs, as transcripts."""

from __future__ import annotations

import json
import zipfile
from pathlib import Path
from typing import Any

import pytest

from gem.agents import make_agent
from gem.errors import InvalidData
from gem.records.episode_files import episode_line
from gem.rollout import EpisodeRequest, rollout
from gem.transcripts import read

HEADER = {
    "version": 2,
    "status": "success",
    "eval": {"task": "sums", "model": "mock", "eval_id": "e1"},
    "results": {"scores": [{"name": "includes", "metrics": {"accuracy": {"name": "accuracy", "value": 0.5}}}]},
}
SAMPLE: dict[str, Any] = {
    "id": "a",
    "epoch": 2,
    "input": "What?",
    "messages": [
        {"role": "user", "content": "attachment://long"},
        {"role": "assistant", "content": [{"type": "reasoning", "reasoning": "Hm."}, {"type": "text", "text": "4"}]},
    ],
    "attachments": {"long": "What is 2+2?"},
    "scores": {"includes": {"value": "C"}},
}


def archive(path: Path, **files: Any) -> Path:
    """A log of Inspect, packed with deflate."""
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as out:
        for name, value in files.items():
            out.writestr(name.replace("__", "/") + ".json", value if isinstance(value, str) else json.dumps(value))
    return path


def test_a_log_of_inspect_is_read_from_its_archive_and_as_a_document(tmp_path: Path) -> None:
    packed = archive(tmp_path / "log.eval", header=HEADER, samples__a_epoch_2=SAMPLE, summaries=[])
    document = tmp_path / "log.json"
    document.write_text(json.dumps(HEADER | {"samples": [SAMPLE]}))
    for path in (packed, document):
        header, transcripts = read(path)
        assert (header.source, header.name, header.model, header.key) == ("inspect", "sums", "mock", "e1")
        assert header.metrics == {"includes/accuracy": 0.5}
        [found] = transcripts
        assert [(message.role, message.content) for message in found.messages] == [
            ("user", "What is 2+2?"),
            ("assistant", "4"),
        ]
        assert found.messages[1].reasoning == "Hm."
        assert (found.key, found.reward, found.solved) == ("a/2", 1.0, True)


def test_episodes_of_the_engine_are_conversations(tmp_path: Path) -> None:
    [record] = rollout(make_agent("random"), [EpisodeRequest(0, "game:GuessTheNumber-v0-easy", 3)])
    path = tmp_path / "episodes.jsonl"
    path.write_text(episode_line(record, "random"))
    header, transcripts = read(path)
    [found] = transcripts
    assert (header.source, header.model) == ("gem", "random")
    assert found.messages[1].content == record.turns[0].action
    assert (found.reward, found.solved) == (pytest.approx(record.total_reward), record.success)


def test_a_game_of_two_is_told_as_the_agents_seat_has_read_and_earned_it(tmp_path: Path) -> None:
    requests = [EpisodeRequest(number, "duel:KuhnPoker-v0", number, seat=number % 2) for number in range(8)]
    records = sorted(
        rollout(make_agent("expert"), requests, opponent=make_agent("random")), key=lambda record: record.index
    )
    path = tmp_path / "episodes.jsonl"
    path.write_text("".join(f"{episode_line(record, 'expert')}\n" for record in records))
    for record, found in zip(records, read(path)[1], strict=True):
        assert found.reward == record.total_reward
        own = [turn.action for turn in record.turns if turn.seat == record.seat]
        assert [message.content for message in found.messages if message.role == "assistant"] == own
        assert f"You are the {('first', 'second')[record.seat]} player" in found.messages[0].content
    assert any(record.total_reward != sum(turn.reward for turn in record.turns) for record in records)


def test_rows_of_verifiers_have_prompt_and_completion(tmp_path: Path) -> None:
    path = tmp_path / "results.jsonl"
    path.write_text(json.dumps({"example_id": 0, "prompt": "Hi.", "completion": "Ho.", "reward": 1}) + "\n")
    header, transcripts = read(path)
    [found] = transcripts
    assert header.source == "verifiers"
    assert [(message.role, message.content) for message in found.messages] == [("user", "Hi."), ("assistant", "Ho.")]


@pytest.mark.parametrize(
    "row", [{"messages": [{"role": "user", "content": "Hi."}]}, {"prompt": "Hi.", "completion": "Ho.", "reward": 1}]
)
def test_rows_of_any_other_program_are_not_called_verifiers(tmp_path: Path, row: dict[str, Any]) -> None:
    path = tmp_path / "rows.jsonl"
    path.write_text(json.dumps(row) + "\n")
    header, transcripts = read(path)
    assert (header.source, header.name) == ("file", "")  # the file does not say what the evaluation is called
    assert next(transcripts).messages[0].content == "Hi."


@pytest.mark.parametrize("at", [0, 1])
def test_a_row_in_which_nothing_is_said_is_refused_by_its_number(tmp_path: Path, at: int) -> None:
    rows = [{"prompt": "Hi.", "completion": "Ho."}] * at + [{"step": 1, "loss": 0.5}]
    path = tmp_path / "metrics.jsonl"
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    with pytest.raises(InvalidData, match=f"metrics.jsonl, row {at + 1} is no transcript"):
        list(read(path)[1])


@pytest.mark.parametrize(
    "content", [b"", b"nothing", b"[1]\n", b"3\n", b"PK\x03\x04", b'{"version": 2, "eval": 3}', b"\xff\xfe\n"]
)
def test_another_file_is_refused(tmp_path: Path, content: bytes) -> None:
    path = tmp_path / "file"
    path.write_bytes(content)
    with pytest.raises(InvalidData):
        list(read(path)[1])


def test_an_archive_without_a_header_or_with_a_damaged_sample_is_refused(tmp_path: Path) -> None:
    with pytest.raises(InvalidData, match="without a header"):
        read(archive(tmp_path / "a.eval", samples__a=SAMPLE))
    with pytest.raises(InvalidData, match="not JSON"):
        list(read(archive(tmp_path / "b.eval", header=HEADER, samples__a="{"))[1])
