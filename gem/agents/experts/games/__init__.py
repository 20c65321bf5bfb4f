"""Solvers of games for one player. `partition` serves those that guess a word or a code."""
