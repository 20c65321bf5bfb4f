"""Benchmarks that people add: versioned documents with an owner and a visibility, beside those that come with gemweb.

Begin with `models.OwnBenchmark`. `operations` adds one and checks it, and `sources` lets `gem.benchmarks.load` find it.
"""
