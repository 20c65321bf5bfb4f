"""The credit lens: what each turn of an episode was given by the algorithms, and what it was worth.

`credit` reads the episode, its group and its batch, `asking` and `computing` measure true advantages by forking in a
worker. Begin with `views`.
"""
