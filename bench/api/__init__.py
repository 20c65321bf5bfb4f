"""Reads through the REST API (`python -m bench.api`), its event streams (`.events`) and episodes in bulk (`.turns`)."""
