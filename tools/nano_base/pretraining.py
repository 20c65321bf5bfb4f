"""Pieces of text as tokens, and a language model that learns to predict them."""

from __future__ import annotations

import random
from collections.abc import Iterator, Sequence

import numpy as np
import torch
from torch import Tensor, nn
from torch.nn import functional
from torch.optim import AdamW, Muon, Optimizer

from gem.training.policy.nano import Nano
from gem.training.policy.prompts import NanoPromptFormat
from gem.training.policy.sampler import microbatches
from tools.nano_base.corpus import Corpus
from tools.nano_base.source import Kind, Piece

LONGEST = 512
"""Tokens of a sequence to learn from; what is longer is cut."""
WARM_SHARE, LAST_SHARE = 30, 0.03
"""The learning rate rises in a thirtieth of the steps and then falls to this share of its highest value."""
BATCH_TOKENS = 4096
MUON_MOMENTUM = 0.95
CHUNK = 2048
"""So many sequences are sorted by length at a time, for each `BATCH_TOKENS` of a batch."""


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


def batches(lengths: Sequence[int], steps: int, seed: int, tokens: int) -> Iterator[list[int]]:
    """The indices of the sequences of so many batches, each of similar length, in another order each time round."""
    shuffler = random.Random(seed)
    made, chunk = 0, CHUNK * max(1, tokens // BATCH_TOKENS)
    while True:
        order = list(range(len(lengths)))
        shuffler.shuffle(order)
        for first in range(0, len(order), chunk):
            some = order[first : first + chunk]
            groups = list(microbatches([lengths[i] for i in some], tokens))
            shuffler.shuffle(groups)
            for group in groups:
                if made == steps:
                    return
                made += 1
                yield [some[i] for i in group]


def pretrain(net: Nano, corpus: Corpus, kind: Kind, steps: int, seed: int, device: str = "cpu") -> Iterator[float]:
    """Learn to predict every token; yields the loss of each step in nats per token.

    Args:
        device: where to compute; on a GPU in bfloat16 where autocast allows it.
    """
    net.to(device)
    optimizers = _optimizers(net, kind)
    tokens_N = torch.from_numpy(corpus.tokens.astype(np.int32)).to(device)
    for step, batch in enumerate(batches(corpus.lengths.tolist(), steps, seed, kind.batch_tokens)):
        done = step / steps
        rate = kind.rate * min(1.0, (step + 1) / max(1, steps // WARM_SHARE)) * (1 - (1 - LAST_SHARE) * done)
        for optimizer in optimizers:
            for group in optimizer.param_groups:
                group["lr"] = rate
        ids_BT = _padded(tokens_N, corpus.starts[batch], corpus.lengths[batch])
        known_BT = ids_BT[:, 1:] != 0
        with torch.autocast("cuda", torch.bfloat16, enabled=device == "cuda"):
            logits_NV = net.logits(net.hidden(ids_BT[:, :-1])[known_BT])
        targets_N = ids_BT[:, 1:][known_BT]
        if kind.text_weight == 1:
            loss = functional.cross_entropy(logits_NV.float(), targets_N)
        else:
            weights_BT = torch.where(_are_actions(ids_BT[:, :-1], corpus.prompt_format), 1.0, kind.text_weight)
            losses_N = functional.cross_entropy(logits_NV.float(), targets_N, reduction="none")
            loss = (losses_N * weights_BT[known_BT]).sum() / weights_BT[known_BT].sum()
        for optimizer in optimizers:
            optimizer.zero_grad()
        loss.backward()  # type: ignore[no-untyped-call]
        nn.utils.clip_grad_norm_(net.parameters(), 1.0)
        for optimizer in optimizers:
            optimizer.step()
        yield float(loss.detach())


def _optimizers(net: Nano, kind: Kind) -> list[Optimizer]:
    """AdamW for all weights, or for those that Muon is not meant for (see `gem.training.optimizers`)."""
    inner = [weight for weight in net.model.layers.parameters() if weight.dim() == 2 and kind.optimizer == "muon"]
    known = set(map(id, inner))
    others = [weight for weight in net.parameters() if id(weight) not in known]
    adamw = AdamW(others, lr=kind.rate, betas=(0.9, 0.95), weight_decay=0.01)
    if not inner:
        return [adamw]
    scaled = "match_rms_adamw"
    return [adamw, Muon(inner, lr=kind.rate, momentum=MUON_MOMENTUM, weight_decay=0.0, adjust_lr_fn=scaled)]


def _are_actions(ids_BT: Tensor, prompt_format: NanoPromptFormat) -> Tensor:
    """Whether the token after each one belongs to an action, or ends it; (B, T)."""
    begun_BT = (ids_BT == prompt_format.act_token).cumsum(1)
    return begun_BT > (ids_BT == prompt_format.end_token).cumsum(1)


def _padded(tokens_N: Tensor, starts: np.ndarray, lengths: np.ndarray) -> Tensor:
    """Some sequences as rows, (B, T), padded with 0 on the right."""
    starts_B, lengths_B = (torch.from_numpy(one).to(tokens_N.device) for one in (starts, lengths))
    columns_T = torch.arange(int(lengths.max()), device=tokens_N.device)
    is_known_BT = columns_T[None] < lengths_B[:, None]
    places_BT = torch.where(is_known_BT, starts_B[:, None] + columns_T[None], 0)
    return torch.where(is_known_BT, tokens_N[places_BT], 0).long()
