"""The table of all addresses: what each needs, and its answers to nobody, somebody else, the owner and staff.

The answers are those about objects that are unlisted or public. What names a private object answers 404 to nobody and
to somebody else (`Address.status`), so the table says each thing once.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

from django.conf import settings
from django.urls import URLPattern, URLResolver, get_resolver

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
from tests.apps.site.api_addresses import API_TABLE
from tests.apps.site.play_addresses import PLAY_TABLE
from tests.apps.site.roles import ENV_ID, Address

SCORE: dict[str, Any] = {
    "benchmark": "games",
    "benchmark_version": benchmarks.load("games").version,
    **dict.fromkeys(("mean", "low", "high", "mean_return", "success_rate"), 0.5),
    "n": 2,
}


CARD: dict[str, Any] = {"env_id": ENV_ID, "update": 1}


TABLE: dict[str, Address] = {
    **API_TABLE,
    **PLAY_TABLE,
    "site:home": Address("200"),
    "site:begin": Address("302", post=True, sent={"env_id": ENV_ID}),
    "site:search": Address("200"),
    "site:docs": Address("200"),
    "site:doc": Address("200", names=("document",)),
    "site:picture": Address("200", names=("picture",)),
    "site:health": Address("503"),
    "site:health_json": Address("503"),
    "site:live": Address("200"),
    "site:ready": Address("200"),
    "site:metrics": Address("404 404 404 200"),
    "accounts:account": Address("302 200 200 200"),
    "accounts:visibility": Address(
        "302", post=True, sent={"default_visibility": "private", "agent_visibility": "private"}
    ),
    "accounts:named": Address("302", post=True, sent={"is_named": "on"}),
    "accounts:export": Address("302 200 200 200"),
    "accounts:delete": Address("302 200 200 200"),
    "accounts:login": Address("200 302 302 302"),
    "accounts:logout": Address("302", post=True),
    "accounts:signup": Address("200 302 302 302"),
    "accounts:login_link": Address("200", names=("login_token",)),
    "programs:tokens": Address("302 200 200 200"),
    "programs:revoke": Address("302", names=("one",), post=True),
    "programs:rest": Address("200"),
    "webhooks:list": Address("302 200 200 200"),
    "webhooks:webhook": Address("302 404 200 404", names=("webhook",)),
    "webhooks:change": Address("302 404 302 404", names=("webhook",), post=True, sent={"do": "off"}),
    "webhooks:edit": Address("302 404 422 404", names=("webhook",), post=True),
    "webhooks:send_again": Address("302 404 302 404", names=("delivery",), post=True),
    "moderation:reports": Address("404 404 404 200"),
    "moderation:report": Address("200", names=("content", "episode")),
    "moderation:decide": Address(
        "404 404 404 302", names=("content", "episode"), post=True, sent={"do": "hide", "reason": "It shows a secret."}
    ),
    "agents:list": Address("200"),
    "agents:new": Address("302 200 200 200"),
    "agents:agent": Address("200", names=("agent",)),
    "agents:visibility": Address("403 403 302 403", names=("agent",), post=True, sent={"visibility": "public"}),
    "agents:facts": Address("403 403 302 403", names=("agent",), post=True, sent={"plays_daily": "on"}),
    "agents:edit": Address("404 404 200 404", names=("agent",)),
    "agents:delete": Address("404 404 302 404", names=("agent",), post=True),
    "agents:upload": Address("302 200 200 200"),
    "agents:uploaded": Address("404 404 200 404", names=("upload",)),
    "agents:weights": Address("200", names=("policy",)),
    "agents:trial": Address("302 422 422 422", post=True),
    "connect:new": Address("302 200 200 200"),
    "connect:asked": Address("200", names=("episode",)),
    "connect:agent": Address("404 404 200 404", names=("remote",)),
    "connect:strip": Address("404 404 200 404", names=("remote",)),
    "connect:token": Address("302 404 200 404", names=("remote",), post=True),
    "connect:seats": Address("302 404 302 404", names=("remote",), post=True, sent={"seats": "2"}),
    "connect:chat": Address("302 404 200 404", names=("remote",), post=True, sent={"env_id": ENV_ID}),
    "catalog:list": Address("200"),
    "catalog:environment": Address("200", names=("env_id",)),
    "catalog:picture": Address("200", names=("env_id",)),
    "catalog:first_turn": Address("200", names=("env_id",)),
    "episodes:list": Address("200"),
    "episodes:example": Address("200", sent={"env_id": ENV_ID}),
    "episodes:recent": Address("200", sent={"env_id": ENV_ID}),
    "episodes:episode": Address("200", names=("episode",)),
    "episodes:turn": Address("200", names=("episode", "one")),
    "episodes:turn_json": Address("200", names=("episode", "one")),
    "episodes:frames": Address("200", names=("episode", "zero")),
    "episodes:json": Address("200", names=("episode",)),
    "episodes:jsonl": Address("200", names=("episode",)),
    "episodes:verify": Address("200", names=("episode",), post=True),
    "episodes:verdict": Address("200", names=("episode",)),
    "episodes:why": Address("200", names=("episode",)),
    "episodes:ask_expert": Address("409", names=("episode",), post=True),
    "episodes:embed": Address("200", names=("episode",), has_session=False),
    "episodes:replay_file": Address("409", names=("episode",)),
    "episodes:visibility": Address("403 403 302 403", names=("episode",), post=True, sent={"visibility": "private"}),
    "forks:tree": Address("200", names=("episode",)),
    "forks:turn": Address("200", names=("episode", "one")),
    "forks:go_on": Address("302", names=("episode",), post=True, sent={"turn": "0", "agent": "random", "count": "2"}),
    "forks:export": Address("200", names=("episode",)),
    "lens:credit": Address("200", names=("episode",)),
    "lens:turn": Address("200", names=("episode", "one")),
    "lens:json": Address("404", names=("episode",)),
    "lens:csv": Address("404", names=("episode",)),
    "lens:same_seed": Address("200", names=("episode",)),
    "lens:measure": Address("409", names=("episode",), post=True, sent={"agent": "random", "count": "16"}),
    "lens:stop": Address("404", names=("episode", "one"), post=True),
    "learnability:probe": Address("200", sent={"env_id": ENV_ID}),
    "learnability:ask": Address("302", post=True, sent={"env_id": ENV_ID}),
    "duels:new": Address("200"),
    "duels:duel": Address("200", names=("duel",)),
    "duels:add": Address("403 403 302 302", names=("duel",), post=True, sent={"agent": "random"}),
    "duels:control": Address("403 403 302 302", names=("duel", "pause"), post=True),
    "duels:visibility": Address("403 403 302 403", names=("duel",), post=True, sent={"visibility": "private"}),
    "duels:side_by_side": Address("200", names=("episode", "show")),
    "jobs:list": Address("200"),
    "jobs:recent": Address("200"),
    "jobs:submit": Address("200"),
    "jobs:estimate": Address("200"),
    "jobs:change": Address("200", post=True, sent={"agent": "random", "env_id": ENV_ID, "do": "add rg:gcd"}),
    "jobs:paste": Address("422", post=True),
    "jobs:job": Address("200", names=("job",)),
    "jobs:episodes": Address("200", names=("job",)),
    "jobs:spec": Address("200", names=("job",)),
    "jobs:visibility": Address("302 403 302 403", names=("job",), post=True, sent={"visibility": "private"}),
    "jobs:cancel": Address("302 403 302 302", names=("job",), post=True),
    "jobs:resume": Address("302 403 302 302", names=("job",), post=True),
    "jobs:control": Address("302 403 302 302", names=("job",), post=True, sent={"do": "pause"}),
    "jobs:log": Address("200", names=("job",)),
    "jobs:log_text": Address("200", names=("job",)),
    "jobs:controls": Address("200", names=("job",)),
    "jobs:under_way": Address("200", names=("job",)),
    "jobs:seat": Address("403 403 200 200", names=("job", "zero")),
    "jobs:take_seat": Address("403 403 302 302", names=("job", "zero"), post=True),
    "jobs:progress": Address("200", names=("job",)),
    "jobs:results": Address("200", names=("job",)),
    "jobs:export": Address("200", names=("job", "table", "format")),
    "jobs:describe": Address("302 403 302 403", names=("job",), post=True, sent={"name": "another"}),
    "jobs:archive": Address("302 403 302 403", names=("job",), post=True, sent={"archived": "1"}),
    "jobs:delete": Address("302 403 302 403", names=("job",), post=True),
    "jobs:resubmit": Address("302", names=("job",), post=True),
    "trainings:train": Address("200"),
    "trainings:learned_here": Address("200", sent={"env_id": ENV_ID}),
    "trainings:credit": Address("200"),
    "trainings:compare": Address("200"),
    "comparisons:compare": Address("200"),
    "comparisons:export": Address("302"),
    "jobs:of_episode": Address("302", names=("job_episode",)),
    "trainings:curves": Address("200", names=("training",)),
    "trainings:update": Address("200", names=("training", "one")),
    "trainings:checkpoint": Address("200", names=("training", "one")),
    "trainings:log": Address("403 403 200 200", names=("training",)),
    "trainings:log_tail": Address("403 403 200 200", names=("training",)),
    "trainings:change": Address("302 403 302 302", names=("training",), post=True, sent={"do": "pause"}),
    "studies:list": Address("200"),
    "studies:new": Address("200"),
    "studies:estimate": Address("200", post=True),
    "studies:curves": Address("200"),
    "studies:recipe": Address("200", names=("recipe",)),
    "studies:recorded": Address("200", names=("study",)),
    "studies:recorded_results": Address("200", names=("study",)),
    "studies:started": Address("200", names=("started",)),
    "studies:figures": Address("200", names=("started",)),
    "studies:run": Address("200", names=("started", "zero")),
    "studies:results": Address("200", names=("started",)),
    "studies:change": Address("302 403 302 302", names=("started",), post=True, sent={"do": "pause"}),
    "studies:visibility": Address("302 403 302 403", names=("started",), post=True, sent={"visibility": "private"}),
    "studies:delete": Address("302 403 302 403", names=("started",), post=True),
    "curves:list": Address("200"),
    "curves:training": Address("200", names=("outside",)),
    "curves:points": Address("200", names=("outside",)),
    "curves:step": Address("200", names=("outside", "one")),
    "curves:visibility": Address("403 403 302 403", names=("outside",), post=True, sent={"visibility": "private"}),
    "curves:roles": Address("403 403 302 403", names=("outside",), post=True),
    "curves:delete": Address("403 403 302 403", names=("outside",), post=True),
    "reported:list": Address("200"),
    "reported:new": Address("302 200 200 200"),
    "reported:evaluation": Address("200", names=("reported_evaluation",)),
    "reported:episode": Address("200", names=("reported_evaluation", "one")),
    "reported:turn": Address("200", names=("reported_evaluation", "one", "one")),
    "reported:frames": Address("200", names=("reported_evaluation", "one", "zero")),
    "reported:visibility": Address(
        "403 403 302 403", names=("reported_evaluation",), post=True, sent={"visibility": "private"}
    ),
    "reported:delete": Address("403 403 302 403", names=("reported_evaluation",), post=True),
    "doors:prime_resolve": Address("401", post=True),
    "doors:prime_published": Address("200", names=("document", "content")),
    "doors:prime_evaluations": Address("401", post=True),
    "doors:prime_evaluation": Address("405", names=("document",)),
    "doors:prime_samples": Address("401", names=("document",), post=True),
    "doors:prime_finalize": Address("401", names=("document",), post=True),
    "doors:trackio_version": Address("200", names=("document",)),
    "doors:trackio_call": Address("401", names=("document", "content"), post=True),
    "leaderboard:benchmark": Address("200"),
    "leaderboard:about": Address("200"),
    "leaderboard:scores": Address("200"),
    "leaderboard:table": Address("200"),
    "leaderboard:embed": Address("200"),
    "leaderboard:citation": Address("200"),
    "leaderboard:first": Address("200"),
    "leaderboard:log": Address("200"),
    "leaderboard:top": Address("200"),
    "leaderboard:agents": Address("200", sent={"env_id": ENV_ID}),
    "leaderboard:play": Address("302", post=True),
    "leaderboard:yours": Address("200"),
    "leaderboard:seed": Address("200", names=("episode",)),
    "leaderboard:seasons": Address("200"),
    "leaderboard:challenges": Address("302 200 200 200"),
    "leaderboard:challenge_new": Address("302 200 200 200", sent={"benchmark": "games-easy"}),
    "leaderboard:push": Address("302 404 404 404", post=True),
    "leaderboard:challenge": Address("302 404 200 404", names=("challenge",)),
    "leaderboard:challenge_file": Address("302 404 200 404", names=("challenge",)),
    "leaderboard:elsewhere": Address("200", sent={"benchmark": "games-easy"}),
    "leaderboard:report_new": Address("302 200 200 200", sent={"benchmark": "games-easy"}),
    "leaderboard:reported": Address("200", names=("reported",)),
    "leaderboard:reported_delete": Address("404 404 302 404", names=("reported",), post=True),
    "benchmarks:list": Address("200"),
    "benchmarks:new": Address("302 200 200 200"),
    "benchmarks:benchmark": Address("200", names=("own_benchmark",)),
    "benchmarks:file": Address("200", names=("own_benchmark",)),
    "benchmarks:visibility": Address(
        "403 403 302 403", names=("own_benchmark",), post=True, sent={"visibility": "public"}
    ),
    "benchmarks:delete": Address("403 403 302 403", names=("own_benchmark",), post=True),
    "leaderboard:row": Address("200", names=("score",)),
    "leaderboard:mark": Address(
        "404 404 404 302", names=("score",), post=True, sent={"do": "flag", "reason": "Its data look odd."}
    ),
    "leaderboard:badge": Address("200", names=("score",)),
    "leaderboard:certificate": Address("404", names=("score",)),
    "leaderboard:digests": Address("404", names=("score",)),
    "leaderboard:row_episodes": Address("404", names=("score",)),
    "standings:duels": Address("200"),
    "standings:play_next": Address("302", post=True),
    "standings:people": Address("200", sent={"benchmark": "games-easy"}),
    "standings:own": Address("200"),
    "daily:today": Address("200"),
    "daily:begin": Address("302", post=True),
    "daily:line": Address("200"),
    "daily:day": Address("200", names=("day",)),
    "daily:shared": Address("200", names=("day", "daily_episode")),
    "daily:card_svg": Address("200", names=("day", "daily_episode")),
    "daily:card_png": Address("200", names=("day", "daily_episode")),
    "well_known": Address("200"),
}
PASSWORD = "correct horse battery"
SET_UP = EndpointSpec(url="http://127.0.0.1:1/v1", model="m")
ENDPOINT = {name: str(value) for name, value in SET_UP.model_dump().items() if isinstance(value, str | float | int)}
ENDPOINT |= {"name": "another", "visibility": "private"}
NUMBERS = {"episodes_per_env": "2", "seed": "0", "num_envs": "2"}
FORMS: dict[str, Address] = {
    "accounts:login": Address("302", post=True, sent={"username": "else", "password": PASSWORD}),
    "accounts:signup": Address("302", post=True, sent={"username": "newcomer", "password": PASSWORD}),
    "accounts:login_link": Address("302", names=("login_token",), post=True),
    "accounts:account": Address("302", post=True, sent={"old": PASSWORD, "new": "a staple of horses"}),
    "accounts:delete": Address("302", post=True, sent={"password": PASSWORD}),
    "programs:tokens": Address("302 422 422 422", post=True),
    "webhooks:list": Address("302 422 422 422", post=True),
    "moderation:report": Address("302", names=("content", "episode"), post=True, sent={"reason": "It shows a secret."}),
    "agents:new": Address("302", post=True, sent=ENDPOINT),
    "connect:new": Address("302", post=True, sent={"name": "laptop"}),
    "agents:edit": Address("404 404 302 404", names=("agent",), post=True, sent=ENDPOINT),
    "agents:upload": Address("302 422 422 422", post=True),
    "play:new": Address("302", post=True, sent={"env_id": ENV_ID}),
    "play:watch_new": Address("302", post=True, sent={"env_id": ENV_ID, "agent": "random", "pace": "1"}),
    "duels:new": Address("302", post=True, sent={"env_id": ENV_ID, "first": "expert", "second": "random", "pace": "1"}),
    "play:join": Address("302", names=("invitation", "one", "seat_token"), post=True),
    "leaderboard:challenge_new": Address(
        "302", post=True, sent={"benchmark": "games-easy", "agent": "mine", "kind": "model"}
    ),
    "leaderboard:report_new": Address("302 422 422 422", post=True, sent={"benchmark": "games-easy"}),
    "benchmarks:new": Address("302 422 422 422", post=True),
    "reported:new": Address("302 422 422 422", post=True),
    "jobs:submit": Address("302", post=True, sent={"agent": "random", "env_id": ENV_ID} | NUMBERS),
    "jobs:estimate": Address("200", post=True, sent={"agent": "random", "env_id": ENV_ID} | NUMBERS),
    "trainings:train": Address("302", post=True, sent={"env_id": ENV_ID, "updates": "10"}),
    "studies:new": Address("302", post=True, sent={"study": "gamma", "seeds": "2", "environments": "guess-ten"}),
}
"""The answers to the POST of addresses that are in the table with their GET."""


def requests() -> Iterator[tuple[str, Address]]:
    """Each address with each of its methods."""
    yield from TABLE.items()
    yield from FORMS.items()


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


def addresses(resolver: URLResolver | None = None, spaces: tuple[str, ...] = ()) -> Iterator[str]:
    """The name of every address of the site."""
    for pattern in (resolver or get_resolver()).url_patterns:
        if isinstance(pattern, URLResolver):
            yield from addresses(pattern, (*spaces, pattern.namespace) if pattern.namespace else spaces)
        else:
            assert isinstance(pattern, URLPattern)
            yield ":".join((*spaces, pattern.name or str(pattern.pattern)))
