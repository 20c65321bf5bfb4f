"""Episodes and their turns, what one plays, and agents that play live."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Literal, TypeVar

from gem.client.effects import Progress
from gem.client.events import Event
from gem.client.request import Events, Lines, Pages, Parts, Request, Resource, iterates, sends
from gem.client.resources.following import events_of, place
from gem.client.schemas import (
    Credit,
    Episode,
    EpisodePage,
    EpisodeRecord,
    EpisodeSummary,
    Finish,
    Fork,
    Forks,
    ForkTree,
    HandBack,
    Hint,
    NewEpisode,
    NewForks,
    NewNote,
    NewShow,
    NewTruth,
    NewTurn,
    Steering,
    TakeSeat,
    Truth,
    Turn,
    TurnResult,
    Verdict,
    VisibilityChoice,
)
from gem.client.schemas.base import Outcome, Visibility
from gem.client.schemas.episodes import Control
from gem.errors import InvalidArgument

R_co = TypeVar("R_co", covariant=True)
Source = Literal["", "jobs", "all"]
SEAT_LINK = re.compile(r"play/([0-9a-z]{12})/seat/(\d{1,2})/([\w-]+)")
"""A link to a free seat: the id of the episode, the number of the seat, and the signature."""


class Episodes(Resource[R_co]):
    """Episodes: lists, records and turns, and everything that one does when one plays."""

    @iterates
    def list(
        self,
        *,
        env_id: str | None = None,
        agent: str | None = None,
        outcome: Outcome | None = None,
        seed: int | None = None,
        source: Source | None = None,
        mine: bool | None = None,
        most: int | None = None,
    ) -> Pages[EpisodeSummary]:
        """Iterate over episodes, the newest first.

        Args:
            env_id: only those in this environment.
            agent: only those in which the agent with this slug has a seat.
            outcome: only those that ended like this.
            seed: only those with this seed.
            source: `jobs` for those of jobs, `all` for all; by default those of people and shows.
            mine: only those in which one has a seat.
            most: stop after so many; None reads them all.
        """
        query = {"env_id": env_id, "agent": agent, "outcome": outcome, "seed": seed, "source": source, "mine": mine}
        return Pages(Request("GET", "episodes", EpisodePage, query), most)

    @sends
    def get(self, episode_id: str) -> Request[Episode]:
        """Return one episode without its turns, as one may see it now."""
        return Request("GET", place("episodes", episode_id), Episode)

    @iterates
    def turns(self, episode_id: str, *, after: int = 0, seat: str | None = None) -> Lines[Turn]:
        """Iterate over the turns of an episode, in their order, in constant memory.

        Args:
            episode_id: the episode.
            after: the number of a turn, to begin after it.
            seat: the viewpoint once nothing is hidden any more: the number of a seat, or `public`.
        """
        query = {"after": after or None, "seat": seat}
        return Lines(Request("GET", f"{place('episodes', episode_id)}/turns.jsonl", Turn, query), _after)

    @sends
    def turn(self, episode_id: str, number: int, *, seat: str | None = None) -> Request[Turn]:
        """Return one turn; the first is 1."""
        return Request("GET", f"{place('episodes', episode_id)}/turns/{number}", Turn, {"seat": seat})

    @sends
    def record(self, episode_id: str, *, seat: str | None = None) -> Request[EpisodeRecord]:
        """Return the whole record with all turns, from which `gem.replay` runs the episode again."""
        return Request("GET", f"{place('episodes', episode_id)}/record.json", EpisodeRecord, {"seat": seat})

    @iterates
    def export(self, episode_id: str, *, seat: str | None = None, progress: Progress | None = None) -> Parts[bytes]:
        """Iterate over the parts of a file that `gemweb replay` reads: the episode, then each turn, as JSON lines."""
        return Parts(Request("GET", f"{place('episodes', episode_id)}/record.jsonl", bytes, {"seat": seat}), progress)

    @iterates
    def events(self, episode_id: str, *, after: int | None = None) -> Events[Event]:
        """Iterate over the events of an episode: first its history, then what happens, until it ends."""
        return events_of(place("episodes", episode_id), after)

    @sends
    def verify(self, episode_id: str) -> Request[Verdict]:
        """Run the episode again and compare every turn. A slow one is run by a worker: ask for its `verdict` later."""
        return Request("POST", f"{place('episodes', episode_id)}/verification", Verdict, keyed=True)

    @sends
    def verdict(self, episode_id: str) -> Request[Verdict]:
        """Return what a worker that was asked to verify the episode has found."""
        return Request("GET", f"{place('episodes', episode_id)}/verification", Verdict)

    @sends
    def set_visibility(self, episode_id: str, visibility: Visibility) -> Request[Episode]:
        """Change who may see an episode that one plays or started."""
        content = VisibilityChoice(visibility=visibility)
        return Request("PUT", f"{place('episodes', episode_id)}/visibility", Episode, content=content)

    # -------------------------------------------------------------- credit

    @sends
    def credit(self, episode_id: str, *, discount: float | None = None) -> Request[Credit]:
        """Return what each algorithm would credit every turn with, and the true advantages that were measured.

        Args:
            episode_id: an episode that is over.
            discount: from 0.5 to 1; by default 0.9.
        """
        return Request("GET", f"{place('episodes', episode_id)}/credit", Credit, {"discount": discount})

    @sends
    def measure(
        self,
        episode_id: str,
        *,
        agent: str = "random",
        continuations: Literal[16, 64, 256] = 64,
        turn: int | None = None,
    ) -> Request[Truth]:
        """Have a worker measure true advantages by forking an episode; read it with `truth` until it is done.

        Args:
            episode_id: an episode that is over.
            agent: who continues it: its own agent, `expert` or `random`.
            continuations: of each kind and turn.
            turn: the only turn to measure; None for all.
        """
        content = NewTruth(agent=agent, continuations=continuations, turn=turn)
        return Request("POST", f"{place('episodes', episode_id)}/truths", Truth, content=content, keyed=True)

    @sends
    def truth(self, episode_id: str, truth_id: str, *, discount: float | None = None) -> Request[Truth]:
        """Return one measurement, with the rewards of all its continuations."""
        path = f"{place('episodes', episode_id)}/{place('truths', truth_id)}"
        return Request("GET", path, Truth, {"discount": discount})

    @sends
    def stop_measuring(self, episode_id: str, truth_id: str) -> Request[Truth]:
        """Stop a measurement of one's own. What was measured stays."""
        return Request("DELETE", f"{place('episodes', episode_id)}/{place('truths', truth_id)}", Truth)

    # -------------------------------------------------------------- playing

    @sends
    def begin(
        self,
        env_id: str,
        *,
        seed: int | None = None,
        opponent: str | None = None,
        seat: int | None = None,
        tools: Sequence[str] = (),
        max_tool_uses: int | None = None,
        tool_format: str = "",
        visibility: Visibility | None = None,
    ) -> Request[Episode]:
        """Begin an episode that one plays turn by turn; `Client.make` wraps it as an environment.

        Args:
            env_id: the environment.
            seed: drawn if it is None.
            opponent: where there are several seats, the agent in the others, or `person` for a person with a link.
            seat: one's own seat; drawn if it is None.
            tools: tools of the site that may be used between actions, such as `python`.
            max_tool_uses: how often they may be used.
            tool_format: the format of their calls (see `gem.tools.ToolEnvWrapper`).
            visibility: who may see it; by default what the account says.
        """
        content = NewEpisode(
            env_id=env_id,
            seed=seed,
            visibility=visibility,
            opponent=opponent,
            seat=seat,
            tools=[*tools],
            max_tool_uses=max_tool_uses,
            tool_format=tool_format,
        )
        return Request("POST", "episodes", Episode, content=content, keyed=True)

    @sends
    def take_turn(
        self, episode_id: str, action: str, *, expected_seq: int, as_written: bool = False
    ) -> Request[TurnResult]:
        """Play an action. In a slow environment a worker plays it, and the turn follows later.

        Args:
            episode_id: the episode.
            action: what one does.
            expected_seq: the `seq` of the episode as one has seen it. If it has changed since, nothing is played.
            as_written: send the text even if the environment cannot read it; its rules punish it.
        """
        content = NewTurn(action=action, expected_seq=expected_seq, as_written=as_written)
        return Request("POST", f"{place('episodes', episode_id)}/turns", TurnResult, content=content, keyed=True)

    @sends
    def join(self, link: str) -> Request[Episode]:
        """Take the free seat that a link is about, as one of `Episode.invitations` or the page of an episode has it.

        Raises:
            InvalidArgument: if it is no such link.
        """
        found = SEAT_LINK.search(link)
        if found is None:
            raise InvalidArgument(f"{link!r} is no link to a seat: it contains play/…/seat/…/…/.")
        episode_id, number, signature = found.groups()
        return Request("POST", f"{place('episodes', episode_id)}/seats/{number}/{signature}", Episode, keyed=True)

    @sends
    def undo(self, episode_id: str) -> Request[Episode]:
        """Undo one's last turn and return the new branch that begins before it. The old episode stays readable."""
        return Request("POST", f"{place('episodes', episode_id)}/undo", Episode, keyed=True)

    @sends
    def fork(self, episode_id: str, turn: int) -> Request[Episode]:
        """Continue any episode from one of its turns, in a branch of one's own."""
        return Request("POST", f"{place('episodes', episode_id)}/fork", Episode, content=Fork(turn=turn), keyed=True)

    @sends
    def finish(self, episode_id: str, *, agent: str = "expert", turn: int | None = None) -> Request[Episode]:
        """Let an agent continue an episode live, in a branch: from `turn`, or from its last turn."""
        content = Finish(agent=agent, turn=turn)
        return Request("POST", f"{place('episodes', episode_id)}/finish", Episode, content=content, keyed=True)

    @sends
    def forks(self, episode_id: str) -> Request[ForkTree]:
        """Return the tree of an episode: its ancestors, all their branches that one may find, and where they part."""
        return Request("GET", f"{place('episodes', episode_id)}/forks", ForkTree)

    @sends
    def continue_with(
        self, episode_id: str, turn: int, agent: str, *, count: int = 1, pace: float | None = None
    ) -> Request[Forks]:
        """Let an agent continue any episode live after a turn, in `count` branches at once.

        Args:
            episode_id: an episode that is over or still runs.
            turn: the turn to continue after; 0 is the reset.
            agent: who continues.
            count: from 1 to 64; all of them count among one's live episodes.
            pace: seconds between two turns; by default 1 for one branch, and as fast as possible for several.
        """
        content = NewForks(turn=turn, agent=agent, count=count, pace=pace)
        return Request("POST", f"{place('episodes', episode_id)}/forks", Forks, content=content, keyed=True)

    @iterates
    def export_forks(
        self,
        episode_id: str,
        kind: Literal["pairs", "turns", "episodes"] = "pairs",
        *,
        gap: float | None = None,
        ends: Sequence[str] = (),
        progress: Progress | None = None,
    ) -> Parts[bytes]:
        """Iterate over the parts of a file of JSON lines for training, made from the tree of an episode.

        Args:
            episode_id: any episode of the tree.
            kind: `pairs` for preference pairs, `turns` for states with every action taken in them, or `episodes`.
            gap: the least difference of the mean returns of a pair; by default 0.1.
            ends: the ids of the branches to use; by default all that have ended.
            progress: is told how many bytes have arrived.
        """
        query = {"as": kind, "gap": gap, "end": list(ends) or None}
        path = f"{place('episodes', episode_id)}/forks.jsonl"
        return Parts(Request("GET", path, bytes, query), progress)

    @sends
    def abandon(self, episode_id: str) -> Request[Episode]:
        """End an episode that one plays, without a result."""
        return Request("POST", f"{place('episodes', episode_id)}/abandon", Episode, keyed=True)

    @sends
    def hint(self, episode_id: str) -> Request[Hint]:
        """Return what the expert would do now. The episode records that one has asked."""
        return Request("POST", f"{place('episodes', episode_id)}/hint", Hint, keyed=True)

    # -------------------------------------------------------------- agents that play live

    @sends
    def show(
        self,
        env_id: str,
        agent: str,
        *,
        opponent: str | None = None,
        seed: int | None = None,
        pace: float = 1.0,
        tools: Sequence[str] = (),
        visibility: Visibility | None = None,
    ) -> Request[Episode]:
        """Let an agent play an episode live, one turn every `pace` seconds."""
        content = NewShow(
            env_id=env_id,
            agent=agent,
            opponent=opponent,
            seed=seed,
            pace=pace,
            tools=[*tools],
            visibility=visibility,
        )
        return Request("POST", "shows", Episode, content=content, keyed=True)

    @sends
    def control(self, episode_id: str, do: Control, *, pace: float | None = None) -> Request[Episode]:
        """Pause or resume an agent that plays live, let it play one turn, stop it, or change its pace."""
        content = Steering(do=do, pace=pace)
        return Request("POST", f"{place('episodes', episode_id)}/control", Episode, content=content, keyed=True)

    @sends
    def take_seat(self, episode_id: str, seat: int | None = None) -> Request[Episode]:
        """Take the seat of an agent in a live episode that one may control; by default the seat to act.

        The agent waits until `hand_back`. One plays with `take_turn`. The episode counts in no ranking.
        """
        content = TakeSeat(seat=seat)
        return Request("POST", f"{place('episodes', episode_id)}/seat", Episode, content=content, keyed=True)

    @sends
    def leave_note(self, episode_id: str, text: str) -> Request[Episode]:
        """Leave a note of up to 500 characters, which the agent reads before its next observation."""
        content = NewNote(text=text)
        return Request("POST", f"{place('episodes', episode_id)}/notes", Episode, content=content, keyed=True)

    @sends
    def hand_back(self, episode_id: str, note: str = "") -> Request[Episode]:
        """Give the seat that one has taken back to its agent, with a last note if there is one."""
        content = HandBack(note=note)
        return Request("POST", f"{place('episodes', episode_id)}/hand-back", Episode, content=content, keyed=True)


def _after(turn: Turn) -> dict[str, int]:
    return {"after": turn.turn}
