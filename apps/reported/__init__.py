"""Evaluations that other programs have made: their numbers and transcripts, as they report them.

Doors and the API call `recording`; files wait in a folder until a worker has read them, confined (`reading_files`).
Nothing here ranks, and every page says that nothing is verified. Begin with `models`.
"""
