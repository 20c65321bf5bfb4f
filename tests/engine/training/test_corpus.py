"""What the language models of the first policies read: random play whose queries, answers and programs are copied."""

from __future__ import annotations

import re

import pytest
import torch

from gem.rng import SplitMix64
from gem.training.policy.nano import Nano, nano_config
from gem.training.policy.prompts import NanoPromptFormat
from tools.nano_base.corpus import Corpus
from tools.nano_base.made_up import made_up_pages, page_texts
from tools.nano_base.pieces import play
from tools.nano_base.pretraining import encode, pretrain
from tools.nano_base.source import Kind, Piece
from tools.nano_base.spans import NUMBER, TOKEN, draw_words
from tools.nano_base.tokenizer import train_tokenizer
from tools.nano_base.tool_use import READER_SOURCES

TAGGED = re.compile(r"<(search|answer)>(.*)</\1>", re.DOTALL)


def assert_is_copied(piece: Piece) -> None:
    """Each query is in the first line, and each answer in it or in the last page."""
    task, page = piece[0].partition("\n")[0], ""
    for text, action in zip(piece[::2], piece[1::2], strict=False):
        page = text if "<information>" in text else page
        match = TAGGED.fullmatch(action)
        assert match, action
        assert match[2] in task or (match[1] == "answer" and match[2] in page), (match[2], task, page)


def test_random_queries_and_answers_are_copied() -> None:
    pieces = list(play(READER_SOURCES[0], 20, 0))
    assert len(pieces) == 60
    for piece in pieces:
        assert_is_copied(piece)
        assert piece[-1] == "", "what is said after an answer names the right one"
    assert any("<information>" in text for piece in pieces for text in piece)


def test_random_programs_have_the_numbers_of_the_task() -> None:
    for task, program, _ in play(READER_SOURCES[1], 20, 0):
        own = set(NUMBER.findall(task.partition("\n")[0])) | {"0", "1"}
        assert set(NUMBER.findall(program)) <= own, (task, program)


def test_made_up_pages_can_only_be_copied() -> None:
    pieces = list(made_up_pages(60, 0))
    assert pieces == list(made_up_pages(60, 0))
    assert len({piece[0] for piece in pieces}) == 60
    for piece in pieces:
        assert_is_copied(piece)


def test_numbers_are_words_only_where_they_count() -> None:
    for number in range(20):
        assert draw_words("in 1736.", SplitMix64(number), 2) == "in"
    assert {draw_words("in 1736.", SplitMix64(number), 2, TOKEN) for number in range(40)} == {"in", "1736", "in 1736"}
    assert draw_words("?!", SplitMix64(0), 2) == "none"


def test_names_of_pages_are_tokens_of_their_own() -> None:
    tokenizer = train_tokenizer(page_texts() * 40, 2048, names_alone=True)
    for name in ("Tanzania", "Copernicus", "Kilimanjaro"):
        assert len(tokenizer.encode(name).ids) == 1


@pytest.mark.parametrize(("optimizer", "text_weight"), [("adamw", 1.0), ("muon", 1.0), ("muon", 0.05)])
def test_a_language_model_learns_to_copy_with_either_optimizer(optimizer: str, text_weight: float) -> None:
    torch.set_num_threads(1)
    pieces = [[f"{a} {b}\n", f"<answer>{a} {b}</answer>", ""] for a in range(10) for b in range(10)] * 8
    prompt_format = NanoPromptFormat(train_tokenizer(("".join(piece) for piece in pieces), 300))
    net = Nano(nano_config(prompt_format.tokenizer.get_vocab_size(), hidden=32, layers=2, max_length=64))
    net.initialize(torch.Generator().manual_seed(0))
    kind = Kind((), depth=2, steps=80, batch_tokens=1024, optimizer=optimizer, rate=0.01, text_weight=text_weight)  # type: ignore[arg-type]
    losses = list(pretrain(net, Corpus.of(prompt_format, encode(prompt_format, pieces)), kind, 80, 0))
    assert losses[-1] < (0.8 if text_weight == 1 else 0.4) * losses[10]
