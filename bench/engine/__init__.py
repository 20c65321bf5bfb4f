"""The engine beside its peers; `python -m bench.engine` prints the tables."""
