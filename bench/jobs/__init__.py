"""How fast evaluations are played, recorded, shared between people, and exported: `python -m bench.jobs`.

`--only NAME` measures one part. Begin reading in the module of a part: `endpoint`, `recording`, `queueing`, `export`.
"""
