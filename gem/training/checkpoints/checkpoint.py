"""Checkpoints: weights that others can load, and what a training needs to go on as if it had never stopped.

    model.safetensors config.json tokenizer.json ...    a folder for `AutoModelForCausalLM`
    card.json                                           what it is and how it is to be played
    trainer.safetensors trainer.json                    the optimizer, the critic, and how far the training is

A checkpoint is written beside its place, brought to the disk, and then renamed: there is never half of one.
"""

from __future__ import annotations

import json
import os
import shutil
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import torch
from safetensors.torch import load_file, save_file

from gem.errors import UsageError
from gem.training.learner import Learner
from gem.training.policy.policies import Policy
from gem.training.run_folder import number

CARD, TRAINER = "card.json", "trainer.json"
TENSORS = "trainer.safetensors"
MOMENTS = ("exp_avg", "exp_avg_sq")
CRITIC = "value_head."


def save(
    folder: Path, update: int, learner: Learner, card: Mapping[str, Any], progress: Mapping[str, Any], keep: int
) -> Path:
    """Write the checkpoint of an update into `folder`, and remove all but the `keep` newest.

    Raises:
        OSError: if it cannot be written, with a full disk for example; earlier ones stay as they are.
    """
    place, draft = folder / number(update), folder / f".{number(update)}.new"
    shutil.rmtree(draft, ignore_errors=True)
    draft.mkdir(parents=True)
    try:
        learner.policy.write(draft)
        _write_trainer(draft, learner, progress)
        (draft / CARD).write_text(json.dumps(card, indent=2) + "\n", encoding="utf-8")
        for path in draft.iterdir():
            _sync(path)
        _sync(draft)
        shutil.rmtree(place, ignore_errors=True)
        draft.rename(place)
        _sync(folder)
    except BaseException as error:
        shutil.rmtree(draft, ignore_errors=True)
        if type(error).__name__ == "SafetensorError":  # what the library makes of a full disk
            raise OSError(str(error)) from error
        raise
    for old in checkpoints(folder)[:-keep]:
        shutil.rmtree(old, ignore_errors=True)
    return place


def checkpoints(folder: Path) -> list[Path]:
    """The whole checkpoints in a folder, the oldest first."""
    if not folder.is_dir():
        return []
    return sorted(path for path in folder.iterdir() if path.name.isdecimal() and (path / TRAINER).exists())


def restore(place: Path, learner: Learner) -> dict[str, Any]:
    """Give the policy, the critic and the optimizer what a checkpoint holds; how far the training was.

    Raises:
        UsageError: if the checkpoint is damaged or of another policy.
    """
    learner.policy.read(place)
    try:
        tensors = load_file(place / TENSORS, device=str(learner.device))
        progress: dict[str, Any] = json.loads((place / TRAINER).read_text(encoding="utf-8"))
        _restore_critic(learner.policy, tensors)
        _restore_optimizer(learner, tensors, progress.pop("steps"))
    except (OSError, ValueError, KeyError, RuntimeError) as error:
        raise UsageError(f"The training cannot go on from {place}: {type(error).__name__}: {error}.") from error
    return progress


def _write_trainer(draft: Path, learner: Learner, progress: Mapping[str, Any]) -> None:
    tensors: dict[str, torch.Tensor] = {}
    steps = 0
    for name, parameter in learner.parameters.items():
        state = learner.optimizer.state.get(parameter)
        if state:
            steps = int(state["step"])
            tensors |= {f"{moment}.{name}": state[moment].detach().cpu().contiguous() for moment in MOMENTS}
    if learner.policy.value_head is not None:
        head = learner.policy.value_head.state_dict()
        tensors |= {CRITIC + name: one.detach().cpu().contiguous() for name, one in head.items()}
    save_file(tensors, draft / TENSORS)
    (draft / TRAINER).write_text(json.dumps({**progress, "steps": steps}, indent=2) + "\n", encoding="utf-8")


def _restore_critic(policy: Policy, tensors: Mapping[str, torch.Tensor]) -> None:
    if policy.value_head is not None:
        held = {name.removeprefix(CRITIC): one for name, one in tensors.items() if name.startswith(CRITIC)}
        if held:  # otherwise it goes on from a training without a critic, and a new one begins
            policy.value_head.load_state_dict(held)


def _restore_optimizer(learner: Learner, tensors: Mapping[str, torch.Tensor], steps: int) -> None:
    if not steps:
        return
    for name, parameter in learner.parameters.items():
        if name.startswith(CRITIC) and name not in tensors:
            state = {moment: torch.zeros_like(parameter) for moment in MOMENTS}
        else:
            state = {moment: tensors[f"{moment}.{name}"].clone() for moment in MOMENTS}
        learner.optimizer.state[parameter] = {"step": torch.tensor(float(steps)), **state}


def _sync(path: Path) -> None:
    """Bring a file or a folder to the disk."""
    descriptor = os.open(path, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
