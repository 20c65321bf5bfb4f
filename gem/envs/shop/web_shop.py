r"""Find a product in a web shop that fits what a customer asks for, choose its options, and buy it.

Rules:
    A customer says what they want: a kind of product, its attributes, options such as color and size, and a price
    limit. You search, open products, read about them, choose options and buy one product; buying ends the episode. A
    click on something that is not on the page is against the rules and uses up a turn. The easy form asks for one
    attribute and one option. The hard form asks for three attributes, which may be mentioned only in the features, and
    for all options.

Actions:
    `search[WORDS]` on the search page, and `click[TEXT]` on any page, with the text of a button, the number of a
    product or the value of an option: `click[Buy Now]`. An action may be boxed: `\boxed{search[red mug]}`. The last
    action in a text counts. Upper and lower case do not matter.

Rewards:
    For the purchase, the result of WebShop's formula: the share of attributes, options and price limit that are met,
    times 1 if the product is of the right kind and less if not. A reward of 1 is a success. 0 for every other turn,
    and at the turn limit. -0.1 for an action that cannot be parsed, which ends the episode.

Pages:
    `mode` decides how you read the pages: `text_rich`, `text` or `html`. The shop has 1,260 products of our own.
    Instead, `products` can name a file of WebShop's products (`items_shuffle_1000.json`) and `attributes` its file of
    attributes (`items_ins_v2_1000.json`); then the first `num_products` products are used.

Source:
    GEM (arXiv 2510.01051), which takes it from WebShop (Yao et al., 2022).
"""

from __future__ import annotations

import re
from dataclasses import dataclass

from gem.core import State
from gem.envs.game import Game, PlayResult
from gem.envs.shop import generated, pages
from gem.envs.shop.goals import draw_goal
from gem.envs.shop.pages import BACK, BUY, MODES, NEXT, PER_PAGE, SHEETS, Mode, Piece
from gem.envs.shop.product import Catalogue, Product
from gem.envs.shop.reward import Goal, RewardParts, purchase_reward
from gem.envs.shop.webshop_files import load
from gem.errors import InvalidArgument
from gem.rng import SplitMix64, choice
from gem.views import Link, LinksView

MAX_RESULTS = 50
MAX_ECHO = 60
"""Characters of an unknown text that the observation repeats."""


@dataclass(frozen=True, slots=True)
class Config:
    """The constructor's arguments, except for the catalogue."""

    hard: bool
    max_turns: int
    mode: Mode


class WebShop(Game):
    """See the module's documentation, which is also the catalog page."""

    pattern = re.compile(r"(search|click)\[(\s*+[^\[\]]+)\]", re.IGNORECASE)
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
        if mode not in MODES:
            raise InvalidArgument(f"mode must be one of {', '.join(MODES)}, not {mode!r}.")
        self.config = Config(hard, max_turns, mode)
        self.max_turns = max_turns
        self.shop: Catalogue = load(products, attributes, num_products) if products else generated.catalogue()
        self.data_hash = self.shop.data_hash
        self.goal = Goal("", "", (), {}, 0.0)
        self.query = ""
        """The words of the last search; empty on the search page."""
        self.result_keys: list[str] = []
        """The keys of all products that the search has found."""
        self.page_number = 1
        """The current page of results."""
        self.item = ""
        """The key of the open product; empty on the search page and on pages of results."""
        self.sheet = ""
        """The open sheet of the product ("Description", "Features" or "Reviews"); empty on the product's own page."""
        self.chosen_options: dict[str, str] = {}
        self.opened_keys: list[str] = []
        """The keys of all products that were opened, the last one at the end."""
        self.reward_parts: RewardParts | None = None
        """The parts of the reward; None before the purchase."""

    # ------------------------------------------------------------------ the episode

    def _draw(self) -> None:
        self.goal = draw_goal(self.rng, self.shop, hard=self.config.hard)
        self._go_to_search()
        self.opened_keys, self.reward_parts = [], None

    def _go_to_search(self) -> None:
        self.query, self.result_keys, self.page_number = "", [], 1
        self._open("")

    def _open(self, key: str) -> None:
        self.item, self.sheet, self.chosen_options = key, "", {}

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
        self.query, self.page_number = words, 1
        self.result_keys = self.shop.index.search(words, MAX_RESULTS)
        if not self.result_keys:
            return f"Nothing was found for {words[:MAX_ECHO]!r}.", 0.0, None
        return f"{len(self.result_keys)} products were found for {words[:MAX_ECHO]!r}.", 0.0, None

    def _click(self, button: Piece) -> PlayResult:
        if button.kind == "link":
            self._open(button.text)
            self.opened_keys = [*(key for key in self.opened_keys if key != button.text), button.text]
            return f"You opened {self.product.title}.", 0.0, None
        if button.kind == "option":
            self.chosen_options[button.group] = button.text
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
            self.page_number += 1
        elif self.sheet:
            self.sheet = ""
        elif self.item:
            self._open("")
        else:
            self.page_number -= 1
        page_text = f"page {self.page_number} of the results" if not self.item else "the page of the product"
        return f"You are on {page_text}.", 0.0, None

    def _buy(self) -> PlayResult:
        goal_product = self.shop.products[self.goal.key]
        self.reward_parts = purchase_reward(self.product, self.chosen_options, self.goal, goal_product, self.shop.nouns)
        self.over, self.solved = True, self.reward_parts.total == 1.0
        parts = self.reward_parts
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
        start = (self.page_number - 1) * PER_PAGE
        return [self.shop.products[key] for key in self.result_keys[start : start + PER_PAGE]]

    def pieces(self) -> list[Piece]:
        """The pieces of the current page."""
        if self.item and self.sheet:
            return list(pages.sheet_page(self.product, self.sheet))
        if self.item:
            return list(pages.item_page(self.product, self.chosen_options))
        if self.query:
            return list(pages.results_page(self.results, self.page_number, len(self.result_keys), self.opened_keys))
        return pages.search_page()

    def _suffix(self) -> str:
        return f"{pages.render(self.pieces(), self.goal.instruction, self.config.mode)}\n{self.prompt}"

    def _format_help(self) -> str:
        formats = "\\boxed{search[WORDS]} or \\boxed{click[TEXT]}"
        return f"There is no action in your answer. Write {formats}. The episode ends."

    def _random_action(self, rng: SplitMix64) -> str:
        buttons = [piece.text for piece in self.pieces() if piece.kind in ("button", "link", "option")]
        if not buttons:
            product = self.shop.products[choice(rng, self.shop.keys)]
            return f"\\boxed{{search[{product.kind}]}}"
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
            "number": self.page_number,
            "item": self.item,
            "sheet": self.sheet,
            "chosen": dict(self.chosen_options),
            "opened": list(self.opened_keys),
        }

    def _set_own_state(self, state: State) -> None:
        key, instruction, attributes, options, price = state["goal"]
        self.goal = Goal(key, instruction, tuple(attributes), dict(options), price)
        self.query, self.page_number = state["query"], state["number"]
        self.result_keys = self.shop.index.search(self.query, MAX_RESULTS) if self.query else []
        self.item, self.sheet, self.chosen_options = state["item"], state["sheet"], dict(state["chosen"])
        self.opened_keys = list(state["opened"])
        self.reward_parts = None

    def view(self, seat: int = 0) -> LinksView:
        """The current page. Typed text is searched for."""
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
            facts=[("Opened", str(len(self.opened_keys)))],
        )
        if self.query and not self.item:
            view["cards"] = True
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
