"""Results from elsewhere: challenges whose episodes are executed again, and rows that are only reported."""

from __future__ import annotations

import gzip
import json
from collections.abc import Iterator
from datetime import timedelta
from io import BytesIO
from pathlib import Path
from typing import Any

import pytest
from django.conf import settings
from django.test import Client
from django.utils import timezone

from apps.accounts.models import CpuUse, User
from apps.accounts.quotas import record_cpu
from apps.agents.models import Agent
from apps.episodes.models import Batch, Episode
from apps.jobs.afterwards.operations import erase
from apps.jobs.models import Job
from apps.leaderboard.challenges import checking, drawing, lines, receiving, recording
from apps.leaderboard.challenges.drawing import ChallengeRefused
from apps.leaderboard.challenges.tries import challenges_of
from apps.leaderboard.models import Challenge, ReportedRow, Score
from apps.seasons import operations as seasons
from apps.seasons.models import Season
from gem import benchmarks
from gem.agents import make_agent
from gem.records import EpisodeRecord, StoredEpisode, episode_files
from gem.rollout import EpisodeRequest, rollout
from gem.verification import certificates
from gem.verification.challenges import Challenge as Document
from gem.verification.keys import SiteKeys, TrustedKeys
from tests.apps.seasons import ENV_IDS, HIDDEN_SEEDS, NAME, ranked_job, shorten
from workers import verify

pytestmark = pytest.mark.django_db
EPISODES = 2 * HIDDEN_SEEDS


@pytest.fixture(autouse=True)
def season(transactional_db: None, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Season:
    """The running season of a short benchmark."""
    monkeypatch.setattr(settings, "ENDPOINT_KEYS_FILE", tmp_path / "keys")
    monkeypatch.setattr(settings, "RUNS_DIR", tmp_path / "runs")
    for kind in ("random", "expert", "human"):
        Agent.objects.get_or_create(slug=kind, defaults={"name": kind, "kind": kind, "colour": 8})
    shorten(monkeypatch)
    return seasons.current(benchmarks.load(NAME))


@pytest.fixture
def ada() -> User:
    return User.objects.create_user("ada", password="analytical")


def drawn(owner: User, **more: Any) -> Challenge:
    return drawing.draw(owner, benchmarks.load(NAME), agent="tabula 7b", kind="model", visibility="public", **more)


def played(document: Document, agent: str = "random") -> list[EpisodeRecord]:
    """The episodes of a challenge, as somebody plays them elsewhere."""
    planned = [document.planned(number) for number in range(document.episodes)]
    requests = [
        EpisodeRequest(number, each.env_id, each.seed, {}, each.wrappers) for number, each in enumerate(planned) if each
    ]
    return sorted(rollout(make_agent(agent), requests), key=lambda record: record.index)


def lines_of(records: list[EpisodeRecord]) -> list[dict[str, Any]]:
    return [json.loads(episode_files.episode_line(record, "tabula 7b")) for record in records]


def send(challenge: Challenge, lines: list[dict[str, Any]], *, packed: bool = False) -> Challenge:
    """Send these episodes and let a worker check them."""
    text = "".join(json.dumps(line) + "\n" for line in lines).encode()
    receiving.accept(challenge.owner, challenge.pk, BytesIO(gzip.compress(text, mtime=0) if packed else text))
    while checking.check_next():
        pass
    return Challenge.objects.get(pk=challenge.pk)


def test_episodes_that_agree_become_a_row_with_a_certificate(ada: User, season: Season) -> None:
    challenge = drawn(ada)
    records = played(drawing.document_of(challenge))
    sent = send(challenge, lines_of(records), packed=True)
    assert (sent.state, sent.problem) == (Challenge.State.VERIFIED, "")
    score = Score.objects.of(benchmarks.load(NAME)).newest(elsewhere=True).get()
    assert score.job == sent.job
    assert score.n == EPISODES
    assert score.agent.name == "tabula 7b"
    assert score.agent.kind == Agent.Kind.OUTSIDE
    assert score.mean_return == pytest.approx(sum(record.total_reward for record in records) / EPISODES)
    published = SiteKeys.read(Client().get("/.well-known/gemweb.json").content)
    signed = certificates.read(Client().get(f"{score.get_absolute_url()}certificate.json").content)
    certificate = signed.verified(TrustedKeys.of_site(published, "the site"))
    assert (certificate.tier, certificate.tries, certificate.agent.kind) == ("verified", 1, "model")
    assert certificate.season is not None
    assert certificate.season.scope == str(challenge.submission)
    assert certificate.episodes == EPISODES
    assert Client().get(score.get_absolute_url()).status_code == 200
    assert not challenge.path.exists()


def test_rows_of_each_tier_are_ranked_apart(ada: User) -> None:
    here = ranked_job(None)
    from apps.leaderboard.proofs import checks

    checks.check_next()
    challenge = drawn(ada)
    send(challenge, lines_of(played(drawing.document_of(challenge))))
    scores = Score.objects.of(benchmarks.load(NAME))
    assert [score.job for score in scores.newest()] == [here]
    assert [score.agent.name for score in scores.newest(elsewhere=True)] == ["tabula 7b"]


def test_the_seeds_are_those_of_its_submission_and_of_nobody_else(ada: User, season: Season) -> None:
    documents = [drawing.document_of(drawn(ada)) for _ in range(2)]
    seeds = [{seed for each in document.environments for seed in each.seeds} for document in documents]
    common = {seed for env_id in ENV_IDS for seed in season.seeds(env_id, 0)}
    assert len(seeds[0]) == len(seeds[1]) == EPISODES
    assert not seeds[0] & seeds[1]
    assert not common & (seeds[0] | seeds[1])


CHANGES = {
    "reward": lambda lines: lines[2]["turns"][0].update(reward=0.75),
    "observation": lambda lines: lines[2]["turns"][0].update(observation="You win."),
    "action": lambda lines: lines[2]["turns"][0].update(action="\\boxed{nothing}"),
    "seed": lambda lines: lines[2].update(seed=lines[2]["seed"] ^ 1),
    "index": lambda lines: lines[2].update(index=1),
    "success": lambda lines: lines[2].update(success=not lines[2]["success"]),
    "version": lambda lines: lines[2].update(env_version=99),
    "kwargs": lambda lines: lines[2].update(env_kwargs={"max_turns": 99}),
    "env_id": lambda lines: lines[2].update(env_id="code:CodeContest"),
    "failed_by": lambda lines: lines[2].update(
        failure="the environment failed", failed_by="environment", success=None, terminated=False, truncated=False
    ),
    "cut": lambda lines: lines[2].update(cut="tokens", truncated=True, terminated=False, success=False),
    "end": lambda lines: lines[2].update(turns=lines[2]["turns"][:-1], turn_count=lines[2]["turn_count"] - 1),
    "info": lambda lines: lines[2]["turns"][0]["info"].update(bonus=1),
}


@pytest.mark.parametrize("what", CHANGES)
def test_a_changed_episode_is_refused_with_a_sentence_that_names_it(what: str, ada: User) -> None:
    challenge = drawn(ada)
    lines = lines_of(played(drawing.document_of(challenge)))
    CHANGES[what](lines)
    sent = send(challenge, lines)
    assert sent.state == Challenge.State.OPEN
    assert sent.problem.startswith("Line 3"), sent.problem
    if what in ("reward", "observation"):
        assert "Turn 1" in sent.problem
    assert not Job.objects.exists()
    assert not Episode.objects.exists()
    assert not challenge.path.exists()


def test_every_seed_is_played_exactly_once(ada: User) -> None:
    challenge = drawn(ada)
    lines = lines_of(played(drawing.document_of(challenge)))
    assert "1 of the 6 episodes are missing" in send(challenge, lines[:-1]).problem
    assert "another episode with the index 0" in send(challenge, [*lines, lines[0]]).problem
    assert send(challenge, lines[::-1]).state == Challenge.State.VERIFIED


@pytest.mark.parametrize(
    ("content", "said"),
    [
        (b"not JSON\n", "line 1 is not JSON"),
        (b"[1]\n", "neither an episode nor a turn"),
        (b"", "6 of the 6 episodes are missing"),
        (gzip.compress(b"{}", mtime=0)[:-4], "damaged"),
        (b'{"env_id": "game:Hangman-v0", "action": 3}\n', "is not an episode"),
    ],
)
def test_a_damaged_file_is_refused(content: bytes, said: str, ada: User) -> None:
    challenge = drawn(ada)
    receiving.accept(ada, challenge.pk, BytesIO(content))
    assert checking.check_next()
    assert said in Challenge.objects.get(pk=challenge.pk).problem


def test_a_long_file_is_executed_in_parts(ada: User, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(checking, "PART_SECONDS", 0.0)
    monkeypatch.setattr(checking, "monotonic", lambda: 0.0)  # skipping earlier lines takes no time
    challenge = drawn(ada)
    lines = lines_of(played(drawing.document_of(challenge)))
    receiving.accept(ada, challenge.pk, BytesIO("".join(json.dumps(line) + "\n" for line in lines).encode()))
    for number in range(1, EPISODES + 1):
        assert checking.check_next()
        assert Challenge.objects.get(pk=challenge.pk).executed == number
    assert checking.check_next()
    assert Challenge.objects.get(pk=challenge.pk).state == Challenge.State.VERIFIED


def test_a_part_executes_episodes_however_long_it_took_to_skip_earlier_ones(
    ada: User, monkeypatch: pytest.MonkeyPatch
) -> None:
    clock, read = [0.0], lines.episodes

    def read_slowly(path: Path, after: int = 0) -> Iterator[tuple[int, StoredEpisode]]:
        clock[0] += 2 * checking.PART_SECONDS
        yield from read(path, after)

    monkeypatch.setattr(checking, "monotonic", lambda: clock[0])
    monkeypatch.setattr(lines, "episodes", read_slowly)
    challenge = drawn(ada)
    own = lines_of(played(drawing.document_of(challenge)))
    receiving.accept(ada, challenge.pk, BytesIO("".join(json.dumps(line) + "\n" for line in own).encode()))
    assert checking.check_next()
    assert Challenge.objects.get(pk=challenge.pk).state == Challenge.State.VERIFIED


def test_a_file_of_empty_lines_is_refused_soon(ada: User, monkeypatch: pytest.MonkeyPatch) -> None:
    challenge = drawn(ada)
    lines = lines_of(played(drawing.document_of(challenge)))
    text = "".join(json.dumps(line) + "\n\n" for line in lines).encode()  # a few do no harm
    receiving.accept(ada, challenge.pk, BytesIO(gzip.compress(text + b"\n" * 10**6, mtime=0)))
    assert checking.check_next()
    sent = Challenge.objects.get(pk=challenge.pk)
    assert "more than 1,000 empty lines" in sent.problem
    assert not challenge.path.exists()


def test_the_scheduler_deletes_what_an_attempt_left_and_not_what_is_being_recorded(
    ada: User, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(recording, "GROUP", 2)
    copy, fails = recording.copy_episodes, iter([False, True])
    erased: list[int] = []

    def copy_while_the_scheduler_is_at_work(*args: Any, **more: Any) -> Any:
        if next(fails, False):
            raise OSError("the worker is killed")
        copied = copy(*args, **more)
        erased.append(erase())
        return copied

    monkeypatch.setattr(recording, "copy_episodes", copy_while_the_scheduler_is_at_work)
    challenge = drawn(ada)
    sent = send(challenge, lines_of(played(drawing.document_of(challenge))))  # the second attempt ends well
    assert sent.state == Challenge.State.VERIFIED, sent.problem
    assert erased == [0, 1, 0, 0]  # the first attempt stays while it is under way, and is deleted during the second
    assert Episode.objects.filter(batch=sent.batch).count() == Episode.objects.count() == EPISODES


def test_whoever_sends_episodes_pays_for_their_check(ada: User, monkeypatch: pytest.MonkeyPatch) -> None:
    challenge = drawn(ada)
    lines = lines_of(played(drawing.document_of(challenge)))
    receiving.accept(ada, challenge.pk, BytesIO("".join(json.dumps(line) + "\n" for line in lines).encode()))
    monkeypatch.setattr(settings, "CPU_SECONDS_PER_DAY", 1)
    record_cpu(CpuUse.Use.JOBS, {ada.pk: 1.0})
    browser = Client()
    browser.force_login(ada)
    verify.results(challenge.pk)
    assert Challenge.objects.get(pk=challenge.pk).executed == 0
    assert "continues after midnight" in browser.get(challenge.get_absolute_url()).content.decode()
    monkeypatch.setattr(settings, "CPU_SECONDS_PER_DAY", None)
    verify.results(challenge.pk)
    assert Challenge.objects.get(pk=challenge.pk).state == Challenge.State.VERIFIED
    assert CpuUse.objects.get(user=ada, use=CpuUse.Use.CHECKS).seconds > 0


def test_an_episode_without_an_answer_counts_with_the_lowest_return(ada: User) -> None:
    challenge = drawn(ada)
    lines = lines_of(played(drawing.document_of(challenge), "expert"))
    lines[0].update(failure="<b>no</b>", failed_by="agent", success=None, terminated=False, truncated=False)
    lines[0].update(turns=lines[0]["turns"][:-1], turn_count=lines[0]["turn_count"] - 1)
    sent = send(challenge, lines)
    assert sent.state == Challenge.State.VERIFIED, sent.problem
    part = Score.objects.get(job=sent.job, env_id=lines[0]["env_id"])
    assert part.n == HIDDEN_SEEDS
    assert part.mean_return < 1
    assert "<b>" not in Episode.objects.get(batch=sent.job.batch, failed_by="agent").failure


def test_nothing_is_taken_after_the_deadline_or_twice(ada: User) -> None:
    challenge = drawn(ada)
    lines = lines_of(played(drawing.document_of(challenge)))
    Challenge.objects.filter(pk=challenge.pk).update(deadline=timezone.now() - timedelta(seconds=1))
    with pytest.raises(ChallengeRefused, match="deadline of this challenge has passed"):
        send(challenge, lines)
    Challenge.objects.filter(pk=challenge.pk).update(deadline=timezone.now() + timedelta(days=1))
    send(challenge, lines)
    with pytest.raises(ChallengeRefused, match="verified already"):
        send(challenge, lines)
    with pytest.raises(ChallengeRefused, match="no such challenge"):
        receiving.accept(User.objects.create_user("eve"), challenge.pk, BytesIO(b""))


def test_every_challenge_counts_as_a_try_of_the_account(ada: User, season: Season) -> None:
    unused, failed = drawn(ada), drawn(ada)
    send(failed, [{"nothing": 1}])
    Challenge.objects.update(deadline=timezone.now() - timedelta(seconds=1))
    challenge = drawn(ada)
    sent = send(challenge, lines_of(played(drawing.document_of(challenge))))
    assert challenges_of(ada.pk, season).in_words == "3 challenges drawn: 1 verified, 1 failed, 1 unused"
    assert Challenge.objects.get(pk=unused.pk).state_in_words == "unused"
    assert sent.job is not None
    assert sent.job.reexecution.certificate["certificate"]["tries"] == 3
    page = Client().get(f"/leaderboard/elsewhere/?benchmark={NAME}").content.decode()
    assert "3 challenges drawn: 1 verified, 1 failed, 1 unused" in page


def test_a_person_has_a_few_challenges_at_a_time(ada: User, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(settings, "CHALLENGES_PER_USER", 1)
    drawn(ada)
    with pytest.raises(ChallengeRefused, match="1 challenges under way"):
        drawn(ada)


def test_nobody_else_sees_a_challenge(ada: User) -> None:
    challenge = drawn(ada)
    other = Client()
    other.force_login(User.objects.create_user("eve", is_staff=True))
    for browser in (Client(), other):
        for address in (challenge.get_absolute_url(), f"{challenge.get_absolute_url()}challenge.json"):
            assert browser.get(address).status_code in (302, 404)
    own = Client()
    own.force_login(ada)
    assert own.get(challenge.get_absolute_url()).status_code == 200
    document = Document.model_validate_json(own.get(f"{challenge.get_absolute_url()}challenge.json").content)
    assert document == drawing.document_of(challenge)


def test_outputs_that_do_not_repeat_make_a_reported_row(ada: User, monkeypatch: pytest.MonkeyPatch) -> None:
    challenge = drawn(ada)
    note = "Outputs of mcp do not repeat and were taken from the record."
    execute = checking._execute

    def noting(row: Challenge, *rest: Any) -> bool:
        is_over = execute(row, *rest)
        row.notes = {note: 1}
        return is_over

    monkeypatch.setattr(checking, "_execute", noting)
    sent = send(challenge, lines_of(played(drawing.document_of(challenge))))
    assert sent.state == Challenge.State.REPORTED
    row = ReportedRow.objects.get()
    assert row.source == "challenge"
    assert row.episodes == EPISODES
    assert note in row.notes
    assert not Job.objects.exists()
    assert erase() == 1
    assert not Batch.objects.exists()
    assert "nothing proves them" in Client().get(row.get_absolute_url()).content.decode()


def test_a_challenge_through_the_api_and_the_form(ada: User, season: Season) -> None:
    browser = Client()
    browser.force_login(ada)
    body = {"agent": "tabula 7b", "kind": "model", "visibility": "public"}
    made = browser.post(f"/api/v1/benchmarks/{NAME}/challenges", body, content_type="application/json")
    assert made.status_code == 201, made.content
    key = made.json()["id"]
    document = Document.model_validate_json(browser.get(f"/api/v1/challenges/{key}/challenge.json").content)
    text = "".join(json.dumps(line) + "\n" for line in lines_of(played(document))).encode()
    file = BytesIO(text)
    file.name = "episodes.jsonl"
    sent = browser.post("/leaderboard/challenges/push/", {"challenge": key, "file": file})
    assert sent.status_code == 302
    assert browser.get(f"/api/v1/challenges/{key}").json()["state"] == "sent"
    assert checking.check_next()
    found = browser.get(f"/api/v1/challenges/{key}").json()
    assert (found["state"], found["tries"], found["problem"]) == ("verified", 1, "")
    proof = browser.get(f"/api/v1/leaderboard/rows/{found['row']}/proof").json()
    assert (proof["state"], proof["tier"], proof["closed"]) == ("verified", "verified", False)
    assert browser.get("/api/v1/challenges").json()["items"][0]["id"] == key
    wrong = browser.post(
        f"/api/v1/benchmarks/{NAME}/challenges", {"agent": "random", "kind": "x"}, content_type="application/json"
    )
    assert wrong.status_code == 422


def numbers() -> list[dict[str, Any]]:
    return [{"env_id": env_id, "mean_return": 0.5, "episodes": 10, "success_rate": 0.5} for env_id in ENV_IDS]


def test_a_reported_row_says_that_nothing_is_proved(ada: User) -> None:
    browser = Client()
    browser.force_login(ada)
    body = {"agent": "paper 70b", "kind": "model", "environments": numbers(), "link": "https://example.org/paper"}
    made = browser.post(f"/api/v1/benchmarks/{NAME}/reported", body, content_type="application/json")
    assert made.status_code == 201, made.content
    row = ReportedRow.objects.get()
    entries = benchmarks.load(NAME).entries
    assert row.score == pytest.approx(sum(entry.score(0.5) for entry in entries) / len(entries))
    assert "nothing proves them" in Client().get(row.get_absolute_url()).content.decode()
    assert "paper 70b" in Client().get(f"/leaderboard/elsewhere/?benchmark={NAME}").content.decode()
    assert NAME in Client().get("/leaderboard/elsewhere/").content.decode()  # opened without a benchmark: the first one
    assert "paper 70b" not in [score.agent.name for score in Score.objects.of(benchmarks.load(NAME)).newest()]
    listed = Client().get(f"/api/v1/benchmarks/{NAME}/reported").json()["items"]
    assert [(each["rank"], each["agent"]) for each in listed] == [(1, "paper 70b")]
    less = {**body, "environments": numbers()[:1]}
    refused = browser.post(f"/api/v1/benchmarks/{NAME}/reported", less, content_type="application/json")
    assert refused.status_code == 422
    assert "no numbers for" in refused.json()["detail"]
    assert browser.delete(f"/api/v1/reported/{row.pk}").status_code == 204


def test_the_form_of_a_reported_row_reads_lines(ada: User) -> None:
    browser = Client()
    browser.force_login(ada)
    lines = "\n".join(f"{env_id}, 0.5, 10, 0.5" for env_id in ENV_IDS)
    address = f"/leaderboard/reported/new/?benchmark={NAME}"
    sent = {"agent": "paper 70b", "kind": "model", "numbers": lines, "link": "javascript:alert(1)"}
    assert browser.post(address, sent).status_code == 422
    assert browser.post(address, {**sent, "link": "", "numbers": "x"}).status_code == 422
    assert browser.post(address, {**sent, "link": ""}).status_code == 302
    assert ReportedRow.objects.get().owner == ada
