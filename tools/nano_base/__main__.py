"""The command (see the package)."""

from __future__ import annotations

import argparse
import json
import logging
import random
import sys
import time
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import torch
from tokenizers import Tokenizer

import tools.nano_base
from gem.training.policy.nano import Nano, nano_config
from gem.training.policy.policies import WEIGHTS, write_weights
from gem.training.policy.prompts import NanoPromptFormat
from gem.version import __version__
from tools.nano_base.corpus import Corpus
from tools.nano_base.large import LARGE_SOURCES
from tools.nano_base.made_up import made_up_pages, page_texts
from tools.nano_base.pieces import play, play_everything
from tools.nano_base.pretraining import encode, pretrain
from tools.nano_base.primer import primer
from tools.nano_base.source import Kind, Piece
from tools.nano_base.sources import BASE_SOURCES, WIDE_SOURCES
from tools.nano_base.tokenizer import train_tokenizer
from tools.nano_base.tool_use import READER_SOURCES, TOOL_SOURCES

logger = logging.getLogger(__name__)

KINDS = {
    "nano-base": Kind(BASE_SOURCES, depth=2, steps=3000),
    "nano-wide": Kind(WIDE_SOURCES, depth=3, steps=5000),
    "nano-large": Kind(
        LARGE_SOURCES,
        depth=4,
        steps=1550,
        vocabulary=4096,
        batch_tokens=65_536,
        reads_every_source=True,
        names_alone=True,
        written=((primer, 60_000),),
    ),
    "nano-tools": Kind(TOOL_SOURCES, depth=2, steps=2500, vocabulary=1024, reads_every_source=True, names_alone=True),
    "nano-reader": Kind(
        READER_SOURCES,
        depth=3,
        steps=3500,
        reads_every_source=True,
        names_alone=True,
        reads_pages=40,
        written=((made_up_pages, 10_000),),
        optimizer="muon",
        rate=0.015,
        text_weight=0.05,
    ),
}
PIECES_TO_READ, PIECES_OF_A_SOURCE = 12_000, 250
"""How many pieces of all sources the tokenizer is learned from, and how many more of each (see `Kind`)."""
RANDOM_PLAY = "random play only: it knows how episodes look and how actions are written, not how to win"
MADE_FROM = {
    "nano-large": "random play, and a primer of arithmetic and spelling: it knows how episodes look and how actions "
    "are written, not how to win",
    "nano-reader": "random play, and random words to copy: it knows how episodes look, how actions are written and how "
    "words are copied, not which to copy",
}


def write_corpus(path: Path, kind: Kind, *, count: int, seed: int) -> None:
    """Play, learn a tokenizer, and write what was read and done as tokens."""
    began = time.process_time()
    by_source: list[list[Piece]] = []
    for number, source in enumerate(kind.sources):
        by_source.append(list(play(source, count, seed + number)))
        logger.info("%s: %d pieces, %.0f CPU s", source.env_id, len(by_source[-1]), time.process_time() - began)
    for write, pieces_of_thousand in kind.written:
        by_source.append(list(write(pieces_of_thousand * count // 1000, seed)))
    pieces = [piece for own in by_source for piece in own]
    prompt_format = NanoPromptFormat(_tokenizer(kind, by_source, seed))
    corpus = Corpus.of(prompt_format, encode(prompt_format, pieces))
    corpus.write(path)
    logger.info("%d tokens after %.0f CPU s", len(corpus.tokens), time.process_time() - began)


def _tokenizer(kind: Kind, by_source: Sequence[Sequence[Piece]], seed: int) -> Tokenizer:
    """Learn the tokenizer from a part of what was played."""
    shuffler = random.Random(seed)
    pieces = [piece for own in by_source for piece in own]
    some = shuffler.sample(pieces, min(len(pieces), PIECES_TO_READ))
    if kind.reads_every_source:
        some += [piece for own in by_source for piece in shuffler.sample(own, min(len(own), PIECES_OF_A_SOURCE))]
    else:
        some += play_everything(seed)
    texts = ["".join(piece) for piece in some] + page_texts() * kind.reads_pages
    return train_tokenizer(texts, kind.vocabulary, names_alone=kind.names_alone)


def make(out: Path, kind: Kind, corpus: Corpus, card: dict[str, Any], *, steps: int, seed: int, device: str) -> None:
    """Learn from a corpus, and write the policy's folder."""
    began = time.perf_counter()
    prompt_format = corpus.prompt_format
    net = Nano(nano_config(prompt_format.tokenizer.get_vocab_size(), hidden=32 * kind.depth, layers=kind.depth))
    net.initialize(torch.Generator().manual_seed(seed))
    out.mkdir(parents=True, exist_ok=True)
    losses: list[float] = []
    for loss in pretrain(net, corpus, kind, steps, seed, device):
        losses.append(loss)
        if len(losses) % 200 == 0:
            mean = sum(losses[-200:]) / 200
            logger.info("step %d, loss %.3f, %.0f s", len(losses), mean, time.perf_counter() - began)
    write_weights(net, out)
    for name, content in prompt_format.tokenizer_files.items():
        (out / name).write_text(content, encoding="utf-8")
    (out / "card.json").write_text(json.dumps(card, indent=2) + "\n", encoding="utf-8")
    logger.info("%s: %d bytes of weights", out, (out / WEIGHTS).stat().st_size)


def _card(name: str, kind: Kind, command: str) -> dict[str, Any]:
    return {
        "format": 1,
        "name": name,
        "made_by": command,
        "made_from": MADE_FROM.get(name, RANDOM_PLAY),
        "environments": sorted({source.env_id for source in kind.sources}),
        "engine_version": __version__,
        "torch_version": torch.__version__,
        "input_mode": "transcript",
        "max_tokens": 16,
        "max_length": 1024,
        "temperature": 1.0,
    }


def _of_each(field: str) -> str:
    return ", ".join(str(getattr(kind, field)) for kind in KINDS.values())


def main(argv: Sequence[str] | None = None) -> None:
    """Run the command."""
    parser = argparse.ArgumentParser(
        prog="python -m tools.nano_base", description=(tools.nano_base.__doc__ or "").splitlines()[0]
    )
    parser.add_argument("--out", type=Path, required=True, help="the folder to write: " + ", ".join(KINDS))
    parser.add_argument("--count", type=int, default=1000, help="scales the number of episodes (1000)")
    parser.add_argument("--steps", type=int, help=f"of the language model ({_of_each('steps')})")
    parser.add_argument(
        "--depth", type=int, help=f"layers, of 32 times as many dimensions: the size ({_of_each('depth')})"
    )
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--device", default="cpu", choices=("cpu", "cuda"), help="where the language model learns")
    parser.add_argument(
        "--corpus", type=Path, help="a file for what was played: it is read if it is there, and written if it is not"
    )
    arguments = parser.parse_args(argv)
    name = arguments.out.name
    if name not in KINDS:
        parser.error(f"the last part of --out names the policy: one of {', '.join(KINDS)}")
    logging.basicConfig(level=logging.INFO, format="%(message)s", stream=sys.stderr)
    torch.set_num_threads(1)
    kind = KINDS[name]
    kind = replace(kind, depth=arguments.depth or kind.depth)
    steps = arguments.steps or kind.steps
    path = arguments.corpus or arguments.out / "corpus.npz"
    if not path.exists():
        path.parent.mkdir(parents=True, exist_ok=True)
        write_corpus(path, kind, count=arguments.count, seed=arguments.seed)
    command = f"python -m tools.nano_base --out {name} --count {arguments.count} --steps {steps}"
    command += f" --seed {arguments.seed}"
    command += f" --depth {kind.depth}" if kind.depth != KINDS[name].depth else ""
    command += " --device cuda" if arguments.device == "cuda" else ""
    card = _card(name, kind, command)
    make(arguments.out, kind, Corpus.read(path), card, steps=steps, seed=arguments.seed, device=arguments.device)
    if arguments.corpus is None:
        path.unlink()


if __name__ == "__main__":
    main()
