"""Our forward pass is transformers', and its cache changes nothing."""

from pathlib import Path

import pytest
import torch

from gem.rng import SplitMix64
from gem.training.built_in_policies import policy_location
from gem.training.policy.nano import Nano, is_supported
from gem.training.policy.policies import AutoPolicy, NanoPolicy, load_policy, read_config
from gem.training.policy.prompts import load_prompt_format
from gem.training.policy.sampler import SlotSampler, TransformersSampler

PROMPT = "There are the arms A, B, C and D.\n"


def auto(folder: Path) -> AutoPolicy:
    """The same weights in transformers."""
    from transformers import AutoModelForCausalLM

    model = AutoModelForCausalLM.from_pretrained(folder, dtype=torch.float32)
    return AutoPolicy(model, load_prompt_format(folder), str(folder))


def nano(folder: Path) -> NanoPolicy:
    policy = load_policy(str(folder))
    assert isinstance(policy, NanoPolicy)
    return policy


def test_its_logits_are_those_of_transformers_for_nano_base() -> None:
    folder = Path(policy_location("nano-base"))
    ids = torch.randint(3, 2000, (3, 60), generator=torch.Generator().manual_seed(1))
    ours, theirs = nano(folder), auto(folder)
    with torch.inference_mode():
        difference = (ours.logits(ours.hidden(ids)) - theirs.causal_lm(input_ids=ids).logits).abs().max()
    assert float(difference) < 1e-5


def test_a_trained_folder_comes_back_from_transformers_unchanged(tiny: Path, tmp_path: Path) -> None:
    auto(tiny).model.save_pretrained(tmp_path)
    written = Nano(read_config(tmp_path))
    assert is_supported(written.config)
    policy = NanoPolicy(written, load_prompt_format(tiny))
    policy.load_weights(tmp_path)
    for (name, one), (_, other) in zip(policy.named_parameters(), nano(tiny).named_parameters(), strict=True):
        assert torch.equal(one, other), name


def test_the_cache_gives_what_reading_everything_gives(tiny: Path) -> None:
    policy = nano(tiny)
    prompts = policy.prompt_format.encode_first([PROMPT, PROMPT * 3, "Which arm?\n"])
    sampler = SlotSampler(policy, 3, 6)
    for turn, temperature in enumerate((0.7, 1.0, 1.6)):
        rngs = [SplitMix64(turn, i) for i in range(3)]
        responses = sampler.respond(prompts, [2, 0, 1], rngs, temperature)
        for prompt, response in zip(prompts, responses, strict=True):
            ids = [*prompt, *response.tokens]
            with torch.inference_mode():
                logits = policy.logits(policy.hidden(torch.tensor([ids])))
            logps = torch.log_softmax(logits / temperature, -1)[0]
            expected = [float(logps[len(prompt) - 1 + i, token]) for i, token in enumerate(response.tokens)]
            assert response.logps == pytest.approx(expected, abs=1e-4)
        later = policy.prompt_format.encode_later([PROMPT])[0]
        prompts = [[*p, *r.tokens, *later] for p, r in zip(prompts, responses, strict=True)]


def test_transformers_writes_the_same_responses(tiny: Path) -> None:
    ours, theirs = nano(tiny), auto(tiny)
    prompts = ours.prompt_format.encode_first([PROMPT, "Which arm?\n", PROMPT * 2])
    first = SlotSampler(ours, 3, 8).respond(prompts, [0, 1, 2], [SplitMix64(i) for i in range(3)], 1.0)
    second = TransformersSampler(theirs, 8).respond(prompts, [0, 1, 2], [SplitMix64(i) for i in range(3)], 1.0)
    assert [one.tokens for one in first] == [one.tokens for one in second]
    for one, other in zip(first, second, strict=True):
        assert one.logps == pytest.approx(other.logps, abs=1e-4)


def test_a_response_does_not_depend_on_those_beside_it(tiny: Path) -> None:
    policy = nano(tiny)
    prompts = policy.prompt_format.encode_first([PROMPT * (1 + i % 3) for i in range(8)])
    together = SlotSampler(policy, 8, 8, 64).respond(prompts, list(range(8)), [SplitMix64(i) for i in range(8)], 1.0)
    alone = [SlotSampler(policy, 1, 8).respond([p], [0], [SplitMix64(i)], 1.0)[0] for i, p in enumerate(prompts)]
    assert [one.tokens for one in together] == [one.tokens for one in alone]


def test_temperature_0_takes_the_most_probable_token(tiny: Path) -> None:
    policy = nano(tiny)
    prompt = policy.prompt_format.encode_first([PROMPT])[0]
    response = SlotSampler(policy, 1, 4).respond([prompt], [0], [SplitMix64(0)], 0.0)[0]
    with torch.inference_mode():
        best = int(policy.logits(policy.hidden(torch.tensor([prompt])))[0, -1].argmax())
    assert response.tokens[0] == best
