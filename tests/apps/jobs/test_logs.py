"""The log of a job: searched, paged by key, and downloaded as text; and the curve over its episodes."""

from __future__ import annotations

import pytest
from django.test import Client

from apps.accounts.models import User
from apps.jobs import leases, operations
from apps.jobs.changes import change
from apps.jobs.controls import logs
from apps.jobs.models import Job, JobEvent
from apps.jobs.results import curves
from apps.jobs.results.curves import EnvironmentSums as Sums
from gem.agents import make_agent
from gem.evaluation.intervals import estimate_share
from gem.evaluation.spec import EvaluationSpec
from gem.rollout import rollout

pytestmark = pytest.mark.django_db
SPEC = EvaluationSpec(agent="random", env_ids=("game:GuessTheNumber-v0-easy",), episodes_per_env=8)


@pytest.fixture
def job(ada: User) -> Job:
    job = operations.submit(ada, SPEC)
    change(job.pk, JobEvent.Kind.REQUEUED, "100 % of A_B\nis here", tone=JobEvent.Tone.WARN)
    change(job.pk, JobEvent.Kind.REQUEUED, "it broke", tone=JobEvent.Tone.LOSS)
    return Job.objects.get(pk=job.pk)


def test_a_search_finds_text_and_levels(job: Job, client: Client) -> None:
    address = f"{job.get_absolute_url()}lines/"

    def found(**query: str) -> list[str]:
        return [line.text for line in client.get(address, query).context["page"].lines]

    assert found()[0] == "it broke", "newest first"
    assert len(found()) == 3
    assert found(q="a_b") == found(q="100 %") == ["100 % of A_B\nis here"]
    assert found(q="%_%") == [], "they are no wildcards"
    assert found(level="errors") == ["it broke"]
    assert len(found(level="warnings")) == 2
    assert found(level="nonsense", before="x" * 50) == found()


def test_pages_follow_one_another_by_key(job: Job, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(logs, "LINES_ON_A_PAGE", 2)
    first = logs.page_of_log(job, "", "all", None)
    assert first.older is not None
    second = logs.page_of_log(job, "", "all", first.older)
    assert [line.seq for line in [*first.lines, *second.lines]] == [3, 2, 1]
    assert second.older is None


def test_the_text_has_a_line_for_each(job: Job, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(logs, "LINES_AT_A_TIME", 1)
    pieces = list(logs._pieces(job, "", "all"))
    assert len(pieces) == 3, "it is read as it is sent"
    lines = b"".join(pieces).decode().splitlines()
    assert len(lines) == 3
    assert lines[1].endswith("Z warn: 100 % of A_B is here")
    assert len(list(logs._pieces(job, "broke", "errors"))) == 1


def test_the_curve_ends_where_the_results_are(job: Job) -> None:
    assert curves.curve(job) is None
    claim = leases.claim()
    assert claim is not None
    records = list(rollout(make_agent("expert"), claim.slots()))
    leases.record_episodes(claim, records[:5])
    partly = curves.curve(Job.objects.get(pk=job.pk))
    assert partly is not None
    assert [point.episodes for point in partly.points] == [1, 2, 3, 4, 5]
    solved = sum(bool(record.success) for record in records[:5])
    assert partly.last.share.mean == pytest.approx(solved / 5)
    assert partly.last.share.low < partly.last.share.mean
    leases.record_episodes(claim, records[5:])
    whole = curves.curve(Job.objects.get(pk=job.pk))
    assert whole is not None
    assert whole.last.episodes == 8
    assert whole.end[0] == curves.WIDTH
    assert whole.band == "", "below ten seeds there is no interval"


def test_the_band_ends_at_the_interval_of_the_result() -> None:
    result = estimate_share([(1, float(place < 7)) for place in range(20)])
    share = curves.share_so_far([Sums(20, 7, 20)])
    assert (share.low, share.high) == pytest.approx((result.low, result.high))
    points = [curves.Point(seeds, curves.share_so_far([Sums(seeds, 5, seeds)]), seeds) for seeds in (9, 10, 20)]
    assert curves.Curve(points, 20).band.count("L") == 3, "two points have an interval"


def test_tries_at_one_seed_do_not_narrow_the_interval() -> None:
    once, four_times = (curves.share_so_far([Sums(*sums)]) for sums in ((30, 20, 30), (120, 80, 30)))
    assert once == four_times


def test_environments_weigh_the_same_at_every_point() -> None:
    uneven = curves.share_so_far([Sums(12, 12, 12), Sums(4, 0, 4)])
    assert uneven.mean == pytest.approx(0.5), "and not 12 of 16"
    assert curves.share_so_far([Sums(8, 8, 8), Sums(8, 0, 8)]) == curves.share_so_far([Sums(16, 8, 16)])
    assert uneven.low < curves.share_so_far([Sums(16, 8, 16)]).low
