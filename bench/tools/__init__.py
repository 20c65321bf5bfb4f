"""Tools and graders, measured: each module of this package is a part, `python -m bench.tools PART` runs it."""
