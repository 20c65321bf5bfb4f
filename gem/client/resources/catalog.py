"""Environments, agents, uploads of checkpoints, benchmarks and the leaderboard."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any, Literal, TypeVar
from urllib.parse import quote

from gem.client.effects import FileToSend, Progress
from gem.client.request import NOTHING, Pages, Parts, Request, Resource, iterates, sends
from gem.client.schemas import (
    Agent,
    AgentChange,
    AgentFacts,
    AgentPage,
    AgentProfile,
    Benchmark,
    BenchmarkPage,
    Environment,
    EnvironmentPage,
    Episode,
    Leaderboard,
    NewAgent,
    NewBenchmark,
    NewTrial,
    OwnBenchmark,
    People,
    Proof,
    RankedStart,
    RowDigests,
    Season,
    SeasonPage,
    Trial,
    Upload,
    UploadPage,
    VisibilityChoice,
)
from gem.client.schemas.base import Visibility

R_co = TypeVar("R_co", covariant=True)
AgentKind = Literal["random", "expert", "endpoint", "remote", "checkpoint", "outside"]
Nature = Literal["", "model", "program", "person"]
Openness = Literal["", "open", "closed"]


class Environments(Resource[R_co]):
    """The catalog of environments."""

    @iterates
    def list(
        self, q: str | None = None, *, filters: Mapping[str, str] | None = None, most: int | None = None
    ) -> Pages[Environment]:
        """Iterate over the environments that match a search, in the order of the catalog.

        Args:
            q: words of the search.
            filters: the filters of the catalog's page, by the names that they have in its address.
            most: stop after so many; None reads them all.
        """
        return Pages(Request("GET", "environments", EnvironmentPage, {"q": q, **(filters or {})}), most)

    @sends
    def get(self, env_id: str) -> Request[Environment]:
        """Return one environment."""
        return Request("GET", f"environments/{quote(env_id, safe=':')}", Environment)

    @iterates
    def variants(self, env_id: str) -> Pages[Environment]:
        """Iterate over all difficulties of an environment, with itself."""
        return Pages(Request("GET", f"environments/{quote(env_id, safe=':')}/variants", EnvironmentPage))


class Agents(Resource[R_co]):
    """Agents: the built-in ones, endpoints, and checkpoints."""

    @iterates
    def list(self, *, kind: AgentKind | None = None, mine: bool | None = None, most: int | None = None) -> Pages[Agent]:
        """Iterate over agents, the newest first. Single checkpoints of trainings are listed with their training."""
        return Pages(Request("GET", "agents", AgentPage, {"kind": kind, "mine": mine}), most)

    @sends
    def get(self, slug: str) -> Request[Agent]:
        """Return one agent."""
        return Request("GET", f"agents/{quote(slug, safe='')}", Agent)

    @sends
    def create(
        self, name: str, spec: Mapping[str, Any], *, key: str = "", visibility: Visibility | None = None
    ) -> Request[Agent]:
        """Add an endpoint agent: a model behind an OpenAI-compatible server.

        Args:
            name: what it is called on all pages.
            spec: a `gem.agents.endpoint.EndpointSpec`: at least `url` and `model`.
            key: the API key of the model's server, which is stored encrypted and never shown.
            visibility: who may see it; by default what the account says.
        """
        content = NewAgent(name=name, spec=dict(spec), key=key, visibility=visibility)
        return Request("POST", "agents", Agent, content=content, keyed=True)

    @sends
    def try_endpoint(self, spec: Mapping[str, Any], *, key: str = "", agent: str | None = None) -> Request[Trial]:
        """Send one message to the server of an endpoint, and return what it answers. Nothing is saved.

        Args:
            spec: as with `create`.
            key: the API key of the model's server.
            agent: an agent of one's own, whose stored key is sent if `key` is empty.
        """
        return Request("POST", "trials", Trial, content=NewTrial(spec=dict(spec), key=key, agent=agent), keyed=True)

    @sends
    def change(
        self,
        slug: str,
        *,
        name: str | None = None,
        spec: Mapping[str, Any] | None = None,
        key: str | None = None,
        visibility: Visibility | None = None,
    ) -> Request[Agent]:
        """Change an endpoint agent of one's own; what is left out stays, and an empty `key` deletes the stored one."""
        changes = {"name": name, "spec": None if spec is None else dict(spec), "key": key, "visibility": visibility}
        content = AgentChange.model_validate({name: value for name, value in changes.items() if value is not None})
        return Request("PATCH", f"agents/{quote(slug, safe='')}", Agent, content=content, keyed=True)

    @sends
    def delete(self, slug: str) -> Request[None]:
        """Delete an endpoint agent or an uploaded checkpoint of one's own. Its episodes keep its name."""
        return Request("DELETE", f"agents/{quote(slug, safe='')}", NOTHING)

    @sends
    def set_visibility(self, slug: str, visibility: Visibility) -> Request[Agent]:
        """Change who may see an agent of one's own."""
        content = VisibilityChoice(visibility=visibility)
        return Request("PUT", f"agents/{quote(slug, safe='')}/visibility", Agent, content=content)

    @sends
    def profile(self, slug: str) -> Request[AgentProfile]:
        """Return the results of an agent: its newest public evaluations, its places on boards, and its rating."""
        return Request("GET", f"agents/{quote(slug, safe='')}/profile", AgentProfile)

    @sends
    def declare(
        self,
        slug: str,
        *,
        nature: Nature = "",
        parameters: int | None = None,
        openness: Openness = "",
        plays_daily: bool = False,
    ) -> Request[Agent]:
        """Say what an agent of one's own is; what is left out is not said any more.

        Args:
            slug: the agent.
            nature: of an endpoint, what answers: a model, unless it is said.
            parameters: of an endpoint, the number of parameters of its model.
            openness: of an endpoint, whether the weights of its model are published.
            plays_daily: whether it plays the daily seed, at the owner's cost, if it is public.
        """
        content = AgentFacts(nature=nature, parameters=parameters, openness=openness, plays_daily=plays_daily)
        return Request("PUT", f"agents/{quote(slug, safe='')}/facts", Agent, content=content)

    @iterates
    def weights(self, slug: str, *, progress: Progress | None = None) -> Parts[bytes]:
        """Iterate over the parts of an archive with the weights of a checkpoint, its tokenizer and its card."""
        return Parts(Request("GET", f"agents/{quote(slug, safe='')}/weights.zip", bytes), progress)


class Uploads(Resource[R_co]):
    """Uploaded checkpoints, which a worker checks before they become agents."""

    @sends
    def send(
        self,
        path: Path | str,
        *,
        name: str = "",
        visibility: Visibility | None = None,
        progress: Progress | None = None,
    ) -> Request[Upload]:
        """Upload a checkpoint.

        Args:
            path: a zip or tar archive, such as the download of a checkpoint.
            name: what it is called on all pages; by default the name of its recipe.
            visibility: who may see it; by default what the account says.
            progress: called with the bytes sent so far and those of the whole file.
        """
        fields = {"name": name, **({} if visibility is None else {"visibility": visibility})}
        return Request("POST", "uploads", Upload, file=FileToSend(Path(path), fields, progress), keyed=True)

    @iterates
    def list(self, *, most: int | None = None) -> Pages[Upload]:
        """Iterate over one's uploads that are no agents yet, the newest first."""
        return Pages(Request("GET", "uploads", UploadPage), most)

    @sends
    def get(self, slug: str) -> Request[Upload]:
        """Return an upload of one's own: whether it waits, was refused, or has become an agent."""
        return Request("GET", f"uploads/{quote(slug, safe='')}", Upload)


class Benchmarks(Resource[R_co]):
    """Versioned lists of environments, seeds and rules."""

    @iterates
    def list(self) -> Pages[Benchmark]:
        """Iterate over all benchmarks."""
        return Pages(Request("GET", "benchmarks", BenchmarkPage))

    @sends
    def get(self, name: str) -> Request[Benchmark]:
        """Return one benchmark: its environments, seeds and scales."""
        return Request("GET", f"benchmarks/{quote(name, safe='')}", Benchmark)

    @iterates
    def seasons(self, name: str) -> Pages[Season]:
        """Iterate over the seasons of a benchmark, the newest first, with their commitments and published keys."""
        return Pages(Request("GET", f"benchmarks/{quote(name, safe='')}/seasons", SeasonPage))

    @sends
    def add(self, document: Mapping[str, Any], *, visibility: Visibility | None = None) -> Request[OwnBenchmark]:
        """Add a benchmark of one's own, or a version of it. A worker checks it; `own` says what came of that.

        Args:
            document: the file as plain data. A version is never changed: another one needs a larger number.
            visibility: who may see it, `private` by default. It can be opened later, and never closed again.
        """
        content = NewBenchmark(document=dict(document), visibility=visibility)
        return Request("POST", "benchmarks", OwnBenchmark, content=content, keyed=True)

    @sends
    def own(self, name: str) -> Request[OwnBenchmark]:
        """Return a benchmark with its versions, and what is wrong with them. One of gemweb itself has one version."""
        return Request("GET", f"benchmarks/{quote(name, safe='')}/versions", OwnBenchmark)

    @sends
    def set_visibility(self, name: str, visibility: Visibility) -> Request[OwnBenchmark]:
        """Open a benchmark of one's own to more people."""
        content = VisibilityChoice(visibility=visibility)
        return Request("PUT", f"benchmarks/{quote(name, safe='')}/visibility", OwnBenchmark, content=content)

    @sends
    def delete(self, name: str) -> Request[None]:
        """Delete a benchmark of one's own, on which nothing was ranked."""
        return Request("DELETE", f"benchmarks/{quote(name, safe='')}", NOTHING)


class Leaderboards(Resource[R_co]):
    """The ranking of agents on each benchmark."""

    @sends
    def get(
        self,
        benchmark: str = "games",
        *,
        env_id: str | None = None,
        tools: bool = False,
        season: int | None = None,
    ) -> Request[Leaderboard]:
        """Return the board of a benchmark: the newest score of each agent and submitter, the best first.

        Args:
            benchmark: the name of the benchmark.
            env_id: rank by this environment alone.
            tools: rank the agents with tools instead, which are ranked apart.
            season: a season by its number; the newest one without it.
        """
        query = {"env_id": env_id, "tools": tools or None, "season": season}
        return Request("GET", f"leaderboard/{quote(benchmark, safe='')}", Leaderboard, query)

    @sends
    def people(self, benchmark: str = "games-easy", *, env_id: str | None = None) -> Request[People]:
        """Return people as rows: all of them together, and those who want to be named."""
        return Request("GET", f"leaderboard/{quote(benchmark, safe='')}/people", People, {"env_id": env_id})

    @sends
    def play(self, benchmark: str = "games", *, env_id: str = "") -> Request[Episode]:
        """Begin an episode on a ranked seed that is new to the account, of one environment if `env_id` is given."""
        content, path = RankedStart(env_id=env_id), f"leaderboard/{quote(benchmark, safe='')}/episodes"
        return Request("POST", path, Episode, content=content, keyed=True)

    @sends
    def row(self, row_id: int) -> Request[Leaderboard]:
        """Return the scores of one row by environment. They have no ranks."""
        return Request("GET", f"leaderboard/rows/{row_id}", Leaderboard)

    @sends
    def proof(self, row_id: int) -> Request[Proof]:
        """Return how far a row is proved, and its certificate."""
        return Request("GET", f"leaderboard/rows/{row_id}/proof", Proof)

    @sends
    def digests(self, row_id: int) -> Request[RowDigests]:
        """Return the digest of every episode of a verified row."""
        return Request("GET", f"leaderboard/rows/{row_id}/digests", RowDigests)

    @iterates
    def episodes(self, row_id: int, *, progress: Progress | None = None) -> Parts[bytes]:
        """Iterate over the parts of a file with the episodes of a verified row, which `gemweb verify` reads.

        While their season runs, there is none.
        """
        return Parts(Request("GET", f"leaderboard/rows/{row_id}/episodes.jsonl", bytes), progress)
