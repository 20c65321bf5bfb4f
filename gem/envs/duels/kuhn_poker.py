r"""Poker with three cards for two: bet on a card that the other does not see.

Rules:
    Each player pays one chip and gets one of three cards: jack, queen, king. The king is the highest. The first player
    checks or bets one more chip. After a check the second player checks, which compares the cards, or bets; after a
    bet the other calls with one chip, which compares the cards, or folds and loses the chip paid. The higher card wins
    all chips. An action against the rules may be repaired once: a second one in a row loses two chips.

Actions:
    `\boxed{check}`, `\boxed{bet}`, `\boxed{call}` or `\boxed{fold}`.

Rewards:
    Half of the chips won or lost: 1 or -1 after a call, 0.5 or -0.5 otherwise. An action that cannot be parsed loses 1
    to the other player. At the turn limit both earn 0. A success is to win chips.

Source:
    H. W. Kuhn, A simplified two-person poker (1950). With best play the first player loses 1/18 of a chip per deal.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

from gem.core import State
from gem.envs.duels.register import register_duel
from gem.envs.multiagent import Fault, MultiAgentEnv
from gem.errors import InvalidArgument
from gem.rng import SplitMix64, choice, sample
from gem.views import Cell, GridView, Tone

CARDS = ("jack", "queen", "king")
"""From the lowest to the highest."""
LETTERS = "JQK"


@dataclass(frozen=True, slots=True)
class Config:
    max_turns: int


class KuhnPoker(MultiAgentEnv):
    """See the module's documentation, which is also the catalog page."""

    pattern = re.compile(r"\\boxed{\s*(check|bet|call|fold)\s*}", re.IGNORECASE | re.ASCII)

    def __init__(self, max_turns: int = 6, seed: int | None = None) -> None:
        super().__init__(seed)
        if max_turns < 1:
            raise InvalidArgument(f"max_turns must be at least 1, not {max_turns}.")
        self.config = Config(max_turns)
        self.cards = [0, 0]
        """The card of each seat, 0 (jack) to 2 (king). A seat knows only its own."""
        self.history: list[str] = []
        """What was done so far; everybody knows it."""
        self.shown = False
        """Whether the cards were compared, so that everybody knows them."""

    def _draw(self) -> None:
        self.max_turns = self.config.max_turns
        self.cards = sample(self.rng, range(3), 2)
        self.history = []
        self.shown = False

    def _instructions(self) -> str:
        return (
            "Two players have paid one chip each and got one card each of a jack, a queen and a king; the king is the "
            "highest. The first player may check, or bet one chip. After a check the second player may check, which "
            "compares the cards, or bet one chip. After a bet the other may call with one chip, which compares the "
            "cards, or fold, which gives the chips to the one who bet. The higher card wins all chips.\n"
            "Write \\boxed{check}, \\boxed{bet}, \\boxed{call} or \\boxed{fold}."
        )

    def _briefing(self, seat: int) -> str:
        return f"You are {self.names[seat]}. Your card is the {CARDS[self.cards[seat]]}."

    def options(self) -> tuple[str, str]:
        """What the player who is to act may do."""
        return ("call", "fold") if "bet" in self.history else ("check", "bet")

    def _play(self, seat: int, match: str) -> tuple[str, Fault]:
        action, name = match.lower(), self._capitalized_name(seat)
        if action not in self.options():
            return f"{name} cannot {action} now, only {' or '.join(self.options())}.", "rule"
        self.history.append(action)
        if action == "fold":
            self._end([0.5 if one != seat else -0.5 for one in (0, 1)])
            return f"{name} folds. {self._capitalized_name(1 - seat)} wins one chip.", None
        if action == "call" or self.history == ["check", "check"]:
            return f"{name} {action}s. {self._compare(2 if action == 'call' else 1)}", None
        self._pass_turn()
        return f"{name} {action}s.", None

    def _compare(self, stake: int) -> str:
        """Show the cards and pay."""
        self.shown = True
        winner = int(self.cards[1] > self.cards[0])
        self._end([stake / 2 if seat == winner else -stake / 2 for seat in (0, 1)])
        first, second = (CARDS[card] for card in self.cards)
        chips = "one chip" if stake == 1 else "two chips"
        return f"The cards are {first} and {second}: {self.names[winner]} wins {chips}."

    def _suffix(self, seat: int) -> str:
        past = f"So far: {', '.join(self.history)}." if self.history else "Nothing has been done yet."
        if seat not in self.to_act:
            return past
        check, bet = self.options()
        return f"Your card is the {CARDS[self.cards[seat]]}. {past} Do you {check} or {bet}?"

    def _format_help(self) -> str:
        loser, winner = self.names[self.acting], self._capitalized_name(1 - self.acting)
        return (
            f"There is no action in the answer of {loser}; it is \\boxed{{check}}, \\boxed{{bet}}, \\boxed{{call}} or "
            f"\\boxed{{fold}}. {winner} wins two chips."
        )

    def _random_action(self, rng: SplitMix64) -> str:
        return f"\\boxed{{{choice(rng, self.options())}}}"

    def _get_own_state(self) -> State:
        return {"cards": list(self.cards), "history": list(self.history), "shown": self.shown}

    def _set_own_state(self, state: State) -> None:
        self.cards, self.history, self.shown = list(state["cards"]), list(state["history"]), state["shown"]

    def view(self, seat: int = 0) -> GridView:
        """Both cards, the other's face down until they are compared."""
        known = [self.shown or one == seat for one in (0, 1)]
        options = self.options() if seat in self.to_act else ()
        return GridView(
            kind="grid",
            name="KuhnPoker, the cards of both players",
            rows=[[self._card(one, known[one]) for one in (0, 1)]],
            size="l",
            keys={option[0]: f"\\boxed{{{option}}}" for option in options},
            facts=[
                ("So far", ", ".join(self.history) or "nothing"),
                *([] if self.over else [("To act", self.names[self.acting])]),
            ],
            legend=[(option[0].upper(), option) for option in options],
        )

    def _card(self, seat: int, known: bool) -> Cell:
        whose = f"The card of {self.names[seat]}"
        if not known:
            return Cell(tone="hidden", label=f"{whose}: face down", text="?")
        card = self.cards[seat]
        tone: Tone = "hit" if self.shown and seat in self.winners else "open"
        return Cell(tone=tone, label=f"{whose}: {CARDS[card]}", text=LETTERS[card])


register_duel("KuhnPoker", KuhnPoker)
