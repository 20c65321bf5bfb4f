"""One object of each kind, with an owner and a visibility, and one person of each role: what addresses are about."""

from __future__ import annotations

import json
from typing import Any

from django.conf import settings

from apps.accounts import operations as accounts
from apps.accounts.models import User
from apps.agents import operations as agents
from apps.agents.models import Agent, Upload, Weights
from apps.benchmarks.models import BenchmarkVersion, OwnBenchmark
from apps.curves import recording as curves
from apps.curves.entries import Sent
from apps.curves.models import OutsideTraining
from apps.daily import days
from apps.daily import operations as daily
from apps.duels import operations as duels
from apps.episodes import operations as episodes
from apps.episodes.operations import Occupant
from apps.jobs import operations as jobs
from apps.jobs.models import Checkpoint, Job
from apps.leaderboard.challenges import drawing
from apps.leaderboard.models import Challenge, ReportedRow, Score
from apps.play import operations as play
from apps.play.people import invitations
from apps.play.shows import operations as shows
from apps.remote import operations as remotes
from apps.reported import recording as reported
from apps.reported.models import ReportedEvaluation
from apps.studies import operations as studies
from apps.studies.models import Study
from apps.trainings import operations as trainings
from apps.trainings.logs import LOG_NAME
from apps.trainings.records import folder_of
from apps.visibility import Visibility
from apps.webhooks import operations as webhooks
from apps.webhooks.models import Delivery
from gem import benchmarks
from gem.agents.endpoint import EndpointSpec
from gem.evaluation.spec import EvaluationSpec
from gem.studies.study import find
from gem.training.spec import read_spec
from gem.transcripts import of_sample
from tests.apps.site.roles import ENV_ID

SCORE: dict[str, Any] = {
    "benchmark": "games",
    "benchmark_version": benchmarks.load("games").version,
    **dict.fromkeys(("mean", "low", "high", "mean_return", "success_rate"), 0.5),
    "n": 2,
}
CARD: dict[str, Any] = {"env_id": ENV_ID, "update": 1}
PASSWORD = "correct horse battery"
SET_UP = EndpointSpec(url="http://127.0.0.1:1/v1", model="m")


def some_people() -> dict[str, User | None]:
    """One of each role."""
    return {
        "nobody": None,
        "somebody else": User.objects.create_user("else", password=PASSWORD),
        "the owner": User.objects.create_user("owner", password=PASSWORD),
        "staff": User.objects.create_user("staff", password=PASSWORD, is_staff=True),
    }


def objects_of(people: dict[str, User | None], visibility: str = "unlisted") -> dict[str, Any]:
    """What addresses name; everything with a visibility has this one and belongs to the owner."""
    owner = people["the owner"]
    assert owner is not None
    episode = play.begin(ENV_ID, seed=1, user=owner, visitor="", visibility=visibility)
    play.take_turn(episode.id, "\\boxed{1}", expected_seq=0, user=owner, visitor="")
    show = shows.start(ENV_ID, Agent.objects.get(slug="random"), seed=1, user=owner, visibility=visibility)
    agents_of_duel = [Agent.objects.get(slug=slug) for slug in ("expert", "random")]
    duel = duels.start(duels.DuelStart(ENV_ID, 1), agents_of_duel, user=owner, visitor="", visibility=visibility)
    spec = EvaluationSpec(agent="random", env_ids=(ENV_ID,), episodes_per_env=2)
    job = jobs.submit(owner, spec, name="mine", visibility=visibility)
    draft = episodes.draft(ENV_ID, seed=1)
    draft.of_job = True
    job_episode = episodes.store(draft, seats=[Occupant(job.agent)], batch=job.batch, slot=0)
    score = Score.objects.create(job=job, agent=job.agent, **SCORE)
    agent = agents.create(owner, "mine", SET_UP, visibility=visibility)
    upload = Upload.objects.create(slug="sent", owner=owner)
    training = trainings.submit(owner, read_spec({"env_id": ENV_ID}), name="mine too", visibility=visibility)
    policy = trained(training)
    webhook, _ = webhooks.add(owner, "https://example.org/hook", ["job.ended"])
    delivery = Delivery.objects.create(
        webhook=webhook, event="job.ended", topic="job", key=job.id, seq=9, body="{}", due=webhook.created
    )
    invitation = play.begin_against("duel:TicTacToe-v0", None, seat=0, user=owner, visitor="", visibility=visibility)
    day = days.today()
    try_of_day = daily.begin(day, owner, "")
    play.abandon(try_of_day.pk, user=owner, visitor="")
    episodes.set_visibility(try_of_day, Visibility(visibility))
    return {
        "day": day.number,
        "daily_episode": try_of_day.pk,
        "agent": agent.slug,
        "remote": remotes.create(owner, "connects", visibility=visibility).slug,
        "policy": policy.slug,
        "invitation": invitation.id,
        "seat_token": invitations.address(invitation.seats.get(number=1)).rstrip("/").rpartition("/")[2],
        "login_token": accounts.make_login_link(),
        "upload": upload.pk,
        "webhook": webhook.pk,
        "delivery": delivery.pk,
        "challenge": challenge_of(owner).pk,
        "reported": reported_by(owner, visibility).pk,
        "outside": outside_training_of(owner, visibility).pk,
        "started": study_of(owner, visibility).pk,
        "recipe": "gcd",
        "reported_evaluation": reported_evaluation_of(owner, visibility).pk,
        "own_benchmark": benchmark_of(owner, visibility).name,
        "training": training.id,
        "episode": episode.id,
        "show": show.id,
        "duel": duel.id,
        "job": job.id,
        "job_episode": job_episode.id,
        "score": score.pk,
        "content": "episode",
        "document": "glossary",
        "study": "algorithms",
        "benchmark": "games",
        "picture": "training.png",
        "env_id": ENV_ID,
        "zero": 0,
        "one": 1,
        "pause": "pause",
        "table": "episodes",
        "format": "csv",
    }


def challenge_of(owner: User) -> Challenge:
    """A challenge that waits for its episodes."""
    return drawing.draw(owner, benchmarks.load("games-easy"), agent="elsewhere", kind="model")


def reported_by(owner: User, visibility: str) -> ReportedRow:
    """A reported row."""
    entry = {"env_id": ENV_ID, "mean_return": 0.5, "episodes": 2, "success_rate": 0.5, "score": 0.5}
    return ReportedRow.objects.create(
        owner=owner, agent_name="elsewhere", declared="model", benchmark="games-easy",
        benchmark_version=benchmarks.load("games-easy").version, numbers=[entry], score=0.5, episodes=2,
        visibility=visibility,
    )  # fmt: skip


def outside_training_of(owner: User, visibility: str) -> OutsideTraining:
    """A training elsewhere that has sent an entry."""
    training = curves.begin(owner, "wordle", "elsewhere", visibility=visibility)
    return curves.record(training, [Sent({"reward": 0.5}, 1)]).training


def study_of(owner: User, visibility: str) -> Study:
    """A study of one environment that was cancelled before any run was made."""
    plan = studies.with_choices(find("gamma"), seeds=2)
    study = studies.start(owner, plan, visibility=visibility, reuses_results=False)
    return studies.cancel(study.pk, owner)


def reported_evaluation_of(owner: User, visibility: str) -> ReportedEvaluation:
    """An evaluation that another program has reported, with one episode."""
    source = ReportedEvaluation.Source.VERIFIERS
    row = reported.begin(owner, "elsewhere", source=source, visibility=visibility)
    said = [{"role": "user", "content": "Guess."}, {"role": "assistant", "content": "5"}]
    reported.add(row, [of_sample({"sample_id": "a", "completion": said, "reward": 1.0})])
    return row


def benchmark_of(owner: User, visibility: str) -> OwnBenchmark:
    """A benchmark of a person, of which one version is ready."""
    row = OwnBenchmark.objects.create(name=f"{owner.username}.duel", owner=owner, visibility=visibility)
    document = json.loads(benchmarks.text_of("duel"))
    BenchmarkVersion.objects.create(benchmark=row, number=1, document=document, state="ready")
    return row


def trained(training: Job) -> Agent:
    """The checkpoint after the first update of a training, with files that are not read, and a log."""
    folder = folder_of(training.id)
    (folder / "weights").mkdir(parents=True, exist_ok=True)
    (folder / "weights" / "card.json").write_text("{}")
    (folder / LOG_NAME).write_text("an update\n")
    policy = Agent.objects.create(
        slug=f"checkpoint-{training.id}-1", name="mine too 1", kind=Agent.Kind.CHECKPOINT, owner=training.owner,
        colour=1, listed=False, visibility=training.batch.visibility,
    )  # fmt: skip
    Weights.objects.create(agent=policy, folder=str((folder / "weights").relative_to(settings.RUNS_DIR)), card=CARD)
    Checkpoint.objects.create(job=training, update=1, agent=policy)
    return policy
