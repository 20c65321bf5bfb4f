"""The prompts of a policy: the texts of an episode as tokens.

A prompt is what precedes a response. The first prompt of a sequence begins the episode; a later one follows a response
whose tokens are in the sequence already. Tokens that a policy wrote are never encoded again from their text.
"""

from __future__ import annotations

import json
import signal
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Protocol

from tokenizers import Tokenizer

from gem.core import Info
from gem.errors import InvalidArgument
from gem.views import View
from gem.views.plain_text import text_of

ACT = "<act>"
"""The token after which nano policies write their response."""
END = "<eos>"
"""The token that ends a response of a nano policy."""
PLACEHOLDER = "\u2063mark\u2063"
"""Stands for the content of a message while a chat template is analyzed."""
_template_cpu_seconds: float | None = None


def limit_templates(cpu_seconds: float) -> None:
    """End this process with SIGPROF, from now on, when a chat template takes more CPU time than this.

    A template is a program in a small language, with loops and powers of numbers. Only a signal ends all of these, so
    this is for processes that play the policies of other people.
    """
    global _template_cpu_seconds  # noqa: PLW0603 (one limit for the whole process, like the timer)
    _template_cpu_seconds = cpu_seconds
    signal.signal(signal.SIGPROF, signal.SIG_DFL)


@contextmanager
def _limited_template() -> Iterator[None]:
    """Apply the limit of `limit_templates`, if there is one, to the block."""
    if _template_cpu_seconds is None:
        yield
        return
    signal.setitimer(signal.ITIMER_PROF, _template_cpu_seconds)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_PROF, 0)


def observation_text(observation: str, info: Info) -> str:
    """The observation with its prefix and suffix, as one string."""
    parts = (info.get("prefix", ""), observation, info.get("suffix", ""))
    return "\n".join(str(part).rstrip("\n") for part in parts if part) + "\n"


def board_text(family: str, observation: str, info: Info, view: View) -> str:
    """The present state only: the environment's name and its board."""
    board = info.get("suffix") or (observation if view["kind"] in ("text", "chat") else text_of(view))
    return f"{family}\n{str(board).rstrip()}\n"


class PromptFormat(Protocol):
    """Encodes prompts as the tokens of one kind of policy, and decodes its responses."""

    end_token: int
    """The token that ends a response inside a sequence."""
    stop_tokens: frozenset[int]
    """The tokens at which the policy stops writing a response."""
    tokenizer_files: Mapping[str, str]
    """Files to write beside the weights so that the policy can be loaded again: content by file name."""

    def encode_first(self, texts: Sequence[str]) -> list[list[int]]:
        """The tokens that begin an episode, up to where the response begins; one list for each text."""
        ...

    def encode_later(self, texts: Sequence[str]) -> list[list[int]]:
        """The tokens between the end of a response and the beginning of the next; one list for each text."""
        ...

    def decode(self, responses: Sequence[Sequence[int]]) -> list[str]:
        """Responses as text, without the token that ends them."""
        ...

    def encode_response(self, text: str) -> list[int]:
        """An action as the tokens of a response, the one that ends it included."""
        ...


class NanoPromptFormat:
    """Plain text, followed by the token `ACT`."""

    def __init__(self, tokenizer: Tokenizer) -> None:
        self.tokenizer = tokenizer
        self.act_token, self.end_token = _token_id(tokenizer, ACT), _token_id(tokenizer, END)
        self.stop_tokens = frozenset({self.end_token})
        self.tokenizer_files: Mapping[str, str] = {
            "tokenizer.json": tokenizer.to_str(),
            "tokenizer_config.json": json.dumps(TOKENIZER_CONFIG, indent=2) + "\n",
        }

    def encode_first(self, texts: Sequence[str]) -> list[list[int]]:
        """See `PromptFormat.encode_first`; a text that many episodes share is encoded once."""
        unique_texts = list(dict.fromkeys(texts))
        encodings = self.tokenizer.encode_batch_fast(unique_texts)
        tokens = {text: [*encoding.ids, self.act_token] for text, encoding in zip(unique_texts, encodings, strict=True)}
        return [tokens[text].copy() for text in texts]

    def encode_later(self, texts: Sequence[str]) -> list[list[int]]:
        """See `PromptFormat.encode_later`."""
        return self.encode_first(texts)

    def decode(self, responses: Sequence[Sequence[int]]) -> list[str]:
        """See `PromptFormat.decode`."""
        return self.tokenizer.decode_batch(
            [[token for token in response if token != self.end_token] for response in responses]
        )

    def encode_response(self, text: str) -> list[int]:
        """See `PromptFormat.encode_response`."""
        return [*self.tokenizer.encode(text).ids, self.end_token]


TOKENIZER_CONFIG = {
    "tokenizer_class": "PreTrainedTokenizerFast",
    "eos_token": END,
    "pad_token": "<pad>",
    "clean_up_tokenization_spaces": False,
    "chat_template": (
        "{% for m in messages %}{{ m['content'] }}"
        "{% if m['role'] == 'assistant' %}" + END + "{% else %}{{ '\\n' }}" + ACT + "{% endif %}{% endfor %}"
    ),
    "response_template": {
        "defaults": {"role": "assistant"},
        "start_anchor": ACT,
        "fields": {"content": {"close": END, "content": "text"}},
    },
}
"""The configuration with which chat servers prompt a nano policy as it was trained: each message of the user ends with
a new line. The last entry is for `transformers serve`, which otherwise treats the policy as a Qwen3 and returns the
prompt together with the response."""


class ChatPromptFormat:
    """The chat template of a Hugging Face tokenizer; plain text for a tokenizer without a template.

    A response ends with the token that the template puts after it. Many tokenizers have another end-of-text token
    (Gemma's, Phi's, those of Qwen's base models), and it ends a response as well.
    """

    def __init__(self, tokenizer: Any) -> None:
        self.tokenizer = tokenizer
        self.end_token: int = tokenizer.eos_token_id
        self.tokenizer_files: Mapping[str, str] = {}
        self.separators = "\n", "\n"
        """What stands between the end of a response and the next text, and between that text and its response."""
        if tokenizer.chat_template:
            self.end_token, self.separators = self._analyze_template()
        self.stop_tokens = frozenset({self.end_token, tokenizer.eos_token_id})
        empty: list[int] = tokenizer("")["input_ids"]
        self.start_tokens = [token for token in empty if token == tokenizer.bos_token_id]

    def encode_first(self, texts: Sequence[str]) -> list[list[int]]:
        """See `PromptFormat.encode_first`."""
        if not self.tokenizer.chat_template:
            return [[*self.start_tokens, *self._encode(text)] for text in texts]
        return [self._encode(self._apply_template([("user", text.rstrip())])) for text in texts]

    def encode_later(self, texts: Sequence[str]) -> list[list[int]]:
        """See `PromptFormat.encode_later`."""
        before, after = self.separators
        return [self._encode(before + text.rstrip() + after) for text in texts]

    def decode(self, responses: Sequence[Sequence[int]]) -> list[str]:
        """See `PromptFormat.decode`."""
        contents = [[token for token in response if token not in self.stop_tokens] for response in responses]
        texts: list[str] = self.tokenizer.batch_decode(contents, skip_special_tokens=True)
        return texts

    def encode_response(self, text: str) -> list[int]:
        """See `PromptFormat.encode_response`."""
        return [*self._encode(text), self.end_token]

    def _analyze_template(self) -> tuple[int, tuple[str, str]]:
        """The token that ends a response in the template, and the two separators around a later text."""
        chat = self._apply_template([("user", "?"), ("assistant", PLACEHOLDER), ("user", PLACEHOLDER)])
        _, before, after = chat.rsplit(PLACEHOLDER, 2)
        end_token = next(iter(self._encode(before)), self.tokenizer.eos_token_id)
        if end_token not in self.tokenizer.added_tokens_decoder:
            return self.tokenizer.eos_token_id, (before, after)
        return end_token, (before.removeprefix(self.tokenizer.convert_ids_to_tokens(end_token)), after)

    def _apply_template(self, messages: Sequence[tuple[str, str]]) -> str:
        chat = [{"role": role, "content": content} for role, content in messages]
        with _limited_template():
            text: str = self.tokenizer.apply_chat_template(
                chat, tokenize=False, add_generation_prompt=True, enable_thinking=False
            )
        return text

    def _encode(self, text: str) -> list[int]:
        tokens: list[int] = self.tokenizer(text, add_special_tokens=False)["input_ids"]
        return tokens


def load_prompt_format(folder: str | Path) -> PromptFormat:
    """The prompt format of the policy in a folder, or of a model on a hub."""
    path = Path(folder) / "tokenizer.json"
    if path.exists():
        tokenizer = Tokenizer.from_file(str(path))
        if tokenizer.token_to_id(ACT) is not None:
            return NanoPromptFormat(tokenizer)
    from transformers import AutoTokenizer  # noqa: PLC0415 (takes seconds, and nano policies do not need it)

    return ChatPromptFormat(AutoTokenizer.from_pretrained(str(folder)))


def _token_id(tokenizer: Tokenizer, text: str) -> int:
    token = tokenizer.token_to_id(text)
    if token is None:
        raise InvalidArgument(f"The tokenizer of a nano policy has the token {text}; this one does not.")
    return token
