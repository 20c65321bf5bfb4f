"""Scores of agents on benchmarks, and people beside them. Begin with `operations`, which writes scores, and `board`."""
