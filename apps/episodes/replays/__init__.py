"""What there is to see of a recorded episode: its permalink and replay, the frames that they draw, and its data.

Begin with `views.episode`.
"""
