"""Data that environments draw from, read when it is first needed."""
