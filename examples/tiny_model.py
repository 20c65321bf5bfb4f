"""A language model small enough to train on one CPU core, to try an example without a GPU.

`make_tiny` builds a Qwen3 with about 110,000 parameters and a tokenizer in a few seconds, and trains it on episodes of
random play. Then it knows the format of an answer but nothing about winning, so any progress comes from the trainer.
Nothing is downloaded.

The tokenizer merges whole phrases into one token, because environments repeat themselves; digits stay separate.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch
from tokenizers import Regex, Tokenizer, decoders, models, pre_tokenizers, trainers
from transformers import PreTrainedTokenizerFast, Qwen3Config, Qwen3ForCausalLM

import gem
from gem.wrappers.observation_wrapper import as_message

Messages = list[dict[str, Any]]
CHATML = (
    "{% for m in messages %}<|im_start|>{{ m.role }}\n{{ m.content }}<|im_end|>\n{% endfor %}"
    "{% if add_generation_prompt %}<|im_start|>assistant\n{% endif %}"
)
PAD, END = "<|endoftext|>", "<|im_end|>"
SPECIAL = [PAD, END, *(f"<|im_start|>{role}\n" for role in ("system", "user", "assistant"))]
"""Strings that are always separate tokens, so that a reply is tokenized in the same way everywhere."""


def make_tiny(
    make_env: Callable[[], gem.Env],
    *,
    chat_template: str = CHATML,
    tools: list[Any] | None = None,
    instructions: str = "",
    seed: int = 0,
    steps: int = 120,
) -> tuple[Qwen3ForCausalLM, PreTrainedTokenizerFast]:
    """A tiny model, trained on random play of one environment, and its tokenizer.

    Args:
        make_env: makes the environment.
        tools: with tools, actions are written as calls of the first of them, with the action as its only argument.
        instructions: what stands before the environment's first message.
        steps: how long it reads, in updates of 16 episodes.
    """
    torch.manual_seed(seed)
    play = [random_play(make_env(), i, instructions, tools[0].__name__ if tools else "") for i in range(400)]
    tokenizer, texts = make_tokenizer(play, chat_template, tools)
    config = Qwen3Config(
        vocab_size=len(tokenizer),
        hidden_size=64,
        intermediate_size=128,
        num_hidden_layers=2,
        num_attention_heads=2,
        num_key_value_heads=2,
        head_dim=32,
        max_position_embeddings=2048,
        tie_word_embeddings=True,
        eos_token_id=tokenizer.eos_token_id,
        pad_token_id=tokenizer.pad_token_id,
    )
    model = Qwen3ForCausalLM(config)
    _read(model, tokenizer, texts, steps)
    return model, tokenizer


def random_play(env: gem.Env, seed: int, instructions: str = "", tool: str = "") -> Messages:
    """An episode of random play as a chat; if a tool is named, each action is a call of it."""
    observation, info = env.reset(seed=seed)
    chat: Messages = [{"role": "user", "content": instructions + as_message(observation, info)}]
    over = False
    while not over:
        action = env.sample_random_action()
        observation, _, terminated, truncated, info = env.step(action)
        over = terminated or truncated
        if tool:
            call = {"type": "function", "function": {"name": tool, "arguments": {"action": action}}}
            chat.append({"role": "assistant", "content": "", "tool_calls": [call]})
        else:
            chat.append({"role": "assistant", "content": action})
        if tool or not over:
            chat.append({"role": "tool" if tool else "user", "content": as_message(observation, info)})
    return chat if not tool else [*chat, {"role": "assistant", "content": "Done."}]


def make_tokenizer(
    play: list[Messages], chat_template: str = CHATML, tools: list[Any] | None = None
) -> tuple[PreTrainedTokenizerFast, list[str]]:
    """A tokenizer for such chats, and the chats as texts.

    A byte-pair encoding whose merges cross spaces and lines; only digits stay by themselves.
    """
    blank = _wrapped(Tokenizer(models.BPE()), chat_template)
    texts: list[Any] = [blank.apply_chat_template(chat, tools=tools, tokenize=False) for chat in play]
    tokenizer = Tokenizer(models.BPE())
    digits = pre_tokenizers.Split(Regex(r"\d"), "isolated")
    as_bytes = pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex=False)
    tokenizer.pre_tokenizer = pre_tokenizers.Sequence([digits, as_bytes])
    tokenizer.decoder = decoders.ByteLevel()
    trainer = trainers.BpeTrainer(
        vocab_size=2000,
        special_tokens=SPECIAL,
        initial_alphabet=sorted(pre_tokenizers.ByteLevel.alphabet()),
        show_progress=False,
        max_token_length=1000,
    )
    tokenizer.train_from_iterator(texts, trainer)
    return _wrapped(tokenizer, chat_template), texts


def _wrapped(tokenizer: Tokenizer, chat_template: str) -> PreTrainedTokenizerFast:
    make: Callable[..., PreTrainedTokenizerFast] = PreTrainedTokenizerFast
    made = make(tokenizer_object=tokenizer, eos_token=END, pad_token=PAD, padding_side="left")
    made.chat_template = chat_template
    return made


def _read(model: Qwen3ForCausalLM, tokenizer: PreTrainedTokenizerFast, texts: list[str], steps: int) -> None:
    """Train the model to predict the next token, on 16 episodes at a time."""
    optimizer = torch.optim.AdamW(model.parameters(), lr=3e-3)
    for step in range(steps):
        batch = tokenizer([texts[(step * 16 + i) % len(texts)] for i in range(16)], padding=True, return_tensors="pt")
        labels = batch["input_ids"].masked_fill(batch["attention_mask"] == 0, -100)
        loss = model(input_ids=batch["input_ids"], attention_mask=batch["attention_mask"], labels=labels).loss
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
