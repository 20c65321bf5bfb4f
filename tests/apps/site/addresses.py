"""The table of all addresses: what each needs, and its answers to nobody, somebody else, the owner and staff.

The answers are those about objects that are unlisted or public. What names a private object answers 404 to nobody and
to somebody else (`Address.status`), so the table says each thing once.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from django.conf import settings
from django.urls import URLPattern, URLResolver, get_resolver

from apps.accounts import operations as accounts
from apps.accounts.models import User
from apps.agents import operations as agents
from apps.agents.models import Agent, Upload, Weights
from apps.duels import operations as duels
from apps.episodes import operations as episodes
from apps.episodes.operations import Occupant
from apps.jobs import operations as jobs
from apps.jobs.models import Checkpoint, Job
from apps.leaderboard.models import Score
from apps.play import invitations
from apps.play import operations as play
from apps.play.shows import operations as shows
from apps.trainings import operations as trainings
from apps.trainings.logs import LOG_NAME
from apps.trainings.records import folder_of
from apps.webhooks import operations as webhooks
from apps.webhooks.models import Delivery
from gem import benchmarks
from gem.agents.endpoint import EndpointSpec
from gem.evaluation.spec import EvaluationSpec
from gem.training.spec import read_spec
from tests.apps.site.api_addresses import API_TABLE
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
    "agents:edit": Address("404 404 200 404", names=("agent",)),
    "agents:delete": Address("404 404 302 404", names=("agent",), post=True),
    "agents:upload": Address("302 200 200 200"),
    "agents:uploaded": Address("404 404 200 404", names=("upload",)),
    "agents:weights": Address("200", names=("policy",)),
    "agents:trial": Address("302 422 422 422", post=True),
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
    "episodes:visibility": Address("403 403 302 403", names=("episode",), post=True, sent={"visibility": "private"}),
    "play:index": Address("302"),
    "play:new": Address("200"),
    "play:lobby": Address("200"),
    "play:watch_new": Address("200"),
    "play:take_turn": Address(
        "403 403 302 403", names=("episode",), post=True, sent={"action": "\\boxed{2}", "expected_seq": "1"}
    ),
    "play:place": Address("200", names=("episode",)),
    "play:hint": Address("200", names=("episode",)),
    "play:join": Address("200", names=("invitation", "one", "seat_token")),
    "play:undo": Address("403 403 302 403", names=("episode",), post=True),
    "play:abandon": Address("403 403 302 403", names=("episode",), post=True),
    "play:fork": Address("302", names=("episode",), post=True, sent={"turn": "0"}),
    "play:finish": Address("302", names=("episode",), post=True),
    "play:controls": Address("200", names=("show",)),
    "play:control": Address("403 403 302 302", names=("show", "pause"), post=True),
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
    "jobs:progress": Address("200", names=("job",)),
    "jobs:results": Address("200", names=("job",)),
    "jobs:export": Address("200", names=("job", "table", "format")),
    "jobs:describe": Address("302 403 302 403", names=("job",), post=True, sent={"name": "another"}),
    "jobs:archive": Address("302 403 302 403", names=("job",), post=True, sent={"archived": "1"}),
    "jobs:delete": Address("302 403 302 403", names=("job",), post=True),
    "jobs:resubmit": Address("302", names=("job",), post=True),
    "trainings:train": Address("200"),
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
    "leaderboard:benchmark": Address("200"),
    "leaderboard:scores": Address("200"),
    "leaderboard:top": Address("200"),
    "leaderboard:agents": Address("200", sent={"env_id": ENV_ID}),
    "leaderboard:play": Address("302", post=True),
    "leaderboard:yours": Address("200"),
    "leaderboard:seed": Address("200", names=("episode",)),
    "leaderboard:seasons": Address("200"),
    "leaderboard:row": Address("200", names=("score",)),
    "leaderboard:certificate": Address("404", names=("score",)),
    "leaderboard:digests": Address("404", names=("score",)),
    "leaderboard:row_episodes": Address("404", names=("score",)),
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
    "agents:edit": Address("404 404 302 404", names=("agent",), post=True, sent=ENDPOINT),
    "agents:upload": Address("302 422 422 422", post=True),
    "play:new": Address("302", post=True, sent={"env_id": ENV_ID}),
    "play:watch_new": Address("302", post=True, sent={"env_id": ENV_ID, "agent": "random", "pace": "1"}),
    "duels:new": Address("302", post=True, sent={"env_id": ENV_ID, "first": "expert", "second": "random", "pace": "1"}),
    "play:join": Address("302 302 409 302", names=("invitation", "one", "seat_token"), post=True),
    "jobs:submit": Address("302", post=True, sent={"agent": "random", "env_id": ENV_ID} | NUMBERS),
    "jobs:estimate": Address("200", post=True, sent={"agent": "random", "env_id": ENV_ID} | NUMBERS),
    "trainings:train": Address("302", post=True, sent={"env_id": ENV_ID, "updates": "10"}),
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
    return {
        "agent": agent.slug,
        "policy": policy.slug,
        "invitation": invitation.id,
        "seat_token": invitations.address(invitation.seats.get(number=1)).rstrip("/").rpartition("/")[2],
        "login_token": accounts.make_login_link(),
        "upload": upload.pk,
        "webhook": webhook.pk,
        "delivery": delivery.pk,
        "training": training.id,
        "episode": episode.id,
        "show": show.id,
        "duel": duel.id,
        "job": job.id,
        "job_episode": job_episode.id,
        "score": score.pk,
        "content": "episode",
        "document": "glossary",
        "benchmark": "games",
        "picture": "training.png",
        "env_id": ENV_ID,
        "zero": 0,
        "one": 1,
        "pause": "pause",
        "table": "episodes",
        "format": "csv",
    }


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
