"""Which optimizer changes which weights, and that each continues from its saved state."""

from pathlib import Path
from typing import Any

import pytest
import torch

from gem.training.optimizers import MOMENTS, Optimizers
from gem.training.policy.policies import Policy, load_policy
from gem.training.run_folder import RunFolder
from gem.training.spec import read_spec
from gem.training.trainer import train
from tests.engine.training.conftest import BANDIT
from tests.engine.training.test_runs import same_weights, untimed


def load(tiny: Path, **settings: Any) -> tuple[Policy, Optimizers]:
    spec = read_spec({"env_id": BANDIT, "model": str(tiny), **settings})
    policy = load_policy(spec.model, critic=True)
    return policy, Optimizers(spec, policy, dict(policy.named_parameters()))


def step(policy: Policy, optimizers: Optimizers, seed: int) -> dict[str, torch.Tensor]:
    """Make a step with random gradients, and return the change of each parameter."""
    generator = torch.Generator().manual_seed(seed)
    before = {name: parameter.detach().clone() for name, parameter in policy.named_parameters()}
    for parameter in policy.parameters():
        parameter.grad = torch.randn(parameter.shape, generator=generator)
    optimizers.set_learning_rate(1e-2)
    optimizers.step()
    return {name: parameter.detach() - before[name] for name, parameter in policy.named_parameters()}


def spread(change: torch.Tensor) -> float:
    """The largest singular value of a matrix divided by its smallest."""
    values = torch.linalg.svdvals(change)
    return float(values[0] / values[-1])


def test_muon_changes_the_matrices_of_the_layers_evenly_and_adamw_the_rest(tiny: Path) -> None:
    adamw, muon = (step(*load(tiny, optimizer=name), seed=0) for name in ("adamw", "muon"))
    inner = {name for name, change in muon.items() if change.dim() == 2 and ".layers." in name}
    assert len(inner) == 7  # four of attention and three of the feed-forward part
    for name, change in muon.items():
        if name in inner:
            assert spread(change) < 3 < spread(adamw[name])
            assert 0.1 < float(change.norm() / adamw[name].norm()) < 0.4  # 0.2, if all singular values were 1
        else:
            assert torch.equal(change, adamw[name])


@pytest.mark.parametrize("name", ["adamw", "muon"])
def test_a_restored_optimizer_makes_the_same_step(name: str, tiny: Path) -> None:
    policy, optimizers = load(tiny, optimizer=name, critic_learning_rate=1e-2)
    step(policy, optimizers, seed=0)
    other, restored = load(tiny, optimizer=name, critic_learning_rate=1e-2)
    other.load_state_dict(policy.state_dict())
    restored.restore(optimizers.state(), optimizers.steps)
    changes, same = step(policy, optimizers, seed=1), step(other, restored, seed=1)
    assert all(torch.equal(change, same[parameter]) for parameter, change in changes.items())
    assert restored.steps == 2


def test_another_optimizer_begins_with_zeros_where_it_has_no_state(tiny: Path) -> None:
    policy, adamw = load(tiny)
    step(policy, adamw, seed=0)
    _, muon = load(tiny, optimizer="muon")
    muon.restore(adamw.state(), adamw.steps)
    state = muon.state()
    moments = {name.split(".")[0] for name in state}
    assert moments == {moment for names in MOMENTS.values() for moment in names}
    for name, tensor in state.items():
        if name.startswith("momentum_buffer"):
            assert not tensor.any()
        else:
            assert torch.equal(tensor, adamw.state()[name])


def test_a_training_continues_with_the_same_bits(small: dict[str, Any], tmp_path: Path) -> None:
    settings = {**small, "optimizer": "muon", "updates": 2}
    folder = RunFolder(tmp_path / "parts")
    train(read_spec(settings), folder.path)
    longer = read_spec({**settings, "updates": 4})
    folder.extend(longer)
    train(longer, folder.path)
    train(longer, tmp_path / "whole")
    assert untimed(folder.path) == untimed(tmp_path / "whole")
    assert same_weights(folder.path, tmp_path / "whole")
