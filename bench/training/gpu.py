"""What a training reaches on a GPU: `python -m bench.training.gpu`. Without one it says that it was not run.

A model of the size of Qwen3-0.6B is made from a configuration, with random weights: nothing is downloaded, and what it
writes is noise, but the tokens cost what they cost. It trains end to end, `gem.training` as it is, for some updates in
a game whose responses it never ends, so every response has `--max-tokens` tokens. Printed are tokens a second of
generation and of learning, the memory, and shares of the roofline:

- learning against the arithmetic of the chip: 6 operations for each weight and token that is learned from, 8 with
  gradient checkpointing, which computes forward passes twice;
- generation against the memory: each step reads every weight once (4 bytes), for all responses that are written at
  once, and writes one token of each.

`--smoke` runs the same code with a small model on whatever there is, a CPU too, to see that it works.
"""

from __future__ import annotations

import argparse
import sys
import tempfile
from pathlib import Path
from typing import Any, NamedTuple

from gem.training.run_folder import RunFolder
from gem.training.spec import TrainingSpec, read_spec

SIZES: dict[str, Any] = {
    "hidden_size": 1024,
    "intermediate_size": 3072,
    "num_hidden_layers": 28,
    "num_attention_heads": 16,
    "num_key_value_heads": 8,
    "head_dim": 128,
    "vocab_size": 151_936,
}
"""Of Qwen3-0.6B (arXiv 2505.09388, table 1)."""
SMOKE: dict[str, Any] = {
    "hidden_size": 32,
    "intermediate_size": 64,
    "num_hidden_layers": 2,
    "num_attention_heads": 2,
    "num_key_value_heads": 1,
    "head_dim": 16,
    "vocab_size": 4096,
}


class Chip(NamedTuple):
    """What a GPU can do, by its maker's data sheet: dense bfloat16 operations and bytes a second."""

    operations: float
    bandwidth: float


CHIPS = {
    "H200": Chip(989e12, 4.8e12),
    "H100": Chip(989e12, 3.35e12),
    "A100": Chip(312e12, 2.04e12),
    "L40S": Chip(362e12, 0.864e12),
    "4090": Chip(165e12, 1.01e12),
}
"""By what the device's name contains."""


def main() -> int:
    """Measure and print."""
    parser = argparse.ArgumentParser(prog="python -m bench.training.gpu", description=__doc__)
    parser.add_argument("--episodes", type=int, default=64, help="of an update (64)")
    parser.add_argument("--updates", type=int, default=4, help="the first one warms up and is not counted (4)")
    parser.add_argument("--max-tokens", type=int, default=512, help="of a response (512)")
    parser.add_argument("--smoke", action="store_true", help="a small model on whatever there is")
    arguments = parser.parse_args()
    try:
        import torch
    except ModuleNotFoundError:
        print("not run: torch is not installed")
        return 0
    if not torch.cuda.is_available() and not arguments.smoke:
        print("not run: there is no CUDA device here")
        return 0
    with tempfile.TemporaryDirectory() as temporary:
        folder = Path(temporary)
        weights = _make(folder / "model", SMOKE if arguments.smoke else SIZES)
        spec = _spec(folder / "model", arguments)
        _report(spec, _train(spec, folder / "run"), weights)
    return 0


def _make(folder: Path, sizes: dict[str, Any]) -> int:
    """Write the model with nano-base's tokenizer, whose tokens are the first of the vocabulary; how many weights."""
    import torch
    from transformers import AutoTokenizer, Qwen3Config, Qwen3ForCausalLM

    from gem.training.built_in_policies import policy_location

    tokenizer = AutoTokenizer.from_pretrained(policy_location("nano-base"))
    torch.manual_seed(0)
    config = Qwen3Config(**sizes, tie_word_embeddings=True, max_position_embeddings=8192, eos_token_id=1)
    model = Qwen3ForCausalLM(config)
    model.save_pretrained(folder)
    tokenizer.save_pretrained(folder)
    return sum(one.numel() for one in model.parameters())


def _spec(model: Path, arguments: argparse.Namespace) -> TrainingSpec:
    return read_spec(
        {
            "env_id": "game:GuessTheNumber-v0-easy",
            "model": str(model),
            "precision": "bfloat16",
            "gradient_checkpointing": True,
            "algorithm": "rebn",
            "episodes": arguments.episodes,
            "updates": arguments.updates,
            "epochs": 2,
            "max_tokens": arguments.max_tokens,
            "max_length": arguments.max_tokens + 1024,
            "microbatch_tokens": 16384,
            "token_divisor": float(arguments.max_tokens),
            "learning_rate": 1e-6,
            "entropy_bonus": 1e-3,
            "sample_episodes": 0,
            "exam_episodes": 0,
            "checkpoint_seconds": 86400,
        }
    )


def _train(spec: TrainingSpec, folder: Path) -> list[dict[str, Any]]:
    """The points of the run, the first one left out."""
    from gem.training.trainer import train

    train(spec, folder, lambda point: print(f"update {point['update']:.0f}: {point['seconds']:.1f} s", file=sys.stderr))
    return RunFolder(folder).metrics()[1:]


def _report(spec: TrainingSpec, rows: list[dict[str, Any]], weights: int) -> None:
    import torch

    turns = len(rows) * spec.episodes * rows[-1]["turns_per_episode"]
    written = turns * rows[-1]["length"]
    seconds_generation = sum(row["seconds_generation"] for row in rows)
    seconds_learner = sum(row["seconds_learner"] for row in rows)
    generated = written / seconds_generation
    learned = spec.epochs * written / seconds_learner
    found = torch.cuda.is_available()
    name = torch.cuda.get_device_name() if found else "CPU"
    print(f"{name}, torch {torch.__version__}: {weights / 1e6:,.0f} million weights, {spec.precision}")
    print(f"generation: {generated:,.0f} tokens/s, {spec.episodes} responses at once at most")
    print(f"learning: {learned:,.0f} tokens/s (written tokens, {spec.epochs} epochs)")
    if found:
        print(f"memory: {torch.cuda.max_memory_allocated() / 2**30:.1f} GiB at most")
    chip = next((chip for part, chip in CHIPS.items() if part in name), None)
    if chip is None:
        print(f"roofline: not computed, {name} is not among {', '.join(CHIPS)}")
        return
    operations = (8 if spec.gradient_checkpointing else 6) * weights
    print(f"learning: {operations * learned / chip.operations:.1%} of the chip's operations")
    steps = generated / spec.episodes
    print(f"generation: {4 * weights * steps / chip.bandwidth:.1%} of the chip's bandwidth")


if __name__ == "__main__":
    sys.exit(main())
