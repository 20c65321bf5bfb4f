"""One training in several processes: what they exchange. Without torchrun nothing is sent.

    torchrun --nproc-per-node 2 -m gem.training --recipe guess-easy --folder runs/guess

Every process plays its share of the episodes and computes with the statistics of all; gradients are summed over the
processes, so that all of them make the same step.
"""

from __future__ import annotations

import os
from collections.abc import Iterable
from datetime import timedelta

import torch
from torch import Tensor, distributed, nn

from gem.errors import InvalidArgument

TIMEOUT = timedelta(hours=2)
"""How long a process waits for the others, one of which may have far longer episodes to play. If one process ends,
torchrun ends all of them."""


class Processes:
    """This process, and its communication with the others of the training."""

    def __init__(self, device: str = "cpu") -> None:
        self.rank = int(os.environ.get("RANK", "0"))
        self.count = int(os.environ.get("WORLD_SIZE", "1"))
        self.device = device
        self.has_group = self.count > 1 or distributed.is_torchelastic_launched()
        """Whether numbers are sent: also by a single process, if torchrun started it."""
        if self.has_group and not distributed.is_initialized():
            distributed.init_process_group("nccl" if device.startswith("cuda") else "gloo", timeout=TIMEOUT)

    @property
    def is_first(self) -> bool:
        """Whether this is the process that writes the files."""
        return self.rank == 0

    def gather(self, numbers: list[float]) -> list[float]:
        """The numbers of all processes, in the order of their ranks."""
        if not self.has_group:
            return numbers
        lengths = [int(length) for length in self._all_gather(torch.tensor([len(numbers)], dtype=torch.float64))]
        padded = torch.zeros(max(lengths), dtype=torch.float64)
        padded[: len(numbers)] = torch.tensor(numbers, dtype=torch.float64)
        rows = self._all_gather(padded).view(self.count, -1).tolist()
        return [number for row, length in zip(rows, lengths, strict=True) for number in row[:length]]

    def add_gradients(self, parameters: Iterable[nn.Parameter]) -> None:
        """Replace each gradient by its sum over all processes; a process without a gradient adds 0."""
        if self.has_group:
            for parameter in parameters:
                if parameter.grad is None:
                    parameter.grad = torch.zeros_like(parameter)
                distributed.all_reduce(parameter.grad)

    def total(self, numbers: list[float]) -> list[float]:
        """The sum of each number over all processes."""
        if not self.has_group:
            return numbers
        tensor = torch.tensor(numbers, dtype=torch.float64).to(self.device)
        distributed.all_reduce(tensor)
        return [float(number) for number in tensor.tolist()]

    def from_first(self, number: float) -> float:
        """The number that the first process passes, in every process."""
        return self.gather([number])[0]

    def share(self, episodes: int, group: int) -> range:
        """The indices of the episodes that this process plays: as many as every other process, in complete groups.

        Args:
            group: number of episodes in a group.

        Raises:
            InvalidArgument: if the episodes cannot be divided equally.
        """
        if episodes % (self.count * group):
            groups = f" in groups of {group}" if group > 1 else ""
            raise InvalidArgument(f"{episodes} episodes{groups} cannot be shared equally by {self.count} processes.")
        share = episodes // self.count
        return range(self.rank * share, (self.rank + 1) * share)

    def close(self) -> None:
        """End the communication with the other processes."""
        if self.has_group and distributed.is_initialized():
            distributed.destroy_process_group()

    def _all_gather(self, tensor: Tensor) -> Tensor:
        """The tensors of all processes, concatenated in the order of their ranks; all have the same shape."""
        on_device = tensor.to(self.device)
        rows = [torch.zeros_like(on_device) for _ in range(self.count)]
        distributed.all_gather(rows, on_device)
        return torch.cat(rows).cpu()
