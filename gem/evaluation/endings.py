"""How an episode ended, as a kind and a short text that is the same for all episodes which ended alike.

Nineteen errors that differ only in numbers, ids and quotations are one failure that happened nineteen times. So the
text of a failure, or what the environment said last, is normalized: `normalize("seed 7: no page “Oslo” (3 s)")` is
`seed #: no page “…” (# s)`.
"""

from __future__ import annotations

import re
from typing import Final, Literal, NamedTuple

from gem.records import EpisodeRecord

Kind = Literal["", "environment", "agent", "other", "turns", "tokens", "money", "unreadable", "forbidden", "rules"]
KINDS: Final[dict[str, str]] = {
    "environment": "Environment error, not counted",
    "agent": "No answer from the agent, not counted",
    "other": "Interrupted, not counted",
    "unreadable": "Not solved: the last action was unreadable",
    "forbidden": "Not solved: the last action was forbidden",
    "turns": "Turn limit",
    "tokens": "Token limit",
    "money": "Money limit",
    "rules": "Not solved, by the rules",
}
"""The names of the kinds of failures, errors first."""
MAX_CHARS = 160
"""Characters of a normalized text."""
_MAX_READ = 2_000
"""Characters of a text that are looked at."""
_REPLACED = (
    (re.compile(r"“[^”]*”|\"[^\"\n]*\"|`[^`\n]*`|(?<!\w)'[^'\n]*'(?!\w)"), "“…”"),
    (re.compile(r"https?://\S+"), "(address)"),
    (re.compile(r"(?<!\w)(?:/[\w.@+-]+){2,}/?"), "(path)"),
    (
        re.compile(
            r"\b0x[0-9a-fA-F]+\b|\b(?=[0-9a-fA-F-]*\d)(?=[0-9a-fA-F-]*[a-fA-F])[0-9a-fA-F]{4,}(?:-[0-9a-fA-F]+)*\b"
        ),
        "#",
    ),
    (re.compile(r"\b(?=\w*\d)(?=\w*[A-Za-z])[A-Za-z0-9]{10,}\b"), "#"),
    (re.compile(r"[-\u2212]?\d+(?:[.,:/]\d+)*"), "#"),
    (re.compile(r"#(?:[\s,;]+#)+"), "#, …"),
)
"""The parts in which equal failures may differ: quotations, addresses, paths, hashes, ids and numbers."""


class Ending(NamedTuple):
    """How an episode ended."""

    kind: Kind
    """One of `KINDS`; empty if the episode was solved."""
    text: str
    """Normalized: the error, or what the environment said last. Empty for limits and solved episodes."""


def normalize(text: str) -> str:
    """The text without what differs between equal failures, on one line of at most `MAX_CHARS` characters."""
    text = text[:_MAX_READ]
    for pattern, replacement in _REPLACED:
        text = pattern.sub(replacement, text)
    text = " ".join(text.split())
    return text if len(text) <= MAX_CHARS else f"{text[: MAX_CHARS - 1].rstrip()}…"


def ending_of(record: EpisodeRecord) -> Ending:
    """How an episode ended."""
    if record.failure:
        side = record.failed_by
        return Ending(side if side in ("environment", "agent") else "other", normalize(record.failure))
    if record.success:
        return Ending("", "")
    last = record.turns[-1] if record.turns else None
    if record.truncated:
        return Ending(record.cut or "turns", "")
    text = normalize(_last_sentences(last.observation)) if last is not None else ""
    error = last.info.get("error") if last is not None else None
    if error == "format":
        return Ending("unreadable", text)
    return Ending("forbidden" if error == "rule" else "rules", text)


def _last_sentences(observation: str) -> str:
    """The end of an observation, where environments say how it ended: its last line that is a sentence."""
    lines = [line.strip() for line in observation[-_MAX_READ:].splitlines()]
    sentences = [line for line in lines if len(re.findall(r"[^\W\d_]{2,}", line)) >= 2]
    return sentences[-1] if sentences else ""
