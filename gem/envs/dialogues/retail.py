r"""Serve a customer of a small shop: talk, look things up, change them, and keep to the policy.

Rules:
    A customer writes to the shop. You are the assistant: you talk with the customer and use the shop's tools. A script
    plays the customer: who they are, what they want and how they put it are drawn from the seed, and they give facts
    when you ask for them. Easy customers want one thing and know their order number. Hard ones want several things, or
    something that the policy forbids, or have no order number at hand. The conversation ends when the customer says
    goodbye, when you hand it over to a colleague, when the customer has lost patience, or at the turn limit.

Actions:
    `\boxed{say Which order is it?}` to talk, and tools with named arguments:
    `\boxed{find_customer email=ada.abt@example.org}`, `\boxed{cancel_order order=W1234 reason=no longer needed}`.

Rewards:
    1 at the end if you have identified the customer, the shop's data are exactly as the correct treatment leaves them,
    and you have told the customer what they wanted to know and what is not possible; otherwise 0. -0.1 for an action
    that cannot be parsed, which ends the episode.

Source:
    The kind of task is that of S. Yao et al., tau-bench (arXiv 2406.12045), retail. The shop, the policy, the
    customers and all texts are our own.
"""

from __future__ import annotations

import copy
import re
from collections.abc import Iterator
from dataclasses import dataclass

from gem.core import State
from gem.envs.dialogues import shop as shops
from gem.envs.dialogues.retail_tasks import EASY, HARD, TEMPLATES, Goal, draw_task
from gem.envs.game import Game, PlayResult
from gem.errors import InvalidArgument
from gem.registry import register
from gem.rng import SplitMix64, choice
from gem.views import ChatView, Key, Message
from gem.views.forms import FormField, ToolForm

POLICY = (
    "Identify the customer first: by e-mail address, or by name and zip code. Speak of nobody else's orders.",
    "A pending order may be cancelled, sent to another address, or have an item changed for another variant of the "
    "same product that is in stock. A shipped or cancelled order cannot be changed.",
    f"A delivered item may be returned or exchanged within {shops.RETURN_DAYS} days of its delivery, unless the order "
    "was a final sale. Refunds go to the original payment or to a gift card, as the customer wishes.",
    f"A broken item that cost up to {shops.format_money(shops.MAX_CENTS_WITHOUT_RETURN)} is refunded without being "
    "sent back; a dearer one is exchanged for the same variant.",
    "There are no discounts.",
    "Lost parcels and legal matters are handed over to a colleague.",
    "Do what the customer wants and the policy allows, and nothing else. If something is not allowed, say so.",
)
SAMPLE_MESSAGES = (
    "Could you tell me your e-mail address, or your name and zip code?",
    "Which order is it, please?",
    "Is there anything else that I can do for you?",
)
TOPIC_PATTERNS = {
    "identity": r"e-?mail|your name|zip|who (?:are|am)|identif",
    "order": r"(?:which|what|the|your) order|order number",
    "item": r"(?:which|what) (?:item|article|product|one)|about which",
    "new": r"instead|(?:which|what) (?:variant|other)|exchange it for|change it for|replace",
    "reason": r"\breason|\bwhy\b",
    "address": r"(?<!mail )address",
    "refund": r"refund|money|gift card|paid",
}
QUESTION_PATTERN = re.compile(r"\?|please|could you|can you|tell me|may i", re.IGNORECASE)
ANYTHING_ELSE_PATTERN = re.compile(r"(?:any|some)thing (?:else|more)|further|what else", re.IGNORECASE)
REFUSAL_PATTERN = re.compile(r"cannot|can't|not possible|unfortunately|not allowed|unable|not able", re.IGNORECASE)
GREETINGS = ("Hello.", "Good morning.", "Hi there.", "Good day to you.")
PERSONAS = {
    "calm": (4, "", ""),
    "hurried": (2, "I have little time.", ""),
    "chatty": (5, "What a day it has been, with all this rain.", "Let me see, where are my glasses."),
}
"""For each temper of a customer: how many useless answers they bear, and what they say first and before facts."""


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
        self.max_turns = max_turns
        self.shop: shops.Shop = {"products": {}, "customers": {}, "orders": {}, "tickets": []}
        """The data that the tools read and change."""
        self.messages: list[list[str]] = []
        """Side ("own", "other" or "tool") and text of all messages, tool calls and answers of tools."""
        self.looked_up: list[str] = []
        """The orders and products that a tool has shown."""
        self._expected_shop: shops.Shop = {}
        """The data as the correct treatment leaves them."""
        self._caller = ""
        """The number of the customer."""
        self._goal: Goal = {}
        """What the customer wants now (see `gem.envs.dialogues.retail_tasks`)."""
        self._remaining_goals: list[Goal] = []
        self._untold_facts: list[str] = []
        """The facts that the customer still has to be told."""
        self._is_identified = False
        """Whether a tool has shown the customer's data."""
        self._has_missed_refusal = False
        """Whether the assistant has gone on without telling the customer that something is not possible."""
        self._identifies_by_name = False
        """Whether the customer gives name and zip code rather than the e-mail address."""
        self._persona = "calm"
        self._patience = 0
        """How many more useless answers the customer bears."""

    def _draw(self) -> None:
        config = self.config
        self.shop, self._caller = shops.draw_shop(self.rng)
        template = config.template or choice(self.rng, list(HARD if config.hard else EASY))
        task = draw_task(self.rng, self.shop, self._caller, template, hard=config.hard)
        self._expected_shop = copy.deepcopy(self.shop)
        for tool, arguments in task["expected"]:
            shops.call_tool(self._expected_shop, tool, arguments)
        self._goal, *self._remaining_goals = task["goals"]
        self._untold_facts = list(task["info"])
        self._identifies_by_name = choice(self.rng, (True, False))
        self._persona = choice(self.rng, list(PERSONAS))
        self._is_identified = self._has_missed_refusal = False
        self._patience, small_talk, _ = PERSONAS[self._persona]
        self.looked_up = []
        greeting = (choice(self.rng, GREETINGS), small_talk, self._goal["say"])
        self.messages = [["other", " ".join(part for part in greeting if part)]]

    def _instructions(self) -> str:
        policy = "\n".join(f"- {rule}" for rule in POLICY)
        tools = "\n".join(f"- {shops.describe_tool(name)}" for name in shops.TOOLS)
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
        verb, argument_text = match[0].lower(), match[1].strip()
        if verb == "say":
            return self._say(" ".join(argument_text.split()))
        arguments = {name.lower(): value.strip().strip("\"'") for name, value in _split_arguments(argument_text)}
        self.messages.append(["own", " ".join([verb, *(f"{name}={value}" for name, value in arguments.items())])])
        try:
            answer = shops.call_tool(self.shop, verb, arguments)
        except shops.ToolRefusal as refusal:
            self.messages.append(["tool", str(refusal)])
            return str(refusal), 0.0, "rule"
        self.messages.append(["tool", answer])
        self._is_identified = self._is_identified or answer.startswith(f"Customer {self._caller}:")
        if verb in shops.READ_ONLY_TOOLS:
            self.looked_up += [arguments[name] for name in ("order", "product") if name in arguments]
        if verb == "escalate":
            return answer, self._finish(), None
        return answer, 0.0, None

    def _say(self, text: str) -> PlayResult:
        if not text:
            return "You say nothing.", 0.0, "rule"
        self.messages.append(["own", text])
        self._untold_facts = [
            fact for fact in self._untold_facts if not re.search(rf"\b{re.escape(fact)}\b", text.lower())
        ]
        is_refusal = REFUSAL_PATTERN.search(text) is not None
        if is_refusal:
            self._goal["refuse"] = False
        reply = self._reply(text, is_refusal=is_refusal)
        self.messages.append(["other", reply])
        return f"The customer: {reply}", self._finish() if self.over else 0.0, None

    def _reply(self, text: str, *, is_refusal: bool) -> str:
        """The customer's answer."""
        if is_refusal and self._goal["fallback"] is not None:
            self._goal = self._goal["fallback"]
            return str(self._goal["say"])
        if ANYTHING_ELSE_PATTERN.search(text):
            self._has_missed_refusal = self._has_missed_refusal or self._goal["refuse"]
            if not self._remaining_goals:
                self.over = True
                return "No, that is all. Goodbye."
            self._goal, *self._remaining_goals = self._remaining_goals
            return f"Yes. {self._goal['say']}"
        facts = {"identity": self._identity(), **self._goal["facts"]}
        patterns = TOPIC_PATTERNS if QUESTION_PATTERN.search(text) else {}
        topics = [topic for topic, pattern in patterns.items() if re.search(pattern, text, re.IGNORECASE)]
        answers = [facts[topic] for topic in topics if topic in facts]
        if answers:
            return " ".join([PERSONAS[self._persona][2], *answers]).strip()
        self._patience -= 1
        if not self._patience:
            self.over = True
            return "This leads nowhere. Goodbye."
        if is_refusal:
            return "That is a pity, but I understand."
        return "I do not know that." if topics else f"All right. {self._goal['say']}"

    def _identity(self) -> str:
        customer = self.shop["customers"][self._caller]
        if self._identifies_by_name:
            return f"My name is {customer['name']}, and my zip code is {customer['zip']}."
        return f"My e-mail address is {customer['email']}."

    def _finish(self) -> float:
        """End the conversation and return its reward."""
        self.over = True
        is_done = (
            self._is_identified
            and not self._has_missed_refusal
            and not self._goal["refuse"]
            and not self._remaining_goals
        )
        self.solved = is_done and self.shop == self._expected_shop and not self._untold_facts
        return float(self.solved)

    def _random_action(self, rng: SplitMix64) -> str:
        order = choice(rng, sorted(self.shop["orders"]))
        customer = self.shop["customers"][choice(rng, sorted(self.shop["customers"]))]
        return choice(
            rng,
            (
                f"\\boxed{{say {choice(rng, SAMPLE_MESSAGES)}}}",
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
                "seen": self.looked_up,
                "wanted": self._expected_shop,
                "caller": self._caller,
                "goal": self._goal,
                "left": self._remaining_goals,
                "untold": self._untold_facts,
                "by_name": self._identifies_by_name,
                "identified": self._is_identified,
                "missed": self._has_missed_refusal,
                "persona": self._persona,
                "patience": self._patience,
            }
        )

    def _set_own_state(self, state: State) -> None:
        state = copy.deepcopy(state)
        self.shop, self.messages, self.looked_up = state["shop"], state["messages"], state["seen"]
        self._expected_shop, self._caller = state["wanted"], state["caller"]
        self._goal, self._remaining_goals, self._untold_facts = state["goal"], state["left"], state["untold"]
        self._identifies_by_name, self._persona, self._patience = state["by_name"], state["persona"], state["patience"]
        self._is_identified, self._has_missed_refusal = state["identified"], state["missed"]

    def tool_forms(self) -> list[ToolForm]:
        """What one can say or do as forms for people (see `gem.views.forms`)."""
        texts = " ".join(text for _, text in self.messages)
        known = list(dict.fromkeys(shops.NUMBER_PATTERN.findall(texts)))
        text = FormField(name="message", type="string", required=True)
        say = ToolForm(
            name="say", control="form", description="Say something to the customer.", fields=[text], style="text",
            before="\\boxed{say ", after="}",
        )  # fmt: skip
        return [] if self.over else [say, *(shops.form_of(name, known) for name in shops.TOOLS)]

    def view(self, seat: int = 0) -> ChatView:
        """The conversation, with the policy and the tools. Typed text is said to the customer."""
        view = ChatView(
            kind="chat",
            name="Retail, a conversation with a customer",
            messages=[self._message(side, text) for side, text in self.messages],
            notes=[("Policy", list(POLICY)), ("Tools", [shops.describe_tool(name) for name in shops.TOOLS])],
        )
        if view["messages"]:
            view["messages"][-1]["last"] = True
        if not self.over:
            view["say"] = ("\\boxed{say ", "}")
            view["keys"] = [
                [Key(text=message, label=message, act=f"\\boxed{{say {message}}}")] for message in SAMPLE_MESSAGES
            ]
        return view

    @staticmethod
    def _message(side: str, text: str) -> Message:
        if side == "own":
            return Message(who="You", side="own", text=text)
        if side == "tool":
            return Message(who="The shop's data", side="tool", text=text)
        return Message(who="The customer", side="other", text=text)


_NAME_PATTERN = re.compile(r"(?<![A-Za-z_])([A-Za-z_]++)\s*+=\s*+")
_NEXT_NAME_PATTERN = re.compile(r"[\s,]++[A-Za-z_]++\s*+=")
_AFTER_VALUE_PATTERN = re.compile(rf"(?<![\s,]){_NEXT_NAME_PATTERN.pattern}")
_QUOTED_PATTERN = re.compile(r"\"[^\"]*\"(?=[\s,]++[A-Za-z_]++\s*+=|\s*+\Z)")


def _split_arguments(text: str) -> Iterator[tuple[str, str]]:
    """Name and value of each argument: a text in quotes, or everything up to the next name. Takes linear time."""
    argument = _NAME_PATTERN.search(text)
    while argument is not None:
        start = argument.end()
        quoted = _QUOTED_PATTERN.match(text, start)
        following = quoted or _NEXT_NAME_PATTERN.match(text, start) or _AFTER_VALUE_PATTERN.search(text, start)
        end = len(text) if following is None else following.end() if following is quoted else following.start()
        yield argument[1], text[start:end].rstrip()
        argument = _NAME_PATTERN.search(text, end)


register("dialogue:Retail-v0", Retail, cost="fast")
register("dialogue:Retail-v0-easy", Retail, cost="fast", hard=False)
register("dialogue:Retail-v0-hard", Retail, cost="fast", hard=True)
