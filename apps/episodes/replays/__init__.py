"""Pages and downloads of a recorded episode: its permalink and replay, their frames, and its data.

Begin with `views.episode`.
"""
