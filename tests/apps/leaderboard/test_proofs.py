"""Rows that carry their proof: executed again before they rank, and certified with the key of the site."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Iterator
from html import unescape
from pathlib import Path
from typing import Any

import pytest
from django.conf import settings
from django.core.management import call_command
from django.test import Client
from django.urls import reverse

from apps import downloads
from apps.accounts.models import CpuUse, User
from apps.accounts.quotas import record_cpu
from apps.agents.models import Agent
from apps.episodes.models import Batch, Episode, Turn
from apps.jobs.models import Job
from apps.leaderboard.models import Reexecution, Score, SiteKey
from apps.leaderboard.proofs import checks, keys, views
from apps.leaderboard.proofs.waiting import wake_workers
from apps.leaderboard.seasons import reveal
from apps.seasons import operations as seasons
from apps.seasons.models import Season
from gem import benchmarks
from gem.cli import main
from gem.client import schemas
from gem.records import episode_files
from gem.verification import certificates
from gem.verification.checking import check_episodes
from gem.verification.keys import SiteKeys, TrustedKeys
from tests.apps.seasons import HIDDEN_SEEDS, NAME, end, ranked_job, shorten
from workers import verify

pytestmark = pytest.mark.django_db
EPISODES = 2 * HIDDEN_SEEDS


@pytest.fixture(autouse=True)
def season(transactional_db: None, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Season:
    """The running season of a short benchmark, and the agents that play in it."""
    monkeypatch.setattr(settings, "ENDPOINT_KEYS_FILE", tmp_path / "keys")
    for kind in ("random", "expert", "human"):
        Agent.objects.get_or_create(slug=kind, defaults={"name": kind, "kind": kind, "colour": 8})
    shorten(monkeypatch)
    return seasons.current(benchmarks.load(NAME))


def listed() -> list[Score]:
    """The rows that rank."""
    return list(Score.objects.of(benchmarks.load(NAME)).newest())


def verified_row() -> Score:
    """The row of a job of the site, executed again."""
    job = ranked_job(None)
    assert checks.check_next()
    return job.scores.get(env_id="")


def trusted() -> TrustedKeys:
    """What a reader trusts who has asked the site for its keys."""
    published = SiteKeys.read(Client().get("/.well-known/gemweb.json").content)
    return TrustedKeys.of_site(published, "the site")


def content_of(response: Any) -> bytes:
    """What a response sends in pieces."""

    async def join() -> bytes:
        return b"".join([piece async for piece in response.streaming_content])

    return asyncio.run(join())


def test_a_row_ranks_when_its_episodes_were_executed_again() -> None:
    job = ranked_job(None)
    assert job.reexecution.state == Reexecution.State.WAITING
    assert not listed()
    assert "being verified" in Client().get(f"/leaderboard/?benchmark={NAME}").content.decode()
    assert checks.check_next()
    row = Reexecution.objects.get(job=job)
    assert row.state == Reexecution.State.VERIFIED, row.difference
    assert (row.tier, row.choices, row.executed) == ("reproduced", "same", EPISODES)
    assert row.actions == row.turns == job.turns_done
    assert [score.job for score in listed()] == [job]
    assert not checks.check_next()


def test_a_long_row_is_executed_in_parts(monkeypatch: pytest.MonkeyPatch) -> None:
    whole, parts = verified_row().job.reexecution, ranked_job(None)
    monkeypatch.setattr(checks, "PART_SECONDS", 0.0)
    for number in range(1, EPISODES):
        assert checks.check_next()
        assert Reexecution.objects.get(job=parts).executed == number
    checks.check_next()
    checks.check_next()
    row = Reexecution.objects.get(job=parts)
    assert row.state == Reexecution.State.VERIFIED, row.difference
    assert row.leaves == whole.leaves


def test_the_re_execution_of_a_row_counts_for_its_submitter_and_waits_at_their_limit(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    ada, client = User.objects.create_user("ada"), Client()
    client.force_login(ada)
    job = ranked_job(ada)
    monkeypatch.setattr(settings, "CPU_SECONDS_PER_DAY", 1)
    record_cpu(CpuUse.Use.JOBS, {ada.pk: 1.0})
    assert not checks.check_next()
    assert not wake_workers()
    address = job.reexecution.job.scores.get(env_id="").get_absolute_url()
    why = "You have used up today&#x27;s CPU seconds."
    assert why in client.get(address).content.decode()
    assert why not in Client().get(address).content.decode()
    others = ranked_job(None)  # the site has no limit
    verify.rows("")
    assert Reexecution.objects.verified().get().job == others
    monkeypatch.setattr(settings, "CPU_SECONDS_PER_DAY", None)
    verify.rows("")
    assert Reexecution.objects.get(job=job).state == Reexecution.State.VERIFIED
    assert CpuUse.objects.get(user=ada, use=CpuUse.Use.CHECKS).seconds > 0


@pytest.mark.parametrize("what", ["reward", "action", "seed"])
def test_a_changed_episode_keeps_its_row_from_ranking(what: str, season: Season) -> None:
    job = ranked_job(None)
    episode = Episode.objects.filter(batch=job.batch).order_by("-slot")[0]
    turn = Turn.objects.filter(episode=episode, number=1)
    if what == "reward":
        turn.update(reward=0.75)
    elif what == "action":
        turn.update(action="\\boxed{nothing}")
    else:
        Episode.objects.filter(pk=episode.pk).update(seed=season.numbers(episode.env_id, 0)[0])
    assert checks.check_next()
    row = Reexecution.objects.get(job=job)
    assert row.state == Reexecution.State.DIFFERS
    assert row.place == f"{episode.env_id}, episode {EPISODES}"
    assert row.difference
    assert row.certificate is None
    assert not listed()
    page = Client().get(reverse("leaderboard:row", args=[job.scores.get(env_id="").pk])).content.decode()
    assert "Not verified" in page
    assert row.place in page
    assert row.difference not in unescape(page)


def test_a_choice_that_is_not_repeated_is_found() -> None:
    """The actions are those of another agent: the environment repeats, and the agent does not."""
    job = ranked_job(None, "expert")
    Job.objects.filter(pk=job.pk).update(agent=Agent.objects.get(slug="random"))
    assert checks.check_next()
    row = Reexecution.objects.get(job=job)
    assert (row.state, row.field) == (Reexecution.State.DIFFERS, "action")


def test_choices_of_what_the_site_does_not_hold_are_not_repeated(monkeypatch: pytest.MonkeyPatch) -> None:
    job = ranked_job(None)
    monkeypatch.setattr("apps.leaderboard.proofs.choices.COMMON", 7)  # the submission has seeds of its own
    assert checks.check_next()
    row = Reexecution.objects.get(job=job)
    assert (row.state, row.tier, row.choices, row.actions) == (Reexecution.State.VERIFIED, "hosted", "", 0)
    page = Client().get(reverse("leaderboard:row", args=[job.scores.get(env_id="").pk])).content.decode()
    assert "Who chose the actions." in page
    assert "The agent chose the actions." not in page


def test_a_policy_of_another_machine_is_not_compared() -> None:
    job = ranked_job(None, "expert")
    Job.objects.filter(pk=job.pk).update(agent=Agent.objects.get(slug="random"))
    job.shards.update(machine="torch of another machine")
    assert checks.check_next()
    row = Reexecution.objects.get(job=job)
    assert (row.state, row.tier, row.choices) == (Reexecution.State.VERIFIED, "hosted", "other machine")


def test_the_certificate_is_that_of_the_episodes(tmp_path: Path, season: Season) -> None:
    score = verified_row()
    client = Client()
    address = reverse("leaderboard:certificate", args=[score.pk])
    signed = certificates.read(client.get(address).content)
    certificate = signed.verified(trusted())
    assert (certificate.tier, certificate.row, certificate.episodes) == ("reproduced", str(score.pk), EPISODES)
    assert certificate.season is not None
    assert certificate.season.commitment == season.commitment
    episodes = reverse("leaderboard:row_episodes", args=[score.pk])
    assert client.get(episodes).status_code == 404
    assert reveal(end(season))
    file = tmp_path / "episodes.jsonl"
    file.write_bytes(content_of(client.get(episodes)))
    assert check_episodes(certificate, lambda: episode_files.read(file)) == EPISODES
    lines = file.read_text().splitlines()
    inclusion = client.get(reverse("leaderboard:digests", args=[score.pk])).json()["episodes"][0]["inclusion"]
    file.write_text(json.dumps({**json.loads(lines[0]), "inclusion": inclusion}) + "\n")
    assert check_episodes(certificate, lambda: episode_files.read(file)) == 1
    changed = json.loads(lines[0])
    changed["turns"][0]["reward"] += 1
    changed.pop("digest")
    file.write_text("\n".join([json.dumps(changed), *lines[1:]]) + "\n")
    with pytest.raises(certificates.NotProved, match=r"Turn 1 differs in reward"):
        check_episodes(certificate, lambda: episode_files.read(file))


def test_a_download_of_a_row_breaks_off_if_its_job_becomes_private_meanwhile(
    season: Season, monkeypatch: pytest.MonkeyPatch
) -> None:
    score = verified_row()
    assert reveal(end(season))
    monkeypatch.setattr(downloads, "_send", lambda pieces, _share: pieces)
    monkeypatch.setattr(views, "LINES_AT_A_TIME", 1)
    response: Any = Client().get(reverse("leaderboard:row_episodes", args=[score.pk]))
    pieces = response.streaming_content
    assert next(pieces)
    Batch.objects.filter(pk=score.job.batch_id).update(visibility="private")
    with pytest.raises(downloads.CutShort):
        list(pieces)


def test_digests_are_public_while_the_season_runs(season: Season) -> None:
    score = verified_row()
    answer = Client().get(reverse("leaderboard:digests", args=[score.pk])).json()
    row = score.job.reexecution
    assert [[leaf["env_id"], leaf["index"], leaf["digest"]] for leaf in answer["episodes"]] == sorted(row.leaves)
    assert {len(leaf["inclusion"]["path"]) for leaf in answer["episodes"]} <= {2, 3}
    assert answer["row_digest"] == row.certificate["certificate"]["row_digest"]  # type: ignore[index]


def test_the_row_says_what_is_proved_and_how_to_verify_it() -> None:
    score = verified_row()
    page = Client().get(reverse("leaderboard:row", args=[score.pk])).content.decode()
    for words in (
        "Reproduced",
        "gemweb verify certificate.json --key",
        f"gemweb reproduce {settings.SITE_URL}/leaderboard/row/{score.pk}/",
        "What it does not prove",
        "Tries",
    ):
        assert words in page


def test_a_private_row_has_no_certificate_for_others() -> None:
    score = verified_row()
    owner = User.objects.create_user("owner")
    Job.objects.filter(pk=score.job_id).update(owner=owner)
    score.job.batch.visibility = "private"
    score.job.batch.save()
    for name in ("row", "certificate", "digests", "row_episodes"):
        assert Client().get(reverse(f"leaderboard:{name}", args=[score.pk])).status_code == 404


def test_the_key_is_made_once_sealed_and_in_no_answer(caplog: pytest.LogCaptureFixture) -> None:
    with caplog.at_level("DEBUG"):
        first, again = keys.ensure(), keys.ensure()
        pem = keys.signing_key().pem.decode()
        page = Client().get("/.well-known/gemweb.json").content.decode()
    assert first == again
    secret = "".join(pem.splitlines()[1:-1])
    assert secret not in first.sealed_key
    assert secret not in caplog.text + page
    call_command("rotate_endpoint_keys", forget_old=True, verbosity=0)
    assert keys.signing_key().public.id == first.key_id


def test_without_the_key_a_row_waits_for_a_new_one() -> None:
    job = ranked_job(None)
    keys.ensure()
    SiteKey.objects.update(sealed_key="sealed with a key that is lost")
    assert checks.check_next()
    row = Reexecution.objects.get(job=job)
    assert (row.state, row.certificate) == (Reexecution.State.UNKNOWN, None)
    assert "rotate_signing_key" in row.difference
    call_command("rotate_signing_key", verbosity=0)
    assert checks.check_next()
    row.refresh_from_db()
    assert (row.state, row.choices) == (Reexecution.State.VERIFIED, "same")
    assert certificates.read(json.dumps(row.certificate)).verified(trusted()).row


def test_certificates_of_earlier_keys_hold_until_the_key_is_withdrawn() -> None:
    document = json.dumps(verified_row().job.reexecution.certificate)
    second = keys.rotate()
    assert SiteKey.objects.exclude(pk=second.pk).get().sealed_key == ""
    assert certificates.read(document).verified(trusted()).tier == "reproduced"
    third = keys.rotate(withdraw=True)
    assert [key.id for key in keys.published().keys] == [third.key_id, certificates.read(document).signature.key]
    SiteKey.objects.filter(pk__lt=second.pk).update(withdrawn=second.begins)
    with pytest.raises(certificates.NotProved, match="is signed with the key"):
        certificates.read(document).verified(trusted())


def test_the_command_verifies_what_the_site_gives(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    score = verified_row()
    file, key = tmp_path / "certificate.json", keys.signing_key().public.base64
    file.write_bytes(Client().get(reverse("leaderboard:certificate", args=[score.pk])).content)
    assert main(["verify", str(file), "--key", key]) == 0
    assert "reproduced" in capsys.readouterr().out


class _Site:
    """Answers the command from the test's own site, without a network."""

    def __init__(self, score: Score) -> None:
        self.score = score
        self.leaderboards = self

    def __enter__(self) -> _Site:
        return self

    def __exit__(self, *_: object) -> None:
        pass

    def proof(self, row_id: int) -> schemas.Proof:
        """The answer of the API."""
        return schemas.Proof.model_validate(Client().get(f"/api/v1/leaderboard/rows/{row_id}/proof").json())

    def episodes(self, row_id: int) -> Iterator[bytes]:
        """The export."""
        yield content_of(Client().get(f"/api/v1/leaderboard/rows/{row_id}/episodes.jsonl"))


def test_a_row_is_reproduced_on_another_machine(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    score = verified_row()
    monkeypatch.setattr("gem.cli.reproduce.connect", lambda _: _Site(score))
    command = ["reproduce", f"{settings.SITE_URL}/leaderboard/row/{score.pk}/", "--episodes", "2"]
    assert main(command) == 0
    out = capsys.readouterr().out
    assert "closed until" in out
    assert "return of the row" in out
    assert reveal(end(Season.objects.get()))
    assert main(command) == 0
    out = capsys.readouterr().out
    assert "All 6 episodes are those of the certificate" in out
    assert "4 of 4 episodes executed again with the same result" in out
    assert "The agent chose the same actions in 4 of 4 episodes" in out


@pytest.mark.parametrize("row", ["x", "12.5", "https://gemweb.example/jobs/7/", "9" * 19])
def test_what_is_no_row_is_refused(row: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["reproduce", row]) == 2
    assert "is not a row" in capsys.readouterr().err
