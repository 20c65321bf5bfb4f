"""Checkpoints: `checkpoint` writes and restores them while training.

The other modules are for those that come from elsewhere: `archive` unpacks a file, `folder_check` looks at the folder
without running anything of it, and `trial` has it play one turn in a process of its own (`first_turn`).
"""
