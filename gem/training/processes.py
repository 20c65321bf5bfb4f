"""One training in several processes: what they have to tell each other. With one process nothing is sent.

    torchrun --nproc-per-node 2 -m gem.training --recipe guess-easy --folder runs/guess

Every process plays its share of the episodes and sees the same statistics; gradients are added up, so all of them take
the same step.
"""

from __future__ import annotations

import os
from collections.abc import Iterable
from datetime import timedelta

import torch
from torch import Tensor, distributed, nn

from gem.errors import InvalidArgument

PATIENCE = timedelta(hours=2)
"""How long a process waits for the others: one may have far longer episodes to play. If one ends, torchrun ends all."""


class Processes:
    """This process among those of the training."""

    def __init__(self, device: str = "cpu") -> None:
        self.rank = int(os.environ.get("RANK", "0"))
        self.count = int(os.environ.get("WORLD_SIZE", "1"))
        self.device = device
        if self.count > 1 and not distributed.is_initialized():
            distributed.init_process_group("nccl" if device.startswith("cuda") else "gloo", timeout=PATIENCE)

    @property
    def is_first(self) -> bool:
        """Whether this one writes the files."""
        return self.rank == 0

    def gather(self, numbers: list[float]) -> list[float]:
        """The numbers of all processes, in the order of their ranks."""
        if self.count == 1:
            return numbers
        lengths = [int(length) for length in self._all(torch.tensor([len(numbers)], dtype=torch.float64))]
        padded = torch.zeros(max(lengths), dtype=torch.float64)
        padded[: len(numbers)] = torch.tensor(numbers, dtype=torch.float64)
        rows = self._all(padded).view(self.count, -1).tolist()
        return [one for row, length in zip(rows, lengths, strict=True) for one in row[:length]]

    def add_gradients(self, parameters: Iterable[nn.Parameter]) -> None:
        """Replace each gradient by its sum over all processes; a process that had nothing to learn from adds 0."""
        if self.count > 1:
            for parameter in parameters:
                if parameter.grad is None:
                    parameter.grad = torch.zeros_like(parameter)
                distributed.all_reduce(parameter.grad)

    def total(self, numbers: list[float]) -> list[float]:
        """The sum over all processes of each number."""
        if self.count == 1:
            return numbers
        tensor = torch.tensor(numbers, dtype=torch.float64).to(self.device)
        distributed.all_reduce(tensor)
        return [float(one) for one in tensor.tolist()]

    def from_first(self, number: float) -> float:
        """What the first process says."""
        return self.gather([number])[0]

    def share(self, episodes: int, group: int) -> range:
        """Which episodes this process plays: as many as any other one, and whole groups.

        Raises:
            InvalidArgument: if they cannot be shared out so.
        """
        if episodes % (self.count * group):
            groups = f" in groups of {group}" if group > 1 else ""
            raise InvalidArgument(f"{episodes} episodes{groups} cannot be shared equally by {self.count} processes.")
        each = episodes // self.count
        return range(self.rank * each, (self.rank + 1) * each)

    def close(self) -> None:
        """Part from the others."""
        if self.count > 1 and distributed.is_initialized():
            distributed.destroy_process_group()

    def _all(self, tensor: Tensor) -> Tensor:
        mine = tensor.to(self.device)
        rows = [torch.zeros_like(mine) for _ in range(self.count)]
        distributed.all_gather(rows, mine)
        return torch.cat(rows).cpu()
