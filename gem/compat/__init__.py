"""Compatibility with environments and scripts that were written for GEM.

`aliases` makes GEM's import paths work, `adapter` makes an environment with GEM's interface keep the contract of
`gem.core`, and `games` has GEM's classes of games with their arguments. Begin reading in `aliases`.
"""
