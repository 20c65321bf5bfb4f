r"""Actions of models that mean the right thing and write it differently."""

from __future__ import annotations

import re
import unicodedata
from typing import Any

from gem.core import Env, EnvWrapper, Step
from gem.validation.values import check_action

THOUGHT_END = "</think>"
ANSWER_TAG = re.compile(r"<(/?)answer>", re.IGNORECASE)
SPACED_BOX = re.compile(r"(?<!\\)\\+boxed\s*\{")
FENCE = re.compile(r"^```\w*\n(.*?)\n?```$", re.DOTALL)
BOX = "\\boxed{"


class NormalizeAction(EnvWrapper):
    r"""Puts an action into the form that environments read; `info["parsed_action"]` has it where it was changed.

    Where there are several seats, only the info of the seat that acted has it: the others may not read the action.

    What stands before `</think>` is left out; unusual forms of letters, digits and spaces become the usual ones;
    `\\boxed {up}` becomes `\boxed{up}`. Where there is no box, the last `<answer>up</answer>`, or else an action of
    a single short line, is put into one. Anything else is passed on.

    Args:
        box: put answers without a box into one.
        longest: characters of a line that may be an answer by itself.
    """

    def __init__(self, env: Env, box: bool = True, longest: int = 80) -> None:
        super().__init__(env)
        self.box, self.longest = box, longest

    def step(self, action: str) -> Step:
        """As `Env.step`."""
        normal = self.normalize(check_action(action))
        to_act = self.env.to_act
        observation, reward, terminated, truncated, info = self.env.step(normal)
        if normal != action and "seats" in info:
            seat_infos = list(info["seats"])
            seat_infos[to_act[0]] = {**seat_infos[to_act[0]], "parsed_action": normal}
            info = {**info, "seats": seat_infos}
        elif normal != action:
            info = {**info, "parsed_action": normal}
        return observation, reward, terminated, truncated, info

    def normalize(self, action: str) -> str:
        """The action as it is passed on."""
        text = unicodedata.normalize("NFKC", action).rpartition(THOUGHT_END)[2].strip()
        text = SPACED_BOX.sub(lambda _: BOX, text)
        if not self.box or BOX in text:
            return text
        tagged_answer = _last_tagged_answer(text)
        alone = FENCE.sub(r"\1", text).strip()
        answer = alone if tagged_answer is None else tagged_answer
        if answer and (tagged_answer is not None or ("\n" not in answer and len(answer) <= self.longest)):
            return f"{BOX}{answer}}}"
        return text

    def _arguments(self) -> dict[str, Any]:
        return {"box": self.box, "longest": self.longest}


def _last_tagged_answer(text: str) -> str | None:
    """The text of the last `<answer>...</answer>`, without spaces around it; None if there is none."""
    answer: str | None = None
    start: int | None = None
    for tag in ANSWER_TAG.finditer(text):
        if not tag[1] and start is None:
            start = tag.end()
        elif tag[1] and start is not None:
            answer, start = text[start : tag.start()].strip(), None
    return answer
