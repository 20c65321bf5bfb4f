"""The expert for Tower of Hanoi: a shortest solution from any position.

The largest disk that is not on its goal yet moves once, when all smaller disks are on the third tower. How to get them
there is the same problem with one disk less. For a goal with all disks on one tower this solution is the shortest
(Hinz 1989).
"""

from __future__ import annotations

from gem.agents.agent import Decision
from gem.envs.games.tower_of_hanoi import TOWERS, TowerOfHanoi


def move_shortest(env: TowerOfHanoi) -> Decision:
    """Make the first move of the shortest solution."""
    tower_of_disk = {disk: name for name, disks in env.towers.items() for disk in disks}
    goal, moves_left, source, target, next_disk = "C", 0, "", "", ""
    for disk in sorted(tower_of_disk, reverse=True):
        if tower_of_disk[disk] != goal:
            source, target, next_disk = tower_of_disk[disk], goal, disk
            moves_left += 2 ** (int(disk) - 1)
            goal = next(name for name in TOWERS if name not in (source, target))
    if moves_left == 1:
        return Decision(f"\\boxed{{{source} {target}}}", "That brings the last disk to C.")
    return Decision(
        f"\\boxed{{{source} {target}}}",
        f"Disk {next_disk} goes to {target}. {moves_left} moves to the solution, and no way is shorter.",
    )
