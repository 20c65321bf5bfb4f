"""What a chat model reads and where its responses end, with the templates and special tokens of several families."""

from pathlib import Path
from typing import Any

import pytest

from gem.agents.agent import Request
from gem.rng import SplitMix64
from gem.training.policy.contexts import ContextWriter
from gem.training.policy.prompts import ChatPromptFormat
from gem.training.policy.sampler import Response
from gem.training.policy.tokenizing_agent import TokenizingAgent
from tests.engine.training.conftest import Bandit

CHAT = (
    "{{% for m in messages %}}{start}{{{{ m['role'] }}}}\n{{{{ m['content'] }}}}{end}\n{{% endfor %}}"
    "{{% if add_generation_prompt %}}{start}assistant\n{{% endif %}}"
)
FAMILIES = {
    "qwen3": ("<|im_start|>", "<|im_end|>", "<|im_end|>"),
    "qwen3-base": ("<|im_start|>", "<|im_end|>", "<|endoftext|>"),
    "gemma": ("<start_of_turn>", "<end_of_turn>", "<|endoftext|>"),
}
"""What begins and what ends a turn in the template, and what the tokenizer calls the end of a text."""


def tokenizer_of(tiny: Path, family: str) -> Any:
    from transformers import PreTrainedTokenizerFast

    start, end, eos = FAMILIES[family]
    tokenizer = PreTrainedTokenizerFast.from_pretrained(tiny)
    tokenizer.add_special_tokens({"additional_special_tokens": sorted({start, end, eos})})
    tokenizer.eos_token = eos
    tokenizer.chat_template = CHAT.format(start=start, end=end)
    return tokenizer


def templated(tokenizer: Any, *contents: str) -> str:
    roles = ["user", "assistant"] * len(contents)
    chat = [{"role": role, "content": content} for role, content in zip(roles, contents, strict=False)]
    shown: str = tokenizer.apply_chat_template(chat, tokenize=False, add_generation_prompt=True)
    return shown


@pytest.mark.parametrize("family", FAMILIES)
def test_a_response_ends_where_the_template_ends_a_turn(tiny: Path, family: str) -> None:
    tokenizer = tokenizer_of(tiny, family)
    prompt_format = ChatPromptFormat(tokenizer)
    _, end, eos = FAMILIES[family]
    assert prompt_format.end_token == tokenizer.convert_tokens_to_ids(end)
    assert prompt_format.stop_tokens == {prompt_format.end_token, tokenizer.convert_tokens_to_ids(eos)}
    tokens = [
        *prompt_format.encode_first(["What?"])[0],
        *prompt_format.encode_response("A"),
        *prompt_format.encode_later(["And now?"])[0],
    ]
    assert tokenizer.decode(tokens) == templated(tokenizer, "What?", "A", "And now?")


class Script:
    """Writes what it is told, as a sampler."""

    def __init__(self, *responses: Response) -> None:
        self.responses = list(responses)
        self.read: list[list[int]] = []

    def refresh(self) -> None:
        pass

    def respond(self, prompts: Any, slots: Any, rngs: Any, temperature: float) -> list[Response]:
        self.read += [list(prompt) for prompt in prompts]
        return [self.responses.pop(0) for _ in prompts]


def agent_of(prompt_format: ChatPromptFormat, script: Script, max_length: int) -> TokenizingAgent:
    return TokenizingAgent(
        ContextWriter(prompt_format, input_mode="transcript", max_tokens=8, max_length=max_length),
        script,
        temperature=1.0,
        make_rng=lambda _: SplitMix64(0),
        capacity=1,
    )


def read_by(
    prompt_format: ChatPromptFormat, *responses: Response, observations: list[str], max_length: int = 512
) -> Script:
    """What a policy has read when it wrote these responses to these observations."""
    script, env = Script(*responses), Bandit()
    agent = agent_of(prompt_format, script, max_length)
    for turn, observation in enumerate(observations, 1):
        agent.act([Request(env, observation, {}, turn, 0, past=[], episode=0)])
    return script


def written(prompt_format: ChatPromptFormat, text: str, end: int | None = None) -> Response:
    """A response, ended by a token or not at all."""
    tokens = prompt_format.encode_response(text)[:-1] + ([] if end is None else [end])
    return Response(tokens, [-1.0] * len(tokens), end is not None)


@pytest.mark.parametrize("end", ["none", "eos"])
def test_a_turn_that_was_cut_off_or_ended_otherwise_is_closed_as_the_template_closes_it(tiny: Path, end: str) -> None:
    tokenizer = tokenizer_of(tiny, "qwen3-base")
    prompt_format = ChatPromptFormat(tokenizer)
    ended = tokenizer.eos_token_id if end == "eos" else None
    script = read_by(
        prompt_format,
        written(prompt_format, "A", ended),
        written(prompt_format, "B"),
        observations=["What?", "And now?"],
    )
    said = "A" + ("<|endoftext|>" if end == "eos" else "")
    assert tokenizer.decode(script.read[1]) == templated(tokenizer, "What?", said, "And now?")


def test_where_old_turns_have_to_go_what_is_left_is_still_a_chat(tiny: Path) -> None:
    tokenizer = tokenizer_of(tiny, "qwen3")
    prompt_format = ChatPromptFormat(tokenizer)
    (first,), (later,) = prompt_format.encode_first(["What?"]), prompt_format.encode_later(["And now?"])
    longest = len(first) + 1 + len(later) + 8
    responses = [
        written(prompt_format, "A", prompt_format.end_token),
        written(prompt_format, "B", prompt_format.end_token),
    ]
    script = read_by(prompt_format, *responses, observations=["What?", "And now?"], max_length=longest)
    assert tokenizer.decode(script.read[1]) == templated(tokenizer, "What?", "", "And now?")


def test_a_prompt_that_does_not_fit_is_said_to_be_shortened(tiny: Path) -> None:
    prompt_format = ChatPromptFormat(tokenizer_of(tiny, "qwen3"))
    responses = [written(prompt_format, "A", prompt_format.end_token)] * 2
    (first,), (later,) = prompt_format.encode_first(["What?"]), prompt_format.encode_later(["And now?"])
    fits = len(first) + len(responses[0].tokens) + len(later) + 8
    for longest, said in ((fits, [False]), (fits - 1, [False, True]), (len(first) + 7, [True, True])):
        agent = agent_of(prompt_format, Script(*responses), longest)
        for turn, observation in enumerate(["What?", "And now?"], 1):
            agent.act([Request(Bandit(), observation, {}, turn, 0, past=[], episode=0)])
        assert [sequence.is_truncated for sequence in agent.contexts[0, 0].sequences] == said


def test_without_a_template_a_text_begins_as_the_tokenizer_begins_it(tiny: Path) -> None:
    from tokenizers.processors import TemplateProcessing
    from transformers import PreTrainedTokenizerFast

    tokenizer = PreTrainedTokenizerFast.from_pretrained(tiny)
    tokenizer.chat_template = None
    plain = ChatPromptFormat(tokenizer)
    (text,), (later,) = plain.encode_first(["What?"]), plain.encode_later(["What?"])
    assert text == plain.encode_response("What?")[:-1]
    tokenizer.add_special_tokens({"bos_token": "<s>"})
    tokenizer.backend_tokenizer.post_processor = TemplateProcessing(
        single="<s> $A", special_tokens=[("<s>", tokenizer.bos_token_id)]
    )
    prompt_format = ChatPromptFormat(tokenizer)
    assert prompt_format.encode_first(["What?"]) == [[tokenizer.bos_token_id, *text]]
    assert prompt_format.encode_later(["What?"]) == [later]
