"""An environment that is played at random, and how; and what a policy is made of."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal

Answers = tuple[int, int] | Literal["unjudged", "of another seed", "from the text", "with Python", "with search"]
"""Where the random actions are not those of the environment, judged by it: a random answer is the environment's own but
not judged, is a whole number from the first to the second, belongs to another question, or is a number or words that
were read, with or without a tool before it."""


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
    primer: int = 0
    """Lines of arithmetic and spelling, for each thousand of `count`."""
