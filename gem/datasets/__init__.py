"""Where problems come from: one loader for rows, files, the data folder, the Hugging Face hub and built-in samples.

data = load("math:GSM8K")            # by the name of an environment: the best that is there, see `gem.datasets.loading`
data = load("problems.jsonl")        # a file: JSONL, JSON, CSV, Parquet or Arrow, JSONL and CSV also with .gz
data = load([{"problem": "1 + 1?", "answer": "2"}])
data[0], len(data), data.source, data.sha256

A row is a plain dictionary. The same `sha256` promises the same rows, so a recorded episode knows whether it has them.
"""

from gem.datasets.dataset import Dataset, Row
from gem.datasets.loading import load

__all__ = ["Dataset", "Row", "load"]
