r"""What an agent's text says: the answer in its last `\boxed{...}`, or between its last `<answer>` and `</answer>`."""

from __future__ import annotations

import re

BOX = "\\boxed"
_CODE_BLOCK = re.compile(r"```[^\n`]*\n(.*?)```", re.DOTALL)


def extract_last_boxed_answer(text: str) -> str | None:
    r"""What stands in the last `\boxed{...}` of `text`, None without one; braces inside have to be in pairs."""
    start = text.rfind(BOX)
    opening = start + len(BOX)
    if start < 0 or text[opening : opening + 1] != "{":
        return None
    depth = 0
    for place in range(opening, len(text)):
        if text[place] == "{":
            depth += 1
        elif text[place] == "}":
            depth -= 1
            if depth == 0:
                return text[opening + 1 : place]
    return None


def extract_last_tagged_answer(text: str) -> str | None:
    """What stands between the last `<answer>` and the `</answer>` after it, without spaces around; None without."""
    end = text.rfind("</answer>")
    start = text.rfind("<answer>", 0, end) if end >= 0 else -1
    return text[start + len("<answer>") : end].strip() if start >= 0 else None


def extract_last_code_block(text: str) -> str | None:
    """What stands in the last Markdown code block (between ``` and ```), None without one."""
    blocks = _CODE_BLOCK.findall(text)
    return blocks[-1].strip("\n") if blocks else None


extract_code_from_model = extract_last_code_block
"""GEM's name for it."""
