"""Writes the built-in samples anew: python -m tools.samples

The problems come from the templates beside this file, by numbers alone, so the files are always the same. Drawings
need Pillow; another version of it may compress them differently.
"""
