"""Checkpoints: `checkpoint` writes and restores them in a training; begin there.

The other modules handle checkpoints from elsewhere: `archive` unpacks a file, `folder_check` checks the folder without
running anything in it, and `trial` lets the policy play one turn in a process of its own (`first_turn`).
"""
