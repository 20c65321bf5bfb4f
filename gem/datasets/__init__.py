"""Datasets of problems: one loader for rows, files, the data folder, the Hugging Face hub and built-in samples.

data = load("math:GSM8K")            # by the id of an environment, from the best source (see `gem.datasets.loading`)
data = load("problems.jsonl")        # a file: JSONL, JSON, CSV, Parquet or Arrow; JSONL and CSV also with .gz
data = load([{"problem": "1 + 1?", "answer": "2"}])
data[0], len(data), data.source, data.sha256

A row is a plain dictionary. Datasets with the same `sha256` have the same rows, so a replay can check its data.
"""

from gem.datasets.dataset import Dataset, Row
from gem.datasets.loading import load

__all__ = ["Dataset", "Row", "load"]
