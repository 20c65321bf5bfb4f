"""Evaluations: `spec` describes the episodes to play, `scores` computes means with intervals from the results."""
