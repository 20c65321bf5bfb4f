"""What one reads in results: groups, distributions, failures, seeds and replays."""

from dataclasses import replace
from typing import Any

import pytest
import redis
from django.conf import settings
from django.test import Client

from apps.accounts.models import User
from apps.episodes.models import Episode
from apps.jobs import leases
from apps.jobs.analysis import distributions, failures, groups, reading, replays, seeds
from apps.jobs.models import Job
from gem.agents import make_agent
from gem.records import EpisodeRecord
from gem.rollout import rollout
from tests.apps.jobs.test_honest_results import EASY, HARD, Mumbler, play, said, submit

MEDIUM = "game:Minesweeper-v0-easy"


def play_as(job: Job, change: Any, agent: str = "random") -> Job:
    """Record all episodes of a job as `change` makes them of their number and their record."""
    number = 0
    while (claim := leases.claim()) is not None:
        records = list(rollout(make_agent(agent), claim.slots(), num_envs=4))
        leases.record_episodes(claim, [change(number + index, record) for index, record in enumerate(records)])
        number += len(records)
    return Job.objects.get(pk=job.pk)


def test_equal_errors_are_one_line(ada: User, client: Client) -> None:
    def fail(number: int, record: EpisodeRecord) -> EpisodeRecord:
        error = (
            f'the search index at 10.0.{number}.7 did not find "page {number}" in {number}.5 s (id ab{number}9f3c41d)'
        )
        return replace(record, failure=error, failed_by="environment", success=None) if number < 19 else record

    job = play_as(submit(ada, EASY, episodes_per_env=20), fail)
    found = failures.failures(job)
    first = found.clusters[0]
    assert (first.kind, first.count, dict(first.env_ids)) == ("environment", 19, {EASY: 19})
    assert first.text == "the search index at # did not find “…” in # s (id #)"
    assert len(first.examples) == failures.EXAMPLES
    page = client.get(f"{job.get_absolute_url()}results/?part=failures", headers={"hx-request": "true"})
    assert "19 Environment error, not counted the search index at # did not find “…”" in said(page)
    assert all(client.get(f"/episodes/{example.episode_id}/").status_code == 200 for example in first.examples)


def test_failures_have_kinds(ada: User) -> None:
    job = play(submit(ada, EASY, HARD, episodes_per_env=5), agent=Mumbler())
    found = failures.failures(job)
    assert {cluster.kind for cluster in found.clusters} <= {"unreadable", "turns"}
    assert sum(cluster.count for cluster in found.clusters) == 10
    assert Episode.objects.filter(batch=job.batch_id).exclude(unreadable=None).count() == 10


def test_episodes_from_before_endings_were_stored_are_clustered_too(ada: User) -> None:
    job = play(submit(ada, EASY, episodes_per_env=6), broken=3)
    Episode.objects.filter(batch=job.batch_id).update(ending_kind="", ending_text="", tokens_in=None, tokens_out=None)
    found = failures.failures(job)
    assert (found.clusters[0].kind, found.clusters[0].count) == ("environment", 3)
    assert found.clusters[0].text == "the search index does not answer"
    assert [each.metric.name for each in distributions.distributions(job)] == ["return", "turns"]


def test_what_is_hidden_is_counted_without_its_text(ada: User) -> None:
    job = play(submit(ada, EASY, episodes_per_env=3), broken=3)
    Episode.objects.filter(batch=job.batch_id).update(hidden_reason="It shows a secret.")
    (cluster,) = failures.failures(job).clusters
    assert (cluster.count, cluster.text, cluster.examples) == (3, "", [])
    assert replays.replays(job).worst == []


def test_distributions_count_every_episode_once(ada: User) -> None:
    job = play(submit(ada, EASY, HARD, episodes_per_env=12))
    episodes = list(Episode.objects.filter(batch=job.batch_id).order_by("slot"))
    for found in distributions.distributions(job):
        assert sum(each.episodes for each in found.bins) == found.episodes == len(episodes)
        assert sum(each.solved for each in found.bins) == sum(bool(episode.success) for episode in episodes)
        assert found.low <= found.median <= found.ninth_decile <= found.high
    (turns,) = [found for found in distributions.distributions(job, EASY) if found.metric.name == "turns"]
    lengths = sorted(episode.turn_count for episode in episodes if episode.env_id == EASY)
    assert (turns.low, turns.high, turns.median) == (lengths[0], lengths[-1], lengths[5])
    for each in turns.bins:
        assert each.episodes == sum(each.low <= length < each.high for length in lengths)


def test_seeds_are_a_map_that_everybody_can_read(ada: User, client: Client) -> None:
    def decide(number: int, record: EpisodeRecord) -> EpisodeRecord:
        is_solved = record.identity.seed != 2 and record.identity.env_id == EASY
        return replace(record, success=is_solved, truncated=False)

    job = play_as(submit(ada, EASY, HARD, episodes_per_env=4, repeats=2), decide)
    found = seeds.seed_map(job)
    assert found.seeds[-1] == 2, "the seed that is solved least often comes last"
    easy, hard = found.rows
    assert [cell and (cell.solved, cell.episodes, cell.level) for cell in easy.cells] == [(2, 2, "4")] * 3 + [
        (0, 2, "0")
    ]
    assert {cell and cell.level for cell in hard.cells} == {"0"}
    page = client.get(f"{job.get_absolute_url()}results/").content.decode()
    assert f'aria-label="0: {EASY}, seed 2: 0 of 2 solved"' in page
    listed = client.get(f"{job.get_absolute_url()}episodes/?env_id={EASY}&seed=2")
    assert len(listed.context["page"].rows) == 2
    rows = seeds.seed_results(job, 0, 100)
    assert [(row.env_id, row.seed, row.counted) for row in rows] == [
        (env_id, seed, 2) for env_id in (EASY, HARD) for seed in range(4)
    ]


def test_pages_of_seeds_end_at_the_last(ada: User, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(seeds, "COLUMNS", 3)
    monkeypatch.setattr(seeds, "ROWS", 1)
    job = play(submit(ada, EASY, HARD, episodes_per_env=5))
    shown = [seeds.seed_map(job, page, env_page) for env_page in (1, 2) for page in (1, 2)]
    assert {(row.env_id, seed) for one in shown for row in one.rows for seed in one.seeds} == {
        (env_id, seed) for env_id in (EASY, HARD) for seed in range(5)
    }
    assert seeds.seed_map(job, 99, 99) == shown[-1]


def test_pages_that_there_are_not_take_no_memory(ada: User) -> None:
    job = play(submit(ada, EASY, episodes_per_env=5))
    shown = [reading.seed_map_of(job, page, page) for page in (1, 2, 999, 10**6)]
    assert shown == [shown[0]] * 4
    valkey = redis.Redis.from_url(settings.VALKEY_URL)
    assert len(list(valkey.scan_iter(f"*job-seeds-*{job.pk}*"))) == 1


def test_groups_have_all_environments(ada: User) -> None:
    job = play(submit(ada, EASY, HARD, MEDIUM, episodes_per_env=10))
    found = groups.groups(job, list(job.shards.all()))
    assert [(group.name, len(group.env_ids)) for group in found.categories] == [("Games", 3)]
    assert [(group.name, len(group.env_ids)) for group in found.difficulties] == [("easy", 2), ("hard", 1)]
    assert sum(group.tally.n for group in found.difficulties) == 30
    easy = found.difficulties[0].scores.success
    assert easy is not None
    assert easy.seeds == 20


def test_worst_and_best_are_of_different_episodes(ada: User) -> None:
    job = play(submit(ada, EASY, HARD, episodes_per_env=15))
    found = replays.replays(job)
    by_env = {env_id: [row for row in _reached(job) if row[0] == env_id] for env_id in (EASY, HARD)}
    for replay in found.worst:
        unsolved = [row for row in by_env[replay.env_id] if not row[2]]
        assert replay.reached == min(row[1] for row in unsolved)
    assert {replay.episode_id for replay in found.worst}.isdisjoint(replay.episode_id for replay in found.best)


def _reached(job: Job) -> list[tuple[str, float, bool]]:
    rows = Episode.objects.filter(batch=job.batch_id, seats__number=0)
    return list(rows.values_list("env_id", "seats__total_reward", "success"))


def test_the_api_says_the_same(ada: User, client: Client) -> None:
    job = play(submit(ada, EASY, HARD, episodes_per_env=4))
    answer = client.get(f"/api/v1/jobs/{job.pk}/analysis").json()
    assert sum(cluster["episodes"] for cluster in answer["failures"]) == sum(
        cluster.count for cluster in failures.failures(job).clusters
    )
    assert {each["metric"] for each in answer["distributions"]} == {"return", "turns"}
    first = client.get(f"/api/v1/jobs/{job.pk}/seeds?limit=5").json()
    rest = client.get(f"/api/v1/jobs/{job.pk}/seeds?limit=5&cursor={first['next']}").json()
    assert [(row["env_id"], row["seed"]) for row in first["items"] + rest["items"]] == [
        (env_id, seed) for env_id in (EASY, HARD) for seed in range(4)
    ]
    assert rest["next"] is None


def test_all_parts_are_there_before_the_first_episode(ada: User, client: Client) -> None:
    job = submit(ada, EASY)
    assert client.get(f"{job.get_absolute_url()}results/").status_code == 200
    for part in ("groups", "seeds", "distributions", "failures", "replays"):
        address = f"{job.get_absolute_url()}results/?part={part}"
        assert client.get(address, headers={"hx-request": "true"}).status_code == 200
