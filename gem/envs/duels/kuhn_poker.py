r"""Poker with three cards for two: bet on a card that the other player does not see.

Rules:
    Each player pays one chip and gets one of three cards: jack, queen, king. The king is the highest. The first player
    checks, or bets one more chip. After a check, the second player checks, which leads to a showdown, or bets. After a
    bet, the other player calls with one chip, which leads to a showdown, or folds and loses the chip paid. In a
    showdown the higher card wins all chips. After an action against the rules you may try again; a second one in a row
    loses two chips.

Actions:
    `\boxed{check}`, `\boxed{bet}`, `\boxed{call}` or `\boxed{fold}`.

Rewards:
    Half of the chips won or lost: 1 or -1 after a call, 0.5 or -0.5 otherwise. After an action that cannot be parsed,
    its player earns -1 and the other player 1. At the turn limit both earn 0. Success means winning chips.

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
        self.max_turns = max_turns
        self.cards = [0, 0]
        """The card of each seat, 0 (jack) to 2 (king). A seat knows only its own card."""
        self.history: list[str] = []
        """The actions so far; both seats know them."""
        self.is_showdown = False
        """Whether the cards have been compared; then both seats know both cards."""

    def _draw(self) -> None:
        self.cards = sample(self.rng, range(3), 2)
        self.history = []
        self.is_showdown = False

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

    def legal_actions(self) -> tuple[str, str]:
        """The two actions of which the acting seat may choose one."""
        return ("call", "fold") if "bet" in self.history else ("check", "bet")

    def _play(self, seat: int, match: str) -> tuple[str, Fault]:
        action, name = match.lower(), self._capitalized_name(seat)
        if action not in self.legal_actions():
            return f"{name} cannot {action} now, only {' or '.join(self.legal_actions())}.", "rule"
        self.history.append(action)
        if action == "fold":
            self._end([0.5 if other_seat != seat else -0.5 for other_seat in (0, 1)])
            return f"{name} folds. {self._capitalized_name(1 - seat)} wins one chip.", None
        if action == "call" or self.history == ["check", "check"]:
            return f"{name} {action}s. {self._show_down(2 if action == 'call' else 1)}", None
        self._pass_turn()
        return f"{name} {action}s.", None

    def _show_down(self, stake: int) -> str:
        """Reveal both cards and end the episode."""
        self.is_showdown = True
        winner = int(self.cards[1] > self.cards[0])
        self._end([stake / 2 if seat == winner else -stake / 2 for seat in (0, 1)])
        first, second = (CARDS[card] for card in self.cards)
        chips = "one chip" if stake == 1 else "two chips"
        return f"The cards are {first} and {second}: {self.names[winner]} wins {chips}."

    def _suffix(self, seat: int) -> str:
        history_text = f"So far: {', '.join(self.history)}." if self.history else "Nothing has been done yet."
        if seat not in self.to_act:
            return history_text
        check, bet = self.legal_actions()
        return f"Your card is the {CARDS[self.cards[seat]]}. {history_text} Do you {check} or {bet}?"

    def _format_help(self) -> str:
        loser, winner = self.names[self.acting], self._capitalized_name(1 - self.acting)
        return (
            f"There is no action in the answer of {loser}; it is \\boxed{{check}}, \\boxed{{bet}}, \\boxed{{call}} or "
            f"\\boxed{{fold}}. {winner} wins two chips."
        )

    def random_actions(self) -> list[str]:
        """See `MultiAgentEnv.random_actions`."""
        return [f"\\boxed{{{action}}}" for action in self.legal_actions()]

    def _random_action(self, rng: SplitMix64) -> str:
        return choice(rng, self.random_actions())

    def _get_own_state(self) -> State:
        return {"cards": list(self.cards), "history": list(self.history), "shown": self.is_showdown}

    def _set_own_state(self, state: State) -> None:
        self.cards, self.history, self.is_showdown = list(state["cards"]), list(state["history"]), state["shown"]

    def view(self, seat: int = 0) -> GridView:
        """Both cards; the other seat's card is face down until the showdown."""
        visible = [self.is_showdown or card_seat == seat for card_seat in (0, 1)]
        actions = self.legal_actions() if seat in self.to_act else ()
        return GridView(
            kind="grid",
            name="KuhnPoker, the cards of both players",
            rows=[[self._card(card_seat, visible[card_seat]) for card_seat in (0, 1)]],
            size="l",
            keys={action[0]: f"\\boxed{{{action}}}" for action in actions},
            facts=[
                ("So far", ", ".join(self.history) or "nothing"),
                *([] if self.over else [("To act", self.names[self.acting])]),
            ],
            legend=[(action[0].upper(), action) for action in actions],
        )

    def _card(self, seat: int, is_visible: bool) -> Cell:
        title = f"The card of {self.names[seat]}"
        if not is_visible:
            return Cell(tone="hidden", label=f"{title}: face down", text="?")
        card = self.cards[seat]
        tone: Tone = "hit" if self.is_showdown and seat in self.winners else "open"
        return Cell(tone=tone, label=f"{title}: {CARDS[card]}", text=LETTERS[card])


register_duel("KuhnPoker", KuhnPoker)
