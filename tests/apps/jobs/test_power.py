"""What the form says before anybody pays: how small a difference shows, and how many seeds another one needs."""

import pytest
from django.test import Client

from apps.accounts.models import User
from apps.agents.models import Agent
from apps.jobs import estimates, operations
from apps.jobs.models import Job
from apps.visibility import Visibility
from gem.evaluation.comparison import power
from gem.evaluation.spec import EvaluationSpec
from tests.html import tight
from tests.workers.records import play_out

EASY, WORDLE = "game:GuessTheNumber-v0-easy", "game:Hangman-v0-easy"
ENTRIES = {
    "agent": ["random", "expert"], "benchmark": "", "env_id": EASY, "episodes_per_env": 100, "seed": 0, "num_envs": 4,
    "max_error_share": "0.1", "tool_format": "tags", "max_tool_uses": 5, "points": "3",
}  # fmt: skip


def spec_of(agent: str, episodes: int = 30, *env_ids: str, **more: object) -> EvaluationSpec:
    request = {"agent": agent, "env_ids": env_ids or (EASY,), "episodes_per_env": episodes, **more}
    return EvaluationSpec.model_validate(request)


def powers(agents: list[str], *env_ids: str, known: object = None, **more: object) -> list[estimates.Power]:
    rows = [Agent.objects.get(slug=slug) for slug in agents]
    return estimates.powers(rows, [spec_of(slug, 100, *env_ids, **more) for slug in agents], known or Job.objects.all())  # type: ignore[arg-type]


@pytest.mark.django_db(transaction=True)
def test_the_paired_variance_of_earlier_jobs_counts_where_there_is_one(as_ada: Client, ada: User) -> None:
    (nothing,) = powers(["random", "expert"])
    assert (nothing.basis, nothing.deviation, nothing.seeds) == ("nothing", power.COIN_DEVIATION, 100)
    assert nothing.seeds_needed(0.03) == power.seeds_needed(0.03, power.COIN_DEVIATION)
    first = play_out(operations.submit(ada, spec_of("random", max_turns=4)))
    (single,) = powers(["random", "expert"], max_turns=4)
    assert (single.basis, single.evidence, single.jobs) == ("unpaired", 30, ())
    second = play_out(operations.submit(ada, spec_of("expert", max_turns=4)))
    (paired,) = powers(["random", "expert"], max_turns=4)
    assert (paired.basis, paired.evidence, paired.jobs) == ("paired", 30, (first, second))
    solved = [dict(job.batch.episodes.values_list("seed", "success")) for job in (first, second)]
    assert paired.deviation == pytest.approx(
        power.deviation_of([solved[0][seed] - solved[1][seed] for seed in range(30)])
    )
    assert paired.smallest == power.smallest_difference(100, paired.deviation)
    assert powers(["random", "expert"])[0].basis == "unpaired", "with another turn limit these are other games"
    (two,) = powers(["random", "expert"], EASY, WORDLE, max_turns=4)
    assert (two.basis, two.seeds, two.seeds_needed(0.03) % 2) == ("unpaired", 200, 0)
    (alone,) = powers(["expert"], max_turns=4)
    assert (alone.second, alone.basis) == (None, "unpaired")
    (against,) = powers(["expert"], max_turns=4, stop_against=first.pk)
    assert (against.second, against.basis) == (first.agent, "paired")

    page = tight(as_ada.post("/jobs/new/estimate/", {**ENTRIES, "max_turns": 4}).content.decode())
    assert "random against expert:" in page
    assert "From the 30 seeds that both have played in" in page
    needed = paired.seeds_needed(0.03)
    assert f"<b>{needed:,} seeds</b>" in page
    assert (
        "Enter a difference from 0.1" in as_ada.post("/jobs/new/estimate/", {**ENTRIES, "points": "x"}).content.decode()
    )
    sent = {"agents": ["random", "expert"], "env_ids": [EASY], "max_turns": 4}
    (answer,) = as_ada.post("/api/v1/jobs/power?difference=0.03", sent, "application/json").json()["pairs"]
    assert (answer["basis"], answer["seeds_needed"], answer["jobs"]) == ("paired", needed, [first.pk, second.pk])

    operations.set_visibility(second, Visibility.PRIVATE)
    stranger = User.objects.create_user("ben")
    (hidden,) = powers(["random", "expert"], max_turns=4, known=Job.objects.listed_for(stranger))
    assert (hidden.basis, hidden.jobs) == ("unpaired", ())


def test_a_difference_is_typed_in_points() -> None:
    assert [estimates.wanted_points(text) for text in ("3", " 2,5 %", "0", "-1", "nan", "x", "")] == [
        0.03, 0.025, None, None, None, None, None
    ]  # fmt: skip
