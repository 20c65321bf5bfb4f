"""trackio's protocol: what its client sends becomes one training, once, whoever may send it."""

from __future__ import annotations

import pytest
from django.test import Client

from apps.accounts.models import User
from apps.curves.models import Entry, OutsideTraining, Transcript
from apps.curves.reading import columns
from tests.apps.curves.senders import Trackio, entry


def test_a_client_is_told_the_version_of_the_protocol(client: Client, ada: User) -> None:
    assert client.get("/trackio/ada/version").json()["api_version"] == 1


def test_entries_become_a_training_with_its_settings(trackio: Trackio) -> None:
    first = entry(0, loss=2.5) | {"config": {"lr": 0.1, "_Username": "me", "_Group": "sweep"}}
    training = trackio.log(first, entry(1, loss=1.5, reward=0.25))
    assert (training.project, training.name, training.group) == ("wordle", "first", "sweep")
    assert training.config == {"lr": 0.1}
    assert training.latest == {"loss": 1.5, "reward": 0.25}
    found = columns(training, ["loss", "reward"])
    assert (found["update"], found["m:loss"], found["m:reward"]) == ([0, 1], [2.5, 1.5], [None, 0.25])


def test_what_is_sent_again_is_stored_once(trackio: Trackio) -> None:
    sent = [entry(step, loss=step) for step in range(5)]
    trackio.log(*sent)
    training = trackio.log(*sent, entry(5, loss=5))
    assert training.entries == Entry.objects.count() == 6
    assert training.last_step == 5


def test_entries_may_come_in_any_order_and_a_later_one_corrects_its_step(trackio: Trackio) -> None:
    training = trackio.log(entry(3, loss=3), entry(1, loss=1))
    training = trackio.log(entry(2, loss=2), entry(3, loss=30))
    found = columns(training, ["loss"])
    assert (found["update"], found["m:loss"]) == ([1, 2, 3], [1, 2, 30])


def test_an_entry_without_a_step_follows_the_last_one(trackio: Trackio) -> None:
    training = trackio.log(entry(None, loss=1), entry(None, loss=2), entry(7, loss=3), entry(None, loss=4))
    assert columns(training, ["loss"])["update"] == [0, 1, 7, 8]


def test_a_client_finds_the_run_that_it_goes_on_with(trackio: Trackio) -> None:
    trackio.log(entry(41, loss=1))
    [run] = trackio.call("get_runs_for_project", project="wordle").json()["data"]
    assert (run["id"], run["name"]) == ("id-first", "first")
    summary = trackio.call("get_run_summary", project="wordle", run_id=run["id"]).json()["data"]
    assert summary["last_step"] == 41
    trackio.log(entry(42, loss=0.5))
    assert OutsideTraining.objects.count() == 1


def test_numbers_that_are_none_are_left_out_and_said(trackio: Trackio) -> None:
    training = trackio.log(entry(1, loss="NaN", reward=1, text="hello", image={"_type": "trackio.image"}))
    assert training.latest == {"reward": 1.0}
    assert training.notes["loss"] == "loss was not a finite number (nan) at step 1."
    assert {"texts", "media"} <= set(training.notes)


def test_conversations_and_tables_are_kept_with_their_step(trackio: Trackio, client: Client) -> None:
    messages = [{"role": "user", "content": "Guess."}, {"role": "assistant", "content": "<b>5</b>\0"}]
    trace = {"_type": "trackio.trace", "messages": messages, "metadata": {"reward": 1}, "spans": []}
    table = {"_type": "trackio.table", "_value": [{"prompt": "2+2", "completion": "4"}]}
    training = trackio.log(entry(3, rollout=trace, completions=table, loss=1))
    assert set(Transcript.objects.values_list("kind", "step")) == {("trace", 3), ("table", 3)}
    page = client.get(f"{training.get_absolute_url()}steps/5/").content.decode()
    assert "of step 3" in page
    assert "&lt;b&gt;5&lt;/b&gt;" in page
    assert "2+2" in page


def test_alerts_and_files_are_noted(trackio: Trackio) -> None:
    training = trackio.log(entry(1, loss=1))
    alert = entry(9) | {"title": "Loss", "text": "It rises.", "level": "WARN", "alert_id": "a"}
    assert trackio.call("bulk_alert", alerts=[alert]).status_code == 200
    assert trackio.call("bulk_upload_media", uploads=[entry(1)]).status_code == 200
    training.refresh_from_db()
    assert training.notes["alert a"] == "warn: Loss: It rises. at step 9"
    assert "only numbers and transcripts are stored" in training.notes["media"]


@pytest.mark.parametrize(
    ("scopes", "address", "status"),
    [(("read",), "ada", 403), (("play",), "ada", 403), (("submit",), "eve", 403), (("submit",), "ada", 200)],
)
def test_a_token_needs_the_scope_and_the_address_of_its_owner(
    ada: User, scopes: tuple[str, ...], address: str, status: int
) -> None:
    User.objects.create_user("eve")
    answer = Trackio("ada", scopes, address).call("bulk_log", logs=[entry(1, loss=1)])
    assert answer.status_code == status
    assert OutsideTraining.objects.count() == (status == 200)


def test_without_a_valid_token_nothing_is_stored(trackio: Trackio, as_ada: Client) -> None:
    for secret in ("", "gw_wrong"):
        trackio.secret = secret
        assert trackio.call("bulk_log", logs=[entry(1, loss=1)]).status_code == 401
    answer = as_ada.post("/trackio/ada/api/bulk_log", "{}", content_type="application/json")
    assert answer.status_code == 401  # cookies do not count
    assert not OutsideTraining.objects.exists()


HOSTILE = [
    b"", b"[]", b"{", b'{"kwargs": 3}', b'{"kwargs": {"logs": 3}}', b'{"kwargs": {"logs": [3]}}', b"[" * 100_000,
    b'{"kwargs": {"logs": [{"project": "", "run": ""}]}}',
    b'{"kwargs": {"logs": [{"project": "p\\u0000", "run": "\\ud800", "metrics": {"\\u0000": 1e400}, "step": 1}]}}',
    b'{"kwargs": {"logs": [{"project": "p", "run": "r", "step": 1' + b"0" * 400 + b', "metrics": {"a": 1}}]}}',
    b'{"kwargs": {"logs": [{"project": "p", "run": "r", "step": true, "metrics": {"a": 1' + b"0" * 400 + b"}}]}}",
    b'{"kwargs": {"logs": [{"project": "p", "run": "r", "metrics": {"a": {"b": {"c": {"d": {"e": {"f": 1}}}}}}}]}}',
    b'{"kwargs": {"logs": [{"project": "p", "run": "r", "metrics": [], "config": {"_Group": 3, "x": [[[]]]}}]}}',
    b'{"kwargs": {"logs": [{"project": "' + b"p" * 500 + b'", "run": "r", "metrics": {}}]}}',
    b'{"kwargs": {"logs": [{"project": "p", "run": "r", "metrics": {"t": {"_type": "trackio.trace", "messages": '
    b'[3, {"role": 4, "content": [[]], "tool_calls": {"\\ud800": "\\u0000"}}]}}}]}}',
    b'{"kwargs": {"logs": [{"project": "p", "run": "r", "metrics": {"t": {"_type": "trackio.table", '
    b'"_value": [1]}}}]}}',
]  # fmt: skip


def test_no_body_is_an_error_of_the_site(trackio: Trackio) -> None:
    for name in ("bulk_log", "bulk_log_system", "bulk_alert", "get_run_summary", "get_runs_for_project", "nothing"):
        for body in HOSTILE:
            assert trackio.post(name, body).status_code < 500, (name, body[:80])
    for training in OutsideTraining.objects.all():
        assert trackio.client.get(training.get_absolute_url()).status_code == 200
        assert trackio.client.get(f"{training.get_absolute_url()}steps/1/").status_code == 200
