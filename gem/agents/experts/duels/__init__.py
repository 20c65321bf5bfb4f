"""Solvers of games with several seats; each decides for the seat whose turn it is."""
