"""Ranked rows of a model behind a real server: each submission has seeds of its own, and nothing says them."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from django.conf import settings
from django.test import Client

from apps.accounts.models import User
from apps.agents import operations as agents
from apps.episodes.models import Episode
from apps.leaderboard.models import Score
from apps.leaderboard.proofs import checks
from apps.leaderboard.seasons import reveal_all
from apps.seasons import operations as seasons
from apps.seasons.models import Season
from apps.webhooks import operations as webhooks
from apps.webhooks.collecting import collect
from apps.webhooks.models import Delivery
from gem import benchmarks
from gem.agents.endpoint import EndpointSpec
from gem.client.events import EVENTS
from tests.apps.leaderboard.test_proofs import content_of
from tests.apps.seasons import ENV_IDS, HIDDEN_SEEDS, NAME, end, ranked_job, shorten
from tests.html import tight
from tests.model_server import ModelServer, model_server

pytestmark = pytest.mark.django_db
EPISODES = 2 * HIDDEN_SEEDS
IDENTIFIED = ENV_IDS[1]
"""The environment whose first observation tells its seeds apart."""


@pytest.fixture
def server() -> Iterator[ModelServer]:
    with model_server() as running:
        yield running


@pytest.fixture
def season(transactional_db: None, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Season:
    monkeypatch.setattr(settings, "ENDPOINT_KEYS_FILE", tmp_path / "keys")
    shorten(monkeypatch)
    return seasons.current(benchmarks.load(NAME))


def first_prompts(asked: list[dict[str, Any]]) -> set[str]:
    """What the server was asked at the beginning of episodes of the environment that is identified by it."""
    texts = {str(one["messages"][-1]["content"]) for one in asked if len(one["messages"]) <= 2}
    return {text for text in texts if "word search" in text.lower() or "grid" in text.lower()}


def test_a_second_submission_meets_no_seed_of_the_first(season: Season, server: ModelServer) -> None:
    ada = User.objects.create_user("ada")
    spec = EndpointSpec(url=server.url, model="bisect", timeout=5, patience=5, tries=1)
    slug = agents.create(ada, "bisect", spec, visibility="public").slug
    webhook, _ = webhooks.add(
        ada, "https://example.org/hook", sorted(name for name in EVENTS if name.startswith("job."))
    )
    prompts, jobs = [], []
    for _ in range(2):
        before = len(server.requests)
        jobs.append(ranked_job(ada, slug))
        prompts.append(first_prompts(server.requests[before:]))
    assert [job.batch.submission for job in jobs] == [1, 2]
    assert len(prompts[0]) == len(prompts[1]) == HIDDEN_SEEDS
    assert not prompts[0] & prompts[1], "it was asked something of the first submission again"
    while checks.check_next():
        pass
    scores = [score for score in Score.objects.of(benchmarks.load(NAME)).newest() if score.job_id == jobs[1].pk]
    row = scores[0].job.reexecution
    assert (row.state, row.tier, row.executed) == ("verified", "hosted", EPISODES)
    assert row.certificate["certificate"]["season"]["scope"] == "2"
    assert row.certificate["certificate"]["tries"] == 2
    assert collect()
    sent = [delivery.body for delivery in Delivery.objects.filter(webhook=webhook)]
    assert any(jobs[1].pk in body for body in sent)
    certificates = [json.dumps(job.reexecution.certificate) for job in jobs]
    page = Client().get(scores[0].get_absolute_url()).content.decode()
    secrets = {season.key.hex()}
    for submission in (0, 1, 2):
        secrets |= {str(seed) for env_id in ENV_IDS for seed in season.seeds(env_id, submission)}
    boards = set(
        Episode.objects.filter(batch=jobs[1].batch, env_id=IDENTIFIED).values_list("first_observation", flat=True)
    )
    assert len(secrets) == 1 + 3 * EPISODES
    for text in (*sent, *certificates, page):
        assert not [secret for secret in secrets if secret in text]
        assert not [board for board in boards if json.dumps(board)[1:-1] in text]


def test_a_row_says_all_tries_of_its_account_and_which_answers_are_missing(season: Season, server: ModelServer) -> None:
    ada = User.objects.create_user("ada")
    spec = EndpointSpec(url=server.url, model="bisect", timeout=5, patience=5, tries=1)
    jobs = [ranked_job(ada, agents.create(ada, f"model {number}", spec).slug) for number in range(3)]
    while checks.check_next():
        pass
    page = tight(Client().get(jobs[2].get_absolute_url()))
    assert "1 with this agent, 3 with any agent." in page
    score = Score.objects.select_related("job__reexecution").get(job=jobs[2], env_id="")
    page = tight(Client().get(score.get_absolute_url()))
    assert "1 so far in this season, and 3 of this account with any agent" in page
    assert "gave no answer" not in page
    row = score.job.reexecution
    row.certificate["certificate"]["environments"][0] |= {"unanswered": 2, "failed": 1}
    row.save()
    page = tight(Client().get(score.get_absolute_url()))
    assert "In 2 the agent gave no answer: they count with the lowest return." in page
    assert "In 1 the environment failed: it does not count." in page


@pytest.mark.parametrize("visibility", ["private", "public"])
def test_a_certificate_has_no_set_up_of_a_private_agent(visibility: str, season: Season, server: ModelServer) -> None:
    ada = User.objects.create_user("ada")
    prices = {"tokens_in": 3.0, "tokens_out": 15.0}
    spec = EndpointSpec.model_validate(
        {"url": server.url, "model": "bisect", "system": "A secret prompt.", "prices": prices, "timeout": 5, "tries": 1}
    )
    slug = agents.create(ada, "bisect", spec, visibility=visibility).slug
    job = ranked_job(ada, slug)
    while checks.check_next():
        pass
    row = Score.objects.get(job=job, env_id="")
    answer = Client().get(f"{row.get_absolute_url()}certificate.json")
    certified = answer.json()["certificate"]["agent"]
    assert (certified["name"], certified["version"]) == ("bisect", 1)
    end(season)
    assert reveal_all() == 1
    episodes = content_of(Client().get(f"{row.get_absolute_url()}episodes.jsonl"))
    assert episodes.count(b"\n") == EPISODES
    if visibility == "private":
        assert certified["set_up"] == {}
        assert "A secret prompt." not in answer.text + episodes.decode()
    else:
        assert certified["set_up"]["system"] == "A secret prompt."
        assert b"A secret prompt." in episodes
