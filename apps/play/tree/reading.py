"""The tree of an episode: its ancestors, and all branches of these that somebody may see in lists."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from functools import cached_property

from django.db import connection

from apps.accounts.models import Viewer
from apps.agents.models import Agent
from apps.episodes.models import Episode, Seat
from apps.play.tree.hashes import Hashes

MOST_BRANCHES = 64
"""Episodes in one tree, so that it can be read, and drawn within some milliseconds. The rest is only counted."""
MOST_LOOKED_AT = 400
"""Branches among which those that are shown are chosen."""
MOST_ANCESTORS = 100

CLOSED = "This episode is ranked, so it is played once and without branches. It opens when its season is over."
SEALED = (
    "While an episode with several seats runs, a branch would reveal secrets of the seats. Its tree opens when it ends."
)


@dataclass(eq=False)
class Branch:
    """One episode of a tree."""

    episode: Episode
    parent: Branch | None
    """The episode that it was forked from; None for the first of the tree."""
    fork_turn: int
    """The turns that it has from its parent."""
    line: Branch | None = None
    """The branch whose turns it shares longest."""
    parts_at: int = 0
    """How many turns it shares with `line`: its own line in the tree begins after these."""
    parting: list[Branch] = field(default_factory=list)
    """The branches whose `line` this is, those that part last first."""

    @cached_property
    def seats(self) -> list[Seat]:
        """The seats in order."""
        return sorted(self.episode.seats.all(), key=lambda seat: seat.number)

    @cached_property
    def continuer(self) -> Agent:
        """The agent that took the first turn of its own or, without one, that is to act."""
        return self.seats[self.first_seat].agent

    @property
    def first_seat(self) -> int:
        """The seat that is drawn for the branch: the scored one or, of several, the one that acts."""
        return self.episode.scored_seat if self.episode.seat_count == 1 else self.episode.acting

    @property
    def is_opaque(self) -> bool:
        """Whether nobody may know its own turns yet."""
        return self.episode.sealed

    @property
    def has_result(self) -> bool:
        """Whether it ended by the rules of the environment, so that its return counts."""
        return self.episode.status == Episode.Status.ENDED and not self.is_opaque

    @property
    def returns(self) -> list[float]:
        """The return of each seat so far; empty while it is hidden."""
        return [] if self.is_opaque else [seat.total_reward for seat in self.seats]

    def walk(self) -> Iterator[Branch]:
        """Yield this branch and everything that parts from it, line by line from the top of a drawing."""
        yield self
        for branch in self.parting:
            yield from branch.walk()


@dataclass
class Tree:
    """The branches of one episode that somebody may see."""

    root: Branch
    here: Branch
    """The episode that the page is about."""
    branches: list[Branch]
    """All of them, line by line from the top of a drawing."""
    left_out: int
    """Branches that are not shown because there are too many."""

    @property
    def running(self) -> int:
        """How many are played now."""
        return sum(branch.episode.status == Episode.Status.RUNNING for branch in self.branches)

    @property
    def forks(self) -> list[Branch]:
        """All but the first."""
        return [branch for branch in self.branches if branch is not self.root]

    @property
    def solved(self) -> int:
        """How many of the forks were solved."""
        return sum(branch.episode.outcome == Episode.Outcome.WON for branch in self.forks)

    def chosen(self, keys: Iterable[str]) -> list[Branch]:
        """The branches with these ids; all if there are no ids."""
        wanted = set(keys)
        return [branch for branch in self.branches if not wanted or branch.episode.pk in wanted]


def why_closed(episode: Episode) -> str:
    """Why this episode has no tree, as a sentence; empty if it has one."""
    if episode.closed:
        return CLOSED
    return SEALED if episode.sealed else ""


def tree_of(episode: Episode, user: Viewer, visitor: str) -> Tree:
    """The tree of an episode that this person may see, and that has one (`why_closed`).

    Its ancestors are those that the person may open. Of their branches there are those that lists show to this person;
    what was forked from a branch that they do not see is not shown either.
    """
    chain = _ancestors(episode, user, visitor)
    keys = {*chain, *_below(chain[-1], MOST_LOOKED_AT), *_below(episode.pk, MOST_LOOKED_AT)}
    found = _listed(keys, chain, user, visitor)
    kept = _choose(found, chain)
    branches: dict[str, Branch] = {}
    for key in kept:
        row = found[key]
        parent = branches.get(row.parent_id or "") if key != chain[-1] else None
        fork_turn = min(row.parent_turn or 0, row.turn_count) if parent else 0
        branches[key] = Branch(row, parent, fork_turn)
    root = branches[chain[-1]]
    _part(list(branches.values()))
    return Tree(root, branches[episode.pk], list(root.walk()), len(found) - len(branches))


def _ancestors(episode: Episode, user: Viewer, visitor: str) -> list[str]:
    """The ids of the episode and its ancestors, up to the first that this person may not open."""
    if episode.parent_id is None:
        return [episode.pk]
    with connection.cursor() as cursor:
        cursor.execute(
            """
            WITH RECURSIVE up (id, parent_id, n) AS (
                SELECT id, parent_id, 0 FROM episodes_episode WHERE id = %s
                UNION ALL
                SELECT above.id, above.parent_id, n + 1
                FROM episodes_episode above JOIN up ON above.id = up.parent_id WHERE n < %s
            )
            SELECT id FROM up ORDER BY n
            """,
            [episode.pk, MOST_ANCESTORS],
        )
        keys = [key for (key,) in cursor.fetchall()]
    open_ones = Episode.objects.visible_to(user, visitor).filter(pk__in=keys).select_related("batch", "goes_on_in")
    may_open = {row.pk for row in open_ones if not why_closed(row)}
    chain = [keys[0]]
    for key in keys[1:]:
        if key not in may_open:
            break
        chain.append(key)
    return chain


def _below(key: str, most: int) -> list[str]:
    """The ids of the branches of an episode, and of theirs, the nearest first."""
    with connection.cursor() as cursor:
        cursor.execute(
            """
            WITH RECURSIVE down (id, n) AS (
                SELECT id, 1 FROM episodes_episode WHERE parent_id = %s
                UNION ALL
                SELECT below.id, n + 1 FROM episodes_episode below JOIN down ON below.parent_id = down.id
            )
            SELECT id FROM down LIMIT %s
            """,
            [key, most],
        )
        return [below for (below,) in cursor.fetchall()]


def _listed(keys: Iterable[str], chain: list[str], user: Viewer, visitor: str) -> dict[str, Episode]:
    """The episodes by their ids, the oldest first: the chain, and those that lists show and that hang together."""
    rows = Episode.objects.filter(pk__in=chain) | Episode.objects.listed_for(user, visitor).filter(pk__in=keys)
    rows = rows.select_related("batch", "goes_on_in").with_seats().order_by("created", "pk")
    found = {row.pk: row for row in rows.defer("first_observation", "first_info", "state")}
    shown = set(chain)
    for key, row in found.items():  # a branch is younger than its parent
        if row.parent_id in shown:
            shown.add(key)
    return {key: row for key, row in found.items() if key in shown}


def _choose(found: dict[str, Episode], chain: list[str]) -> list[str]:
    """The ids to show, parents first: the chain, then what was forked from the episode itself, then the newest."""
    chosen = set(chain)

    def add(key: str) -> None:
        missing = []
        while key not in chosen:
            missing.append(key)
            key = found[key].parent_id or ""
        if len(chosen) + len(missing) <= MOST_BRANCHES:
            chosen.update(missing)

    newest = list(reversed(found))
    for key in [key for key in newest if found[key].parent_id == chain[0]] + newest:
        add(key)
    return [key for key in found if key in chosen]


# ---------------------------------------------------------------- where they part


def _part(branches: list[Branch]) -> None:
    """Find the line of each branch and where it parts from it. The branches are in order, the first of the tree first.

    Two branches share a turn if the same seat did the same there and read the same afterwards, and if they share all
    turns before it.
    """
    hashes = Hashes({branch.episode.pk: branch.fork_turn for branch in branches})
    leaving: dict[tuple[Branch, int], list[Branch]] = {}
    for branch in branches:
        if branch.parent is None:
            continue
        line, turn = _line_at(branch.parent, branch.fork_turn), branch.fork_turn
        while not branch.is_opaque and turn < branch.episode.turn_count:
            following = [line, *leaving.get((line, turn), [])]
            own = hashes.of(branch, turn + 1)
            same = (
                other
                for other in following
                if other.episode.turn_count > turn and not other.is_opaque and hashes.of(other, turn + 1) == own
            )
            if (next_line := next(same, None)) is None:
                break
            line, turn = next_line, turn + 1
        branch.line, branch.parts_at = line, turn
        leaving.setdefault((line, turn), []).append(branch)
        line.parting.append(branch)
    for branch in branches:
        branch.parting.sort(key=lambda other: -other.parts_at)


def _line_at(branch: Branch, turn: int) -> Branch:
    """The line on which this branch is after `turn`."""
    while branch.line is not None and turn <= branch.parts_at:
        branch = branch.line
    return branch
