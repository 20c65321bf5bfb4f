"""Forks of an episode as a tree: which ones somebody may see, where they part, how they are drawn and exported.

Begin with `reading.tree_of`.
"""
