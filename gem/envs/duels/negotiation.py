r"""Divide books, hats and balls with somebody whose values you do not know.

Rules:
    On the table are 5 to 7 items of three kinds. All of them together are worth 10 points to each side, but the sides
    value them differently, and each knows only its own values. In turn, the sides propose a division, accept the
    other's last one, or only say something. If a division is accepted, each side gets the worth of its items. After
    `rounds` turns of each side the talks end without a deal. An action against the rules may be repaired once: a
    second one in a row ends the talks.

Actions:
    `\boxed{propose 1 2 0}`: the books, hats and balls that you take; the rest is the other's. A message may follow a
    colon: `\boxed{propose 1 2 0: The books matter to me.}`
    `\boxed{accept}`: take the other's last proposal.
    `\boxed{say Which kind do you want most?}`: only talk.

Rewards:
    With a deal, the own points divided by 10. Without one, 0 for both. An action that cannot be parsed ends the talks
    and costs its side 0.1. A success is a deal worth at least 5 points.

Source:
    The task of M. Lewis et al., Deal or no deal? End-to-end learning for negotiation dialogues (EMNLP 2017), with
    proposals as actions of their own; values are drawn as described there.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from itertools import product

from gem.core import State
from gem.envs.duels.register import register_duel
from gem.envs.game import FORMAT_PENALTY
from gem.envs.multiagent import Fault, MultiAgentEnv
from gem.errors import InvalidArgument
from gem.rng import SplitMix64, choice, randbelow
from gem.seats import SPECTATOR
from gem.views import ChatView, Compose, Key, Message

KINDS = ("book", "hat", "ball")
TOTAL = 10
"""Points that all items are worth to each side."""
FEWEST, MOST = 5, 7
GOOD = 0.5
"""A deal with at least this reward is a success."""

Division = tuple[int, ...]
"""How many of each kind."""


@dataclass(frozen=True, slots=True)
class Config:
    rounds: int
    max_turns: int | None


@dataclass(frozen=True, slots=True)
class Entry:
    """One turn of the talks, as both sides know it."""

    seat: int
    text: str
    proposal: Division | None
    """What the seat that proposes takes."""


class Negotiation(MultiAgentEnv):
    """See the module's documentation, which is also the catalog page."""

    pattern = re.compile(
        r"\\boxed{\s*(propose|accept|say)\b\s*(?:((?<=propose )\s*\d{1,2}(?:[\s,]+\d{1,2})*)\s*:?)?\s*([^{}]*)}",
        re.IGNORECASE | re.ASCII,
    )
    names = ("side A", "side B")
    forfeit = (FORMAT_PENALTY, 0.0)

    def __init__(self, rounds: int = 10, max_turns: int | None = None, seed: int | None = None) -> None:
        super().__init__(seed)
        if not 1 <= rounds <= 50:
            raise InvalidArgument(f"rounds must be from 1 to 50, not {rounds}.")
        if max_turns is not None and max_turns < 1:
            raise InvalidArgument(f"max_turns must be at least 1, not {max_turns}.")
        self.config = Config(rounds, max_turns)
        self.counts: Division = (0, 0, 0)
        """How many of each kind are on the table; everybody knows it."""
        self.values: list[Division] = [(0, 0, 0), (0, 0, 0)]
        """What one of each kind is worth to each seat. A seat knows only its own."""
        self.talks: list[Entry] = []

    def _draw(self) -> None:
        rounds = self.config.rounds
        self.max_turns = 4 * rounds if self.config.max_turns is None else self.config.max_turns
        self.counts = choice(self.rng, tables())
        self.values = list(choice(self.rng, conflicts(self.counts)))
        self.talks = []

    def _instructions(self) -> str:
        return (
            f"Two sides divide {listed(self.counts)}. Everything together is worth {TOTAL} points to each side, but "
            "one item may be worth more to you than to the other, and each side knows only its own values. You speak "
            f"in turn, at most {self.config.rounds} times each. If one side accepts the other's proposal, each gets "
            "the points of its items; without a deal nobody gets any.\n"
            "Write \\boxed{propose 1 2 0} to ask for 1 book, 2 hats and no ball and leave the rest to the other side; "
            "a message may follow a colon, as in \\boxed{propose 1 2 0: I need hats.} Write \\boxed{accept} to take "
            "the other's last proposal, or \\boxed{say ...} to talk only."
        )

    def _briefing(self, seat: int) -> str:
        return f"You are {self.names[seat]}. {self._worth(seat)}"

    def _worth(self, seat: int) -> str:
        values = self.values[seat]
        return f"To you a book is worth {values[0]}, a hat {values[1]} and a ball {values[2]} points."

    # ------------------------------------------------------------------ turns

    def _play(self, seat: int, match: tuple[str, str, str]) -> tuple[str, Fault]:
        verb, numbers, message = match[0].lower(), match[1], " ".join(match[2].split())
        name = self._capitalized_name(seat)
        if verb == "accept":
            return self._accept(seat)
        if verb == "say":
            if not message:
                return f"{name} says nothing.", "rule"
            return self._speak(seat, Entry(seat, message, None))
        taken = tuple(int(number) for number in re.findall(r"\d+", numbers))
        if len(taken) != len(KINDS):
            return f"{name} proposes a division that does not name books, hats and balls as three numbers.", "rule"
        if any(number > count for number, count in zip(taken, self.counts, strict=True)):
            return f"{name} proposes to take more than there is: there are {listed(self.counts)}.", "rule"
        return self._speak(seat, Entry(seat, message, taken))

    def _speak(self, seat: int, entry: Entry) -> tuple[str, Fault]:
        self.talks.append(entry)
        text = self._account(entry)
        if len(self.talks) == 2 * self.config.rounds:
            self._end([0.0, 0.0])
            return f"{text} The talks end without a deal.", None
        self._pass_turn()
        return text, None

    def _account(self, entry: Entry) -> str:
        """What an entry says, in words."""
        name = self._capitalized_name(entry.seat)
        if entry.proposal is None:
            return f'{name} says: "{entry.text}"'
        said = f' and says: "{entry.text}"' if entry.text else "."
        rest = self._rest(entry.proposal)
        return f"{name} proposes to take {listed(entry.proposal)} and to leave {listed(rest)}{said}"

    def _accept(self, seat: int) -> tuple[str, Fault]:
        name = self._capitalized_name(seat)
        offer = self.offer(seat)
        if offer is None:
            return f"{name} accepts, but the other side has proposed nothing.", "rule"
        deal = [offer, offer]
        deal[1 - seat] = self._rest(offer)
        points = [worth(share, value) for share, value in zip(deal, self.values, strict=True)]
        self.talks.append(Entry(seat, "I accept.", None))
        self._end([one / TOTAL for one in points])
        self.winners = [one for one in (0, 1) if points[one] / TOTAL >= GOOD]
        for one in (0, 1):
            self._tell(one, f"{name} accepts. You get {listed(deal[one])}, worth {points[one]} points to you.")
        return f"{name} accepts: {self.names[0]} gets {listed(deal[0])}, {self.names[1]} {listed(deal[1])}.", None

    def offer(self, seat: int) -> Division | None:
        """What `seat` would get by accepting the other's last proposal; None if there is none."""
        theirs = [entry.proposal for entry in self.talks if entry.seat != seat and entry.proposal is not None]
        return self._rest(theirs[-1]) if theirs else None

    def _rest(self, taken: Sequence[int]) -> Division:
        return tuple(count - number for count, number in zip(self.counts, taken, strict=True))

    def turns_left(self, seat: int) -> int:
        """How often `seat` may still speak."""
        spoken = sum(entry.seat == seat for entry in self.talks)
        return int(self.config.rounds) - spoken

    # ------------------------------------------------------------------ texts, random actions, state

    def _suffix(self, seat: int) -> str:
        table = f"On the table: {listed(self.counts)}."
        if seat not in self.to_act:
            return table
        offer = self.offer(seat)
        offered = (
            "" if offer is None else f" You are offered {listed(offer)}: {worth(offer, self.values[seat])} points."
        )
        left = self.turns_left(seat)
        last = "This is your last turn." if left == 1 else f"You may speak {left} more times."
        return f"{table} {self._worth(seat)}{offered} {last} What do you do?"

    def _format_help(self) -> str:
        return (
            f"There is no action in the answer of {self.names[self.acting]}; it is \\boxed{{propose 1 2 0}}, "
            "\\boxed{accept} or \\boxed{say ...}. The talks end without a deal."
        )

    def _random_action(self, rng: SplitMix64) -> str:
        if self.offer(self.acting) is not None and randbelow(rng, 4) == 0:
            return "\\boxed{accept}"
        return f"\\boxed{{propose {' '.join(map(str, choice(rng, divisions(self.counts))))}}}"

    def _get_own_state(self) -> State:
        return {
            "counts": list(self.counts),
            "values": [list(value) for value in self.values],
            "talks": [[one.seat, one.text, None if one.proposal is None else list(one.proposal)] for one in self.talks],
        }

    def _set_own_state(self, state: State) -> None:
        self.counts = tuple(state["counts"])
        self.values = [tuple(value) for value in state["values"]]
        self.talks = [
            Entry(seat, text, None if given is None else tuple(given)) for seat, text, given in state["talks"]
        ]

    # ------------------------------------------------------------------ picture

    def view(self, seat: int = 0) -> ChatView:
        """The talks, the own values and, in turn, the division to propose number by number."""
        view = ChatView(
            kind="chat",
            name="Negotiation, the talks of both sides",
            messages=[self._message(entry, seat) for entry in self.talks],
            notes=[("On the table", [f"{count} {plural(kind, count)}" for kind, count in self._table()])],
            facts=[] if self.over else [("To act", self.names[self.acting])],
        )
        if self.talks:
            view["messages"][-1]["last"] = True
        if seat != SPECTATOR:
            values = zip(KINDS, self.values[seat], strict=True)
            view["notes"] = [*view["notes"], ("Worth to you", [f"a {kind}: {value}" for kind, value in values])]
        if seat in self.to_act:
            view["say"] = ("\\boxed{say ", "}")
            view["compose"] = self._compose(seat)
            view["legend"] = [("numbers", "the books, hats and balls that you take")]
        return view

    def _table(self) -> list[tuple[str, int]]:
        return list(zip(KINDS, self.counts, strict=True))

    def _message(self, entry: Entry, seat: int) -> Message:
        own = entry.seat == seat
        who = "You" if own else self._capitalized_name(entry.seat)
        text = entry.text
        if entry.proposal is not None:
            share = f"I take {listed(entry.proposal)}, you get {listed(self._rest(entry.proposal))}."
            text = f"{share} {entry.text}".strip()
        return Message(who=who, side="own" if own or (seat == SPECTATOR and entry.seat == 0) else "other", text=text)

    def _compose(self, seat: int) -> Compose:
        numbers = [Key(text=str(n), label=f"take {n}", part=str(n)) for n in range(max(self.counts) + 1)]
        keys = [numbers]
        if self.offer(seat) is not None:
            keys.append([Key(text="Accept", label="accept the last proposal", act="\\boxed{accept}")])
        return Compose(
            picks=["key", "key", "key"],
            prompts=[f"How many of {count} {plural(kind, count)} do you take?" for kind, count in self._table()],
            before="\\boxed{propose ",
            between=" ",
            after="}",
            keys=keys,
        )


def plural(kind: str, count: int) -> str:
    """The noun for so many."""
    return kind if count == 1 else f"{kind}s"


def listed(counts: Sequence[int]) -> str:
    """How many of each kind, in words."""
    parts = [f"{count} {plural(kind, count)}" for kind, count in zip(KINDS, counts, strict=True) if count]
    return " and ".join([", ".join(parts[:-1]), parts[-1]] if len(parts) > 1 else parts) or "nothing"


def worth(share: Sequence[int], values: Sequence[int]) -> int:
    """The points of a share to somebody with these values."""
    return sum(count * value for count, value in zip(share, values, strict=True))


@cache
def divisions(counts: Division) -> list[Division]:
    """Every share that one side can take."""
    return list(product(*(range(count + 1) for count in counts)))


@cache
def valuations(counts: Division) -> list[Division]:
    """All values that make everything worth `TOTAL` points."""
    return [values for values in product(range(TOTAL + 1), repeat=len(KINDS)) if worth(counts, values) == TOTAL]


@cache
def tables() -> list[Division]:
    """All counts with 5 to 7 items that can be worth `TOTAL` points in different ways."""
    found = product(range(1, MOST + 1), repeat=len(KINDS))
    return [counts for counts in found if FEWEST <= sum(counts) <= MOST and conflicts(counts)]


@cache
def conflicts(counts: Division) -> list[tuple[Division, Division]]:
    """Pairs of values in which each kind is worth something to a side at least, and one kind to both."""
    return [
        (first, second)
        for first, second in product(valuations(counts), repeat=2)
        if all(a + b for a, b in zip(first, second, strict=True))
        and any(a * b for a, b in zip(first, second, strict=True))
    ]


register_duel("Negotiation", Negotiation)
