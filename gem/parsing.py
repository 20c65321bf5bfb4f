r"""What an agent's text says: the answer in its last `\boxed{...}`."""

from __future__ import annotations

BOX = "\\boxed"


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
