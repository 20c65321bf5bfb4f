"""What a language model learns from: sequences of tokens, in memory as one array, and as a file."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import numpy as np
from tokenizers import Tokenizer

from gem.training.policy.prompts import NanoPromptFormat


class Corpus:
    """Sequences of tokens below 65,536, one after the other, and what made them of texts."""

    def __init__(self, prompt_format: NanoPromptFormat, tokens: np.ndarray, lengths: np.ndarray) -> None:
        self.prompt_format, self.tokens, self.lengths = prompt_format, tokens, lengths
        self.starts = np.concatenate([[0], np.cumsum(lengths[:-1])])

    @classmethod
    def of(cls, prompt_format: NanoPromptFormat, sequences: Sequence[Sequence[int]]) -> Corpus:
        """The corpus of these sequences."""
        lengths = np.array([len(one) for one in sequences], dtype=np.int64)
        tokens = np.fromiter((token for one in sequences for token in one), dtype=np.uint16, count=lengths.sum())
        return cls(prompt_format, tokens, lengths)

    def write(self, path: Path) -> None:
        """Write the file, compressed."""
        tokenizer = self.prompt_format.tokenizer.to_str()
        np.savez_compressed(path, lengths=self.lengths, tokens=self.tokens, tokenizer=tokenizer)

    @classmethod
    def read(cls, path: Path) -> Corpus:
        """Read a file that `write` wrote."""
        with np.load(path) as arrays:
            tokenizer = Tokenizer.from_str(str(arrays["tokenizer"]))
            return cls(NanoPromptFormat(tokenizer), arrays["tokens"], arrays["lengths"].astype(np.int64))
