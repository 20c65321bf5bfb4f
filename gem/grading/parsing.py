r"""Extracts the answer from an agent's text: the last `\boxed{...}`, `<answer>...</answer>` or code block."""

from __future__ import annotations

import re

BOX = "\\boxed"
_CODE_BLOCK = re.compile(r"```[^\n`]*\n(.*?)```", re.DOTALL)


def extract_last_boxed_answer(text: str) -> str | None:
    r"""The content of the last `\boxed{...}`; None if there is none or its braces are not balanced."""
    start = text.rfind(BOX)
    opening = start + len(BOX)
    if start < 0 or text[opening : opening + 1] != "{":
        return None
    depth = 0
    for index in range(opening, len(text)):
        if text[index] == "{":
            depth += 1
        elif text[index] == "}":
            depth -= 1
            if depth == 0:
                return text[opening + 1 : index]
    return None


def extract_last_tagged_answer(text: str) -> str | None:
    """The content of the last `<answer>...</answer>`, stripped of surrounding spaces; None if there is none."""
    end = text.rfind("</answer>")
    start = text.rfind("<answer>", 0, end) if end >= 0 else -1
    return text[start + len("<answer>") : end].strip() if start >= 0 else None


def extract_last_code_block(text: str) -> str | None:
    """The content of the last Markdown code block (between ``` and ```); None if there is none."""
    blocks = _CODE_BLOCK.findall(text)
    return blocks[-1].strip("\n") if blocks else None


extract_code_from_model = extract_last_code_block
"""GEM's name for `extract_last_code_block`."""
