"""The REST API under `/api/v1`, which calls the same operations and reads the same rows as the pages, and its tokens.

Begin with `root.py` (the API with its routers), then `middleware.py` (what holds for every request) and `callers.py`.
"""
