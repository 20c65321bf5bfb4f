"""Agents: built-in ones, endpoints and trained policies. Begin with `models`; `players` makes agents play."""
