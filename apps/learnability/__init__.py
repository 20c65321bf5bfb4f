"""Whether an environment can be learned: probes that people ask for on its page, and that a worker computes once.

The probes themselves are `gem.learnability`.
"""
