"""Turns a second of our trainer beside TRL's: `python -m bench.training.trl`, where trl and datasets are installed.

Both train the same model (the Qwen3 of about 110,000 weights that examples/tiny_model.py makes) in the same environment
(a number from 1 to 3 in two guesses) with GRPO, 128 episodes an update in groups of 8, one pass over each batch, and
responses of at most 8 tokens, on one thread, one after the other in one process. What is counted are CPU seconds after
the first update of each, so that starting counts for neither.
"""

from __future__ import annotations

import argparse
import importlib
import os
import tempfile
import time
from importlib import metadata
from itertools import pairwise
from pathlib import Path
from typing import Any, NamedTuple

from gem.cli.output.tables import table

EPISODES, GROUP, MAX_TOKENS, RATE = 128, 8, 8, 2e-3


class Speed(NamedTuple):
    """What a trainer did after its first update."""

    name: str
    turns: int
    cpu_seconds: float
    first_return: float
    last_return: float

    @property
    def turns_a_second(self) -> float:
        """Turns of one CPU second."""
        return self.turns / self.cpu_seconds

    def row(self) -> list[str]:
        """As the table shows it."""
        returns = f"{self.first_return:.2f} {self.last_return:.2f}"
        return [self.name, f"{self.turns:,}", f"{self.cpu_seconds:.1f}", f"{self.turns_a_second:,.0f}", returns]


def main() -> None:
    """Train with both and print."""
    parser = argparse.ArgumentParser(prog="python -m bench.training.trl", description=__doc__)
    parser.add_argument("--updates", type=int, default=9, help="the first one is not counted (9)")
    updates = parser.parse_args().updates
    os.environ["OMP_NUM_THREADS"] = "1"
    os.environ.setdefault("TRL_EXPERIMENTAL_SILENCE", "1")
    import torch

    torch.set_num_threads(1)
    with tempfile.TemporaryDirectory() as temporary:
        folder = Path(temporary)
        speeds = [_ours(folder, updates), _trls(folder, updates)]
    table(
        ["trainer", "turns", "CPU s", "turns a CPU second", "return, first and last update"],
        [one.row() for one in speeds],
    )


def _ours(folder: Path, updates: int) -> Speed:
    from gem.training.run_folder import RunFolder
    from gem.training.spec import read_spec
    from gem.training.trainer import train

    example = _example()
    model, tokenizer = _model()
    model.save_pretrained(folder / "model")
    tokenizer.save_pretrained(folder / "model")
    spec = {
        "env_id": example.ENV_ID,
        "env_kwargs": example.TINY_KWARGS,
        "model": str(folder / "model"),
        "algorithm": "grpo",
        "group_size": GROUP,
        "episodes": EPISODES,
        "updates": updates,
        "epochs": 1,
        "max_tokens": MAX_TOKENS,
        "learning_rate": RATE,
        "entropy_bonus": 0.01,
        "warmup": 0,
        "sample_episodes": 0,
        "exam_episodes": 0,
        "checkpoint_seconds": 86400,
    }
    train(read_spec(spec), folder / "ours")
    rows = RunFolder(folder / "ours").metrics()
    first, last = rows[0], rows[-1]
    turns, seconds = last["turns"] - first["turns"], last["cpu_seconds"] - first["cpu_seconds"]
    return Speed("gem.training", int(turns), seconds, first["return"], last["return"])


def _trls(folder: Path, updates: int) -> Speed:
    example = _example()
    marks: list[tuple[float, int]] = []
    played = 0
    play = example.play

    def counted(prompts: list[str], trainer: Any) -> dict[str, list[Any]]:
        """Play the episodes of an update, and note when it began and how many turns there were before."""
        nonlocal played
        marks.append((time.process_time(), played))
        output: dict[str, list[Any]] = play(prompts, trainer)
        played += sum(_replies(mask) for mask in output["env_mask"])
        return output

    model, tokenizer = _model()
    example.ENV_KWARGS.update(example.TINY_KWARGS)
    example.play = counted
    trainer = example.train(
        model,
        tokenizer,
        output_dir=str(folder / "trl"),
        max_steps=updates,
        per_device_train_batch_size=EPISODES,
        num_generations=GROUP,
        max_completion_length=MAX_TOKENS,
        learning_rate=RATE,
        entropy_coef=0.01,
        use_cpu=True,
        bf16=False,
        save_strategy="no",
        disable_tqdm=True,
    )
    marks.append((time.process_time(), played))
    assert len(marks) == updates + 1
    returns = [entry["rewards/reward/mean"] for entry in trainer.state.log_history if "rewards/reward/mean" in entry]
    (began, before), (ended, after) = marks[1], marks[-1]
    name = f"TRL {metadata.version('trl')}, GRPOTrainer"
    return Speed(name, after - before, ended - began, returns[0], returns[-1])


def _example() -> Any:
    """The module whose function plays TRL's episodes; it needs trl, so it is imported here only."""
    return importlib.import_module("examples.trl_rollout_func")


def _model() -> tuple[Any, Any]:
    """The same model every time, and its tokenizer."""
    import gem

    example, tiny = _example(), importlib.import_module("examples.tiny_model")
    model, tokenizer = tiny.make_tiny(lambda: gem.make(example.ENV_ID, **example.TINY_KWARGS), seed=0)
    return model, tokenizer


def _replies(mask: list[int]) -> int:
    """How many runs of ones there are: each reply is one."""
    return sum(one and not before for before, one in pairwise([0, *mask]))


if __name__ == "__main__":
    main()
