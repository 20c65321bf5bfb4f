"""The optimizers of a training, and which weights each of them changes.

Muon (Jordan et al., 2024, https://kellerjordan.github.io/posts/muon/) makes the singular values of a matrix's update
nearly equal. It is meant for the matrices inside a model's layers, so AdamW still changes the embeddings, the output
head, the critic, and everything that is no matrix. Muon's updates are scaled to the size of AdamW's (Liu et al., arXiv
2502.16982, section 2.2), so that one learning rate suits both.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import torch
from torch import Tensor
from torch.nn import Parameter
from torch.optim import AdamW, Muon, Optimizer

from gem.training.policy.policies import Policy
from gem.training.spec import TrainingSpec

WEIGHT_DECAY = 0.0
BETAS = (0.9, 0.95)
MUON_MOMENTUM = 0.9
CRITIC_PREFIX = "value_head."
"""How the names of the critic's parameters begin."""
MOMENTS: dict[type[Optimizer], tuple[str, ...]] = {AdamW: ("exp_avg", "exp_avg_sq"), Muon: ("momentum_buffer",)}
"""The tensors that each optimizer keeps for a parameter."""


class Optimizers:
    """The optimizers that together change all trained parameters of a policy.

    Args:
        parameters: those that are trained, by name.
    """

    def __init__(self, spec: TrainingSpec, policy: Policy, parameters: Mapping[str, Parameter]) -> None:
        self.parameters = parameters
        self.steps = 0
        """Steps made, also before a checkpoint from which the training continues."""
        matrices = {
            name
            for name, parameter in parameters.items()
            if spec.optimizer == "muon" and _is_inner(name, parameter, policy)
        }
        critic = {name for name in parameters if spec.critic_learning_rate and name.startswith(CRITIC_PREFIX)}
        groups = [
            self._group(parameters.keys() - matrices - critic, 1.0),
            self._group(critic, spec.critic_learning_rate / spec.learning_rate),
        ]
        self._optimizers: list[Optimizer] = []
        if groups := [group for group in groups if group["params"]]:
            self._optimizers.append(AdamW(groups, lr=spec.learning_rate, betas=BETAS, weight_decay=WEIGHT_DECAY))
        if matrices:
            self._optimizers.append(
                Muon(
                    [self._group(matrices, 1.0)],
                    lr=spec.learning_rate,
                    momentum=MUON_MOMENTUM,
                    weight_decay=WEIGHT_DECAY,
                    adjust_lr_fn="match_rms_adamw",
                )
            )

    def _group(self, names: set[str], rate_factor: float) -> dict[str, Any]:
        """Some parameters, in the order of the policy, and the factor by which their learning rate is scaled."""
        return {
            "params": [parameter for name, parameter in self.parameters.items() if name in names],
            "rate_factor": rate_factor,
        }

    def set_learning_rate(self, rate: float) -> None:
        """Change the learning rate of all parameters; the critic's stays as many times larger as it was."""
        for optimizer in self._optimizers:
            for group in optimizer.param_groups:
                group["lr"] = rate * group["rate_factor"]

    def zero_grad(self) -> None:
        """Set all gradients to 0."""
        for optimizer in self._optimizers:
            optimizer.zero_grad(set_to_none=False)

    def step(self) -> None:
        """Change all parameters by their gradients."""
        for optimizer in self._optimizers:
            optimizer.step()
        self.steps += 1

    def state(self) -> dict[str, Tensor]:
        """The optimizers' tensors by name, such as `exp_avg.net.model.norm.weight`; empty before the first step."""
        return {
            f"{moment}.{name}": optimizer.state[parameter][moment]
            for name, parameter in self.parameters.items()
            for optimizer in self._optimizers
            for moment in MOMENTS[type(optimizer)]
            if moment in optimizer.state.get(parameter, {})
        }

    def restore(self, state: Mapping[str, Tensor], steps: int) -> None:
        """Continue with a state that `state` has returned after so many steps.

        Parameters whose optimizer is another one now, and those of a new critic, begin with zeros.
        """
        self.steps = steps
        if not steps:
            return
        names = {id(parameter): name for name, parameter in self.parameters.items()}
        for optimizer in self._optimizers:
            for parameter in (parameter for group in optimizer.param_groups for parameter in group["params"]):
                keys = {moment: f"{moment}.{names[id(parameter)]}" for moment in MOMENTS[type(optimizer)]}
                known = state.keys() >= set(keys.values())
                optimizer.state[parameter] = {
                    moment: state[key].clone() if known else torch.zeros_like(parameter) for moment, key in keys.items()
                }
                if isinstance(optimizer, AdamW):
                    optimizer.state[parameter]["step"] = torch.tensor(float(steps))


def _is_inner(name: str, parameter: Parameter, policy: Policy) -> bool:
    """Whether a parameter is a matrix of a layer: embeddings and the output head have a row for each token."""
    return parameter.dim() == 2 and parameter.shape[0] != policy.vocab_size and not name.startswith(CRITIC_PREFIX)
