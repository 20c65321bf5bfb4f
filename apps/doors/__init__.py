"""Protocols of other tools, over the operations that pages and the API call.

`middleware` reads their tokens. `trackio` takes curves, and `prime` the evaluations of verifiers.
"""
