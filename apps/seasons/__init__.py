"""Seasons: keys from which the hidden seeds of benchmarks are drawn, and that are published when a season is over.

Begin with `models.Season`. `numbers` says which numbers stand for hidden seeds while they are hidden.
"""
