"""Evaluations: `spec` says what is to be played, `scores` turns episodes into means with intervals."""
