"""Boards: the rows of a benchmark that rank together, their ranks, and what is made of them.

Begin with `keys`, which says which rows are on which board. `computing` computes their ranks in a worker, and `reading`
reads what was kept.
"""
