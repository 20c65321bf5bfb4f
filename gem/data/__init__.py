"""Data that environments draw from: words, clues and wiki pages. Files are read when they are first needed."""
