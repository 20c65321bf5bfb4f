"""The parts of `gem.evaluation.compare`: pairs of episodes, their differences, and what may be said of them.

Begin reading with `pairs`, which brings the episodes of two runs together, and `differences`, which judges them.
"""
