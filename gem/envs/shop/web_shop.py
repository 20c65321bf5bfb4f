r"""Find a product in a web shop that fits what a customer asks for, choose its options, and buy it.

Rules:
    A customer says what they want: a kind of product, what has to be true of it, options such as color and size, and
    a highest price. You search, open products, read about them, choose options and buy one; buying ends the episode.
    Clicking on what is not on the page is against the rules and uses up a turn. In the easy form one attribute and
    one option are asked for, in the hard one three attributes, which may stand only in the features, and all options.

Actions:
    `search[WORDS]` on the search page, `click[TEXT]` on any page, with the text of a button, the number of a product
    or the value of an option: `click[Buy Now]`. They may be written in a box, `\boxed{search[red mug]}`; the last
    action counts, capital or small letters.

Rewards:
    At the purchase WebShop's formula: the share of attributes, options and price limit that are met, times 1 if the
    product is of the right kind and less if not. 1 is a success. 0 for everything before, and at the turn limit. -0.1
    for an action that cannot be parsed, which ends the episode.

Pages:
    `mode` is how they are read: `text_rich`, `text` or `html`. The products are 1,260 of our own; `products` names a
    file of WebShop's products (`items_shuffle_1000.json`) and `attributes` its file of attributes
    (`items_ins_v2_1000.json`), of which `num_products` are taken.

Source:
    GEM (arXiv 2510.01051), which takes it from WebShop (Yao et al., 2022).
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import get_args

from gem.core import State
from gem.envs.game import Game, PlayResult
from gem.envs.shop import generated, pages
from gem.envs.shop.goals import draw_goal
from gem.envs.shop.pages import BACK, BUY, NEXT, PER_PAGE, SHEETS, Mode, Piece
from gem.envs.shop.product import Catalogue, Product
from gem.envs.shop.reward import Goal, Worth, worth
from gem.envs.shop.webshop_files import load
from gem.errors import InvalidArgument
from gem.rng import SplitMix64, choice
from gem.views import Link, LinksView

FOUND_AT_MOST = 50
MAX_ECHO = 60
"""Characters of an unknown text that are repeated in the answer."""


@dataclass(frozen=True, slots=True)
class Config:
    """As the constructor's arguments."""

    hard: bool
    max_turns: int
    mode: Mode


class WebShop(Game):
    """See the module's documentation, which is also the catalog page."""

    pattern = re.compile(r"(search|click)\[([^\[\]]*[^\[\]\s][^\[\]]*)\]", re.IGNORECASE)
    prompt = "What do you do?"

    def __init__(
        self,
        hard: bool = False,
        max_turns: int = 20,
        mode: Mode = "text_rich",
        products: str = "",
        attributes: str = "",
        num_products: int = 1000,
        seed: int | None = None,
    ) -> None:
        super().__init__(seed)
        if max_turns < 1:
            raise InvalidArgument(f"max_turns must be at least 1, not {max_turns}.")
        if mode not in get_args(Mode):
            raise InvalidArgument(f"mode must be one of {', '.join(get_args(Mode))}, not {mode!r}.")
        self.config = Config(hard, max_turns, mode)
        self.shop: Catalogue = load(products, attributes, num_products) if products else generated.catalogue()
        self.data_hash = self.shop.data_hash
        self.goal = Goal("", "", (), {}, 0.0)
        self.query = ""
        """What was searched for last; empty on the search page."""
        self.found: list[str] = []
        self.number = 1
        """The page of results."""
        self.item = ""
        """The product that is open; empty on the pages before."""
        self.sheet = ""
        """What is read about it; empty on its own page."""
        self.chosen: dict[str, str] = {}
        self.opened: list[str] = []
        self.worth: Worth | None = None

    # ------------------------------------------------------------------ the episode

    def _draw(self) -> None:
        self.max_turns = self.config.max_turns
        self.goal = draw_goal(self.rng, self.shop, hard=self.config.hard)
        self._go_to_search()
        self.opened, self.worth = [], None

    def _go_to_search(self) -> None:
        self.query, self.found, self.number = "", [], 1
        self._open("")

    def _open(self, key: str) -> None:
        self.item, self.sheet, self.chosen = key, "", {}

    def _instructions(self) -> str:
        return (
            f"You are in a web shop. A customer asks: {self.goal.instruction} Find a product that fits, choose its "
            f"options and buy it, in at most {self.max_turns} turns.\n"
            "On the search page write \\boxed{search[WORDS]}, for example \\boxed{search[blue mug]}. Anywhere write "
            f"\\boxed{{click[TEXT]}} with what is marked as a button, for example \\boxed{{click[{BUY}]}}."
        )

    def _play(self, match: tuple[str, str]) -> PlayResult:
        verb, text = match[0].lower(), " ".join(match[1].split())
        if verb == "search":
            return self._search(text)
        button = next((piece for piece in self.pieces() if piece.text.lower() == text.lower()), None)
        if button is None or button.kind in ("text", "heading", "field"):
            return f"There is nothing to click that says {text[:MAX_ECHO]!r}.", 0.0, "rule"
        return self._click(button)

    def _search(self, words: str) -> PlayResult:
        if self.query:
            return f"The search field is on another page: click[{BACK}] first.", 0.0, "rule"
        self.query, self.number = words, 1
        self.found = self.shop.index.search(words, FOUND_AT_MOST)
        if not self.found:
            return f"Nothing was found for {words[:MAX_ECHO]!r}.", 0.0, None
        return f"{len(self.found)} products were found for {words[:MAX_ECHO]!r}.", 0.0, None

    def _click(self, button: Piece) -> PlayResult:
        if button.kind == "link":
            self._open(button.text)
            self.opened = [*(key for key in self.opened if key != button.text), button.text]
            return f"You opened {self.product.title}.", 0.0, None
        if button.kind == "option":
            self.chosen[button.group] = button.text
            return f"You chose {button.group}: {button.text}.", 0.0, None
        if button.text == BUY:
            return self._buy()
        return self._turn_to(button.text)

    def _turn_to(self, button: str) -> PlayResult:
        if button == BACK:
            self._go_to_search()
            return "You are back at the search page.", 0.0, None
        if button in SHEETS:
            self.sheet = button
            return f"You read: {button}.", 0.0, None
        if button == NEXT:
            self.number += 1
        elif self.sheet:
            self.sheet = ""
        elif self.item:
            self._open("")
        else:
            self.number -= 1
        where = f"page {self.number} of the results" if not self.item else "the page of the product"
        return f"You are on {where}.", 0.0, None

    def _buy(self) -> PlayResult:
        wanted = self.shop.products[self.goal.key]
        self.worth = worth(self.product, self.chosen, self.goal, wanted, self.shop.nouns)
        self.over, self.solved = True, self.worth.total == 1.0
        parts = self.worth
        return (
            f"You bought {self.product.title}. Kind {parts.type:g}, attributes {parts.attributes:.2f}, options "
            f"{parts.options:.2f}, price {parts.price:g}: {parts.total:.3f} of 1.",
            parts.total,
            None,
        )

    # ------------------------------------------------------------------ what there is to see

    @property
    def product(self) -> Product:
        """The product that is open."""
        return self.shop.products[self.item]

    @property
    def results(self) -> list[Product]:
        """The products on this page of the results."""
        first = (self.number - 1) * PER_PAGE
        return [self.shop.products[key] for key in self.found[first : first + PER_PAGE]]

    def pieces(self) -> list[Piece]:
        """The page."""
        if self.item:
            return list(
                pages.sheet_page(self.product, self.sheet) if self.sheet else pages.item_page(self.product, self.chosen)
            )
        if self.query:
            return list(pages.results_page(self.results, self.number, len(self.found), self.opened))
        return pages.search_page()

    def _suffix(self) -> str:
        return f"{pages.render(self.pieces(), self.goal.instruction, self.config.mode)}\n{self.prompt}"

    def _format_help(self) -> str:
        ways = "\\boxed{search[WORDS]} or \\boxed{click[TEXT]}"
        return f"There is no action in your answer. Write {ways}. The episode ends."

    def _random_action(self, rng: SplitMix64) -> str:
        buttons = [piece.text for piece in self.pieces() if piece.kind in ("button", "link", "option")]
        if not buttons:
            wanted = self.shop.products[choice(rng, self.shop.keys)]
            return f"\\boxed{{search[{wanted.kind}]}}"
        return f"\\boxed{{click[{choice(rng, buttons)}]}}"

    # ------------------------------------------------------------------ state and picture

    def _get_own_state(self) -> State:
        return {
            "goal": [
                self.goal.key,
                self.goal.instruction,
                list(self.goal.attributes),
                dict(self.goal.options),
                self.goal.price_upper,
            ],
            "query": self.query,
            "number": self.number,
            "item": self.item,
            "sheet": self.sheet,
            "chosen": dict(self.chosen),
            "opened": list(self.opened),
        }

    def _set_own_state(self, state: State) -> None:
        key, instruction, attributes, options, price = state["goal"]
        self.goal = Goal(key, instruction, tuple(attributes), dict(options), price)
        self.query, self.number = state["query"], state["number"]
        self.found = self.shop.index.search(self.query, FOUND_AT_MOST) if self.query else []
        self.item, self.sheet, self.chosen = state["item"], state["sheet"], dict(state["chosen"])
        self.opened = list(state["opened"])
        self.worth = None

    def view(self, seat: int = 0) -> LinksView:
        """The page; a typed text is searched for."""
        pieces = self.pieces()
        texts = [piece.text for piece in pieces if piece.kind == "text" and piece.text not in self._option_names()]
        view = LinksView(
            kind="links",
            name=f"Web shop, {self._title()}",
            title=self._title(),
            text="\n".join(texts),
            links=[self._link(piece) for piece in pieces if piece.kind in ("button", "link", "option")],
            trail=[],
            task=self.goal.instruction,
            facts=[("Opened", str(len(self.opened)))],
        )
        if not self.over and not self.query:
            view["say"] = ("\\boxed{search[", "]}")
            view["ask"] = "Words to search for"
            if not self.item:
                view["links"] = [self._department(name) for name in self.shop.departments]
        return view

    def _title(self) -> str:
        if self.item:
            return f"{self.product.title}{f', {self.sheet.lower()}' if self.sheet else ''}"
        return f"Results for {self.query}" if self.query else "Search page"

    def _option_names(self) -> tuple[str, ...]:
        return tuple(self.product.options) if self.item and not self.sheet else ()

    def _department(self, name: str) -> Link:
        return Link(text=name, group="Departments", act=f"\\boxed{{search[{name}]}}")

    def _link(self, piece: Piece) -> Link:
        link = Link(text=piece.text)
        if piece.note:
            link["note"] = piece.note
        if piece.group:
            link["group"] = piece.group
        if piece.marked:
            link["chosen" if piece.kind == "option" else "seen"] = True
        if not self.over:
            link["act"] = f"\\boxed{{click[{piece.text}]}}"
        return link
