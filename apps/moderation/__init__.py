"""Content that everybody can report and administrators can hide. Begin reading in `moderated.py`."""
