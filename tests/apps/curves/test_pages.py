"""Pages of trainings elsewhere, who sees them, and comparisons with our own."""

from __future__ import annotations

import pytest
from django.test import Client

from apps.accounts.models import User
from apps.curves import limits, operations, recording
from apps.curves.entries import Sent
from apps.curves.models import Entry, OutsideTraining
from apps.curves.recording import CurvesRefused
from apps.trainings import operations as trainings
from apps.trainings import records
from apps.visibility import Visibility
from tests.apps.trainings.trainings import claimed, row, small


def sent(owner: User, key: str, values: list[float], metric: str = "train/reward", **more: object) -> OutsideTraining:
    """A training elsewhere with these values of a metric."""
    training = recording.begin(owner, "wordle", key, **more)  # type: ignore[arg-type]
    found = recording.record(training, [Sent({metric: value}, step) for step, value in enumerate(values)])
    return found.training


def test_the_page_shows_curves_settings_and_that_nothing_is_checked(client: Client, ada: User) -> None:
    training = sent(ada, "first", [0.1, 0.4], config={"lr": "<script>"})
    page = client.get(training.get_absolute_url()).content.decode()
    assert 'data-curve="m:train/reward"' in page
    assert "this site has not checked it" in page.replace("\n", " ").replace("        ", "")
    assert "<script>\\" not in page
    assert "&lt;script&gt;" in page
    points = client.get(f"{training.get_absolute_url()}curves.json").json()
    assert points["m:train/reward"] == [0.1, 0.4]
    assert points["update"] == [0, 1]
    renamed = client.get(f"{training.get_absolute_url()}curves.json?metric=train/reward&as=return&after=1").json()
    assert renamed["return"] == [0.4]
    assert client.get("/curves/").content.decode().count("first") == 1


def test_a_private_training_is_not_found_by_others(ada: User, as_ada: Client) -> None:
    guest = Client()
    training = sent(ada, "hidden-one", [1.0], visibility="private")
    assert guest.get(training.get_absolute_url()).status_code == 404
    assert "hidden-one" not in guest.get("/curves/").content.decode()
    assert "hidden-one" in as_ada.get("/curves/").content.decode()
    compared = guest.get(f"/jobs/compare/?outside={training.pk}").content.decode()
    assert "hidden-one" not in compared
    as_ada.post(f"{training.get_absolute_url()}visibility/", {"visibility": "public"})
    assert guest.get(training.get_absolute_url()).status_code == 200


def test_ours_and_others_are_compared_by_what_their_trainers_call_the_same(client: Client, ada: User) -> None:
    job = trainings.submit(ada, small(), name="ours")
    records.record_points(claimed(job), [row(1, 0.5), row(2, 0.9)])
    outside = sent(ada, "theirs", [0.2, 0.4], "rewards/mean")
    address = f"/jobs/compare/?job={job.pk}&outside={outside.pk}&metric=return"
    page = client.get(address).content.decode()
    assert "Comparison of 2 trainings" in page
    assert "rewards/mean" in page
    assert f"{outside.get_absolute_url()}curves.json?metric=rewards%2Fmean\\u0026as=return" in page
    assert "their curves are reported" in page


def test_seeds_elsewhere_are_one_curve_with_an_interval(client: Client, ada: User) -> None:
    made = [sent(ada, f"seed {seed}", [seed / 10], "success", config={"seed": seed, "lr": 1}) for seed in (4, 5, 6)]
    other = sent(ada, "other", [0.1], "success", config={"seed": 1, "lr": 2})
    for training in (*made, other):
        operations.end(training, "finished")
    query = "&".join(f"outside={training.pk}" for training in (*made, other))
    page = client.get(f"/jobs/compare/?{query}").content.decode()
    assert "seed 4 and others" in page
    assert "One seed shows no spread" in page
    assert "25.2\u00a0% to 74.8\u00a0%" in page


def test_its_owner_says_which_metric_is_compared(ada: User, as_ada: Client) -> None:
    guest = Client()
    training = sent(ada, "own", [0.3], "my_score")
    address = f"{training.get_absolute_url()}roles/"
    assert guest.post(address, {"success": "my_score"}).status_code == 403
    as_ada.post(address, {"success": "nothing"})
    training.refresh_from_db()
    assert training.roles == {}
    as_ada.post(address, {"success": "my_score"})
    assert "30.0\u00a0%" in as_ada.get(f"/jobs/compare/?outside={training.pk}").content.decode()


def test_a_training_that_goes_on_is_open_again(ada: User) -> None:
    training = sent(ada, "resumed", [1.0])
    operations.end(training, "crashed", "Killed.")
    training.refresh_from_db()
    assert (training.state, training.reason, training.over) == ("crashed", "Killed.", True)
    again = recording.record(training, [Sent({"loss": 1.0}, 9)]).training
    assert (again.state, again.reason) == ("running", "")
    with pytest.raises(CurvesRefused, match="finished or as crashed"):
        operations.end(again, "running")


def test_deleting_one_deletes_all_that_it_has_sent(ada: User, as_ada: Client) -> None:
    guest = Client()
    training = sent(ada, "first", [1.0, 2.0])
    assert guest.post(f"{training.get_absolute_url()}delete/").status_code == 403
    as_ada.post(f"{training.get_absolute_url()}delete/")
    assert not OutsideTraining.objects.exists()
    assert not Entry.objects.exists()


def test_a_person_and_a_training_may_send_so_much(
    ada: User, settings: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch
) -> None:
    settings.OUTSIDE_TRAININGS_PER_USER = 1  # type: ignore[attr-defined]
    monkeypatch.setattr(limits, "MAX_ENTRIES", 3)
    training = sent(ada, "first", [1.0, 2.0])
    with pytest.raises(CurvesRefused, match="at most 3 entries") as full:
        recording.record(training, [Sent({"loss": step}, step) for step in range(5, 9)])
    assert full.value.status == 413
    with pytest.raises(CurvesRefused, match="trainings that run elsewhere") as used_up:
        sent(ada, "second", [1.0])
    assert used_up.value.status == 429
    assert recording.begin(ada, "wordle", "first").pk == training.pk


def test_what_was_sent_counts_as_storage(ada: User, settings: pytest.FixtureRequest) -> None:
    from apps.trainings.limits import megabytes_of

    training = sent(ada, "first", [1.0])
    OutsideTraining.objects.filter(pk=training.pk).update(size=3 * 10**6)
    assert megabytes_of(User.objects.get(pk=ada.pk)) >= 2.8
    settings.STORAGE_MEGABYTES_PER_USER = 1  # type: ignore[attr-defined]
    with pytest.raises(CurvesRefused, match="Nothing was stored"):
        recording.record(training, [Sent({"loss": 1.0}, 7)])


def test_at_most_so_many_metrics_are_kept(ada: User, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(recording, "MAX_METRICS", 3)
    training = recording.begin(ada, "wordle", "wide")
    training = recording.record(training, [Sent({f"m{number}": 1.0 for number in range(9)}, 1)]).training
    assert sorted(training.latest) == ["m0", "m1", "m2"]
    assert "metrics" in training.notes


def test_an_open_page_hears_of_what_arrives(ada: User) -> None:
    from apps.live.topics import TOPICS

    training = sent(ada, "first", [1.0])
    topic = TOPICS["outside"]
    [event] = topic.events(training.pk, 0, "")
    assert event.seq == training.seq == topic.current(training.pk)
    assert 'id="facts"' in event.html
    assert topic.events(training.pk, training.seq, "") == []
    operations.set_visibility(training, Visibility.PRIVATE)
    assert topic.shows(training.pk, ada, "")
    assert not topic.shows(training.pk, User.objects.create_user("eve"), "")
