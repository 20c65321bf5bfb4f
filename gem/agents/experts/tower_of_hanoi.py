"""Tower of Hanoi: the shortest way from any position.

The largest disk that is not yet where it belongs moves once, when all smaller ones are on the third tower; how to get
them there is the same question with one disk less. To a tower that is whole at the end, this way is the shortest
(Hinz 1989).
"""

from __future__ import annotations

from gem.agents.agent import Decision
from gem.envs.games.tower_of_hanoi import TOWERS, TowerOfHanoi


def move_shortest(env: TowerOfHanoi) -> Decision:
    """The first move of the shortest way."""
    where = {disk: name for name, disks in env.towers.items() for disk in disks}
    wanted, left, source, target, moved = "C", 0, "", "", ""
    for disk in sorted(where, reverse=True):
        if where[disk] != wanted:
            source, target, moved = where[disk], wanted, disk
            left += 2 ** (int(disk) - 1)
            wanted = next(name for name in TOWERS if name not in (source, target))
    if left == 1:
        return Decision(f"\\boxed{{{source} {target}}}", "That brings the last disk to C.")
    return Decision(
        f"\\boxed{{{source} {target}}}",
        f"Disk {moved} goes to {target}. {left} moves to the solution, and no way is shorter.",
    )
