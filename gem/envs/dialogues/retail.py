r"""Serve a customer of a small shop: talk, look things up, change them, and keep to the policy.

Rules:
    A customer writes to the shop. You are the assistant: you talk with the customer and use the shop's tools. The
    customer is played by a script: who it is, what it wants and how it puts it are drawn from the seed, and it tells
    facts when it is asked for them. Easy customers want one thing and know their order number; hard ones want several
    things, or what the policy forbids, or have no number at hand. The conversation ends when the customer says
    goodbye, when it is handed over to a colleague, when the customer has lost patience, or at the turn limit.

Actions:
    `\boxed{say Which order is it?}` to talk, and tools with named texts:
    `\boxed{find_customer email=ada.abt@example.org}`, `\boxed{cancel_order order=W1234 reason=no longer needed}`.

Rewards:
    At the end 1 if the customer was identified, the shop's data are exactly as the right treatment leaves them, and
    the customer has been told what it wanted to know and what is not possible; otherwise 0. -0.1 for an action that
    cannot be parsed, which ends the episode.

Source:
    The kind of task is that of S. Yao et al., tau-bench (arXiv 2406.12045), retail; shop, policy, customers and texts
    are our own.
"""

from __future__ import annotations

import copy
import re
from dataclasses import dataclass

from gem.core import State
from gem.envs.dialogues import shop as shops
from gem.envs.dialogues.retail_tasks import EASY, HARD, TEMPLATES, Goal, draw_task
from gem.envs.game import Game, PlayResult
from gem.errors import InvalidArgument
from gem.registry import register
from gem.rng import SplitMix64, choice
from gem.views import ChatView, Key, Message

POLICY = (
    "Identify the customer first: by e-mail address, or by name and zip code. Speak of nobody else's orders.",
    "A pending order may be cancelled, sent to another address, or have an item changed for another variant of the "
    "same product that is in stock. A shipped or cancelled order cannot be changed.",
    f"A delivered item may be returned or exchanged within {shops.RETURN_DAYS} days of its delivery, unless the order "
    "was a final sale. Refunds go to the original payment or to a gift card, as the customer wishes.",
    f"A broken item that cost up to {shops.money(shops.CHEAP)} is refunded without being sent back; a dearer one is "
    "exchanged for the same variant.",
    "There are no discounts.",
    "Lost parcels and legal matters are handed over to a colleague.",
    "Do what the customer wants and the policy allows, and nothing else. If something is not allowed, say so.",
)
FREE_WORDS = (
    "Could you tell me your e-mail address, or your name and zip code?",
    "Which order is it, please?",
    "Is there anything else that I can do for you?",
)
TOPICS = {
    "identity": r"e-?mail|your name|zip|who (?:are|am)|identif",
    "order": r"(?:which|what|the|your) order|order number",
    "item": r"(?:which|what) (?:item|article|product|one)|about which",
    "new": r"instead|(?:which|what) (?:variant|other)|exchange it for|change it for|replace",
    "reason": r"\breason|\bwhy\b",
    "address": r"(?<!mail )address",
    "refund": r"refund|money|gift card|paid",
}
ASKS = re.compile(r"\?|please|could you|can you|tell me|may i", re.IGNORECASE)
MORE = re.compile(r"(?:any|some)thing (?:else|more)|further|what else", re.IGNORECASE)
REFUSES = re.compile(r"cannot|can't|not possible|unfortunately|not allowed|unable|not able", re.IGNORECASE)
GREETINGS = ("Hello.", "Good morning.", "Hi there.", "Good day to you.")
PERSONAS = {
    "calm": (4, "", ""),
    "hurried": (2, "I have little time.", ""),
    "chatty": (5, "What a day it has been, with all this rain.", "Let me see, where are my glasses."),
}
"""Who customers are: how many answers that lead nowhere they bear, and what they say at first and before facts."""


@dataclass(frozen=True, slots=True)
class Config:
    template: str | None
    hard: bool
    max_turns: int


class Retail(Game):
    """See the module's documentation, which is also the catalog page."""

    prompt = "What do you do?"
    pattern = re.compile(r"\\boxed{\s*([A-Za-z_]+)\b([^{}]*)}")

    def __init__(
        self, template: str | None = None, hard: bool = False, max_turns: int = 40, seed: int | None = None
    ) -> None:
        super().__init__(seed)
        if template is not None and template not in TEMPLATES:
            raise InvalidArgument(f"There is no template {template!r}; there is {', '.join(TEMPLATES)}.")
        if max_turns < 1:
            raise InvalidArgument(f"max_turns must be at least 1, not {max_turns}.")
        self.config = Config(template, hard, max_turns)
        self.shop: shops.Shop = {"products": {}, "customers": {}, "orders": {}, "tickets": []}
        """The data that the tools read and change."""
        self.messages: list[list[str]] = []
        """Side and text of everything that was said, asked of tools and answered by them."""
        self.seen: list[str] = []
        """The orders, products and customers that a tool has shown."""
        self._wanted: shops.Shop = {}
        self._caller = ""
        self._goal: Goal = {}
        self._left: list[Goal] = []
        self._untold: list[str] = []
        self._identified = self._missed = self._by_name = False
        self._persona = "calm"
        self._patience = 0

    def _draw(self) -> None:
        config = self.config
        self.max_turns = config.max_turns
        self.shop, self._caller = shops.draw_shop(self.rng)
        template = config.template or choice(self.rng, list(HARD if config.hard else EASY))
        task = draw_task(self.rng, self.shop, self._caller, template, hard=config.hard)
        self._wanted = copy.deepcopy(self.shop)
        for tool, given in task["expected"]:
            shops.call(self._wanted, tool, given)
        self._goal, *self._left = task["goals"]
        self._untold = list(task["info"])
        self._by_name = choice(self.rng, (True, False))
        self._persona = choice(self.rng, list(PERSONAS))
        self._identified = self._missed = False
        self._patience, small_talk, _ = PERSONAS[self._persona]
        self.seen = []
        words = (choice(self.rng, GREETINGS), small_talk, self._goal["say"])
        self.messages = [["other", " ".join(word for word in words if word)]]

    def _instructions(self) -> str:
        policy = "\n".join(f"- {rule}" for rule in POLICY)
        tools = "\n".join(f"- {shops.described(name)}" for name in shops.TOOLS)
        return (
            "You are the assistant of a shop and talk with a customer. The policy:\n"
            f"{policy}\nThe tools:\n{tools}\n"
            "Write \\boxed{say ...} to say something to the customer, or use a tool, as in "
            "\\boxed{show_order order=W1234}. One action at a time. When everything is done, ask whether there is "
            f"anything else.\nThe customer: {self.messages[0][1]}"
        )

    def _suffix(self) -> str:
        return self.prompt

    def _format_help(self) -> str:
        return "There is no action in your answer. Write \\boxed{say ...} or \\boxed{tool name=text}. The episode ends."

    # ------------------------------------------------------------------ turns

    def _play(self, match: tuple[str, str]) -> PlayResult:
        verb, rest = match[0].lower(), match[1].strip()
        if verb == "say":
            return self._say(" ".join(rest.split()))
        given = {name.lower(): value.strip().strip("\"'") for name, value in _ARGUMENT.findall(rest)}
        self.messages.append(["own", " ".join([verb, *(f"{name}={value}" for name, value in given.items())])])
        try:
            answer = shops.call(self.shop, verb, given)
        except shops.Refused as refused:
            self.messages.append(["tool", str(refused)])
            return str(refused), 0.0, "rule"
        self.messages.append(["tool", answer])
        self._identified = self._identified or answer.startswith(f"Customer {self._caller}:")
        if verb in shops.READING:
            self.seen += [given[name] for name in ("order", "product") if name in given]
        if verb == "escalate":
            return answer, self._finish(), None
        return answer, 0.0, None

    def _say(self, text: str) -> PlayResult:
        if not text:
            return "You say nothing.", 0.0, "rule"
        self.messages.append(["own", text])
        self._untold = [fact for fact in self._untold if not re.search(rf"\b{re.escape(fact)}\b", text.lower())]
        if REFUSES.search(text):
            self._goal["refuse"] = False
        reply = self._reply(text)
        self.messages.append(["other", reply])
        return f"The customer: {reply}", self._finish() if self.over else 0.0, None

    def _reply(self, text: str) -> str:
        """What the customer answers."""
        if REFUSES.search(text) and self._goal["fallback"] is not None:
            self._goal = self._goal["fallback"]
            return str(self._goal["say"])
        if MORE.search(text):
            self._missed = self._missed or self._goal["refuse"]
            if not self._left:
                self.over = True
                return "No, that is all. Goodbye."
            self._goal, *self._left = self._left
            return f"Yes. {self._goal['say']}"
        known = {"identity": self._identity(), **self._goal["facts"]}
        asked = [topic for topic, words in TOPICS.items() if re.search(words, text, re.IGNORECASE)]
        answers = [known[topic] for topic in asked if topic in known] if ASKS.search(text) else []
        if answers:
            return " ".join([PERSONAS[self._persona][2], *answers]).strip()
        self._patience -= 1
        if not self._patience:
            self.over = True
            return "This leads nowhere. Goodbye."
        if REFUSES.search(text):
            return "That is a pity, but I understand."
        return "I do not know that." if asked and ASKS.search(text) else f"All right. {self._goal['say']}"

    def _identity(self) -> str:
        own = self.shop["customers"][self._caller]
        if self._by_name:
            return f"My name is {own['name']}, and my zip code is {own['zip']}."
        return f"My e-mail address is {own['email']}."

    def _finish(self) -> float:
        """End the conversation; its reward."""
        self.over = True
        kept = self._identified and not self._missed and not self._goal["refuse"] and not self._left
        self.solved = kept and self.shop == self._wanted and not self._untold
        return float(self.solved)

    def _random_action(self, rng: SplitMix64) -> str:
        order = choice(rng, sorted(self.shop["orders"]))
        customer = self.shop["customers"][choice(rng, sorted(self.shop["customers"]))]
        return choice(
            rng,
            (
                f"\\boxed{{say {choice(rng, FREE_WORDS)}}}",
                f"\\boxed{{find_customer email={customer['email']}}}",
                f"\\boxed{{show_order order={order}}}",
                f"\\boxed{{show_product product={choice(rng, list(shops.PRODUCTS))}}}",
                f"\\boxed{{cancel_order order={order} reason={choice(rng, shops.CANCEL_REASONS)}}}",
            ),
        )

    # ------------------------------------------------------------------ state and picture

    def _get_own_state(self) -> State:
        return copy.deepcopy(
            {
                "shop": self.shop,
                "messages": self.messages,
                "seen": self.seen,
                "wanted": self._wanted,
                "caller": self._caller,
                "goal": self._goal,
                "left": self._left,
                "untold": self._untold,
                "by_name": self._by_name,
                "identified": self._identified,
                "missed": self._missed,
                "persona": self._persona,
                "patience": self._patience,
            }
        )

    def _set_own_state(self, state: State) -> None:
        state = copy.deepcopy(state)
        self.shop, self.messages, self.seen = state["shop"], state["messages"], state["seen"]
        self._wanted, self._caller = state["wanted"], state["caller"]
        self._goal, self._left, self._untold = state["goal"], state["left"], state["untold"]
        self._by_name, self._persona, self._patience = state["by_name"], state["persona"], state["patience"]
        self._identified, self._missed = state["identified"], state["missed"]

    def view(self, seat: int = 0) -> ChatView:
        """The conversation, with policy and tools beside it; a typed text is said to the customer."""
        view = ChatView(
            kind="chat",
            name="Retail, a conversation with a customer",
            messages=[self._message(side, text) for side, text in self.messages],
            notes=[("Policy", list(POLICY)), ("Tools", [shops.described(name) for name in shops.TOOLS])],
        )
        if view["messages"]:
            view["messages"][-1]["last"] = True
        if not self.over:
            view["say"] = ("\\boxed{say ", "}")
            view["keys"] = [[Key(text=words, label=words, act=f"\\boxed{{say {words}}}")] for words in FREE_WORDS]
        return view

    @staticmethod
    def _message(side: str, text: str) -> Message:
        if side == "own":
            return Message(who="You", side="own", text=text)
        if side == "tool":
            return Message(who="The shop's data", side="tool", text=text)
        return Message(who="The customer", side="other", text=text)


_ARGUMENT = re.compile(r"([A-Za-z_]+)\s*=\s*(\"[^\"]*\"|.*?)(?=[\s,]+[A-Za-z_]+\s*=|\s*$)", re.DOTALL)


register("dialogue:Retail-v0", Retail)
register("dialogue:Retail-v0-easy", Retail, hard=False)
register("dialogue:Retail-v0-hard", Retail, hard=True)
