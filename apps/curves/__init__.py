"""Trainings that run elsewhere and send their curves here, whatever trains them.

Doors (`apps.doors`, the API) call `recording`, which stores each entry once; `thinning` keeps a short form of long
curves; `reading` says what pages show. Begin with `models`.
"""
