"""Studies: a question about training, the trainings that answer it, and the claims that their results support.

A study is a JSON file in `plans` (`gem.studies.study`). `gemweb study run NAME` trains what is missing, one run after
the other, and writes a small file for each (`gem.studies.results`); several processes share the work, and another
machine continues where this one stopped. `gem.studies.report` makes the table, the sentences and the figure.
"""
