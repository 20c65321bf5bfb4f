"""An environment that is played at random, and how; and what a policy is made of."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any, Literal

Piece = list[str]
"""Texts and actions, by turns: text, action, text, action ... text."""
PieceWriter = Callable[[int, int], Iterator[Piece]]
"""Writes so many pieces or lines that nobody played, from a seed."""

Answers = (
    tuple[int, int]
    | Literal["unjudged", "of another seed", "from the text", "with Python", "with search", "span", "program"]
)
"""Where the random actions are not those of the environment, judged by it: a random answer is the environment's own but
not judged, is a whole number from the first to the second, belongs to another question, or is a number or words that
were read, with or without a tool before it; a span of the task or of a page that was found; or a program with numbers
of the task."""


@dataclass(frozen=True)
class Source:
    """An environment to play at random."""

    env_id: str
    episodes: int
    """For each thousand asked for."""
    transcripts: bool
    """Whether whole episodes are learned; else boards."""
    kwargs: tuple[tuple[str, Any], ...] = ()
    answers: Answers | None = None
    wrappers: tuple[tuple[tuple[str, Any], ...], ...] = ()
    """Wrappers as pairs of names and values."""
    copies: bool = False
    """Whether random expressions, queries and answers consist only of what the task and the last output say."""


@dataclass(frozen=True)
class Kind:
    """One of the policies: what it has seen, and how large it is."""

    sources: tuple[Source, ...]
    depth: int
    """The one dial for size: so many layers, of 32 times as many dimensions."""
    steps: int
    """Of the language model."""
    vocabulary: int = 2048
    batch_tokens: int = 4096
    reads_every_source: bool = False
    """Whether the tokenizer has read equally many pieces of each source, besides those of all at random; else besides
    some episodes of every environment."""
    names_alone: bool = False
    """See `train_tokenizer`."""
    reads_pages: int = 0
    """How often the tokenizer has read each bundled page, so that the names in them become tokens of their own."""
    written: tuple[tuple[PieceWriter, int], ...] = ()
    """Pieces that nobody played: who writes them, and how many for each thousand of `count`."""
    optimizer: Literal["adamw", "muon"] = "adamw"
    """Muon changes the matrices inside the layers, if it is chosen, and AdamW the rest."""
    rate: float = 4e-3
    """The highest learning rate."""
    text_weight: float = 1.0
    """How much a token of a text counts in the loss; a token of an action counts 1."""
