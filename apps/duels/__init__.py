"""Duels: two to four episodes with the same environment and seed, side by side. Begin with `operations`."""
