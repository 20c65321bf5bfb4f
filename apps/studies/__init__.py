"""Studies that people start on this site: many small trainings that answer one question, made run by run.

A `Study` has the plan (`gem.studies`), and each of its runs is a row that a training worker claims when no training
waits (`claims.py`). Begin with `operations.py` for what people do, and with `recording.py` for what workers write.
"""
