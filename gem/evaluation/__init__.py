"""Evaluations: `spec` describes the episodes to play, `scores` computes means with intervals from the results.

`compare` and `comparison` compare agents on the same seeds, `intervals` has the intervals over seeds, and `ranking` the
statistics of leaderboards.
"""
