r"""Divide books, hats and balls with somebody whose values you do not know.

Rules:
    There are 5 to 7 items of three kinds on the table. All of them together are worth 10 points to each side, but the
    sides value them differently, and each knows only its own values. The sides take turns to propose a division,
    accept the other side's last proposal, or only say something. If a proposal is accepted, each side gets the points
    of its items. After `rounds` turns of each side the talks end without a deal. After an action against the rules you
    may try again; a second one in a row ends the talks.

Actions:
    `\boxed{propose 1 2 0}`: the books, hats and balls that you take; the rest goes to the other side. A message may
    follow a colon: `\boxed{propose 1 2 0: The books matter to me.}`
    `\boxed{accept}`: accept the other side's last proposal.
    `\boxed{say Which kind do you want most?}`: only talk.

Rewards:
    With a deal, your points divided by 10. Without one, 0 for both sides. An action that cannot be parsed ends the
    talks and costs its side 0.1. Success means a deal worth at least 5 points to you.

Source:
    The task of M. Lewis et al., Deal or no deal? End-to-end learning for negotiation dialogues (EMNLP 2017), except
    that a proposal is an action of its own. Values are drawn as described there.
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
"""Points that all items together are worth to each side."""
MIN_ITEMS, MAX_ITEMS = 5, 7
SUCCESS_REWARD = 0.5
"""A deal with at least this reward is a success."""

Division = tuple[int, ...]
"""A number for each kind of item: how many items, or what one of them is worth."""


@dataclass(frozen=True, slots=True)
class Config:
    rounds: int
    max_turns: int | None


@dataclass(frozen=True, slots=True)
class TalkTurn:
    """A turn of the talks, which both sides know."""

    seat: int
    text: str
    proposal: Division | None
    """The items that the proposing seat takes; None if the turn is not a proposal."""


class Negotiation(MultiAgentEnv):
    """See the module's documentation, which is also the catalog page."""

    pattern = re.compile(
        r"\\boxed{\s*+(propose|accept|say)\b(?>(?:(?<=propose) (\d{1,2}(?>(?:[\s,]++\d{1,2})*))\s*+:?)?)\s*+([^{}]*+)}",
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
        self.max_turns = 4 * rounds if max_turns is None else max_turns
        self.counts: Division = (0, 0, 0)
        """The number of items of each kind on the table; both seats know it."""
        self.values: list[Division] = [(0, 0, 0), (0, 0, 0)]
        """For each seat what one item of each kind is worth to it. A seat knows only its own values."""
        self.talks: list[TalkTurn] = []

    def _draw(self) -> None:
        self.counts = choice(self.rng, item_counts())
        self.values = list(choice(self.rng, value_pairs(self.counts)))
        self.talks = []

    def _instructions(self) -> str:
        return (
            f"Two sides divide {in_words(self.counts)}. Everything together is worth {TOTAL} points to each side, but "
            "one item may be worth more to you than to the other, and each side knows only its own values. You speak "
            f"in turn, at most {self.config.rounds} times each. If one side accepts the other's proposal, each gets "
            "the points of its items; without a deal nobody gets any.\n"
            "Write \\boxed{propose 1 2 0} to ask for 1 book, 2 hats and no ball and leave the rest to the other side; "
            "a message may follow a colon, as in \\boxed{propose 1 2 0: I need hats.} Write \\boxed{accept} to take "
            "the other's last proposal, or \\boxed{say ...} to talk only."
        )

    def _briefing(self, seat: int) -> str:
        return f"You are {self.names[seat]}. {self._values_text(seat)}"

    def _values_text(self, seat: int) -> str:
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
            return self._speak(seat, TalkTurn(seat, message, None))
        share = tuple(int(number) for number in re.findall(r"\d+", numbers))
        if len(share) != len(KINDS):
            return f"{name} proposes a division that does not name books, hats and balls as three numbers.", "rule"
        if any(number > count for number, count in zip(share, self.counts, strict=True)):
            return f"{name} proposes to take more than there is: there are {in_words(self.counts)}.", "rule"
        return self._speak(seat, TalkTurn(seat, message, share))

    def _speak(self, seat: int, turn: TalkTurn) -> tuple[str, Fault]:
        self.talks.append(turn)
        text = self._describe(turn)
        if len(self.talks) == 2 * self.config.rounds:
            self._end([0.0, 0.0])
            return f"{text} The talks end without a deal.", None
        self._pass_turn()
        return text, None

    def _describe(self, turn: TalkTurn) -> str:
        """The public account of a turn."""
        name = self._capitalized_name(turn.seat)
        if turn.proposal is None:
            return f'{name} says: "{turn.text}"'
        message = f' and says: "{turn.text}"' if turn.text else "."
        remainder = self._remainder(turn.proposal)
        return f"{name} proposes to take {in_words(turn.proposal)} and to leave {in_words(remainder)}{message}"

    def _accept(self, seat: int) -> tuple[str, Fault]:
        name = self._capitalized_name(seat)
        offer = self.offer(seat)
        if offer is None:
            return f"{name} accepts, but the other side has proposed nothing.", "rule"
        shares = [offer, offer]
        shares[1 - seat] = self._remainder(offer)
        points = [worth(items, value) for items, value in zip(shares, self.values, strict=True)]
        self.talks.append(TalkTurn(seat, "I accept.", None))
        self._end([seat_points / TOTAL for seat_points in points])
        self.winners = [side for side in (0, 1) if points[side] / TOTAL >= SUCCESS_REWARD]
        for side in (0, 1):
            self._tell(
                side,
                f"{name} accepts. You get {in_words(shares[side])}, worth {points[side]} points to you.",
            )
        return (
            f"{name} accepts: {self.names[0]} gets {in_words(shares[0])}, {self.names[1]} {in_words(shares[1])}.",
            None,
        )

    def offer(self, seat: int) -> Division | None:
        """The items that `seat` would get by accepting the other seat's last proposal; None without a proposal."""
        proposals = [turn.proposal for turn in self.talks if turn.seat != seat and turn.proposal is not None]
        return self._remainder(proposals[-1]) if proposals else None

    def _remainder(self, share: Sequence[int]) -> Division:
        return tuple(count - number for count, number in zip(self.counts, share, strict=True))

    def turns_left(self, seat: int) -> int:
        """How many turns `seat` still has."""
        num_turns = sum(turn.seat == seat for turn in self.talks)
        return int(self.config.rounds) - num_turns

    # ------------------------------------------------------------------ texts, random actions, state

    def _suffix(self, seat: int) -> str:
        table = f"On the table: {in_words(self.counts)}."
        if seat not in self.to_act:
            return table
        offer = self.offer(seat)
        offer_text = (
            "" if offer is None else f" You are offered {in_words(offer)}: {worth(offer, self.values[seat])} points."
        )
        turns_left = self.turns_left(seat)
        turns_text = "This is your last turn." if turns_left == 1 else f"You may speak {turns_left} more times."
        return f"{table} {self._values_text(seat)}{offer_text} {turns_text} What do you do?"

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
            "talks": [
                [turn.seat, turn.text, None if turn.proposal is None else list(turn.proposal)] for turn in self.talks
            ],
        }

    def _set_own_state(self, state: State) -> None:
        self.counts = tuple(state["counts"])
        self.values = [tuple(value) for value in state["values"]]
        self.talks = [
            TalkTurn(seat, text, None if proposal is None else tuple(proposal))
            for seat, text, proposal in state["talks"]
        ]

    # ------------------------------------------------------------------ picture

    def view(self, seat: int = 0) -> ChatView:
        """The talks, the seat's own values and, if the seat is to act, keys to propose a division."""
        view = ChatView(
            kind="chat",
            name="Negotiation, the talks of both sides",
            messages=[self._message(turn, seat) for turn in self.talks],
            notes=[("On the table", [f"{count} {plural(kind, count)}" for kind, count in self._items_on_table()])],
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

    def _items_on_table(self) -> list[tuple[str, int]]:
        return list(zip(KINDS, self.counts, strict=True))

    def _message(self, turn: TalkTurn, seat: int) -> Message:
        is_own = turn.seat == seat
        speaker = "You" if is_own else self._capitalized_name(turn.seat)
        text = turn.text
        if turn.proposal is not None:
            offer = f"I take {in_words(turn.proposal)}, you get {in_words(self._remainder(turn.proposal))}."
            text = f"{offer} {turn.text}".strip()
        return Message(
            who=speaker, side="own" if is_own or (seat == SPECTATOR and turn.seat == 0) else "other", text=text
        )

    def _compose(self, seat: int) -> Compose:
        numbers = [Key(text=str(n), label=f"take {n}", part=str(n)) for n in range(max(self.counts) + 1)]
        keys = [numbers]
        if self.offer(seat) is not None:
            keys.append([Key(text="Accept", label="accept the last proposal", act="\\boxed{accept}")])
        return Compose(
            picks=["key", "key", "key"],
            prompts=[
                f"How many of {count} {plural(kind, count)} do you take?" for kind, count in self._items_on_table()
            ],
            before="\\boxed{propose ",
            between=" ",
            after="}",
            keys=keys,
            most=list(self.counts),
        )


def plural(kind: str, count: int) -> str:
    """The name of a kind, in the plural unless `count` is 1."""
    return kind if count == 1 else f"{kind}s"


def in_words(counts: Sequence[int]) -> str:
    """The number of items of each kind, in words."""
    parts = [f"{count} {plural(kind, count)}" for kind, count in zip(KINDS, counts, strict=True) if count]
    return " and ".join([", ".join(parts[:-1]), parts[-1]] if len(parts) > 1 else parts) or "nothing"


def worth(share: Sequence[int], values: Sequence[int]) -> int:
    """The points that a share is worth under these values."""
    return sum(count * value for count, value in zip(share, values, strict=True))


@cache
def divisions(counts: Division) -> list[Division]:
    """Every share that one side can take."""
    return list(product(*(range(count + 1) for count in counts)))


@cache
def valuations(counts: Division) -> list[Division]:
    """All values under which all items together are worth `TOTAL` points."""
    return [values for values in product(range(TOTAL + 1), repeat=len(KINDS)) if worth(counts, values) == TOTAL]


@cache
def item_counts() -> list[Division]:
    """All numbers of items, 5 to 7 in total, for which there are pairs of different values (see `value_pairs`)."""
    candidates = product(range(1, MAX_ITEMS + 1), repeat=len(KINDS))
    return [counts for counts in candidates if MIN_ITEMS <= sum(counts) <= MAX_ITEMS and value_pairs(counts)]


@cache
def value_pairs(counts: Division) -> list[tuple[Division, Division]]:
    """Pairs of values, one for each seat.

    Each kind is worth something to at least one seat, and at least one kind is worth something to both.
    """
    return [
        (first, second)
        for first, second in product(valuations(counts), repeat=2)
        if all(a + b for a, b in zip(first, second, strict=True))
        and any(a * b for a, b in zip(first, second, strict=True))
    ]


register_duel("Negotiation", Negotiation)
