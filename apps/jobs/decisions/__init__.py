"""Evaluations that stop as soon as a comparison is decided (`EvaluationSpec.stop_against`).

`checks` says which job one may be compared with, `looks` is what workers do after they have recorded episodes, and
`reading` what pages and programs show. The statistics are those of `gem.evaluation.comparison.sequential`.
"""
