"""What other programs report: stored once, readable as replays, never ranked, and for whom its owner wants it."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from django.core.files.uploadedfile import SimpleUploadedFile
from django.test import Client

from apps.accounts.models import User
from apps.reported import limits, reading_files, recording
from apps.reported.models import ReportedEpisode, ReportedEvaluation, folder
from apps.reported.recording import ReportRefused
from gem.errors import InvalidData
from gem.sandbox.process_confinement import StartCommand
from gem.transcripts import of_sample
from gem.transcripts.transcript import Message, Transcript

SAID = [
    {"role": "system", "content": "You guess."},
    {"role": "user", "content": "A number from 1 to 9."},
    {"role": "assistant", "content": "5", "reasoning_content": "The middle."},
    {"role": "user", "content": "Lower. <b>"},
    {"role": "assistant", "content": "2", "tool_calls": [{"function": {"name": "guess"}}]},
    {"role": "tool", "content": "Right."},
]


def sample(key: str = "a", **more: Any) -> dict[str, Any]:
    """A row as verifiers sends it."""
    return {"sample_id": key, "example_id": 3, "completion": SAID, "reward": 0.5, "metrics": {"turns": 2}, **more}


@pytest.fixture
def row(ada: User) -> ReportedEvaluation:
    """An evaluation with one episode."""
    found = recording.begin(ada, "guesses", model="qwen", source=ReportedEvaluation.Source.VERIFIERS)
    recording.add(found, [of_sample(sample(), "guess-env")])
    return found


class Prime:
    """Sends what verifiers' client sends."""

    def __init__(self, secret: str) -> None:
        self.headers = {"Authorization": f"Bearer {secret}"} if secret else {}
        self.client = Client(raise_request_exception=False)

    def send(self, method: str, path: str, body: Any = None) -> Any:
        """A request; bytes are sent as they are."""
        content = body if isinstance(body, bytes) else json.dumps(body or {}).encode()
        address = f"/prime/api/v1/{path}"
        return self.client.generic(method, address, content, content_type="application/json", headers=self.headers)


@pytest.fixture
def prime(ada: User) -> Prime:
    """verifiers' client with a token of ada."""
    from apps.api import operations

    return Prime(operations.make_token(ada, "verifiers", ["submit"])[1])


def test_an_upload_of_verifiers_becomes_an_evaluation_with_transcripts(prime: Prime, client: Client) -> None:
    resolved = prime.send("POST", "environmentshub/resolve", {"name": "wordle"}).json()["data"]["id"]
    made = prime.send(
        "POST",
        "evaluations/",
        {"name": "run", "environments": [{"id": resolved}], "model_name": "qwen", "metadata": {"n": 1}},
    ).json()
    address = f"evaluations/{made['evaluation_id']}"
    for _ in range(2):  # an answer that was lost
        answer = prime.send(
            "POST", f"{address}/samples", {"samples": [sample(), sample("b", reward=1.0, error={"x": 1})]}
        )
        assert answer.status_code == 200
    assert prime.send("POST", f"{address}/finalize", {"metrics": {"reward": 0.75}}).status_code == 200
    row = ReportedEvaluation.objects.get()
    assert (row.episodes, row.mean_reward, row.errors, row.state) == (2, 0.75, 1, "done")
    assert (row.metrics, row.config, row.environments) == ({"reward": 0.75}, {"n": 1}, ["wordle"])
    page = client.get(row.get_absolute_url()).content.decode()
    assert "This site has not checked them" in page
    assert "qwen" in page


def test_a_run_that_fails_says_why_and_is_only_its_owners(prime: Prime) -> None:
    from apps.api import operations

    made = prime.send("POST", "evaluations/", {"name": "run"}).json()["evaluation_id"]
    _, secret = operations.make_token(User.objects.create_user("eve"), "other", ["submit"])
    assert Prime(secret).send("PUT", f"evaluations/{made}", {"status": "FAILED"}).status_code == 404
    assert Prime("").send("PUT", f"evaluations/{made}", {"status": "FAILED"}).status_code == 401
    prime.send("PUT", f"evaluations/{made}", {"status": "FAILED", "error_message": "Out of memory."})
    row = ReportedEvaluation.objects.get()
    assert (row.state, row.reason) == ("failed", "Out of memory.")


def test_no_body_of_verifiers_is_an_error_of_the_site(prime: Prime, client: Client) -> None:
    made = prime.send("POST", "evaluations/", {"name": "\0\ud800"}).json()["evaluation_id"]
    odd = [
        {"sample_id": "\0", "completion": 3},
        {"completion": [3, {"role": 1, "content": {"a": [1]}}]},
        {"reward": "x"},
    ]
    odd += [{"trajectory": [{"messages": "no"}], "reward": 10**400, "info": {"\ud800": "\0"}, "error": {"a": "\ud800"}}]
    for body in (b"", b"[]", b"{", b"[" * 100_000, {"samples": 3}, {"samples": [3]}, {"samples": odd}):
        for path in ("environmentshub/resolve", "evaluations/", f"evaluations/{made}/samples"):
            assert prime.send("POST", path, body).status_code < 500, body
    for number in ReportedEpisode.objects.filter(evaluation=made).values_list("number", flat=True):
        assert client.get(f"/reported/{made}/{number}/").status_code == 200


def test_a_transcript_is_read_in_the_player_of_replays(row: ReportedEvaluation, client: Client) -> None:
    page = client.get(f"{row.get_absolute_url()}1/").content.decode()
    assert "js/player.js" in page
    assert 'data-turns="2"' in page
    assert "Right." in page
    frames = client.get(f"{row.get_absolute_url()}1/frames/0/").content.decode()
    assert frames.count("data-frame=") == 3
    assert "The middle." in frames
    assert "Lower. &lt;b&gt;" in frames
    assert client.get(f"{row.get_absolute_url()}1/turns/1/").status_code == 200
    assert client.get(f"{row.get_absolute_url()}1/turns/3/").status_code == 404
    assert client.get(f"{row.get_absolute_url()}1/frames/9/").status_code == 404
    assert client.get(f"{row.get_absolute_url()}99999999999/").status_code == 404


def test_what_is_private_is_not_found(row: ReportedEvaluation, as_ada: Client) -> None:
    as_ada.post(f"{row.get_absolute_url()}visibility/", {"visibility": "private"})
    guest = Client()
    for path in ("", "1/", "1/turns/0/", "1/frames/0/"):
        assert guest.get(f"{row.get_absolute_url()}{path}").status_code == 404
        assert as_ada.get(f"{row.get_absolute_url()}{path}").status_code == 200
    assert "guesses" not in guest.get("/reported/").content.decode()
    as_ada.post(f"{row.get_absolute_url()}delete/")
    assert not ReportedEpisode.objects.exists()


def test_one_person_may_report_so_much(ada: User, row: ReportedEvaluation, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(limits, "MAX_EPISODES", 2)
    with pytest.raises(ReportRefused, match="at most 2 episodes"):
        recording.add(row, [of_sample(sample(str(number))) for number in range(3)])
    row.refresh_from_db()
    assert row.episodes == 1


# ---------------------------------------------------------------- files


@pytest.fixture(autouse=True)
def _own_folder(settings: Any, tmp_path: Path) -> None:
    settings.RUNS_DIR = str(tmp_path)


def read(owner: User, content: bytes, name: str = "rows.jsonl") -> ReportedEvaluation:
    """The evaluation of a file that a worker has read."""
    made = reading_files.accept(owner, name, SimpleUploadedFile(name, content))
    assert made.state == "waiting"
    reading_files.read(made.pk)
    assert list(folder().glob("*.sent")) == []
    return ReportedEvaluation.objects.get(pk=made.pk)


def test_a_file_is_read_in_a_confined_process(ada: User) -> None:
    rows = b"\n".join(json.dumps(sample(str(number), success=number > 0)).encode() for number in range(3))
    found = read(ada, rows)
    assert (found.state, found.source, found.episodes) == ("done", "verifiers", 3)
    assert found.share_solved == pytest.approx(2 / 3)


@pytest.mark.parametrize("content", [b"PK\x03\x04 nothing", b"", b"{", b'{"step": 1, "loss": 0.5}'])
def test_a_file_that_is_none_is_refused_with_a_sentence(ada: User, content: bytes) -> None:
    found = read(ada, content, "mine.jsonl")
    assert (found.state, found.episodes) == ("refused", 0)
    assert found.reason.startswith("mine.jsonl")  # not the name under which the site keeps it
    assert found.reason.endswith(".")


def test_what_a_file_calls_itself_is_stored_without_hidden_characters(ada: User) -> None:
    about = {"task": "gue\x00ss\u202e", "model": "qw\u200ben", "eval_id": "a\x00"}
    log = {"version": 2, "eval": about, "samples": []}
    found = read(ada, json.dumps(log).encode(), "log.json")
    assert (found.state, found.name, found.model, found.key) == ("done", "gue\u2400ss\ufffd", "qw\ufffden", "a\u2400")


def test_a_file_whose_process_was_killed_is_not_taken_for_whole(ada: User, monkeypatch: pytest.MonkeyPatch) -> None:
    header, episode = '{"source": "verifiers"}', '{"key": "a", "messages": []}'
    program = f"echo '{header}'; echo '{episode}'; kill -9 $$"
    start = StartCommand(["/bin/sh", "-c", program], {})
    monkeypatch.setattr(reading_files.policy_confinement, "command", lambda *_: start)
    found = read(ada, b"{}")
    assert (found.state, found.episodes) == ("refused", 0)
    assert "more memory or time" in found.reason


def test_a_worker_that_was_replaced_ends_nothing(ada: User, monkeypatch: pytest.MonkeyPatch) -> None:
    def stall(row: ReportedEvaluation) -> None:
        ReportedEvaluation.objects.filter(pk=row.pk).update(attempt=2)  # another worker reads it by now
        raise InvalidData("It stalled.")

    monkeypatch.setattr(reading_files, "_store", stall)
    found = reading_files.accept(ada, "rows", SimpleUploadedFile("rows", b"{}"))
    reading_files.read(found.pk)
    found.refresh_from_db()
    assert (found.state, found.reason) == ("reading", "")
    assert found.path.exists()


def test_a_file_keeps_the_name_that_it_came_with(ada: User) -> None:
    rows = {"verifiers": sample(), "file": {"messages": SAID}}
    for source, row in rows.items():
        found = read(ada, json.dumps(row).encode(), "mine.jsonl")
        assert (found.state, found.source, found.name) == ("done", source, "mine.jsonl")


def test_a_worker_that_died_is_followed_by_another_and_nothing_is_stored_twice(
    ada: User, monkeypatch: pytest.MonkeyPatch
) -> None:
    made = reading_files.accept(ada, "rows", SimpleUploadedFile("rows", json.dumps(sample()).encode()))
    told = [Transcript(key="a", messages=[Message(role="user", content="Hi.")])]
    with monkeypatch.context() as patched:
        patched.setattr(reading_files, "_converted", lambda _: iter(told))
        reading_files._store(made)  # and then it died
    ReportedEvaluation.objects.filter(pk=made.pk).update(state="reading", begun=made.created - reading_files.LEASE)
    ReportedEvaluation.objects.filter(pk=made.pk).update(begun=made.created - 2 * reading_files.LEASE)
    reading_files.wake_workers()
    reading_files.read(made.pk)
    made.refresh_from_db()
    assert (made.state, made.episodes) == ("done", 1)


def test_the_form_and_the_api_take_files(as_ada: Client, ada: User, program_of: Callable[..., Any]) -> None:
    answer = as_ada.post("/reported/new/", {"file": SimpleUploadedFile("log.json", b"{}")})
    assert answer.status_code == 302
    program = program_of(ada)
    body = {"file": SimpleUploadedFile("more.jsonl", b"{}"), "name": "more", "visibility": "private"}
    sent = program.client.post("/api/v1/evaluations-elsewhere", body, headers=program.headers)
    assert (sent.status_code, sent.json()["state"], sent.json()["visibility"]) == (202, "waiting", "private")
    assert program.get("evaluations-elsewhere?mine=true").json()["items"][0]["name"] == "more"


def test_programs_read_transcripts(row: ReportedEvaluation, ada: User, program_of: Callable[..., Any]) -> None:
    [episode] = program_of(ada).get(f"evaluations-elsewhere/{row.pk}/episodes").json()["items"]
    assert [message["role"] for message in episode["messages"]] == [said["role"] for said in SAID]
    assert (episode["reward"], episode["example"], episode["env_id"]) == (0.5, "3", "guess-env")


def test_names_of_a_report_have_no_hidden_characters(prime: Prime) -> None:
    sent = {"name": "\u202erun\x1b[2J", "model_name": "m\x07", "environments": [{"id": "e\u200b"}]}
    row = ReportedEvaluation.objects.get(pk=prime.send("POST", "evaluations/", sent).json()["evaluation_id"])
    assert (row.name, row.model, row.environments) == ("\ufffdrun\ufffd[2J", "m\ufffd", ["e\ufffd"])
