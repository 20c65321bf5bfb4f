"""Several trainings at once: comparisons, and curves that are drawn together."""

from __future__ import annotations

import itertools
import math

from django.test import Client

from apps.accounts.models import User
from apps.jobs.models import Job
from apps.trainings import operations, records
from apps.trainings.pages import compare
from gem.evaluation.intervals import Interval
from tests.apps.trainings.trainings import ENV_ID, claimed, row, small


def test_several_seeds_and_all_algorithms_are_one_comparison(as_ada: Client) -> None:
    sent = {"recipe": "guess-easy", "seeds": "3", "all_algorithms": "1", "updates": "5"}
    answer = as_ada.post("/jobs/train/", sent)
    assert answer["Location"].startswith("/jobs/compare/?job=")
    specs = [job.spec for job in Job.objects.all()]
    assert {(spec["algorithm"], spec["seed"]) for spec in specs} == {
        (name, seed) for name in ("reinforce", "rebn", "grpo", "ppo") for seed in range(3)
    }
    page = as_ada.get(answer["Location"]).content.decode()
    assert "Comparison of 12 trainings" in page
    assert "There is nothing to compare yet" in page
    assert "guess-easy, GRPO, seed 2" in [job.title for job in Job.objects.all()]


def test_a_comparison_follows_trainings_that_run(client: Client, ada: User) -> None:
    first, second = (operations.submit(ada, small(algorithm=name)) for name in ("ppo", "rebn"))
    address = f"/jobs/compare/?job={first.pk}&job={second.pk}"
    assert 'hx-trigger="every 3s"' in client.get(address).content.decode()
    claim = claimed(first)
    records.record_points(claim, [row(1, 0.9)])
    news = client.get(address, headers={"HX-Request": "true"}).content.decode()
    assert "90.0\u00a0%" in news
    assert 'id="said"' in news
    assert "<html" not in news
    for each in (claim, claimed(second)):
        records.finish(each)
    assert "every 3s" not in client.get(address, headers={"HX-Request": "true"}).content.decode()


def test_seeds_that_have_not_begun_make_no_interval(ada: User) -> None:
    for seed in range(3):
        operations.submit(ada, small(seed=seed))
    records.record_points(claimed(Job.objects.get(spec__seed=0)), [row(1, 0.4)])
    [arm] = compare.arms(list(Job.objects.all()))
    assert (len(arm.members), arm.begun) == (3, 1)
    assert "there is no conclusion yet" in compare.verdict([arm])


def test_seeds_alone_are_said_to_lie_so_far_apart(ada: User) -> None:
    for seed, success in ((0, 0.4), (1, 0.5), (2, 0.6)):
        claim = claimed(operations.submit(ada, small(seed=seed)))
        records.record_points(claim, [row(1, success)])
        records.finish(claim)
    said = compare.verdict(compare.arms(list(Job.objects.all())))
    assert said.startswith(
        "These trainings differ only in their seed. At the end they solve 50.0\u00a0% of their episodes"
    )
    assert "25.2\u00a0% to 74.8\u00a0%" in said


def test_seeds_that_end_alike_have_no_interval(client: Client, ada: User) -> None:
    for seed in range(3):
        finished(operations.submit(ada, small(seed=seed)), 0.3, 1.0)
    jobs = list(Job.objects.all())
    assert compare.verdict(compare.arms(jobs)).endswith(
        "At the end they solve 100.0\u00a0% of their episodes with each of 3 seeds. Equal results say nothing of their "
        "spread, so there is no interval."
    )
    page = client.get("/jobs/compare/", {"job": [job.pk for job in jobs]}, headers={"HX-Request": "true"})
    assert page.content.decode().count("no interval: all equal") == 2


def test_arms_differ_in_more_than_the_seed_and_an_order_needs_intervals_apart(ada: User) -> None:
    for algorithm, base in (("rebn", 0.8), ("reinforce", 0.1)):
        for seed in range(3):
            job = operations.submit(ada, small(algorithm=algorithm, seed=seed, updates=4))
            claim = claimed(job)
            records.record_points(claim, [row(update, base + 0.01 * seed) for update in range(1, 5)])
            records.finish(claim)
    found = compare.arms(list(Job.objects.all()))
    assert [(arm.label, len(arm.members)) for arm in found] == [("ReBN", 3), ("REINFORCE", 3)]
    assert compare.verdict(found).startswith("ReBN solved more than REINFORCE at the end")
    one = compare.arms(list(Job.objects.filter(spec__seed=0)))
    assert "One seed shows no spread" in compare.verdict(one)
    two = compare.arms(list(Job.objects.filter(spec__seed__lt=2)))
    assert compare.verdict(two).startswith("To compare 2 settings, it takes 3 seeds of each")


def arm(label: str, *finals: float) -> compare.Arm:
    """Trainings that are done and end with these shares solved."""
    mean = sum(finals) / len(finals)
    return compare.Arm(label, 1, [], Interval(mean, mean, mean), None, len(finals), len(finals), 9, 9, finals)


def test_equal_algorithms_that_succeed_or_fail_seldom_have_an_order() -> None:
    """Each training succeeds with a probability of one half. All outcomes of four algorithms with four seeds."""
    wrong = 0
    outcomes = [[*(0.96, 0.97, 0.98, 0.99)[:solved], *(0.02, 0.03, 0.04, 0.05)[solved:]] for solved in range(5)]
    for solved in itertools.product(range(5), repeat=4):
        arms = sorted((arm(str(i), *outcomes[k]) for i, k in enumerate(solved)), key=lambda one: -sum(one.finals))
        if "out zero" in compare.verdict(arms):
            wrong += math.prod(math.comb(4, k) for k in solved)
    assert wrong / 16**4 < 0.05


def test_an_order_names_those_that_are_surely_lower() -> None:
    found = [arm("A", 0.9, 0.91, 0.92, 0.9), arm("B", 0.88, 0.9, 0.92, 0.9), arm("C", 0.1, 0.12, 0.1, 0.11)]
    assert compare.verdict(found) == (
        "A solved more than C at the end: the 95 % interval of the difference leaves out zero. Its differences from "
        "the others may be chance."
    )
    assert compare.verdict(found[:2]) == (
        "A has the highest mean, but the order may be chance: the 95 % interval of the difference includes zero."
    )


def test_trainings_that_differ_in_their_seed_only_are_drawn_together(client: Client, ada: User) -> None:
    first = operations.submit(ada, small(seed=1))
    others = [operations.submit(ada, small(seed=seed)) for seed in (2, 3)]
    operations.submit(ada, small(seed=4, learning_rate=0.1))
    operations.submit(ada, small(seed=5, env_kwargs={"max_turns": 3}))
    operations.submit(User.objects.create_user("eve"), small(seed=6))
    assert [job.spec["seed"] for job in compare.trainings_with_same_settings(first, Job.objects.all())] == [1, 3, 2]
    page = client.get(first.get_absolute_url()).content.decode()
    assert "mean of 3 seeds" in page
    for other in others:
        assert f"{other.get_absolute_url()}curves.json" in page
    alone = operations.submit(ada, small(seed=1, episodes=32))
    assert "data-others" not in client.get(alone.get_absolute_url()).content.decode()


def test_of_one_seed_trained_twice_the_newer_is_drawn(ada: User) -> None:
    first = operations.submit(ada, small(seed=1))
    operations.submit(ada, small(seed=2))
    newer = operations.submit(ada, small(seed=2))
    assert compare.trainings_with_same_settings(first, Job.objects.all()) == [first, newer]


def finished(job: Job, *shares: float, first: int = 1) -> Job:
    """A training that is done, with these shares solved from its update `first` on."""
    claim = claimed(job)
    records.record_points(claim, [row(update, share) for update, share in enumerate(shares, first)])
    records.finish(claim)
    return job


def test_one_seed_trained_several_times_counts_once(ada: User) -> None:
    for algorithm, share in (("rebn", 0.52), ("reinforce", 0.51)):
        for _ in range(3):  # the default seed each time, so the curves are the same
            finished(operations.submit(ada, small(algorithm=algorithm)), share)
    found = compare.arms(list(Job.objects.all()))
    assert compare.verdict(found).startswith("Some settings were trained with one seed only.")
    assert compare.verdict(found[:1]).startswith("These trainings have the same settings and the same seed")
    assert [(arm.label, len(arm.members), arm.seeds, arm.finals) for arm in found] == [
        ("ReBN", 3, 1, (0.52,)), ("REINFORCE", 3, 1, (0.51,)),
    ]  # fmt: skip
    finished(operations.submit(ada, small(seed=1)), 0.62)
    operations.submit(ada, small(seed=1))  # begun later, and not as far
    [alone] = compare.arms(list(Job.objects.filter(spec__algorithm="rebn")))
    assert (alone.seeds, alone.begun, sorted(alone.finals), alone.updates) == (2, 2, [0.52, 0.62], 1)


def test_a_fork_is_no_further_seed_of_the_training_that_it_continues(ada: User) -> None:
    for seed in range(2):
        parent = finished(operations.submit(ada, small(seed=seed)), 0.1)
        fork = operations.submit(ada, small(seed=seed))
        Job.objects.filter(pk=fork.pk).update(parent=parent, parent_update=4)
        finished(fork, 0.9, first=5)
    found = compare.arms(list(Job.objects.all()))
    assert [(arm.label, arm.seeds, arm.finals) for arm in found] == [
        (f"ReBN on {ENV_ID}, from update 4", 2, (0.9, 0.9)), (f"ReBN on {ENV_ID}", 2, (0.1, 0.1)),
    ]  # fmt: skip
