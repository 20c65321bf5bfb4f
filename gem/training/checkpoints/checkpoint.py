"""Checkpoints: weights that others can load, and what a training needs to resume as if it had never stopped.

    model.safetensors config.json tokenizer.json ...    a folder for `AutoModelForCausalLM`
    card.json                                           what the policy is and how it is played
    trainer.safetensors trainer.json                    the optimizer, the critic, and the training's progress
    pool.safetensors pool.json                          with self-play, the opponents and their games

A checkpoint is written under a temporary name, synced to the disk, and then renamed, so that none is ever incomplete.
"""

from __future__ import annotations

import json
import os
import shutil
from collections.abc import Mapping
from dataclasses import asdict
from pathlib import Path
from typing import Any

import torch
from safetensors.torch import load_file, save_file

from gem.errors import UsageError
from gem.training.collecting.pool import Pool
from gem.training.learner import Learner
from gem.training.optimizers import CRITIC_PREFIX
from gem.training.policy.policies import Policy
from gem.training.progress import Progress
from gem.training.run_folder import update_name
from gem.training.spec import TrainingSpec
from gem.version import __version__

CARD, TRAINER_STATE = "card.json", "trainer.json"
TRAINER_TENSORS = "trainer.safetensors"


def save(folder: Path, learner: Learner, spec: TrainingSpec, progress: Progress, pool: Pool | None = None) -> Path:
    """Write a checkpoint of the last update into `folder`, and remove all but the newest `keep_checkpoints`.

    Raises:
        OSError: if it cannot be written, for example because the disk is full; earlier checkpoints stay as they are.
    """
    name = update_name(progress.update)
    path, draft = folder / name, folder / f".{name}.new"
    shutil.rmtree(draft, ignore_errors=True)
    draft.mkdir(parents=True)
    try:
        learner.policy.save(draft)
        _write_trainer(draft, learner, progress)
        if pool is not None:
            pool.save(draft)
        (draft / CARD).write_text(json.dumps(_make_card(spec, progress), indent=2) + "\n", encoding="utf-8")
        for file in draft.iterdir():
            _sync(file)
        _sync(draft)
        shutil.rmtree(path, ignore_errors=True)
        draft.rename(path)
        _sync(folder)
    except BaseException as error:
        shutil.rmtree(draft, ignore_errors=True)
        if type(error).__name__ == "SafetensorError":  # the library's error if the disk is full
            raise OSError(str(error)) from error
        raise
    for old in list_checkpoints(folder)[: -spec.keep_checkpoints]:
        shutil.rmtree(old, ignore_errors=True)
    return path


def list_checkpoints(folder: Path) -> list[Path]:
    """The complete checkpoints in a folder, the oldest first."""
    if not folder.is_dir():
        return []
    return sorted(path for path in folder.iterdir() if path.name.isdecimal() and _is_complete(path))


def exists(folder: Path, update: int) -> bool:
    """Whether the folder has a complete checkpoint of an update."""
    return _is_complete(folder / update_name(update))


def restore(path: Path, learner: Learner) -> Progress:
    """Load a checkpoint into the policy, the critic and the optimizer, and return the training's progress.

    Raises:
        UsageError: if the checkpoint is damaged or of another policy.
    """
    learner.policy.load_weights(path)
    try:
        tensors = load_file(path / TRAINER_TENSORS, device=str(learner.device))
        progress: dict[str, Any] = json.loads((path / TRAINER_STATE).read_text(encoding="utf-8"))
        _restore_critic(learner.policy, tensors)
        learner.optimizers.restore(tensors, progress.pop("steps"))
    except (OSError, ValueError, KeyError, RuntimeError) as error:
        raise UsageError(f"The training cannot go on from {path}: {type(error).__name__}: {error}.") from error
    return Progress(**progress)


def _is_complete(path: Path) -> bool:
    return (path / TRAINER_STATE).exists()


def _make_card(spec: TrainingSpec, progress: Progress) -> dict[str, Any]:
    """A description of the checkpoint for people, and the settings for play for `gem.training.policy.policy_agent`."""
    return {
        "format": 1,
        "engine_version": __version__,
        "base": Path(spec.model).name if Path(spec.model).is_dir() else spec.model,
        "recipe": spec.recipe,
        "env_id": spec.env_id,
        "env_kwargs": spec.env_kwargs,
        "algorithm": spec.algorithm,
        "update": progress.update,
        "turns": progress.turns,
        "episodes": progress.episodes,
        "success": progress.last.get("success"),
        "return": progress.last.get("return"),
        "input_mode": spec.input_mode,
        "max_tokens": spec.max_tokens,
        "max_length": spec.max_length,
        "temperature": spec.temperature,
    }


def _write_trainer(draft: Path, learner: Learner, progress: Progress) -> None:
    """Write the optimizer's state, the critic and the progress."""
    tensors = {name: tensor.detach().cpu().contiguous() for name, tensor in learner.optimizers.state().items()}
    if learner.policy.value_head is not None:
        weights = learner.policy.value_head.state_dict()
        tensors |= {CRITIC_PREFIX + name: tensor.detach().cpu().contiguous() for name, tensor in weights.items()}
    save_file(tensors, draft / TRAINER_TENSORS)
    content = json.dumps({**asdict(progress), "steps": learner.optimizers.steps}, indent=2)
    (draft / TRAINER_STATE).write_text(content + "\n", encoding="utf-8")


def _restore_critic(policy: Policy, tensors: Mapping[str, torch.Tensor]) -> None:
    """Load the critic; after a training without one, the new critic stays as it is."""
    if policy.value_head is not None:
        weights = {
            name.removeprefix(CRITIC_PREFIX): tensor
            for name, tensor in tensors.items()
            if name.startswith(CRITIC_PREFIX)
        }
        if weights:
            policy.value_head.load_state_dict(weights)


def _sync(path: Path) -> None:
    """Flush a file or a folder to the disk."""
    descriptor = os.open(path, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
