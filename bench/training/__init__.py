"""What training promises, measured: `python -m bench.training`; its other modules measure one thing each.

Begin reading in `__main__`; `figures` draws the curves of the documents.
"""
