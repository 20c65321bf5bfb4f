"""What a policy reads: the texts of an episode as tokens.

A prompt is what comes before a response; the first of a sequence begins the episode, later ones go on after a response
whose tokens are already there. Tokens that were written are never made from text again.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, Protocol

from tokenizers import Tokenizer

from gem.core import Info
from gem.errors import InvalidArgument
from gem.training.spec import NANO_BASE
from gem.views import View
from gem.views.plain_text import text_of

ACT = "<act>"
"""The token after which nano policies write their response."""
END = "<eos>"
MARK = "\u2063mark\u2063"
"""Stands for a response while a chat template is taken apart."""


def reading(observation: str, info: Info) -> str:
    """The observation and what belongs around it now, as one text."""
    parts = (info.get("prefix", ""), observation, info.get("suffix", ""))
    return "\n".join(str(part).rstrip("\n") for part in parts if part) + "\n"


def board(family: str, observation: str, info: Info, view: View) -> str:
    """The present only: the environment's name and its board."""
    shown = info.get("suffix") or (observation if view["kind"] in ("text", "chat") else text_of(view))
    return f"{family}\n{str(shown).rstrip()}\n"


class Prompts(Protocol):
    """Turns texts into the tokens of one kind of policy, and its responses into text."""

    end: int
    """The token that ends a response where it is read again."""
    ends: frozenset[int]
    """The tokens of which any ends a response that is being written."""
    folder_files: Mapping[str, str]
    """What to write beside the weights so that the policy can be loaded again: file name to content."""

    def first(self, texts: Sequence[str]) -> list[list[int]]:
        """The tokens with which an episode begins, up to where the response stands; one list for each text."""
        ...

    def later(self, texts: Sequence[str]) -> list[list[int]]:
        """The tokens between a response, its end included, and the next one."""
        ...

    def text(self, responses: Sequence[Sequence[int]]) -> list[str]:
        """Responses as text, without the token that ends them."""
        ...

    def response(self, text: str) -> list[int]:
        """An action as the tokens of a response, the one that ends it included."""
        ...


class NanoPrompts:
    """Plain text and a token that says: act now."""

    def __init__(self, tokenizer: Tokenizer) -> None:
        self.tokenizer = tokenizer
        self.act, self.end = _token(tokenizer, ACT), _token(tokenizer, END)
        self.ends = frozenset({self.end})
        self.folder_files: Mapping[str, str] = {
            "tokenizer.json": tokenizer.to_str(),
            "tokenizer_config.json": json.dumps(TOKENIZER_CONFIG, indent=2) + "\n",
        }

    def first(self, texts: Sequence[str]) -> list[list[int]]:
        """As `Prompts.first`; a text that many episodes share is taken apart once."""
        different = list(dict.fromkeys(texts))
        encoded = self.tokenizer.encode_batch_fast(different)
        tokens = {text: [*one.ids, self.act] for text, one in zip(different, encoded, strict=True)}
        return [tokens[text].copy() for text in texts]

    def later(self, texts: Sequence[str]) -> list[list[int]]:
        """As `Prompts.later`."""
        return self.first(texts)

    def text(self, responses: Sequence[Sequence[int]]) -> list[str]:
        """As `Prompts.text`."""
        return self.tokenizer.decode_batch([[one for one in ids if one != self.end] for ids in responses])

    def response(self, text: str) -> list[int]:
        """As `Prompts.response`."""
        return [*self.tokenizer.encode(text).ids, self.end]


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
"""So that servers of chats prompt a nano policy as it was trained: each message of the user ends with a new line. The
last entry is for `transformers serve`, which takes it for a Qwen3 otherwise and answers with the prompt as well."""


class ChatPrompts:
    """The chat template of a Hugging Face tokenizer; a tokenizer without one gets plain text.

    A response ends with the token that the template puts after it. Many tokenizers name another one as a text's end
    (Gemma's, Phi's, those of Qwen's base models), and it ends a response as well.
    """

    def __init__(self, tokenizer: Any) -> None:
        self.tokenizer = tokenizer
        self.end: int = tokenizer.eos_token_id
        self.folder_files: Mapping[str, str] = {}
        self.between = "\n", "\n"
        if tokenizer.chat_template:
            self.end, self.between = self._between()
        self.ends = frozenset({self.end, tokenizer.eos_token_id})
        begun: list[int] = tokenizer("")["input_ids"]
        self.begin = [one for one in begun if one == tokenizer.bos_token_id]

    def first(self, texts: Sequence[str]) -> list[list[int]]:
        """As `Prompts.first`."""
        if not self.tokenizer.chat_template:
            return [[*self.begin, *self._ids(text)] for text in texts]
        return [self._ids(self._templated([("user", text.rstrip())])) for text in texts]

    def later(self, texts: Sequence[str]) -> list[list[int]]:
        """As `Prompts.later`."""
        before, after = self.between
        return [self._ids(before + text.rstrip() + after) for text in texts]

    def text(self, responses: Sequence[Sequence[int]]) -> list[str]:
        """As `Prompts.text`."""
        said = [[one for one in ids if one not in self.ends] for ids in responses]
        texts: list[str] = self.tokenizer.batch_decode(said, skip_special_tokens=True)
        return texts

    def response(self, text: str) -> list[int]:
        """As `Prompts.response`."""
        return [*self._ids(text), self.end]

    def _between(self) -> tuple[int, tuple[str, str]]:
        """The token that the template ends a response with; what it puts between that and the next text, and between
        that and the next response."""
        shown = self._templated([("user", "?"), ("assistant", MARK), ("user", MARK)])
        _, before, after = shown.rsplit(MARK, 2)
        end = next(iter(self._ids(before)), self.tokenizer.eos_token_id)
        if end not in self.tokenizer.added_tokens_decoder:
            return self.tokenizer.eos_token_id, (before, after)
        return end, (before.removeprefix(self.tokenizer.convert_ids_to_tokens(end)), after)

    def _templated(self, messages: Sequence[tuple[str, str]]) -> str:
        chat = [{"role": role, "content": content} for role, content in messages]
        shown: str = self.tokenizer.apply_chat_template(
            chat, tokenize=False, add_generation_prompt=True, enable_thinking=False
        )
        return shown

    def _ids(self, text: str) -> list[int]:
        ids: list[int] = self.tokenizer(text, add_special_tokens=False)["input_ids"]
        return ids


def load_prompts(folder: str | Path) -> Prompts:
    """The prompts of a policy's folder, or of a model's id on a hub."""
    own = Path(folder) / "tokenizer.json"
    if own.exists():
        tokenizer = Tokenizer.from_file(str(own))
        if tokenizer.token_to_id(ACT) is not None:
            return NanoPrompts(tokenizer)
    from transformers import AutoTokenizer  # noqa: PLC0415 (seconds, and a nano policy needs none of it)

    return ChatPrompts(AutoTokenizer.from_pretrained(str(folder)))


def _token(tokenizer: Tokenizer, text: str) -> int:
    token = tokenizer.token_to_id(text)
    if token is None:
        raise InvalidArgument(f"The tokenizer of a nano policy has the token {text}; this one has not.")
    return token


def folder_of(model: str) -> str:
    """Where a policy named in a specification is: the one that comes with the engine, or what the name says."""
    return str(Path(__file__).parents[1] / "models" / NANO_BASE) if model == NANO_BASE else model
