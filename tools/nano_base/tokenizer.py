"""The tokenizer of nano policies: byte-pair encoding whose merges may cross spaces.

Environments say the same sentences again and again, so with merges across spaces a constant sentence becomes one token,
and an episode is two to five times shorter. What varies from turn to turn stays in tokens of its own: digits, capitals,
the cells of boards, the box around an action.
"""

from __future__ import annotations

from collections.abc import Iterable

from tokenizers import Regex, Tokenizer, decoders, models, pre_tokenizers, trainers

from gem.training.policy.prompts import ACT, END

SPECIAL = ["<pad>", END, ACT]
"""Tokens 0, 1 and 2."""
ALONE = (
    r"[0-9]"
    r"|(?<![A-Za-z])[A-Z](?![a-z])|(?<=[A-Z])[A-Z](?![a-z])"  # capitals that begin no word
    r"|(?<=[ \[])[._](?=[ \n\]])"  # cells
    r"|[#$@*+=]|(?<=[#$@*+\-.])[-.]|[-.](?=[#$@*+\-.])"  # rooms of Sokoban, sums
    r"|\\boxed\{|\}"
)
"""What is never merged with its neighbours."""
NAMES = r"|(?<![A-Za-z\\])[A-Z][a-z]+"
"""Words that begin with a capital: a name is then the same token in a question, on a page and in an answer."""


def train_tokenizer(texts: Iterable[str], vocabulary: int = 2048, *, names_alone: bool = False) -> Tokenizer:
    """A tokenizer for texts like these; every text comes back from its tokens unchanged.

    Args:
        vocabulary: the number of tokens.
        names_alone: whether words that begin with a capital are never merged with their neighbours either.
    """
    tokenizer = Tokenizer(models.BPE())
    tokenizer.pre_tokenizer = pre_tokenizers.Sequence(
        [
            pre_tokenizers.Split(Regex(ALONE + NAMES if names_alone else ALONE), "isolated"),
            pre_tokenizers.Split(Regex(r"\n"), "merged_with_previous"),
            pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex=False),
        ]
    )
    tokenizer.decoder = decoders.ByteLevel()
    trainer = trainers.BpeTrainer(
        vocab_size=vocabulary,
        special_tokens=SPECIAL,
        initial_alphabet=pre_tokenizers.ByteLevel.alphabet(),
        max_token_length=400,
        min_frequency=3,
        show_progress=False,
    )
    tokenizer.train_from_iterator(texts, trainer)
    return tokenizer
