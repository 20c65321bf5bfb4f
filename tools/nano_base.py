"""Make the policies that trainings begin with, from random play only: `nano-base`, and the larger `nano-wide`.

    python -m tools.nano_base --out gem/training/models/nano-base
    python -m tools.nano_base --out gem/training/models/nano-wide

It plays random episodes, learns a tokenizer and then a language model from their texts: what environments say and what
is done alike, once as whole episodes and once board by board. So it knows how episodes look and how actions are
written, and nothing of how to win. No expert, no person and no other model is involved. The same arguments give the
same weights.
"""

from __future__ import annotations

import argparse
import json
import logging
import random
import sys
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Literal

import torch
from torch import nn
from torch.nn import functional

import gem
from gem import registry
from gem.core import Env
from gem.rng import SplitMix64, randbelow, randint, sample
from gem.training.policy.nano import Nano, nano_config
from gem.training.policy.policies import WEIGHTS, write_weights
from gem.training.policy.prompts import NanoPromptFormat, board_text, observation_text
from gem.training.policy.sampler import microbatches
from gem.version import __version__
from tools.nano_tokenizer import train_tokenizer

logger = logging.getLogger(__name__)

LONGEST = 512
"""Tokens of a sequence to learn from; what is longer is cut."""
BOARDS_OF_AN_EPISODE = 3
BATCH_TOKENS = 4096
HIGHEST_RATE, WARM_SHARE, LAST_SHARE = 4e-3, 30, 0.03
"""The learning rate rises in a thirtieth of the steps and then falls to this share of its highest value."""


@dataclass(frozen=True)
class Source:
    """An environment to play at random."""

    env_id: str
    episodes: int
    """For each thousand asked for."""
    transcripts: bool
    """Whether whole episodes are learned; else boards."""
    kwargs: tuple[tuple[str, Any], ...] = ()
    answers: tuple[int, int] | Literal["of another seed"] | None = None
    """Where given, a random answer is a whole number from the first to the second, or belongs to another question."""


SOURCES = (
    Source("game:GuessTheNumber-v0-easy", 4000, transcripts=True),
    Source("game:GuessTheNumber-v0-hard", 3000, transcripts=True),
    Source("game:Mastermind-v0-easy", 1200, transcripts=True),
    Source("game:Hangman-v0-easy", 800, transcripts=True),
    Source("game:Wordle-v0-easy", 400, transcripts=True),
    Source("game:FifteenPuzzle-v0-easy", 1000, transcripts=False),
    Source("game:TowerofHanoi-v0-easy", 1000, transcripts=False),
    Source("game:TowerofHanoi-v0-easy", 500, transcripts=False, kwargs=(("num_disks", 2),)),
    Source("game:Minesweeper-v0-easy", 500, transcripts=False),
    Source("game:Sudoku-v0-easy", 600, transcripts=False),
    Source("game:Game2048-v0-easy", 300, transcripts=False),
    Source("game:Sokoban-v0-easy", 600, transcripts=False),
    Source("duel:TicTacToe-v0-vs-random", 1500, transcripts=False),
    Source(
        "rg:chain_sum",
        4000,
        transcripts=True,
        kwargs=(("config", {"min_terms": 2, "max_terms": 2, "min_digits": 1, "max_digits": 1}),),
        answers=(-9, 18),
    ),
)

ANSWERED = (
    *("chain_sum", "basic_arithmetic", "products", "gcd", "lcm", "count_bits", "count_primes", "power_function"),
    *(
        "decimal_arithmetic",
        "decimal_chain_sum",
        "fraction_simplification",
        "prime_factorization",
        "bitwise_arithmetic",
    ),
    *("simple_equations", "number_sequence", "number_format", "number_filtering", "number_sorting", "leg_counting"),
    "bitwise_arithmetic",
    *("dice", "calendar_arithmetic", "time_intervals", "coin_flip", "letter_counting", "spell_backward", "ab"),
    *("binary_alternation", "base_conversion", "caesar_cipher", "isomorphic_strings", "ransom_note", "syllogism"),
    *("knights_knaves", "propositional_logic", "self_reference", "circuit_logic", "family_relationships", "aiw"),
    *("course_schedule", "largest_island", "game_of_life_halting", "rotten_oranges", "quantum_lock", "needle_haystack"),
    *("simple_geometry", "color_cube_rotation", "tsumego", "word_sequence_reversal", "palindrome_generation"),
)
"""Datasets of ReasoningGym whose questions and answers are short."""


def _small(name: str, **config: Any) -> Source:
    return Source(f"rg:{name}", 800, transcripts=True, kwargs=(("config", config),), answers="of another seed")


WIDE_SOURCES = (
    *(replace(source, episodes=source.episodes // 2) for source in SOURCES),
    Source("game:Crosswords-v0-easy", 300, transcripts=False),
    Source("game:WordSearch-v0-easy", 300, transcripts=False),
    Source("game:WikiGame-v0-easy", 300, transcripts=True),
    Source("shop:WebShop-v0-easy", 300, transcripts=True),
    Source("duel:ConnectFour-v0-vs-random", 500, transcripts=False),
    Source("duel:KuhnPoker-v0-vs-random", 800, transcripts=True),
    Source("duel:Negotiation-v0-vs-random", 500, transcripts=True),
    Source("duel:PrisonersDilemma-v0-vs-random", 400, transcripts=True),
    *(Source(f"rg:{name}", 500, transcripts=True, answers="of another seed") for name in ANSWERED),
    *(Source(f"logic:RuleTaker-d{depth}", 500, transcripts=True, answers="of another seed") for depth in (0, 1, 2)),
    Source("math:Drawn-v0-easy", 500, transcripts=True, answers="of another seed"),
    _small("products", min_terms=2, max_terms=2, min_digits=1, max_digits=1),
    _small("chain_sum", min_terms=2, max_terms=2, min_digits=2, max_digits=2),
    _small("basic_arithmetic", min_terms=2, max_terms=2, min_digits=1, max_digits=1),
)
"""What `nano-wide` has seen."""


@dataclass(frozen=True)
class Kind:
    """One of the policies: what it has seen, and how large it is."""

    sources: tuple[Source, ...]
    depth: int
    """The one dial for size: so many layers, of 32 times as many dimensions."""
    steps: int
    """Of the language model."""


KINDS = {"nano-base": Kind(SOURCES, 2, 3000), "nano-wide": Kind(WIDE_SOURCES, 3, 5000)}

SPOKEN = ("game", "duel", "dialogue", "rg")
"""Categories whose environments, in every difficulty, the tokenizer has seen."""
EPISODES_TO_READ = 12
PIECES_TO_READ = 12_000
"""How many episodes of each of those, and how many pieces of the sources, the tokenizer is learned from."""

Piece = list[str]
"""Texts and actions, by turns: text, action, text, action ... text."""


def pieces(source: Source, count: int, seed: int) -> Iterator[Piece]:
    """What was read and done in random episodes."""
    env = gem.make(source.env_id, **dict(source.kwargs))
    for number in range(source.episodes * count // 1000):
        draw = SplitMix64(seed, number)
        yield from _episode(env, source, randbelow(draw, 2**53), draw)
    env.close()


def _episode(env: Env, source: Source, seed: int, draw: SplitMix64) -> list[Piece]:
    if source.answers == "of another seed":
        return [_question(env, seed, randbelow(draw, 2**53))]
    observation, info = env.reset(seed=seed)
    spec = env.unwrapped.spec
    assert spec is not None
    tale: Piece = []
    boards: list[Piece] = []
    over = False
    while not over:
        shown = board_text(spec.family, observation, info, env.view())
        action = f"\\boxed{{{randint(draw, *source.answers)}}}" if source.answers else env.sample_random_action()
        tale += [observation_text(observation, info), action]
        observation, _, terminated, truncated, info = env.step(action)
        over = terminated or truncated
        boards.append([shown, action, observation_text(observation, info)])
    return (
        [[*tale, observation_text(observation, info)]]
        if source.transcripts
        else sample(draw, boards, min(len(boards), BOARDS_OF_AN_EPISODE))
    )


def _question(env: Any, seed: int, other_seed: int) -> Piece:
    """A question with the answer to another one. What is said of it is left out, for it names the right answer."""
    env.reset(seed=other_seed)
    action = env.unwrapped.reference_action() or env.sample_random_action()
    return [observation_text(*env.reset(seed=seed)), action, ""]


def _everything(seed: int) -> Iterator[Piece]:
    """A few random episodes of every environment that can be played here."""
    for spec in registry.specs():
        if spec.category in SPOKEN and not spec.missing_packages():
            opponent = (("opponent", "random"),) if spec.seats > 1 else ()
            source = Source(spec.id, EPISODES_TO_READ, transcripts=True, kwargs=opponent)
            yield from pieces(source, 1000, seed)


def encode(prompt_format: NanoPromptFormat, found: Sequence[Piece]) -> list[list[int]]:
    """Pieces as tokens, as a policy would read and write them."""
    texts = iter(prompt_format.tokenizer.encode_batch_fast([text for piece in found for text in piece]))
    sequences = []
    for piece in found:
        tokens: list[int] = []
        for place in range(len(piece)):
            tokens += next(texts).ids
            if place < len(piece) - 1:
                tokens.append(prompt_format.end_token if place % 2 else prompt_format.act_token)
        sequences.append(tokens[:LONGEST])
    return sequences


def batches(sequences: Sequence[list[int]], steps: int, seed: int, tokens: int) -> Iterator[list[list[int]]]:
    """So many batches of similar length, the sequences in another order each time round."""
    shuffler = random.Random(seed)
    made = 0
    while True:
        order = list(range(len(sequences)))
        shuffler.shuffle(order)
        for first in range(0, len(order), 2048):
            some = [sequences[i] for i in order[first : first + 2048]]
            groups = list(microbatches([len(one) for one in some], tokens))
            shuffler.shuffle(groups)
            for group in groups:
                if made == steps:
                    return
                made += 1
                yield [some[i] for i in group]


def pretrain(
    net: Nano, sequences: Sequence[list[int]], steps: int, seed: int, tokens: int = BATCH_TOKENS
) -> Iterator[float]:
    """Learn to predict every token; yields the loss of each step in nats per token."""
    optimizer = torch.optim.AdamW(net.parameters(), lr=HIGHEST_RATE, betas=(0.9, 0.95), weight_decay=0.01)
    for step, batch in enumerate(batches(sequences, steps, seed, tokens)):
        done = step / steps
        for group in optimizer.param_groups:
            group["lr"] = (
                HIGHEST_RATE * min(1.0, (step + 1) / max(1, steps // WARM_SHARE)) * (1 - (1 - LAST_SHARE) * done)
            )
        longest = max(map(len, batch))
        ids_BT = torch.tensor([[*one, *[0] * (longest - len(one))] for one in batch])
        known_BT = ids_BT[:, 1:] != 0
        logits_NV = net.logits(net.hidden(ids_BT[:, :-1])[known_BT])
        loss = functional.cross_entropy(logits_NV, ids_BT[:, 1:][known_BT])
        optimizer.zero_grad()
        loss.backward()  # type: ignore[no-untyped-call]
        nn.utils.clip_grad_norm_(net.parameters(), 1.0)
        optimizer.step()
        yield float(loss.detach())


def make(out: Path, kind: Kind, *, count: int, steps: int, seed: int) -> None:
    """Play, learn, and write the folder."""
    torch.set_num_threads(1)
    began = time.process_time()
    found = [piece for number, source in enumerate(kind.sources) for piece in pieces(source, count, seed + number)]
    logger.info("%d pieces of random play after %.0f CPU s", len(found), time.process_time() - began)
    some = random.Random(seed).sample(found, min(len(found), PIECES_TO_READ)) + list(_everything(seed))
    prompt_format = NanoPromptFormat(train_tokenizer("".join(piece) for piece in some))
    sequences = encode(prompt_format, found)
    vocab_size = prompt_format.tokenizer.get_vocab_size()
    net = Nano(nano_config(vocab_size, hidden=32 * kind.depth, layers=kind.depth))
    net.initialize(torch.Generator().manual_seed(seed))
    logger.info("%d tokens after %.0f CPU s", sum(map(len, sequences)), time.process_time() - began)
    out.mkdir(parents=True, exist_ok=True)
    losses: list[float] = []
    for loss in pretrain(net, sequences, steps, seed):
        losses.append(loss)
        if len(losses) % 200 == 0:
            mean = sum(losses[-200:]) / 200
            logger.info("step %d, loss %.3f, %.0f CPU s", len(losses), mean, time.process_time() - began)
    write_weights(net, out)
    for name, content in prompt_format.tokenizer_files.items():
        (out / name).write_text(content, encoding="utf-8")
    card = _card(out.name, kind, count, steps, seed)
    (out / "card.json").write_text(json.dumps(card, indent=2) + "\n", encoding="utf-8")
    logger.info("%s: %d bytes of weights", out, (out / WEIGHTS).stat().st_size)


def _card(name: str, kind: Kind, count: int, steps: int, seed: int) -> dict[str, Any]:
    return {
        "format": 1,
        "name": name,
        "made_by": f"python -m tools.nano_base --out {name} --count {count} --steps {steps} --seed {seed}",
        "made_from": "random play only: it knows how episodes look and how actions are written, not how to win",
        "environments": sorted({source.env_id for source in kind.sources}),
        "engine_version": __version__,
        "torch_version": torch.__version__,
        "input_mode": "transcript",
        "max_tokens": 16,
        "max_length": 1024,
        "temperature": 1.0,
    }


def main(argv: Sequence[str] | None = None) -> None:
    """Run the command."""
    parser = argparse.ArgumentParser(prog="python -m tools.nano_base", description=__doc__.splitlines()[0])
    parser.add_argument("--out", type=Path, required=True, help="the folder to write: nano-base or nano-wide")
    parser.add_argument("--count", type=int, default=1000, help="scales the number of episodes (1000)")
    parser.add_argument("--steps", type=int, help="of the language model (3000 for nano-base, 5000 for nano-wide)")
    parser.add_argument("--seed", type=int, default=0)
    arguments = parser.parse_args(argv)
    if arguments.out.name not in KINDS:
        parser.error(f"the last part of --out names the policy: one of {', '.join(KINDS)}")
    logging.basicConfig(level=logging.INFO, format="%(message)s", stream=sys.stderr)
    kind = KINDS[arguments.out.name]
    make(arguments.out, kind, count=arguments.count, steps=arguments.steps or kind.steps, seed=arguments.seed)


if __name__ == "__main__":
    main()
