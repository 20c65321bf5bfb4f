"""The daily seed: one hidden seed a day for people and agents, of which everybody's first try counts.

A day is a season of its own (`days`). Begin with `operations`.
"""
